//! Replaces the clock in a benchmark's process, and hands over to the partner's process when the clock is read. rustc
//! compiles this file to a library that is preloaded; it belongs to no crate. Users have old compilers too, so it is
//! written for Rust 1.64.
//!
//! A process has its own time, which stands still while the partner runs. So it makes no difference whether a reading
//! begins or ends a measurement. Deadlines of Rust's own locks and channels, and of sleeping threads, are translated to
//! the real time. The process's time also stands still while others have the CPU: other processes and, on a virtual
//! machine, its host.
#![no_std]

use core::{
    ffi::{c_int, c_long, c_void},
    mem::{size_of_val, transmute},
    ptr::{addr_of, addr_of_mut, copy_nonoverlapping, null_mut},
    slice,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use clocks::{clock_gettime, is_replaced, monotonic, note_ahead};
use own_time::{Clocks, OwnTime, State};
use page::{Page, READINGS};
use system::*;
use threads::{during_wait, sleep_for};

static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
/// Index of this process, 0 or 1.
static MEMBER: AtomicUsize = AtomicUsize::new(0);
/// The process that joined: its forks do not interleave.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The thread that hands over, by its kernel id and its thread pointer: the first one, or one that reads the clock while that
/// one waits.
static OWNER: AtomicU32 = AtomicU32::new(0);
static OWNER_POINTER: AtomicUsize = AtomicUsize::new(0);
static TIME: OwnTime = OwnTime::new();
/// True while the time is being changed: a signal handler may read the clock meanwhile.
static IS_CHANGING: AtomicBool = AtomicBool::new(false);
/// Start of the current time slice, by the real clock.
static BEGAN: AtomicI64 = AtomicI64::new(0);

/// The time after it stood still.
struct Changed {
    /// The process's time by the clock that was read.
    shown: Timespec,
    /// The time by the monotonic clock without what it has gained, in ns.
    kept: i64,
}

/// Stops the time at a reading of this clock, hands over or accounts for interruptions, and lets it go on. None if
/// nothing is to be done. All this happens after the end of a measurement is known,
/// and before the next one begins.
#[cold]
#[inline(never)]
fn change(page: &Page, id: c_int, reading: i64) -> Option<Changed> {
    let now = monotonic(id, reading);
    let passed = now - BEGAN.load(Relaxed);
    // A clock that was set back is read as if the slice were over.
    let is_over = (passed < 0 || passed >= page.quantum.load(Relaxed))
        && page.gone[partner()].load(Acquire) == 0
        && page.given_up[MEMBER.load(Relaxed)].load(Relaxed) == 0
        && thread() == OWNER.load(Relaxed);
    let is_hurrying = TIME.is_hurrying();
    // Where other threads work, it cannot be known who took the CPU: it may have been one of them.
    let is_alone = !threads::is_active();
    if !(is_over || is_hurrying || is_alone) || IS_CHANGING.swap(true, Acquire) {
        TIME.note(now);
        return None;
    }
    sampling::note_stack(addr_of!(passed) as usize);
    let ahead = note_ahead(id);
    let now = if is_alone {
        let now = reading - ahead;
        TIME.settle(now, &Own);
        now
    } else {
        TIME.stand_still_for_all(&Own)
    };
    if is_hurrying {
        TIME.hurry();
    }
    let raw = if is_over { note_ahead(CLOCK_MONOTONIC_RAW) } else { 0 };
    let now = if is_over { switch_if_due(page, now) } else { TIME.go_on(&Own) };
    threads::release();
    let changed = TIME.read(now).map(|time| Changed {
        shown: Timespec::of(time + ahead),
        kept: TIME.without_gain(now),
    });
    // No later reading may be before an earlier one.
    if is_over {
        // This clock has another rate: it may have gone less far than the time that is left out.
        TIME.go_ahead(raw - note_ahead(CLOCK_MONOTONIC_RAW));
    }
    if let (Some(Changed { shown, .. }), State::Behind(left_out), CLOCK_MONOTONIC_RAW) =
        (&changed, TIME.state(), id)
    {
        // How far it is ahead is only known to some ns.
        TIME.go_ahead(shown.sum() - (nanoseconds(id) - left_out));
    }
    IS_CHANGING.store(false, Release);
    changed
}

/// The kernel's account of the first thread, an open file; negative where it does not show all that others take.
static ACCOUNT: AtomicI32 = AtomicI32::new(-1);

/// Opens the account. No other thread runs yet.
fn open_account(page: &Page) {
    const CLOSES_AT_EXEC: c_int = 0o2_000_000;
    if page.has_no_host.load(Relaxed) != 0 {
        // SAFETY: the name ends with a zero.
        let file = unsafe { open(name(b"/proc/thread-self/schedstat\0").as_ptr(), CLOSES_AT_EXEC) };
        ACCOUNT.store(file, Relaxed);
    }
}

/// The clocks of the first thread.
struct Own;

impl Clocks for Own {
    fn now(&self) -> i64 {
        nanoseconds(CLOCK_MONOTONIC)
    }

    fn cpu_time(&self) -> i64 {
        nanoseconds(CLOCK_THREAD_CPUTIME)
    }

    fn others(&self) -> i64 {
        nanoseconds(CLOCK_PROCESS_CPUTIME) - nanoseconds(CLOCK_THREAD_CPUTIME)
    }

    fn delay(&self) -> Option<i64> {
        let account = ACCOUNT.load(Relaxed);
        if account < 0 {
            return None;
        }
        let mut text = [0_u8; 80];
        // SAFETY: the place is as large as said. The program may have closed the file: then nothing is read.
        let length = unsafe { pread(account, text.as_mut_ptr().cast(), text.len(), 0) };
        // CPU time, delay, number of times that it got the CPU.
        let mut words = text.get(..usize::try_from(length).ok()?)?.split(|byte| *byte == b' ');
        let delay = words.nth(1)?;
        delay.iter().try_fold(0_i64, |sum, digit| {
            digit.is_ascii_digit().then(|| sum.wrapping_mul(10) + i64::from(digit - b'0'))
        })
    }

    fn waits(&self) -> i64 {
        let mut usage = [0; 18];
        // SAFETY: the place is as large as the type that libc fills.
        unsafe { getrusage(RUSAGE_THREAD, addr_of_mut!(usage)) };
        usage[VOLUNTARY_SWITCHES]
    }
}

/// The readings by which a harness finds out how long an iteration takes, and those before. So many, as others read the clock
/// too.
const FIRST: u64 = 10;

/// Keeps a reading of the first thread by the monotonic clock. A process that it forks writes there too.
#[inline(always)]
fn keep(page: &Page, reading: i64) {
    let own = MEMBER.load(Relaxed) % 2;
    let index = page.read[own].load(Relaxed);
    page.readings[own][index as usize % READINGS].store(reading, Relaxed);
    page.read[own].store(index + 1, Relaxed);
    if index == FIRST {
        begin_to_jump(page);
    }
}

/// The harness has found out how long an iteration takes: the clock is to jump, if it is to at all.
#[cold]
#[inline(never)]
fn begin_to_jump(page: &Page) {
    let after = page.jumps_after[MEMBER.load(Relaxed)].load(Relaxed);
    if after > 0 {
        let now = nanoseconds(CLOCK_MONOTONIC);
        TIME.run_at(1, now);
        TIME.jump_after(after, now);
    }
}

/// Hands over if the time slice is used up, and waits until it is this process's turn again. Returns the real time. The
/// process's own time stands still already.
fn switch_if_due(page: &Page, now: i64) -> i64 {
    let own = MEMBER.load(Relaxed);
    // SAFETY: libc has a place for each thread.
    let error = unsafe { __errno_location() };
    // SAFETY: as above. A caller that reads the clock does not expect errno to change.
    let before = unsafe { *error };
    page.held[own].fetch_add(now - BEGAN.load(Relaxed), Relaxed);
    sampling::end(page);
    let now = if threads::stop() {
        // What its other threads do from now on, they do beside the partner.
        TIME.worked(&Own);
        page.passed[own].fetch_add(1, Relaxed);
        code::move_if_due(now);
        page.began.store(nanoseconds(CLOCK_MONOTONIC), Relaxed);
        pass(page);
        wait(page);
        let beside = TIME.add_work(i64::MAX, &Own);
        let begin = nanoseconds(CLOCK_MONOTONIC);
        threads::go_on();
        // Those that continue first work until all do, on several CPUs at once.
        let first = TIME.add_work(nanoseconds(CLOCK_MONOTONIC) - begin, &Own);
        page.held[own].fetch_add(beside + first, Relaxed);
        go_on(page)
    } else {
        // The partner continues without this process.
        threads::go_on();
        page.given_up[own].store(1, Relaxed);
        page.gone[own].store(1, Release);
        page.began.store(nanoseconds(CLOCK_MONOTONIC), Relaxed);
        pass(page);
        TIME.go_on(&Own)
    };
    // SAFETY: as above.
    unsafe { *error = before };
    now
}

/// Resumes the time where it stood still.
fn go_on(page: &Page) -> i64 {
    sampling::begin(page);
    let now = TIME.go_on_after_wait(&Own);
    BEGAN.store(now, Relaxed);
    page.began.store(now, Relaxed);
    now
}

fn pass(page: &Page) {
    page.turn.store(partner() as u32, Release);
    // SAFETY: the address is in the mapping.
    unsafe { real_syscall()(SYS_FUTEX, addr_of!(page.turn), FUTEX_WAKE, c_int::MAX) };
}

/// Waits until the partner hands over or has left. Checks again twenty times a second, as rbench only writes to the
/// page, and wakes nobody, when a process has ended without handing over.
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
            real_syscall()(SYS_FUTEX, addr_of!(page.turn), FUTEX_WAIT, turn, addr_of!(most));
        }
    }
}

