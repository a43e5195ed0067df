//! The part that all preloaded libraries share: the calls of libc and the kernel that they need, without any crate; how
//! they find the memory that rbench shares with them; and calls that wait for a deadline of a replaced clock.
//!
//! The root of a library replaces `clock_gettime` and has these functions: `is_replaced` for the clocks with deadlines
//! to translate, `in_real_time` for such a deadline, `has_come` for one at which a call has returned, `sleep_for` and
//! `during_wait` for calls that wait, and `answered` for system calls that the library answers itself.

use core::{
    arch::asm,
    ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void},
    mem::{size_of, transmute},
    panic::PanicInfo,
    ptr::{addr_of, null_mut},
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { abort() }
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Timespec {
    pub seconds: i64,
    pub nanoseconds: i64,
}

type Clock = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;
type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;
pub type Affinity = unsafe extern "C" fn(c_int, usize, *mut c_void) -> c_int;
type Sleep = unsafe extern "C" fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int;

extern "C" {
    pub fn __errno_location() -> *mut c_int;
    pub fn abort() -> !;
    pub fn close(file: c_int) -> c_int;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
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
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn pread(file: c_int, out: *mut c_void, size: usize, offset: i64) -> isize;
    pub fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
    pub fn mremap(
        address: *mut c_void,
        length: usize,
        new_length: usize,
        flags: c_int,
        ...
    ) -> *mut c_void;
    pub fn munmap(address: *mut c_void, length: usize) -> c_int;
    pub fn sched_setscheduler(process: c_int, policy: c_int, priority: *const c_int) -> c_int;
    pub fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int;
    pub fn unsetenv(name: *const c_char) -> c_int;
}

pub const CLOCK_REALTIME: c_int = 0;
pub const CLOCK_MONOTONIC: c_int = 1;
pub const CLOCK_MONOTONIC_RAW: c_int = 4;
pub const CLOCK_REALTIME_COARSE: c_int = 5;
pub const CLOCK_MONOTONIC_COARSE: c_int = 6;
pub const CLOCK_PROCESS_CPUTIME: c_int = 2;
pub const CLOCK_THREAD_CPUTIME: c_int = 3;
pub const FUTEX_WAIT: c_int = 0;
pub const FUTEX_WAKE: c_int = 1;
pub const FUTEX_PRIVATE: c_int = 128;
const FUTEX_WAIT_COMMAND: c_long = FUTEX_WAIT as c_long;
const FUTEX_WAIT_BITSET: c_long = 9;
const FUTEX_COMMAND: c_long = 0x7f;
pub const SCHED_BATCH: c_int = 3;
pub const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;
pub const RUSAGE_CHILDREN: c_int = -1;
pub const RUSAGE_THREAD: c_int = 1;
/// Index in `struct rusage` of the number of voluntary context switches.
pub const VOLUNTARY_SWITCHES: usize = 16;
const TIMER_ABSTIME: c_int = 1;
pub const EINTR: c_int = 4;
pub const ETIMEDOUT: c_int = 110;

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const SYS_FUTEX: i64 = 202;
    pub const SYS_GETDENTS64: i64 = 217;
    pub const SYS_GETTID: i64 = 186;
    pub const SYS_OPENAT: i64 = 257;
    pub const SYS_PROCESS_VM_READV: i64 = 310;
    pub const SYS_TGKILL: i64 = 234;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    pub const SYS_FUTEX: i64 = 98;
    pub const SYS_GETDENTS64: i64 = 61;
    pub const SYS_GETTID: i64 = 178;
    pub const SYS_OPENAT: i64 = 56;
    pub const SYS_PROCESS_VM_READV: i64 = 270;
    pub const SYS_TGKILL: i64 = 131;
}
pub use numbers::*;

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

static CLOCK: Hidden = Hidden::new(b"clock_gettime\0");
static SYSCALL: Hidden = Hidden::new(b"syscall\0");
pub static AFFINITY: Hidden = Hidden::new(b"sched_getaffinity\0");
static SLEEP: Hidden = Hidden::new(b"clock_nanosleep\0");

pub fn real_clock() -> Clock {
    // SAFETY: libc has a function of this name and type.
    unsafe { transmute(CLOCK.get()) }
}

/// The kernel's function that libc's calls: without this step in between, a reading costs no more with the library.
static FAST_CLOCK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Finds the kernel's function, where libc has loaded it like a library. No other thread runs yet.
pub fn find_fast_clock() {
    const ONLY_LOADED: c_int = 5;
    #[cfg(target_arch = "x86_64")]
    const NAME: &[u8] = b"__vdso_clock_gettime\0";
    #[cfg(target_arch = "aarch64")]
    const NAME: &[u8] = b"__kernel_clock_gettime\0";
    // SAFETY: the names end with zeros.
    unsafe {
        let library = dlopen(name(b"linux-vdso.so.1\0").as_ptr(), ONLY_LOADED);
        let found = if library.is_null() { library } else { dlsym(library, name(NAME).as_ptr()) };
        FAST_CLOCK.store(if found.is_null() { CLOCK.get() } else { found }, Relaxed);
    }
}

/// Like libc's function, which sets errno as well. It must have been found.
pub fn fast_clock() -> Clock {
    // SAFETY: the kernel's function has this type, and so has libc's.
    unsafe { transmute(FAST_CLOCK.load(Relaxed)) }
}

