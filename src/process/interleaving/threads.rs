//! Stops the other threads of the process while the partner runs.
//!
//! A thread counts as stopped while it is inside a waiting call that this library replaces, because the call returns
//! only in the process's time slice. So the idle threads of a pool cost nothing. All others get a signal, whose handler
//! waits for the next time slice.

use core::{
    ffi::{c_int, c_ulong, c_void},
    mem::transmute,
    ptr::{addr_of, null, null_mut},
    sync::atomic::{
        AtomicBool, AtomicI64, AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, SeqCst},
    },
};

use super::{
    clock_gettime, is_owner, own_time::State, page::Page, system::*, thread, BEGAN, OWNER,
    OWNER_POINTER, PROCESS, TIME,
};

/// The signal that stops a thread: programs hardly use one of this number.
const STOP: c_int = 61;
/// Longest time that threads may take to stop, in ns. Those that work in the kernel or wait for a CPU need some.
const LONGEST_STOP: i64 = 250_000_000;
/// Longest time to wait for threads that continue, in ns.
const LONGEST_START: i64 = 5_000_000;
/// Time between two looks at threads that are about to end, in ns.
const PAUSE: i64 = 50_000;
/// The most threads that get a signal.
const MOST: usize = 1024;

/// True in processes whose threads are to be stopped.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);
/// Odd from the beginning of a stop to its end.
static STOPS: AtomicU32 = AtomicU32::new(0);
const FREE: AtomicU32 = AtomicU32::new(0);
/// Ids of threads: each one near the index that it gives.
type Threads = [AtomicU32; MOST];
/// The threads that are stopped, or are stopped should they return to the program.
static WAITING: Threads = [FREE; MOST];
/// The threads that must finish something before they stop.
static BUSY: Threads = [FREE; MOST];
/// Number of places where the id of a thread may be.
const NEAR: usize = 8;
/// Number of threads that wait for the end of a stop.
static PARKED: AtomicU32 = AtomicU32::new(0);
/// Number of threads that wait for the time to go on.
static HELD: AtomicU32 = AtomicU32::new(0);
/// Changes when another thread has parked.
static NEWS: AtomicU32 = AtomicU32::new(0);
/// The last time when a thread found out whether the one that hands over waits, by the real clock.
static LOOKED: AtomicI64 = AtomicI64::new(i64::MIN / 2);
/// How often a thread was sampled while it waited in a call of the kernel, plus one; 0 if the process is not sampled.
pub static INTERRUPTED: AtomicUsize = AtomicUsize::new(0);
/// The threads that have got the signal of the present stop.
static SIGNALLED: Threads = [FREE; MOST];

/// `struct sigaction` of the C libraries for 64-bit Linux.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

extern "C" {
    fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
}

/// Prepares a process whose threads are to be stopped. No other thread runs yet.
pub fn prepare() {
    let is_handled = handle(STOP, stopped as extern "C" fn(c_int) as usize, 0);
    // Their first use would take a lock of the loader, which a stopped thread may hold.
    for function in [&EPOLL_WAIT, &POLL, &NANOSLEEP] {
        function.get();
    }
    IS_ACTIVE.store(is_handled, Relaxed);
}

/// Handles a signal with this function, which only makes system calls. False if that is impossible.
pub fn handle(signal: c_int, handler: usize, flags: c_int) -> bool {
    const ON_ITS_STACK: c_int = 0x0800_0000;
    const RESTARTS: c_int = 0x1000_0000;
    // Other signals wait meanwhile: their handlers would run in the partner's time slice.
    let mask = [u64::MAX; 16];
    let action = Action { handler, mask, flags: flags | ON_ITS_STACK | RESTARTS, restorer: 0 };
    // SAFETY: the action has libc's layout.
    (unsafe { sigaction(signal, &action, null_mut()) }) == 0
}

/// True if this process's threads are stopped.
pub fn is_active() -> bool {
    IS_ACTIVE.load(Relaxed)
}

