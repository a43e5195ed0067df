//! Calls that wait, for the libraries that count: their processes are never stopped, and only deadlines are those of a
//! replaced clock.

use core::ffi::c_int;

use super::system::Timespec;

/// True if a deadline has come that was converted to this real time.
pub fn has_come(_: &Timespec, _: &Timespec) -> bool {
    true
}

/// Makes a call that waits.
pub fn during_wait<T>(wait: impl FnOnce() -> T) -> T {
    wait()
}

pub unsafe fn sleep_for(
    time: *const Timespec,
    left: *mut Timespec,
    sleep: impl Fn(*const Timespec, *mut Timespec) -> c_int,
) -> c_int {
    sleep(time, left)
}
