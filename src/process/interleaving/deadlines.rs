//! Calls of the C library that wait for an absolute time: of POSIX threads and semaphores, and timers as files. Rust's own
//! locks wait by `syscall`; databases in C and C++ by these. All clocks of the process are behind by the same time, so it
//! makes no difference by which one a call waits.

use core::{
    ffi::{c_int, c_void},
    mem::transmute,
    ptr::null,
};

use super::system::*;

type Wait = unsafe extern "C" fn(*mut c_void, *const Timespec) -> c_int;
type WaitByClock = unsafe extern "C" fn(*mut c_void, c_int, *const Timespec) -> c_int;
type WaitWith = unsafe extern "C" fn(*mut c_void, *mut c_void, *const Timespec) -> c_int;
type WaitWithByClock =
    unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *const Timespec) -> c_int;
type SetTimer = unsafe extern "C" fn(c_int, c_int, *const [Timespec; 2], *mut [Timespec; 2]) -> c_int;

static COND_TIMEDWAIT: Hidden = Hidden::new(b"pthread_cond_timedwait\0");
static COND_CLOCKWAIT: Hidden = Hidden::new(b"pthread_cond_clockwait\0");
static MUTEX_TIMEDLOCK: Hidden = Hidden::new(b"pthread_mutex_timedlock\0");
static MUTEX_CLOCKLOCK: Hidden = Hidden::new(b"pthread_mutex_clocklock\0");
static SEM_TIMEDWAIT: Hidden = Hidden::new(b"sem_timedwait\0");
static SEM_CLOCKWAIT: Hidden = Hidden::new(b"sem_clockwait\0");
static TIMERFD_SETTIME: Hidden = Hidden::new(b"timerfd_settime\0");

/// Waits until a deadline of the process's time. `wait` waits until a real time, and says by `is_over` that it has come.
/// True if that is also the deadline.
unsafe fn until(
    deadline: *const Timespec,
    wait: impl Fn(*const Timespec) -> c_int,
    is_over: impl Fn(c_int) -> bool,
) -> (c_int, bool) {
    if deadline.is_null() {
        return (wait(deadline), true);
    }
    // SAFETY: the caller has the time there.
    let deadline = unsafe { &*deadline };
    let real = crate::in_real_time(deadline);
    let status = crate::during_wait(|| wait(&real));
    (status, !is_over(status) || crate::has_come(deadline, &real))
}

/// Waits on a condition. If the real time came first, the caller is woken without a reason, which it must expect: it looks
/// at its condition, and waits for the rest of the time.
unsafe fn for_condition(deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    // SAFETY: the arguments are the caller's.
    match unsafe { until(deadline, wait, |status| status == ETIMEDOUT) } {
        (status, true) => status,
        (_, false) => 0,
    }
}

/// Takes a lock, for as long as the process's time has not come.
unsafe fn for_lock(deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    loop {
        // SAFETY: the arguments are the caller's.
        if let (status, true) = unsafe { until(deadline, &wait, |status| status == ETIMEDOUT) } {
            return status;
        }
    }
}

/// Waits for a semaphore. If the real time came first, the caller is interrupted, which it must expect.
unsafe fn for_semaphore(deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    // SAFETY: every thread has an errno.
    let error = unsafe { __errno_location() };
    // SAFETY: the arguments are the caller's.
    let is_over = |status| status == -1 && unsafe { *error } == ETIMEDOUT;
    // SAFETY: as above.
    let (status, is_true) = unsafe { until(deadline, wait, is_over) };
    if !is_true {
        // SAFETY: as above.
        unsafe { *error = EINTR };
    }
    status
}

#[no_mangle]
unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut c_void,
    mutex: *mut c_void,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: libc has a function of this name and type, and the arguments are the caller's.
    unsafe {
        let wait: WaitWith = transmute(COND_TIMEDWAIT.get());
        for_condition(deadline, |deadline| wait(condition, mutex, deadline))
    }
}

#[no_mangle]
unsafe extern "C" fn pthread_cond_clockwait(
    condition: *mut c_void,
    mutex: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let wait: WaitWithByClock = transmute(COND_CLOCKWAIT.get());
        for_condition(deadline, |deadline| wait(condition, mutex, clock, deadline))
    }
}

#[no_mangle]
unsafe extern "C" fn pthread_mutex_timedlock(
    mutex: *mut c_void,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let wait: Wait = transmute(MUTEX_TIMEDLOCK.get());
        for_lock(deadline, |deadline| wait(mutex, deadline))
    }
}

#[no_mangle]
unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let wait: WaitByClock = transmute(MUTEX_CLOCKLOCK.get());
        for_lock(deadline, |deadline| wait(mutex, clock, deadline))
    }
}

#[no_mangle]
unsafe extern "C" fn sem_timedwait(semaphore: *mut c_void, deadline: *const Timespec) -> c_int {
    // SAFETY: as above.
    unsafe {
        let wait: Wait = transmute(SEM_TIMEDWAIT.get());
        for_semaphore(deadline, |deadline| wait(semaphore, deadline))
    }
}

#[no_mangle]
unsafe extern "C" fn sem_clockwait(
    semaphore: *mut c_void,
    clock: c_int,
    deadline: *const Timespec,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let wait: WaitByClock = transmute(SEM_CLOCKWAIT.get());
        for_semaphore(deadline, |deadline| wait(semaphore, clock, deadline))
    }
}

/// A timer that ends before its time in the process's time is one that its owner sets again; one whose time is long over
/// would end at once, each time.
#[no_mangle]
unsafe extern "C" fn timerfd_settime(
    timer: c_int,
    flags: c_int,
    time: *const [Timespec; 2],
    before: *mut [Timespec; 2],
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let set: SetTimer = transmute(TIMERFD_SETTIME.get());
        let is_none = |time: &Timespec| time.seconds == 0 && time.nanoseconds == 0;
        if time == null() || flags & TIMER_ABSTIME == 0 || is_none(&(*time)[1]) {
            return set(timer, flags, time, before);
        }
        let [interval, deadline] = &*time;
        set(timer, flags, &[*interval, crate::in_real_time(deadline)], before)
    }
}