/// Makes this thread the one that hands over, if that one waits or has ended and its time slice has been over for as long
/// again: a thread of a pool may do all measuring while the first thread waits for it. True if it is now.
#[cold]
#[inline(never)]
pub fn take_over(page: &Page, now: i64) -> bool {
    let (owner, slice) = (OWNER.load(Relaxed), page.quantum.load(Relaxed));
    // Finding out takes microseconds.
    let is_due = now - BEGAN.load(Relaxed) >= 2 * slice && now - LOOKED.load(Relaxed) >= slice;
    if !is_due {
        return false;
    }
    LOOKED.store(now, Relaxed);
    // SAFETY: it takes nothing. A forked process does not interleave, and has none of the other threads.
    let is_fork = (unsafe { getpid() }) as u32 != PROCESS.load(Relaxed);
    if is_fork || !waits_or_has_ended(owner) {
        return false;
    }
    let is_taken = OWNER.compare_exchange(owner, thread(), SeqCst, Relaxed).is_ok();
    if is_taken {
        OWNER_POINTER.store(thread_pointer(), Relaxed);
    }
    is_taken
}

/// True if a thread of this process waits in the kernel, or is no more.
fn waits_or_has_ended(id: u32) -> bool {
    const NO_SUCH_FILE: c_int = 2;

    let mut path = *b"/proc/self/task/0000000000/stat\0";
    let mut rest = id;
    for digit in path[16..26].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The kernel knows a thread by its number without leading zeros.
    let first = path[16..25].iter().take_while(|digit| **digit == b'0').count();
    path.copy_within(16 + first.., 16);
    let mut text = [0_u8; 256];
    let mut length = 0;
    let mut has_ended = false;
    keep_errno(|| {
        // SAFETY: the path ends with a zero, the place is as large as said, and libc has a place for each thread's error.
        unsafe {
            let file = open(path.as_ptr().cast(), 0);
            if file < 0 {
                has_ended = *__errno_location() == NO_SUCH_FILE;
                return;
            }
            length = pread(file, text.as_mut_ptr().cast(), text.len(), 0);
            close(file);
        }
    });
    // The name of the thread, which it can choose, stands in parentheses before the state.
    let text = text.get(..usize::try_from(length).unwrap_or(0)).unwrap_or(&[]);
    let name = text.iter().rposition(|byte| *byte == b')');
    has_ended || name.and_then(|end| text.get(end + 2)) == Some(&b'S')
}

/// Stops all threads but this one, which is the one that hands over. False if one of them cannot be stopped, or not soon; then some
/// may be stopped until they [continue](go_on).
pub fn stop() -> bool {
    if !is_active() {
        return true;
    }
    STOPS.fetch_add(1, SeqCst);
    let begin = nanoseconds(CLOCK_MONOTONIC);
    let own = OWNER.load(Relaxed);
    let mut signalled = 0;
    // Number of threads, all stopped, that were found last.
    let mut stopped_before = None;
    loop {
        let news = NEWS.load(Acquire);
        let (mut others, mut are_stopped) = (0, true);
        let all_have_signal = for_each_thread(|id| {
            if id == own {
                return true;
            }
            others += 1;
            if contains(&WAITING, id) {
                return true;
            }
            are_stopped = false;
            signal(id, &mut signalled)
        });
        if !all_have_signal {
            return false;
        }
        if are_stopped {
            // A thread that was stopped after this list was made may have started another one before. None of those
            // that were stopped before can.
            if others == 0 || stopped_before == Some(others) {
                return true;
            }
            stopped_before = Some(others);
            continue;
        }
        stopped_before = None;
        if nanoseconds(CLOCK_MONOTONIC) - begin > LONGEST_STOP {
            return false;
        }
        // A thread that is about to end parks no more, and wakes nobody when it is gone.
        wait_while(&NEWS, news, PAUSE);
    }
}

/// Sends the signal to a thread, once in each stop. False if that is impossible.
fn signal(id: u32, signalled: &mut usize) -> bool {
    if SIGNALLED[..*signalled].iter().any(|known| known.load(Relaxed) == id) {
        return true;
    }
    if *signalled == MOST || (*signalled == 0 && !has_own_handler()) {
        return false;
    }
    SIGNALLED[*signalled].store(id, Relaxed);
    *signalled += 1;
    // A thread that has ended meanwhile is no longer in the next list.
    // SAFETY: the handler only waits, and the call takes numbers.
    unsafe { real_syscall()(SYS_TGKILL, PROCESS.load(Relaxed), id, STOP) };
    true
}

