//! Counts requests to allocators, and answers those to the C library's allocator in its place.
//!
//! An allocation is a call that returns memory. A `realloc` counts too, with all bytes of its new size, whether or not
//! they had to be copied: so the numbers do not depend on the rest of the heap, and equal valgrind's. A request that
//! one allocator passes on to another is not counted again.

use core::{
    ffi::{c_int, c_void},
    mem::transmute,
    ptr::{copy_nonoverlapping, null_mut},
    sync::atomic::{
        AtomicU8, AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use crate::{page, page::Page, system::Hidden};

type Two = unsafe extern "C" fn(usize, usize) -> *mut c_void;
type Three = unsafe extern "C" fn(usize, usize, usize) -> *mut c_void;

static MALLOC: Hidden = Hidden::new(b"malloc\0");
static CALLOC: Hidden = Hidden::new(b"calloc\0");
static REALLOC: Hidden = Hidden::new(b"realloc\0");
static REALLOCARRAY: Hidden = Hidden::new(b"reallocarray\0");
static MEMALIGN: Hidden = Hidden::new(b"memalign\0");
static ALIGNED_ALLOC: Hidden = Hidden::new(b"aligned_alloc\0");
static POSIX_MEMALIGN: Hidden = Hidden::new(b"posix_memalign\0");
static VALLOC: Hidden = Hidden::new(b"valloc\0");
static PVALLOC: Hidden = Hidden::new(b"pvalloc\0");
static FREE: Hidden = Hidden::new(b"free\0");

extern "C" {
    fn pthread_key_create(key: *mut u32, destructor: *const c_void) -> c_int;
    fn pthread_getspecific(key: u32) -> *mut c_void;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

/// One more than the key under which a thread marks that it is inside an allocating call; 0 if no function of the
/// executable is watched. A key that is created this early has its slot in each thread without any allocation.
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

/// Makes a call that requests `bytes`, and counts it if it returned memory, unless it is nested in a counted call. Also
/// returns true if it was counted.
pub fn count<T>(
    page: &Page,
    bytes: usize,
    is_given: impl Fn(&T) -> bool,
    call: impl FnOnce() -> T,
) -> (T, bool) {
    if is_within() {
        return (call(), false);
    }
    set_within(true);
    let given = call();
    set_within(false);
    let counts = is_given(&given);
    if counts {
        page.allocations.fetch_add(1, Relaxed);
        page.bytes.fetch_add(bytes as u64, Relaxed);
    }
    (given, counts)
}

/// Counts a call of the C library's allocator.
fn answer(bytes: usize, call: impl FnOnce() -> *mut c_void) -> *mut c_void {
    match page() {
        Some(page) => count(page, bytes, |given| !given.is_null(), call).0,
        None => call(),
    }
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
            let all = [
                &MALLOC,
                &CALLOC,
                &REALLOC,
                &REALLOCARRAY,
                &MEMALIGN,
                &ALIGNED_ALLOC,
                &POSIX_MEMALIGN,
                &VALLOC,
                &PVALLOC,
                &FREE,
            ];
            for function in all {
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

#[no_mangle]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if !is_known() {
        return first(size);
    }
    // SAFETY: libc has a function of this name and type, and the arguments are the caller's: so below.
    let real: unsafe extern "C" fn(usize) -> *mut c_void = unsafe { transmute(MALLOC.get()) };
    answer(size, || unsafe { real(size) })
}

#[no_mangle]
unsafe extern "C" fn calloc(number: usize, size: usize) -> *mut c_void {
    let all = number.saturating_mul(size);
    if !is_known() {
        return first(all);
    }
    // SAFETY: see `malloc`.
    let real: Two = unsafe { transmute(CALLOC.get()) };
    answer(all, || unsafe { real(number, size) })
}

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
    // SAFETY: see `malloc`.
    let real: Two = unsafe { transmute(REALLOC.get()) };
    answer(size, || unsafe { real(memory as usize, size) })
}

#[no_mangle]
unsafe extern "C" fn reallocarray(memory: *mut c_void, number: usize, size: usize) -> *mut c_void {
    is_known();
    // SAFETY: see `malloc`.
    let real: Three = unsafe { transmute(REALLOCARRAY.get()) };
    answer(number.saturating_mul(size), || unsafe { real(memory as usize, number, size) })
}

#[no_mangle]
unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    is_known();
    // SAFETY: see `malloc`.
    let real: Two = unsafe { transmute(MEMALIGN.get()) };
    answer(size, || unsafe { real(alignment, size) })
}

#[no_mangle]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    is_known();
    // SAFETY: see `malloc`.
    let real: Two = unsafe { transmute(ALIGNED_ALLOC.get()) };
    answer(size, || unsafe { real(alignment, size) })
}

#[no_mangle]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    is_known();
    // SAFETY: see `malloc`.
    let real: unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int =
        unsafe { transmute(POSIX_MEMALIGN.get()) };
    // SAFETY: see `malloc`.
    let call = || unsafe { real(out, alignment, size) };
    match page() {
        Some(page) => count(page, size, |status| *status == 0, call).0,
        None => call(),
    }
}

#[no_mangle]
unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    is_known();
    // SAFETY: see `malloc`.
    let real: unsafe extern "C" fn(usize) -> *mut c_void = unsafe { transmute(VALLOC.get()) };
    answer(size, || unsafe { real(size) })
}

#[no_mangle]
unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    is_known();
    // SAFETY: see `malloc`.
    let real: unsafe extern "C" fn(usize) -> *mut c_void = unsafe { transmute(PVALLOC.get()) };
    answer(size, || unsafe { real(size) })
}

#[no_mangle]
unsafe extern "C" fn free(memory: *mut c_void) {
    if size_of_first(memory).is_some() || !is_known() {
        return;
    }
    // SAFETY: see `malloc`.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void) = transmute(FREE.get());
        real(memory);
    }
}