/// Waits until the partner has joined or left: before, it is being loaded, on a CPU that the threads of this process would
/// have.
fn wait_for_partner(page: &Page) {
    let own = &page.joined[MEMBER.load(Relaxed)];
    // SAFETY: the address is in the mapping.
    unsafe { real_syscall()(SYS_FUTEX, addr_of!(*own), FUTEX_WAKE, c_int::MAX) };
    let joined = &page.joined[partner()];
    let most = Timespec::of(50_000_000);
    while joined.load(Acquire) == 0 && page.gone[partner()].load(Acquire) == 0 {
        // SAFETY: as above, and the time lives until the call returns.
        unsafe { real_syscall()(SYS_FUTEX, addr_of!(*joined), FUTEX_WAIT, 0_u32, addr_of!(most)) };
    }
}

fn partner() -> usize {
    1 - MEMBER.load(Relaxed)
}

/// True if this is the thread that hands over. A fast check, which also holds in a forked process.
fn is_owner() -> bool {
    thread_pointer() == OWNER_POINTER.load(Relaxed)
}

fn thread() -> u32 {
    // SAFETY: it takes nothing.
    (unsafe { real_syscall()(SYS_GETTID) }) as u32
}

/// True if a deadline has come that was converted to this real time: the process's time has not stood still since.
fn has_come(point: &Timespec, until: &Timespec) -> bool {
    in_real_time(point).total() <= until.total()
}