/// False if the program has replaced the handler of the signal.
fn has_own_handler() -> bool {
    let mut action = Action { handler: 0, mask: [0; 16], flags: 0, restorer: 0 };
    // SAFETY: the action has libc's layout.
    let status = unsafe { sigaction(STOP, null(), &mut action) };
    status == 0 && action.handler == stopped as extern "C" fn(c_int) as usize
}

/// Lets the threads continue, and waits until they do.
pub fn go_on() {
    if !is_active() {
        return;
    }
    STOPS.fetch_add(1, SeqCst);
    // Threads in other calls find out when these return.
    if PARKED.load(SeqCst) == 0 {
        return;
    }
    wake(&STOPS);
    let begin = nanoseconds(CLOCK_MONOTONIC);
    loop {
        let parked = PARKED.load(Acquire);
        if parked == 0 || nanoseconds(CLOCK_MONOTONIC) - begin > LONGEST_START {
            return;
        }
        wait_while(&PARKED, parked, PAUSE);
    }
}

/// Waits until the time runs, in a thread that reads the clock before it is stopped, or continues before the others do: what
/// it measured meanwhile would take no time. False in a thread that must not wait: the one that hands over, and that of a
/// forked process, whose time nobody lets go on.
#[cold]
#[inline(never)]
pub fn wait_for_time() -> bool {
    // SAFETY: it takes nothing.
    if !is_active() || is_owner() || (unsafe { getpid() }) as u32 != PROCESS.load(Relaxed) {
        return false;
    }
    let is_still = || matches!(TIME.state(), State::Still(_));
    keep_errno(|| {
        HELD.fetch_add(1, SeqCst);
        while is_still() {
            let stops = STOPS.load(SeqCst);
            if is_stop(stops) {
                park(thread());
            } else {
                wait_while(&STOPS, stops, PAUSE);
            }
        }
        HELD.fetch_sub(1, SeqCst);
    });
    true
}

/// The time goes on: wakes the threads that wait for it.
pub fn release() {
    if HELD.load(SeqCst) > 0 {
        wake(&STOPS);
    }
}

/// Makes a call that waits: the thread need not be stopped meanwhile, and returns only when threads may run.
pub fn during_wait<T>(wait: impl FnOnce() -> T) -> T {
    if !is_active() || is_owner() {
        return wait();
    }
    before_stop(&WAITING, wait)
}

/// Starts a thread. It cannot be stopped before libc has finished that, so the one that starts it stops afterwards.
pub fn during_start<T>(start: impl FnOnce() -> T) -> T {
    if is_owner() {
        return start();
    }
    before_stop(&BUSY, start)
}

/// Acts while this thread is among `these`, and stops afterwards if it should have.
fn before_stop<T>(these: &'static Threads, act: impl FnOnce() -> T) -> T {
    let id = thread();
    let place = match claim(these, id) {
        Some(place) => place,
        None => return act(),
    };
    let result = act();
    place.store(0, SeqCst);
    if is_stop(STOPS.load(SeqCst)) {
        keep_errno(|| park(id));
    }
    result
}

extern "C" fn stopped(_: c_int) {
    keep_errno(|| {
        let id = thread();
        // Another program may send the signal to the first thread.
        if id != OWNER.load(Relaxed) && !contains(&BUSY, id) {
            park(id);
        }
    });
}

/// Waits while threads are to be stopped.
fn park(id: u32) {
    loop {
        let stop = STOPS.load(SeqCst);
        // SAFETY: it takes nothing.
        let process = (unsafe { getpid() }) as u32;
        // A forked process has no thread that would let it continue.
        if !is_stop(stop) || process != PROCESS.load(Relaxed) {
            return;
        }
        // Counted first: whoever ends the stop wakes those that are counted.
        PARKED.fetch_add(1, SeqCst);
        let place = claim(&WAITING, id);
        NEWS.fetch_add(1, SeqCst);
        wake(&NEWS);
        while STOPS.load(SeqCst) == stop {
            wait_while(&STOPS, stop, i64::MAX);
        }
        if let Some(place) = place {
            place.store(0, SeqCst);
        }
        if PARKED.fetch_sub(1, SeqCst) == 1 {
            wake(&PARKED);
        }
    }
}

fn is_stop(stops: u32) -> bool {
    stops % 2 == 1
}

