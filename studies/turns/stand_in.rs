//! Stands in for `clock_gettime` in a benchmark's process, and passes the turn to the partner's process when the
//! monotonic clock is read. Preloaded; compiled by `library.rs`, and no part of any crate.
//!
//! What a process waits for its turn is subtracted from every later reading, so that its time runs only
//! while it has the turn, and it makes no difference whether a reading begins or ends a measurement.
#![no_std]

use core::{
    ffi::{CStr, c_char, c_int, c_long, c_void},
    mem::transmute,
    panic::PanicInfo,
    ptr::null_mut,
    sync::atomic::{
        AtomicI64, AtomicPtr, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// What both processes share: a file that both have mapped.
#[repr(C)]
struct Page {
    /// Whose turn it is: 0 or 1.
    turn: AtomicU32,
    /// Whether a process has ended, or never takes turns.
    gone: [AtomicU32; 2],
    /// So that the numbers that follow are aligned.
    _unused: u32,
    /// How long a turn lasts at least, in ns.
    quantum: AtomicU64,
    /// How often each process has passed the turn.
    passed: [AtomicU64; 2],
    /// How much CPU time each process took while it waited, in ns.
    worked: [AtomicU64; 2],
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

type Clock = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

unsafe extern "C" {
    fn abort() -> !;
    fn close(file: c_int) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *mut c_char;
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn unsetenv(name: *const c_char) -> c_int;
}

const CLOCK_MONOTONIC: c_int = 1;
const CLOCK_PROCESS_CPUTIME_ID: c_int = 2;
const FUTEX_WAIT: c_int = 0;
const FUTEX_WAKE: c_int = 1;
const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(target_arch = "x86_64")]
const SYS_GETTID: c_long = 186;
#[cfg(target_arch = "aarch64")]
const SYS_FUTEX: c_long = 98;
#[cfg(target_arch = "aarch64")]
const SYS_GETTID: c_long = 178;

static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// Which of the two processes this is.
static SELF: AtomicU32 = AtomicU32::new(0);
/// The thread that passes the turn: the first one. Others run on.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// All that was waited, in ns.
static WAITED: AtomicI64 = AtomicI64::new(0);
/// When the present turn began, by the real clock.
static BEGAN: AtomicI64 = AtomicI64::new(0);

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { abort() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(id: c_int, out: *mut Timespec) -> c_int {
    let page = PAGE.load(Acquire);
    if page.is_null() || id != CLOCK_MONOTONIC {
        return real(id, out);
    }
    // SAFETY: the mapping lasts as long as the process.
    let page = unsafe { &*page };
    let mut now = nanoseconds(CLOCK_MONOTONIC);
    if now - BEGAN.load(Relaxed) >= page.quantum.load(Relaxed) as i64
        && thread() == OWNER.load(Relaxed)
        && page.gone[other()].load(Acquire) == 0
    {
        now = take_turns(page, now);
    }
    let time = now - WAITED.load(Relaxed);
    // SAFETY: the caller's, who wants the time there.
    unsafe {
        *out = Timespec { seconds: time / 1_000_000_000, nanoseconds: time % 1_000_000_000 };
    }
    0
}

/// Passes the turn and waits until it comes back; when that was.
fn take_turns(page: &Page, now: i64) -> i64 {
    let own = SELF.load(Relaxed) as usize;
    let worked = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
    pass(page);
    wait(page);
    let worked = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - worked;
    page.passed[own].fetch_add(1, Relaxed);
    page.worked[own].fetch_add(worked as u64, Relaxed);
    let back = nanoseconds(CLOCK_MONOTONIC);
    WAITED.fetch_add(back - now, Relaxed);
    BEGAN.store(back, Relaxed);
    back
}

fn pass(page: &Page) {
    page.turn.store(other() as u32, Release);
    // SAFETY: the address is in the mapping.
    unsafe { syscall(SYS_FUTEX, &raw const page.turn, FUTEX_WAKE, c_int::MAX) };
}

/// Waits for the turn, or until there is nobody to take turns with. Looks again twenty times a second: who
/// started the processes only writes to the file when one of them has ended.
fn wait(page: &Page) {
    let own = SELF.load(Relaxed);
    let most = Timespec { seconds: 0, nanoseconds: 50_000_000 };
    loop {
        let turn = page.turn.load(Acquire);
        if turn == own || page.gone[other()].load(Acquire) != 0 {
            return;
        }
        // SAFETY: the address is in the mapping, and the time lives until the call returns.
        unsafe { syscall(SYS_FUTEX, &raw const page.turn, FUTEX_WAIT, turn, &raw const most) };
    }
}

fn other() -> usize {
    1 - SELF.load(Relaxed) as usize
}

fn thread() -> u32 {
    // SAFETY: it takes nothing.
    (unsafe { syscall(SYS_GETTID) }) as u32
}

fn nanoseconds(id: c_int) -> i64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    real(id, &mut time);
    time.seconds * 1_000_000_000 + time.nanoseconds
}

fn real(id: c_int, out: *mut Timespec) -> c_int {
    let mut function = REAL.load(Relaxed);
    if function.is_null() {
        // SAFETY: the name ends with a zero, and libc has a function of this name and type.
        function = unsafe { dlsym(RTLD_NEXT, c"clock_gettime".as_ptr()) };
        REAL.store(function, Relaxed);
    }
    // SAFETY: as above.
    let function: Clock = unsafe { transmute(function) };
    // SAFETY: the arguments are the caller's, or a place of our own.
    unsafe { function(id, out) }
}

/// Before `main`: joins the partner and waits for the first turn. What this process starts takes no turns.
extern "C" fn join() {
    const READ_WRITE: c_int = 2;
    const PROTECTION: c_int = 3;
    const SHARED: c_int = 1;
    // SAFETY: no other thread runs yet; the names end with zeros, as variables do.
    unsafe {
        let value = getenv(c"RBENCH_TURNS".as_ptr());
        if value.is_null() {
            return;
        }
        let own = CStr::from_ptr(value).to_bytes().first().copied().unwrap_or(b'0') - b'0';
        let file = open(value.add(1), READ_WRITE);
        unsetenv(c"LD_PRELOAD".as_ptr());
        unsetenv(c"RBENCH_TURNS".as_ptr());
        if file < 0 || own > 1 {
            return;
        }
        let page = mmap(null_mut(), 4096, PROTECTION, SHARED, file, 0);
        close(file);
        if page as isize == -1 {
            return;
        }
        SELF.store(own.into(), Relaxed);
        OWNER.store(thread(), Relaxed);
        let page = page.cast::<Page>();
        let begin = nanoseconds(CLOCK_MONOTONIC);
        wait(&*page);
        let first = nanoseconds(CLOCK_MONOTONIC);
        WAITED.store(first - begin, Relaxed);
        BEGAN.store(first, Relaxed);
        PAGE.store(page, Release);
    }
}

/// After `main`: gives the turn up for good.
extern "C" fn leave() {
    let page = PAGE.load(Acquire);
    if !page.is_null() {
        // SAFETY: the mapping lasts as long as the process.
        let page = unsafe { &*page };
        page.gone[SELF.load(Relaxed) as usize].store(1, Release);
        pass(page);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static JOIN: extern "C" fn() = join;

#[used]
#[unsafe(link_section = ".fini_array")]
static LEAVE: extern "C" fn() = leave;
