//! Calls of the C library that wait for an absolute time: of POSIX and C threads and of semaphores. Rust's own locks wait
//! by `syscall`; databases in C and C++ by these. All clocks of the process are behind by the same time, so it makes no
//! difference by which one a call waits.

use core::{
    ffi::{c_int, c_void},
    mem::transmute,
};

use super::system::*;

/// `thrd_timedout` of C.
const TIMED_OUT_OF_C: c_int = 4;

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
/// at its condition, and waits for the rest of the time. `over` is the answer of `wait` when its time has come.
unsafe fn for_condition(
    over: c_int,
    deadline: *const Timespec,
    wait: impl Fn(*const Timespec) -> c_int,
) -> c_int {
    // SAFETY: the arguments are the caller's.
    match unsafe { until(deadline, wait, |status| status == over) } {
        (status, true) => status,
        (_, false) => 0,
    }
}

/// Takes a lock, or joins a thread, for as long as the process's time has not come.
unsafe fn for_lock(
    over: c_int,
    deadline: *const Timespec,
    wait: impl Fn(*const Timespec) -> c_int,
) -> c_int {
    loop {
        // SAFETY: as above.
        if let (status, true) = unsafe { until(deadline, &wait, |status| status == over) } {
            return status;
        }
    }
}

/// Waits for a semaphore. If the real time came first, the caller is interrupted, which it must expect. `over` is the errno
/// when the time of `wait` has come.
unsafe fn for_semaphore(
    over: c_int,
    deadline: *const Timespec,
    wait: impl Fn(*const Timespec) -> c_int,
) -> c_int {
    // SAFETY: every thread has an errno.
    let error = unsafe { __errno_location() };
    // SAFETY: as above.
    let is_over = |status| status == -1 && unsafe { *error } == over;
    let wait = |deadline| {
        crate::threads::uninterrupted(0, |_| wait(deadline), crate::threads::is_interrupted)
    };
    // SAFETY: as above.
    let (status, is_true) = unsafe { until(deadline, wait, is_over) };
    if !is_true {
        // SAFETY: as above.
        unsafe { *error = EINTR };
    }
    status
}

/// Replaces functions of the C library whose last argument is a deadline. Each waits as `$wait` says, and says by
/// `$over` that its time has come.
macro_rules! replaced {
    ($($name:literal $function:ident($($argument:ident: $type:ty),*) by $wait:ident($over:ident);)*) => {$(
        #[no_mangle]
        unsafe extern "C" fn $function($($argument: $type,)* deadline: *const Timespec) -> c_int {
            static HIDDEN: Hidden = Hidden::new($name);
            // SAFETY: libc has a function of this name and type, and the arguments are the caller's.
            unsafe {
                let wait: unsafe extern "C" fn($($type,)* *const Timespec) -> c_int =
                    transmute(HIDDEN.get());
                $wait($over, deadline, |deadline| wait($($argument,)* deadline))
            }
        }
    )*};
}

type Object = *mut c_void;

replaced! {
    b"pthread_cond_timedwait\0" pthread_cond_timedwait(condition: Object, mutex: Object) by for_condition(ETIMEDOUT);
    b"pthread_cond_clockwait\0" pthread_cond_clockwait(condition: Object, mutex: Object, clock: c_int) by for_condition(ETIMEDOUT);
    b"cnd_timedwait\0" cnd_timedwait(condition: Object, mutex: Object) by for_condition(TIMED_OUT_OF_C);
    b"pthread_mutex_timedlock\0" pthread_mutex_timedlock(mutex: Object) by for_lock(ETIMEDOUT);
    b"pthread_mutex_clocklock\0" pthread_mutex_clocklock(mutex: Object, clock: c_int) by for_lock(ETIMEDOUT);
    b"mtx_timedlock\0" mtx_timedlock(mutex: Object) by for_lock(TIMED_OUT_OF_C);
    b"pthread_rwlock_timedrdlock\0" pthread_rwlock_timedrdlock(lock: Object) by for_lock(ETIMEDOUT);
    b"pthread_rwlock_timedwrlock\0" pthread_rwlock_timedwrlock(lock: Object) by for_lock(ETIMEDOUT);
    b"pthread_rwlock_clockrdlock\0" pthread_rwlock_clockrdlock(lock: Object, clock: c_int) by for_lock(ETIMEDOUT);
    b"pthread_rwlock_clockwrlock\0" pthread_rwlock_clockwrlock(lock: Object, clock: c_int) by for_lock(ETIMEDOUT);
    b"pthread_timedjoin_np\0" pthread_timedjoin_np(thread: usize, result: Object) by for_lock(ETIMEDOUT);
    b"pthread_clockjoin_np\0" pthread_clockjoin_np(thread: usize, result: Object, clock: c_int) by for_lock(ETIMEDOUT);
    b"sem_timedwait\0" sem_timedwait(semaphore: Object) by for_semaphore(ETIMEDOUT);
    b"sem_clockwait\0" sem_clockwait(semaphore: Object, clock: c_int) by for_semaphore(ETIMEDOUT);
}