/// Converts a deadline to the real time.
fn in_real_time(point: &Timespec) -> Timespec {
    let waited = match TIME.state() {
        State::Behind(left_out) => left_out,
        State::Still(stood) => nanoseconds(CLOCK_MONOTONIC) - stood,
    };
    Timespec::of(point.total().saturating_add(waited))
}

/// Versions of Criterion.rs before 0.5 warm up for at least a second, and then measure for at least another one. Where
/// the clock runs faster while it warms up, the warm-up is over sooner; iterations seem to take longer, so it plans as
/// many times fewer of them for its measurements, which the usual clock times. It says over its connection what it is
/// about to do.
#[no_mangle]
unsafe extern "C" fn send(socket: c_int, bytes: *const c_void, size: usize, flags: c_int) -> isize {
    let page = PAGE.load(Acquire);
    // The first thread says it, also while another one hands over.
    if !page.is_null() && thread() == PROCESS.load(Relaxed) {
        // SAFETY: the mapping lasts as long as the process.
        let speed = unsafe { &*page }.warm_up_speed[MEMBER.load(Relaxed)].load(Relaxed);
        if speed > 1 {
            // SAFETY: the caller's message is as long as it says.
            let message = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), size) };
            let says = |word: &[u8]| message.windows(word.len()).any(|part| part == word);
            // The id of a benchmark may have such a word too: a measurement is announced after each warm-up.
            if says(b"MeasurementStart") {
                TIME.run_at(1, nanoseconds(CLOCK_MONOTONIC));
            } else if says(b"Warmup") {
                TIME.run_at(speed, nanoseconds(CLOCK_MONOTONIC));
            }
        }
    }
    // SAFETY: libc has a function of this name and type.
    let send: Send = unsafe { transmute(SEND.get()) };
    // SAFETY: the arguments are the caller's.
    unsafe { send(socket, bytes, size, flags) }
}

type Send = unsafe extern "C" fn(c_int, *const c_void, usize, c_int) -> isize;

static SEND: Hidden = Hidden::new(b"send\0");

/// The flag `GRND_INSECURE`, with which Rust's hash maps ask for their keys.
const INSECURE: u32 = 4;

/// The library answers no system call in place of the kernel.
unsafe fn answered(_: c_long, _: c_long, _: c_long) -> Option<c_long> {
    None
}

