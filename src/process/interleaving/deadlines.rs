//! Calls of the C library that wait for an absolute time: of POSIX and C threads and of semaphores. Rust's own locks wait by `syscall`; databases in C and C++ by these. All clocks of the process are behind by the same time, so it
//! makes no difference by which one a call waits.

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
/// at its condition, and waits for the rest of the time.
unsafe fn for_condition(deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    // SAFETY: the arguments are the caller's.
    unsafe { condition(deadline, wait, ETIMEDOUT) }
}

/// The same for threads of C, which have numbers of their own for errors.
unsafe fn for_condition_of_c(deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    // SAFETY: as above.
    unsafe { condition(deadline, wait, TIMED_OUT_OF_C) }
}

unsafe fn condition(
    deadline: *const Timespec,
    wait: impl Fn(*const Timespec) -> c_int,
    over: c_int,
) -> c_int {
    // SAFETY: as above.
    match unsafe { until(deadline, wait, |status| status == over) } {
        (status, true) => status,
        (_, false) => 0,
    }
}

/// Takes a lock, or joins a thread, for as long as the process's time has not come.
unsafe fn for_lock(deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    // SAFETY: as above.
    unsafe { lock(deadline, wait, ETIMEDOUT) }
}

/// The same for threads of C.
unsafe fn for_lock_of_c(deadline: *const Timespec, wait: impl Fn(*const Timespec) -> c_int) -> c_int {
    // SAFETY: as above.
    unsafe { lock(deadline, wait, TIMED_OUT_OF_C) }
}

unsafe fn lock(
    deadline: *const Timespec,
    wait: impl Fn(*const Timespec) -> c_int,
    over: c_int,
) -> c_int {
    loop {
        // SAFETY: as above.
        if let (status, true) = unsafe { until(deadline, &wait, |status| status == over) } {
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

/// Replaces functions of the C library whose last argument is a deadline. Each waits as `$wait` says.
macro_rules! replaced {
    ($($name:literal $function:ident($($argument:ident: $type:ty),*) by $wait:ident;)*) => {$(
        #[no_mangle]
        unsafe extern "C" fn $function($($argument: $type,)* deadline: *const Timespec) -> c_int {
            static HIDDEN: Hidden = Hidden::new($name);
            // SAFETY: libc has a function of this name and type, and the arguments are the caller's.
            unsafe {
                let wait: unsafe extern "C" fn($($type,)* *const Timespec) -> c_int =
                    transmute(HIDDEN.get());
                $wait(deadline, |deadline| wait($($argument,)* deadline))
            }
        }
    )*};
}

type Object = *mut c_void;

replaced! {
    b"pthread_cond_timedwait\0" pthread_cond_timedwait(condition: Object, mutex: Object) by for_condition;
    b"pthread_cond_clockwait\0" pthread_cond_clockwait(condition: Object, mutex: Object, clock: c_int) by for_condition;
    b"cnd_timedwait\0" cnd_timedwait(condition: Object, mutex: Object) by for_condition_of_c;
    b"pthread_mutex_timedlock\0" pthread_mutex_timedlock(mutex: Object) by for_lock;
    b"pthread_mutex_clocklock\0" pthread_mutex_clocklock(mutex: Object, clock: c_int) by for_lock;
    b"mtx_timedlock\0" mtx_timedlock(mutex: Object) by for_lock_of_c;
    b"pthread_rwlock_timedrdlock\0" pthread_rwlock_timedrdlock(lock: Object) by for_lock;
    b"pthread_rwlock_timedwrlock\0" pthread_rwlock_timedwrlock(lock: Object) by for_lock;
    b"pthread_rwlock_clockrdlock\0" pthread_rwlock_clockrdlock(lock: Object, clock: c_int) by for_lock;
    b"pthread_rwlock_clockwrlock\0" pthread_rwlock_clockwrlock(lock: Object, clock: c_int) by for_lock;
    b"pthread_timedjoin_np\0" pthread_timedjoin_np(thread: usize, result: Object) by for_lock;
    b"pthread_clockjoin_np\0" pthread_clockjoin_np(thread: usize, result: Object, clock: c_int) by for_lock;
    b"sem_timedwait\0" sem_timedwait(semaphore: Object) by for_semaphore;
    b"sem_clockwait\0" sem_clockwait(semaphore: Object, clock: c_int) by for_semaphore;
}