/// A number that identifies this thread among those of the process, and costs nothing.
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the thread's control block begins with its own address (x86-64), or has it in this register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly));
        #[cfg(target_arch = "aarch64")]
        asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, preserves_flags, nomem));
    }
    pointer
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

    /// The time this many seconds and nanoseconds earlier.
    pub fn minus(&self, (seconds, nanoseconds): (i64, i64)) -> Self {
        let earlier = self.nanoseconds - nanoseconds;
        let borrowed = i64::from(earlier < 0);
        Self {
            seconds: self.seconds - seconds - borrowed,
            nanoseconds: earlier + borrowed * 1_000_000_000,
        }
    }

    /// The time in ns, of a clock's reading.
    pub fn sum(&self) -> i64 {
        self.seconds * 1_000_000_000 + self.nanoseconds
    }

    /// The same for any time, such as a deadline that never comes.
    pub fn total(&self) -> i64 {
        self.seconds.saturating_mul(1_000_000_000).saturating_add(self.nanoseconds)
    }
}

/// Finds the memory that rbench shares with this process. The variable of this name has the index of the process, and
/// the file numbers of the memory and of this library; both files are closed. Child processes get neither the variable
/// nor the library. Returns the index, and the memory if it can be mapped; none without the variable.
///
/// The name ends with a zero, and no other thread runs yet.
pub unsafe fn shared<Page>(variable: &'static [u8]) -> Option<(usize, *mut Page)> {
    const READ_WRITE: c_int = 3;
    const SHARED: c_int = 1;
    // SAFETY: variables end with zeros, and nobody else changes them.
    unsafe {
        let value = getenv(name(variable).as_ptr());
        if value.is_null() {
            return None;
        }
        let mut numbers = [0; 3];
        let words = CStr::from_ptr(value).to_bytes().split(|byte| *byte == b',');
        for (number, word) in numbers.iter_mut().zip(words) {
            *number = word.iter().fold(0, |all, digit| 10 * all + c_int::from(digit - b'0'));
        }
        let [index, file, library] = numbers;
        unsetenv(name(variable).as_ptr());
        restore_preload();
        let page = mmap(null_mut(), size_of::<Page>(), READ_WRITE, SHARED, file, 0);
        close(file);
        close(library);
        if page as isize == -1 { None } else { Some((index as usize, page.cast())) }
    }
}

/// Removes this library from the list of those that child processes preload.
unsafe fn restore_preload() {
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

/// Rust's own locks, channels and parked threads wait for a deadline with this call.
#[no_mangle]
unsafe extern "C" fn syscall(
    number: c_long,
    one: c_long,
    two: c_long,
    three: c_long,
    four: c_long,
    five: c_long,
    six: c_long,
) -> c_long {
    // SAFETY: the arguments are the caller's.
    if let Some(answer) = unsafe { crate::answered(number, one, two) } {
        return answer;
    }
    if number == SYS_FUTEX {
        return match two & FUTEX_COMMAND {
            // SAFETY: a futex call has the time there.
            FUTEX_WAIT_BITSET if four != 0 => unsafe {
                let deadline = &*(four as *const Timespec);
                let until = crate::in_real_time(deadline);
                // SAFETY: the arguments are the caller's, and the time lives until the call returns.
                let status = crate::during_wait(|| {
                    real_syscall()(number, one, two, three, addr_of!(until), five, six)
                });
                // The caller expects to be interrupted, and waits again for the rest of the time.
                let error = __errno_location();
                if status == -1 && *error == ETIMEDOUT && !crate::has_come(deadline, &until) {
                    *error = EINTR;
                }
                status
            },
            // SAFETY: the arguments are the caller's.
            FUTEX_WAIT_COMMAND | FUTEX_WAIT_BITSET => crate::during_wait(|| unsafe {
                real_syscall()(number, one, two, three, four, five, six)
            }),
            // SAFETY: as above.
            _ => unsafe { real_syscall()(number, one, two, three, four, five, six) },
        };
    }
    // SAFETY: the arguments are the caller's; a call that has fewer ignores the rest.
    unsafe { real_syscall()(number, one, two, three, four, five, six) }
}

#[no_mangle]
unsafe extern "C" fn clock_nanosleep(
    id: c_int,
    flags: c_int,
    time: *const Timespec,
    left: *mut Timespec,
) -> c_int {
    // SAFETY: libc has a function of this name and type.
    let sleep: Sleep = unsafe { transmute(SLEEP.get()) };
    if time.is_null() || !crate::is_replaced(id) {
        // SAFETY: the arguments are the caller's.
        return unsafe { sleep(id, flags, time, left) };
    }
    if flags & TIMER_ABSTIME == 0 {
        // SAFETY: as above.
        return unsafe { crate::sleep_for(time, left, |time, left| sleep(id, flags, time, left)) };
    }
    // SAFETY: as above.
    let deadline = unsafe { &*time };
    loop {
        let until = crate::in_real_time(deadline);
        // SAFETY: as above, and the time lives until the call returns.
        let status = crate::during_wait(|| unsafe { sleep(id, flags, &until, left) });
        if status != 0 || crate::has_come(deadline, &until) {
            return status;
        }
    }
}
