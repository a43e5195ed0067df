//! Counts requests to the C library's allocator and passes them on.
//!
//! An allocation is a call that returns memory. A `realloc` counts too, with all bytes of its new size, whether or not
//! they had to be copied: so the numbers do not depend on the rest of the heap, and equal valgrind's. A request that
//! one of these functions passes on to another is not counted again.

use core::{
    ffi::{c_int, c_void},
    mem::transmute,
    ptr::{copy_nonoverlapping, null_mut},
    sync::atomic::{
        AtomicU8, AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use super::{
    page,
    system::{__errno_location, Hidden},
};

extern "C" {
    fn pthread_key_create(key: *mut u32, destructor: *const c_void) -> c_int;
    fn pthread_getspecific(key: u32) -> *mut c_void;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

/// One more than the key under which a thread marks that it is inside an allocating call; 0 if there is none. A key
/// that is created early has its slot in each thread without any allocation.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Enables the detection of nested calls. Call it before any other thread is started.
pub fn count_nested() {
    let mut key = 0;
    // SAFETY: the place is our own, and there is nothing to destroy.
    if (unsafe { pthread_key_create(&mut key, null_mut()) }) == 0 {
        KEY.store(key + 1, Relaxed);
    }
}

fn is_within() -> bool {
    match KEY.load(Relaxed) {
        0 => false,
        // SAFETY: the key was made.
        key => !(unsafe { pthread_getspecific(key - 1) }).is_null(),
    }
}

fn set_within(is_within: bool) {
    let key = KEY.load(Relaxed);
    if key != 0 {
        // SAFETY: as above.
        unsafe { pthread_setspecific(key - 1, usize::from(is_within) as *const c_void) };
    }
}

/// Makes a call that requests `bytes`, and counts it if it returned memory, unless it is nested in a counted call.
fn count<T>(bytes: usize, is_given: impl Fn(&T) -> bool, call: impl FnOnce() -> T) -> T {
    let page = match page() {
        Some(page) if !is_within() => page,
        _ => return call(),
    };
    set_within(true);
    let given = call();
    set_within(false);
    if is_given(&given) {
        page.allocations.fetch_add(1, Relaxed);
        page.bytes.fetch_add(bytes as u64, Relaxed);
    }
    given
}

fn is_memory(given: &*mut c_void) -> bool {
    !given.is_null()
}

/// State of the lookup of the C library's own functions: 0 not started, 1 in progress, 2 done.
static KNOWN: AtomicU32 = AtomicU32::new(0);
/// Serves requests before that, as the lookup may allocate.
static FIRST: First = First { memory: [ZERO; FIRST_SIZE], used: AtomicUsize::new(0) };
#[allow(clippy::declare_interior_mutable_const)]
const ZERO: AtomicU8 = AtomicU8::new(0);
const FIRST_SIZE: usize = 1 << 14;
const ALIGNMENT: usize = 16;

#[repr(C, align(16))]
struct First {
    memory: [AtomicU8; FIRST_SIZE],
    used: AtomicUsize,
}

/// True if the C library's functions can be called. They are looked up at the first call, before any other thread
/// exists.
fn is_known() -> bool {
    match KNOWN.load(Acquire) {
        2 => true,
        1 => false,
        _ => {
            KNOWN.store(1, Release);
            look_up();
            for function in [&REALLOC, &POSIX_MEMALIGN, &FREE] {
                function.get();
            }
            KNOWN.store(2, Release);
            true
        }
    }
}

/// Zeroed memory of this library, with its size stored in front of it.
fn first(size: usize) -> *mut c_void {
    let whole = match size.checked_add(2 * ALIGNMENT - 1) {
        Some(more) if more < FIRST_SIZE => more & !(ALIGNMENT - 1),
        _ => return null_mut(),
    };
    let start = FIRST.used.fetch_add(whole, Relaxed);
    if start + whole > FIRST_SIZE {
        return null_mut();
    }
    let memory = (FIRST.memory.as_ptr() as usize + start) as *mut usize;
    // SAFETY: nobody else has this part of the memory, which can be written.
    unsafe {
        memory.write(size);
        memory.cast::<u8>().add(ALIGNMENT).cast()
    }
}

/// The size of memory that [`first`] returned; none for other memory.
fn size_of_first(memory: *mut c_void) -> Option<usize> {
    let start = FIRST.memory.as_ptr() as usize;
    let is_inside = (start..start + FIRST_SIZE).contains(&(memory as usize));
    // SAFETY: the size stands in front.
    is_inside.then(|| unsafe { memory.cast::<u8>().sub(ALIGNMENT).cast::<usize>().read() })
}

/// Defines functions that return memory of as many bytes as their arguments say.
macro_rules! allocating {
    ($($real:ident: $function:ident($($argument:ident),+) -> $bytes:expr;)+) => {
        $(static $real: Hidden = Hidden::new(concat!(stringify!($function), "\0").as_bytes());)+

        fn look_up() {
            $($real.get();)+
        }

        $(#[no_mangle]
        unsafe extern "C" fn $function($($argument: usize),+) -> *mut c_void {
            if !is_known() {
                return first($bytes);
            }
            type Real = unsafe extern "C" fn($(allocating!(@ $argument)),+) -> *mut c_void;
            // SAFETY: libc has a function of this name and type.
            let real: Real = unsafe { transmute($real.get()) };
            // SAFETY: the arguments are the caller's.
            count($bytes, is_memory, || unsafe { real($($argument),+) })
        })+
    };
    (@ $argument:ident) => { usize };
}

allocating! {
    MALLOC: malloc(size) -> size;
    CALLOC: calloc(number, size) -> number.saturating_mul(size);
    MEMALIGN: memalign(alignment, size) -> size;
    ALIGNED_ALLOC: aligned_alloc(alignment, size) -> size;
    VALLOC: valloc(size) -> size;
    PVALLOC: pvalloc(size) -> size;
}

static REALLOC: Hidden = Hidden::new(b"realloc\0");
static POSIX_MEMALIGN: Hidden = Hidden::new(b"posix_memalign\0");
static FREE: Hidden = Hidden::new(b"free\0");

#[no_mangle]
unsafe extern "C" fn realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    if let Some(old) = size_of_first(memory) {
        // SAFETY: both are as large as what is copied.
        return unsafe {
            let new = malloc(size);
            if !new.is_null() {
                copy_nonoverlapping(memory.cast::<u8>(), new.cast::<u8>(), old.min(size));
            }
            new
        };
    }
    if !is_known() {
        return first(size);
    }
    type Real = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    // SAFETY: libc has a function of this name and type, and the arguments are the caller's: so below.
    let real: Real = unsafe { transmute(REALLOC.get()) };
    count(size, is_memory, || unsafe { real(memory, size) })
}

#[no_mangle]
unsafe extern "C" fn reallocarray(memory: *mut c_void, number: usize, size: usize) -> *mut c_void {
    const ENOMEM: c_int = 12;
    match number.checked_mul(size) {
        // SAFETY: the arguments are the caller's.
        Some(all) => unsafe { realloc(memory, all) },
        None => {
            // SAFETY: libc has a place for each thread.
            unsafe { *__errno_location() = ENOMEM };
            null_mut()
        }
    }
}

#[no_mangle]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    is_known();
    type Real = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
    // SAFETY: see `realloc`.
    let real: Real = unsafe { transmute(POSIX_MEMALIGN.get()) };
    count(size, |status: &c_int| *status == 0, || unsafe { real(out, alignment, size) })
}

#[no_mangle]
unsafe extern "C" fn free(memory: *mut c_void) {
    if size_of_first(memory).is_some() || !is_known() {
        return;
    }
    // SAFETY: see `realloc`.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void) = transmute(FREE.get());
        real(memory);
    }
}