fn places(these: &'static Threads, id: u32) -> impl Iterator<Item = &'static AtomicU32> {
    (0..NEAR).map(move |offset| &these[(id as usize + offset) % MOST])
}

/// Adds a thread, if there is a place for its id. A waiting thread without one gets the signal; one that starts another may
/// stop too early, so that this one cannot be stopped.
fn claim(these: &'static Threads, id: u32) -> Option<&'static AtomicU32> {
    places(these, id).find(|place| place.compare_exchange(0, id, SeqCst, Relaxed).is_ok())
}

fn contains(these: &'static Threads, id: u32) -> bool {
    places(these, id).any(|place| place.load(SeqCst) == id)
}

/// Calls `each` with the id of each thread of the process until it returns false. False then, or if the threads cannot
/// be listed.
fn for_each_thread(mut each: impl FnMut(u32) -> bool) -> bool {
    const OPEN_HERE: c_int = -100;
    const CLOSE_ON_EXEC: c_int = 0o2_000_000;
    /// Offsets in an entry of a directory.
    const LENGTH: usize = 16;
    const NAME: usize = 19;

    let path = b"/proc/self/task\0";
    // SAFETY: the path ends with a zero.
    let file = unsafe { real_syscall()(SYS_OPENAT, OPEN_HERE, path.as_ptr(), CLOSE_ON_EXEC) };
    if file < 0 {
        return false;
    }
    let mut entries = [0_u8; 2048];
    let all = 'list: loop {
        // SAFETY: the kernel writes at most this many bytes.
        let length = unsafe {
            real_syscall()(SYS_GETDENTS64, file, entries.as_mut_ptr(), entries.len() as c_ulong)
        };
        if length <= 0 {
            break length == 0;
        }
        let mut rest = &entries[..length as usize];
        while rest.len() > NAME {
            let length = u16::from_ne_bytes([rest[LENGTH], rest[LENGTH + 1]]) as usize;
            let name = &rest[NAME..length];
            // The others are `.` and `..`.
            if name[0].is_ascii_digit() {
                let digits = name.iter().take_while(|byte| byte.is_ascii_digit());
                if !each(digits.fold(0, |id, digit| 10 * id + u32::from(digit - b'0'))) {
                    break 'list false;
                }
            }
            rest = &rest[length..];
        }
    };
    // SAFETY: it was opened here.
    unsafe { close(file as c_int) };
    all
}

/// Waits until another thread changes a number, for at most this many ns.
fn wait_while(number: &AtomicU32, value: u32, longest: i64) {
    let longest = Timespec::of(longest);
    // SAFETY: the number and the time live until the call returns.
    unsafe {
        real_syscall()(
            SYS_FUTEX,
            addr_of!(*number),
            FUTEX_WAIT | FUTEX_PRIVATE,
            value,
            addr_of!(longest),
        );
    }
}

fn wake(number: &AtomicU32) {
    // SAFETY: the number lives as long as the process.
    unsafe {
        real_syscall()(SYS_FUTEX, addr_of!(*number), FUTEX_WAKE | FUTEX_PRIVATE, c_int::MAX);
    }
}

fn keep_errno(act: impl FnOnce()) {
    // SAFETY: libc has a place for each thread.
    unsafe {
        let before = *__errno_location();
        act();
        *__errno_location() = before;
    }
}

fn own_time() -> i64 {
    let mut time = Timespec::of(0);
    // SAFETY: the place is our own.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.total()
}

/// Sleeps for a time of the process. `sleep` sleeps for the real time that it gets.
pub unsafe fn sleep_for(
    time: *const Timespec,
    left: *mut Timespec,
    sleep: impl Fn(*const Timespec, *mut Timespec) -> c_int,
) -> c_int {
    if time.is_null() {
        return sleep(time, left);
    }
    // SAFETY: the caller has the time there.
    let mut rest = unsafe { *time };
    // Of these calls, some return the error, and others set it.
    let sleep = |time: *const Timespec, left| {
        // SAFETY: the time is that of the caller, or that below.
        let longest = unsafe { *time }.total();
        let is_over = |status| status == EINTR || is_interrupted(status);
        let sleep_for = |rest: Option<i64>| match rest.map(Timespec::of) {
            Some(rest) => sleep(&rest, left),
            None => sleep(time, left),
        };
        uninterrupted(longest, sleep_for, is_over)
    };
    if !is_active() || is_owner() {
        return sleep(time, left);
    }
    let deadline = own_time().saturating_add(rest.total());
    loop {
        let status = during_wait(|| sleep(&rest, left));
        let missing = deadline - own_time();
        if status != 0 || missing <= 0 {
            return status;
        }
        rest = Timespec::of(missing);
    }
}

/// Makes a call that waits for at most this many ns, and again for the rest of them whenever a sample has ended it, as
/// the kernel does only with calls that have no limit. `wait` gets the rest, or none at first. `is_interrupted` says of
/// an answer whether a signal has ended the call.
pub fn uninterrupted(
    longest: i64,
    wait: impl Fn(Option<i64>) -> c_int,
    is_interrupted: impl Fn(c_int) -> bool,
) -> c_int {
    if INTERRUPTED.load(Relaxed) == 0 {
        return wait(None);
    }
    let begin = nanoseconds(CLOCK_MONOTONIC);
    let mut rest = None;
    loop {
        let before = INTERRUPTED.load(Relaxed);
        let answer = wait(rest);
        if INTERRUPTED.load(Relaxed) == before || !is_interrupted(answer) {
            return answer;
        }
        rest = Some((longest - (nanoseconds(CLOCK_MONOTONIC) - begin)).max(0));
    }
}

/// True if a call has failed because a signal came.
pub fn is_interrupted(status: c_int) -> bool {
    // SAFETY: libc has a place for each thread.
    status == -1 && unsafe { *__errno_location() } == EINTR
}

/// Waits for events for at most this many ms of the process's time. `wait` waits for real ones, and returns 0 if there
/// were no events.
fn wait_for_events(timeout: c_int, wait: impl Fn(c_int) -> c_int) -> c_int {
    const MILLISECOND: i64 = 1_000_000;
    let wait = |timeout: c_int| {
        let wait_for = |rest: Option<i64>| {
            let rest = rest.filter(|_| timeout > 0);
            wait(rest.map_or(timeout, |rest| ((rest + MILLISECOND - 1) / MILLISECOND) as c_int))
        };
        uninterrupted(i64::from(timeout) * MILLISECOND, wait_for, is_interrupted)
    };
    // A call that only asks does not wait.
    if !is_active() || timeout == 0 || is_owner() {
        return wait(timeout);
    }
    let deadline = own_time() + i64::from(timeout) * MILLISECOND;
    let mut rest = timeout;
    loop {
        let events = during_wait(|| wait(rest));
        if events != 0 || timeout < 0 {
            return events;
        }
        let missing = deadline - own_time();
        if missing <= 0 {
            return events;
        }
        rest = ((missing + MILLISECOND - 1) / MILLISECOND) as c_int;
    }
}

type EpollWait = unsafe extern "C" fn(c_int, *mut c_void, c_int, c_int) -> c_int;
type Poll = unsafe extern "C" fn(*mut c_void, c_ulong, c_int) -> c_int;
type Nanosleep = unsafe extern "C" fn(*const Timespec, *mut Timespec) -> c_int;

static EPOLL_WAIT: Hidden = Hidden::new(b"epoll_wait\0");
static POLL: Hidden = Hidden::new(b"poll\0");
static NANOSLEEP: Hidden = Hidden::new(b"nanosleep\0");

#[no_mangle]
unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: libc has a function of this name and type.
    let wait: EpollWait = unsafe { transmute(EPOLL_WAIT.get()) };
    // SAFETY: the arguments are the caller's.
    wait_for_events(timeout, |timeout| unsafe { wait(epoll, events, most, timeout) })
}

#[no_mangle]
unsafe extern "C" fn poll(files: *mut c_void, count: c_ulong, timeout: c_int) -> c_int {
    // SAFETY: libc has a function of this name and type.
    let poll: Poll = unsafe { transmute(POLL.get()) };
    // SAFETY: the arguments are the caller's.
    wait_for_events(timeout, |timeout| unsafe { poll(files, count, timeout) })
}

#[no_mangle]
unsafe extern "C" fn nanosleep(time: *const Timespec, left: *mut Timespec) -> c_int {
    // SAFETY: libc has a function of this name and type.
    let sleep: Nanosleep = unsafe { transmute(NANOSLEEP.get()) };
    // SAFETY: the arguments are the caller's.
    unsafe { sleep_for(time, left, |time, left| sleep(time, left)) }
}
