//! Sleeps until a file can be read.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// The index of the first of these files that is readable or at its end, as soon as one is; none if `until` comes
/// before.
pub fn first_readable(files: &[&dyn AsFd], until: Option<Instant>) -> io::Result<Option<usize>> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // Without a timeout if no clock can hold it.
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let fds = files.iter().map(|file| PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = fds.collect();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = fds.iter().position(|fd| !fd.revents().is_empty());
        if ready.is_some() || left == Some(Duration::ZERO) {
            return Ok(ready);
        }
    }
}
