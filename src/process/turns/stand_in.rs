//! Stands in for the clock in a benchmark's process, and passes the turn to the partner's process when the
//! clock is read. rustc compiles it to a library that is preloaded; it is no part of any crate.
//!
//! A process lives in a time of its own that stands still while it waits for its turn. So it makes no
//! difference whether a reading begins or ends a measurement. What libc is given as a point in time is
//! translated to the real time.
#![no_std]

use core::{
    ffi::{CStr, c_char, c_int, c_long, c_void},
    mem::transmute,
    panic::PanicInfo,
    ptr::null_mut,
    sync::atomic::{
        AtomicI64, AtomicPtr, AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use page::Page;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

type Clock = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;
type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;
type Sleep = unsafe extern "C" fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int;

unsafe extern "C" {
    fn abort() -> !;
    fn close(file: c_int) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *mut c_char;
    fn getpid() -> c_int;
    fn getrusage(who: c_int, usage: *mut [i64; 18]) -> c_int;
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn pthread_self() -> usize;
    fn sched_setscheduler(process: c_int, policy: c_int, priority: *const c_int) -> c_int;
    fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int;
    fn unsetenv(name: *const c_char) -> c_int;
}

const CLOCK_MONOTONIC: c_int = 1;
const CLOCK_PROCESS_CPUTIME: c_int = 2;
const CLOCK_THREAD_CPUTIME: c_int = 3;
const FUTEX_WAIT: c_int = 0;
const FUTEX_WAKE: c_int = 1;
const FUTEX_WAIT_BITSET: c_long = 9;
const FUTEX_COMMAND: c_long = 0x7f;
const SCHED_BATCH: c_int = 3;
const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;
const RUSAGE_CHILDREN: c_int = -1;
const TIMER_ABSTIME: c_int = 1;

#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(target_arch = "x86_64")]
const SYS_GETTID: c_long = 186;
#[cfg(target_arch = "aarch64")]
const SYS_FUTEX: c_long = 98;
#[cfg(target_arch = "aarch64")]
const SYS_GETTID: c_long = 178;

static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
/// Which of the two processes this is.
static MEMBER: AtomicUsize = AtomicUsize::new(0);
/// The process that joined: what it forks does not take turns.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The thread that passes the turn: the first one, as the kernel and as libc call it. Others run on.
static OWNER: AtomicU32 = AtomicU32::new(0);
static OWNER_IN_LIBC: AtomicUsize = AtomicUsize::new(0);
/// Twice what was waited up to now; or, while the process waits, one more than twice the time at which it
/// stands still. In one number, so that other threads never see time go back.
static TIME: AtomicI64 = AtomicI64::new(0);
/// When the present turn began, by the real clock.
static BEGAN: AtomicI64 = AtomicI64::new(0);

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { abort() }
}

/// The function of this name that this library hides.
struct Hidden {
    name: &'static CStr,
    function: AtomicPtr<c_void>,
}

impl Hidden {
    const fn new(name: &'static CStr) -> Self {
        Self { name, function: AtomicPtr::new(null_mut()) }
    }

    fn get(&self) -> *mut c_void {
        let known = self.function.load(Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with a zero.
        let found = unsafe { dlsym(RTLD_NEXT, self.name.as_ptr()) };
        self.function.store(found, Relaxed);
        found
    }
}

static CLOCK: Hidden = Hidden::new(c"clock_gettime");
static SYSCALL: Hidden = Hidden::new(c"syscall");
static SLEEP: Hidden = Hidden::new(c"clock_nanosleep");

fn real_clock() -> Clock {
    // SAFETY: libc has a function of this name and type.
    unsafe { transmute(CLOCK.get()) }
}

fn real_syscall() -> Syscall {
    // SAFETY: as above.
    unsafe { transmute(SYSCALL.get()) }
}

/// Whether a clock counts the time of the world, and not that of a thread or a process.
fn is_of_the_world(id: c_int) -> bool {
    matches!(id, 0 | CLOCK_MONOTONIC | 4..=7 | 11)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(id: c_int, out: *mut Timespec) -> c_int {
    let page = PAGE.load(Acquire);
    // SAFETY: the arguments are the caller's.
    let status = unsafe { real_clock()(id, out) };
    if page.is_null() || !is_of_the_world(id) || status != 0 {
        return status;
    }
    // SAFETY: the mapping lasts as long as the process.
    let page = unsafe { &*page };
    // SAFETY: the call has written the time there.
    let out = unsafe { &mut *out };
    // A signal handler may read the clock while its thread waits.
    if is_owner() && TIME.load(Relaxed) & 1 == 0 {
        let now = if id == CLOCK_MONOTONIC { out.total() } else { nanoseconds(CLOCK_MONOTONIC) };
        if now - BEGAN.load(Relaxed) >= page.quantum.load(Relaxed)
            && page.gone[partner()].load(Acquire) == 0
            && thread() == OWNER.load(Relaxed)
        {
            take_turns(page, now);
            // SAFETY: as above.
            unsafe { real_clock()(id, out) };
        }
    }
    let time = TIME.load(Acquire);
    *out = Timespec::of(if time & 1 == 0 {
        out.total() - (time >> 1)
    } else {
        // Clocks differ by what they show, and not by how fast they go.
        (time >> 1) + out.total() - nanoseconds(CLOCK_MONOTONIC)
    });
    0
}

/// Passes the turn and waits until it comes back.
fn take_turns(page: &Page, now: i64) {
    let own = MEMBER.load(Relaxed);
    page.held[own].fetch_add(now - BEGAN.load(Relaxed), Relaxed);
    page.passed[own].fetch_add(1, Relaxed);
    stand_still(now);
    page.began.store(now, Relaxed);
    pass(page);
    wait(page);
    go_on(page);
}

fn stand_still(now: i64) {
    let waited = TIME.load(Relaxed) >> 1;
    TIME.store(((now - waited) << 1) | 1, Release);
}

/// Goes on from the time at which it stood still.
fn go_on(page: &Page) {
    let stood = TIME.load(Relaxed) >> 1;
    let now = nanoseconds(CLOCK_MONOTONIC);
    TIME.store((now - stood) << 1, Release);
    BEGAN.store(now, Relaxed);
    page.began.store(now, Relaxed);
}

fn pass(page: &Page) {
    page.turn.store(partner() as u32, Release);
    // SAFETY: the address is in the mapping.
    unsafe { real_syscall()(SYS_FUTEX, &raw const page.turn, FUTEX_WAKE, c_int::MAX) };
}

/// Waits for the turn, or until there is nobody to take turns with. Looks again twenty times a second, as
/// rbench only writes to the page, and wakes nobody, when a process has ended without passing the turn.
fn wait(page: &Page) {
    let own = MEMBER.load(Relaxed) as u32;
    let most = Timespec::of(50_000_000);
    loop {
        let turn = page.turn.load(Acquire);
        if turn == own {
            return;
        }
        if page.gone[partner()].load(Acquire) != 0 {
            page.turn.store(own, Release);
            return;
        }
        // SAFETY: the address is in the mapping, and the time lives until the call returns.
        unsafe {
            real_syscall()(SYS_FUTEX, &raw const page.turn, FUTEX_WAIT, turn, &raw const most);
        }
    }
}

fn partner() -> usize {
    1 - MEMBER.load(Relaxed)
}

/// Whether this may be the thread that passes the turn. Told fast, but a forked process has one too.
fn is_owner() -> bool {
    // SAFETY: it takes nothing.
    (unsafe { pthread_self() }) == OWNER_IN_LIBC.load(Relaxed)
}

fn thread() -> u32 {
    // SAFETY: it takes nothing.
    (unsafe { real_syscall()(SYS_GETTID) }) as u32
}

fn nanoseconds(id: c_int) -> i64 {
    let mut time = Timespec::of(0);
    // SAFETY: the place is our own.
    unsafe { real_clock()(id, &mut time) };
    time.total()
}

impl Timespec {
    fn of(total: i64) -> Self {
        Self {
            seconds: total.div_euclid(1_000_000_000),
            nanoseconds: total.rem_euclid(1_000_000_000),
        }
    }

    fn total(&self) -> i64 {
        self.seconds.saturating_mul(1_000_000_000).saturating_add(self.nanoseconds)
    }

    /// The same point in the real time.
    fn real(&self) -> Self {
        let time = TIME.load(Acquire);
        let waited = if time & 1 == 0 {
            time >> 1
        } else {
            nanoseconds(CLOCK_MONOTONIC) - (time >> 1)
        };
        Self::of(self.total().saturating_add(waited))
    }
}

/// Rust's own locks, channels and parked threads wait until a point in time by this call.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    one: c_long,
    two: c_long,
    three: c_long,
    four: c_long,
    five: c_long,
    six: c_long,
) -> c_long {
    if number == SYS_FUTEX && two & FUTEX_COMMAND == FUTEX_WAIT_BITSET && four != 0 {
        // SAFETY: a futex call has the time there.
        let until = unsafe { &*(four as *const Timespec) }.real();
        // SAFETY: the arguments are the caller's, and the time lives until the call returns.
        return unsafe { real_syscall()(number, one, two, three, &raw const until, five, six) };
    }
    // SAFETY: the arguments are the caller's; a call that has fewer ignores the rest.
    unsafe { real_syscall()(number, one, two, three, four, five, six) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    id: c_int,
    flags: c_int,
    time: *const Timespec,
    left: *mut Timespec,
) -> c_int {
    // SAFETY: libc has a function of this name and type.
    let sleep: Sleep = unsafe { transmute(SLEEP.get()) };
    if flags & TIMER_ABSTIME == 0 || !is_of_the_world(id) || time.is_null() {
        // SAFETY: the arguments are the caller's.
        return unsafe { sleep(id, flags, time, left) };
    }
    // SAFETY: as above, and the time lives until the call returns.
    unsafe { sleep(id, flags, &(*time).real(), left) }
}

/// Before `main`: joins the partner and waits for the first turn. What this process starts takes no turns.
extern "C" fn join() {
    const READ_WRITE: c_int = 3;
    const SHARED: c_int = 1;
    // SAFETY: no other thread runs yet; the names end with zeros, as variables do.
    unsafe {
        let value = getenv(c"RBENCH_TURNS".as_ptr());
        if value.is_null() {
            return;
        }
        // Which process this is, and the open files: of the page and of this library.
        let mut numbers = [0; 3];
        let words = CStr::from_ptr(value).to_bytes().split(|byte| *byte == b',');
        for (number, word) in numbers.iter_mut().zip(words) {
            *number = word.iter().fold(0, |all, digit| 10 * all + c_int::from(digit - b'0'));
        }
        let [member, file, library] = numbers;
        restore_preload();
        unsetenv(c"RBENCH_TURNS".as_ptr());
        let page = mmap(null_mut(), 4096, READ_WRITE, SHARED, file, 0);
        close(file);
        close(library);
        if page as isize == -1 {
            return;
        }
        let own = usize::from(member != 0);
        MEMBER.store(own, Relaxed);
        PROCESS.store(getpid() as u32, Relaxed);
        OWNER.store(thread(), Relaxed);
        OWNER_IN_LIBC.store(pthread_self(), Relaxed);
        let page = page.cast::<Page>();
        // Whoever wakes its partner is not interrupted by it, but goes on until it waits itself.
        sched_setscheduler(0, SCHED_BATCH, &0);
        stand_still(nanoseconds(CLOCK_MONOTONIC));
        // A second process of the same execution joins again.
        (*page).gone[own].store(0, Release);
        (*page).joined[own].store(1, Release);
        wait(&*page);
        go_on(&*page);
        PAGE.store(page, Release);
    }
}

/// Takes this library off the list of those that are preloaded to what this process starts.
unsafe fn restore_preload() {
    // SAFETY: the variable is a text that ends with a zero, and no other thread runs yet.
    unsafe {
        let list = getenv(c"LD_PRELOAD".as_ptr());
        if list.is_null() {
            return;
        }
        match CStr::from_ptr(list).to_bytes().iter().position(|byte| *byte == b':') {
            Some(end) => setenv(c"LD_PRELOAD".as_ptr(), list.add(end + 1), 1),
            None => unsetenv(c"LD_PRELOAD".as_ptr()),
        };
    }
}

/// After `main`: tells what other threads took, and gives the turn up for good.
extern "C" fn leave() {
    let page = PAGE.load(Acquire);
    // SAFETY: it takes nothing.
    let process = (unsafe { getpid() }) as u32;
    if page.is_null() || process != PROCESS.load(Relaxed) {
        return;
    }
    // SAFETY: the mapping lasts as long as the process.
    let page = unsafe { &*page };
    let own = MEMBER.load(Relaxed);
    let first = nanoseconds(CLOCK_THREAD_CPUTIME);
    let mut children = [0; 18];
    // SAFETY: the place is as large as the type that libc fills.
    unsafe { getrusage(RUSAGE_CHILDREN, &raw mut children) };
    let [user, user_micros, system, system_micros, ..] = children;
    let children = (user + system) * 1_000_000_000 + (user_micros + system_micros) * 1_000;
    let others = nanoseconds(CLOCK_PROCESS_CPUTIME) - first + children;
    page.first_thread[own].fetch_add(first, Relaxed);
    page.others[own].fetch_add(others, Relaxed);
    page.told[own].store(1, Release);
    if page.turn.load(Acquire) == own as u32 {
        let now = nanoseconds(CLOCK_MONOTONIC);
        page.held[own].fetch_add(now - BEGAN.load(Relaxed), Relaxed);
        page.began.store(now, Relaxed);
    }
    page.gone[own].store(1, Release);
    pass(page);
}

#[used]
#[unsafe(link_section = ".init_array")]
static JOIN: extern "C" fn() = join;

#[used]
#[unsafe(link_section = ".fini_array")]
static LEAVE: extern "C" fn() = leave;