/// Hides from a process that it is pinned to one CPU: one that starts as many threads as CPUs must not start fewer.
#[no_mangle]
unsafe extern "C" fn sched_getaffinity(process: c_int, size: usize, mask: *mut c_void) -> c_int {
    // SAFETY: libc has a function of this name and type.
    let affinity: Affinity = unsafe { transmute(AFFINITY.get()) };
    // SAFETY: the arguments are the caller's.
    let status = unsafe { affinity(process, size, mask) };
    let page = PAGE.load(Acquire);
    if status != 0 || page.is_null() || process != 0 {
        return status;
    }
    // SAFETY: the mapping lasts as long as the process.
    let cpus = unsafe { &(*page).cpus };
    // SAFETY: the mask has room for `size` bytes, and nobody writes to the page's any more.
    unsafe {
        let from: *const u8 = addr_of!(*cpus).cast();
        copy_nonoverlapping(from, mask.cast::<u8>(), size.min(size_of_val(cpus)));
    }
    0
}

/// Runs before `main`: joins the partner and waits for the first time slice. Child processes do not interleave.
extern "C" fn join() {
    // SAFETY: no other thread runs yet.
    unsafe {
        let (member, page) = match shared::<Page>(b"RBENCH_INTERLEAVING\0") {
            Some(shared) => shared,
            None => return,
        };
        let own = usize::from(member != 0);
        MEMBER.store(own, Relaxed);
        PROCESS.store(getpid() as u32, Relaxed);
        OWNER.store(thread(), Relaxed);
        OWNER_POINTER.store(thread_pointer(), Relaxed);
        if (*page).stops_threads.load(Relaxed) != 0 {
            threads::prepare();
            placement::prepare(&*page);
            TIME.wait_longer((*page).quantum.load(Relaxed));
        } else {
            // A process that wakes its partner is not preempted by it, but continues until it waits itself.
            sched_setscheduler(0, SCHED_BATCH, &0);
        }
        // The keys of hash maps decide how long a process takes, for its whole life. Names of files are drawn without this
        // flag: both must not choose the same.
        random::seed((*page).seed.load(Relaxed), INSECURE);
        clocks::prepare();
        open_account(&*page);
        TIME.stand_still(nanoseconds(CLOCK_MONOTONIC));
        sampling::prepare(&*page);
        code::find();
        // A second process of the same execution joins again.
        (*page).read[own].store(0, Relaxed);
        // The first write to each page of memory takes a microsecond, which would be measured.
        for reading in &(*page).readings[own] {
            reading.store(0, Relaxed);
        }
        (*page).gone[own].store(0, Release);
        (*page).joined[own].store(1, Release);
        if threads::is_active() {
            wait_for_partner(&*page);
        }
        wait(&*page);
        let now = go_on(&*page);
        let speed = (*page).speed[own].load(Relaxed);
        if speed > 0 {
            TIME.run_at(speed, now);
        }
        PAGE.store(page, Release);
    }
}

/// Runs after `main`: reports the CPU time of other threads, and leaves the interleaving.
extern "C" fn leave() {
    let page = PAGE.load(Acquire);
    // SAFETY: it takes nothing.
    let process = (unsafe { getpid() }) as u32;
    if page.is_null() || process != PROCESS.load(Relaxed) {
        return;
    }
    // SAFETY: the mapping lasts as long as the process.
    let page = unsafe { &*page };
    sampling::end(page);
    let own = MEMBER.load(Relaxed);
    let first = nanoseconds(CLOCK_THREAD_CPUTIME);
    let mut children = [0; 18];
    // SAFETY: the place is as large as the type that libc fills.
    unsafe { getrusage(RUSAGE_CHILDREN, addr_of_mut!(children)) };
    let [user, user_micros, system, system_micros, ..] = children;
    let children = (user + system) * 1_000_000_000 + (user_micros + system_micros) * 1_000;
    let others = nanoseconds(CLOCK_PROCESS_CPUTIME) - first;
    page.first_thread[own].fetch_add(first, Relaxed);
    page.others[own].fetch_add(others, Relaxed);
    page.children[own].fetch_add(children, Relaxed);
    page.time_read[own].store(1, Release);
    if page.turn.load(Acquire) == own as u32 {
        let now = nanoseconds(CLOCK_MONOTONIC);
        page.held[own].fetch_add(now - BEGAN.load(Relaxed), Relaxed);
        page.began.store(now, Relaxed);
    }
    page.gone[own].store(1, Release);
    pass(page);
    // Code that still runs, like destructors, does not hand over.
    OWNER_POINTER.store(0, Relaxed);
}

#[used]
#[link_section = ".init_array"]
static JOIN: extern "C" fn() = join;

#[used]
#[link_section = ".fini_array"]
static LEAVE: extern "C" fn() = leave;
