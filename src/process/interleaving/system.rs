//! The calls of libc and the kernel that the preloaded library needs, without any crate.

use core::{
    ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void},
    mem::transmute,
    ptr::null_mut,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

#[repr(C)]
pub struct Timespec {
    pub seconds: i64,
    pub nanoseconds: i64,
}

pub type Clock = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;
pub type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;
pub type Affinity = unsafe extern "C" fn(c_int, usize, *mut c_void) -> c_int;
pub type Sleep = unsafe extern "C" fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int;

extern "C" {
    pub fn __errno_location() -> *mut c_int;
    pub fn abort() -> !;
    pub fn close(file: c_int) -> c_int;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn getauxval(what: c_ulong) -> c_ulong;
    pub fn getenv(name: *const c_char) -> *mut c_char;
    pub fn getpid() -> c_int;
    pub fn getrusage(who: c_int, usage: *mut [i64; 18]) -> c_int;
    pub fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
    pub fn mremap(
        address: *mut c_void,
        length: usize,
        new_length: usize,
        flags: c_int,
        ...
    ) -> *mut c_void;
    pub fn munmap(address: *mut c_void, length: usize) -> c_int;
    pub fn pthread_self() -> usize;
    pub fn sched_setscheduler(process: c_int, policy: c_int, priority: *const c_int) -> c_int;
    pub fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int;
    pub fn unsetenv(name: *const c_char) -> c_int;
}

pub const CLOCK_MONOTONIC: c_int = 1;
pub const CLOCK_PROCESS_CPUTIME: c_int = 2;
pub const CLOCK_THREAD_CPUTIME: c_int = 3;
pub const FUTEX_WAIT: c_int = 0;
pub const FUTEX_WAKE: c_int = 1;
pub const FUTEX_WAIT_BITSET: c_long = 9;
pub const FUTEX_COMMAND: c_long = 0x7f;
pub const SCHED_BATCH: c_int = 3;
pub const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;
pub const RUSAGE_CHILDREN: c_int = -1;
pub const RUSAGE_THREAD: c_int = 1;
/// Index in `struct rusage` of the number of voluntary context switches.
pub const VOLUNTARY_SWITCHES: usize = 16;
pub const TIMER_ABSTIME: c_int = 1;

#[cfg(target_arch = "x86_64")]
pub const SYS_FUTEX: c_long = 202;
#[cfg(target_arch = "x86_64")]
pub const SYS_GETTID: c_long = 186;
#[cfg(target_arch = "aarch64")]
pub const SYS_FUTEX: c_long = 98;
#[cfg(target_arch = "aarch64")]
pub const SYS_GETTID: c_long = 178;

/// A libc function of the same name, which this library hides.
pub struct Hidden {
    name: &'static [u8],
    function: AtomicPtr<c_void>,
}

/// Converts a name that ends with a zero.
pub fn name(bytes: &'static [u8]) -> &'static CStr {
    // SAFETY: all names here end with a zero, and have no other.
    unsafe { CStr::from_bytes_with_nul_unchecked(bytes) }
}

impl Hidden {
    pub const fn new(name: &'static [u8]) -> Self {
        Self { name, function: AtomicPtr::new(null_mut()) }
    }

    pub fn get(&self) -> *mut c_void {
        let known = self.function.load(Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with a zero.
        let found = unsafe { dlsym(RTLD_NEXT, name(self.name).as_ptr()) };
        self.function.store(found, Relaxed);
        found
    }
}

pub static CLOCK: Hidden = Hidden::new(b"clock_gettime\0");
pub static SYSCALL: Hidden = Hidden::new(b"syscall\0");
pub static AFFINITY: Hidden = Hidden::new(b"sched_getaffinity\0");
pub static SLEEP: Hidden = Hidden::new(b"clock_nanosleep\0");

pub fn real_clock() -> Clock {
    // SAFETY: libc has a function of this name and type.
    unsafe { transmute(CLOCK.get()) }
}

pub fn real_syscall() -> Syscall {
    // SAFETY: as above.
    unsafe { transmute(SYSCALL.get()) }
}

pub fn nanoseconds(id: c_int) -> i64 {
    let mut time = Timespec::of(0);
    // SAFETY: the place is our own.
    unsafe { real_clock()(id, &mut time) };
    time.total()
}

impl Timespec {
    pub fn of(total: i64) -> Self {
        Self {
            seconds: total.div_euclid(1_000_000_000),
            nanoseconds: total.rem_euclid(1_000_000_000),
        }
    }

    pub fn total(&self) -> i64 {
        self.seconds.saturating_mul(1_000_000_000).saturating_add(self.nanoseconds)
    }
}

/// Parses a variable that holds comma-separated numbers.
pub unsafe fn numbers<const COUNT: usize>(value: *const c_char) -> [c_int; COUNT] {
    let mut numbers = [0; COUNT];
    // SAFETY: variables end with zeros.
    let words = unsafe { CStr::from_ptr(value) }.to_bytes().split(|byte| *byte == b',');
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = word.iter().fold(0, |all, digit| 10 * all + c_int::from(digit - b'0'));
    }
    numbers
}

/// Removes this library from the list of those that child processes preload.
pub unsafe fn restore_preload() {
    // SAFETY: the variable is a text that ends with a zero, and no other thread runs yet.
    unsafe {
        let list = getenv(name(b"LD_PRELOAD\0").as_ptr());
        if list.is_null() {
            return;
        }
        match CStr::from_ptr(list).to_bytes().iter().position(|byte| *byte == b':') {
            Some(end) => setenv(name(b"LD_PRELOAD\0").as_ptr(), list.add(end + 1), 1),
            None => unsetenv(name(b"LD_PRELOAD\0").as_ptr()),
        };
    }
}
