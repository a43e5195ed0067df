//! A flag that a signal or another thread sets, and that a sleeping thread wakes for.

use std::{
    io::Write,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::failure::{Exit, OrFail, Result};

/// Set once, and never taken back: whoever waits with it, now or later, is woken.
#[derive(Debug)]
pub struct Interrupt {
    /// Readable from the moment on that it is set; nothing ever reads from it.
    reader: UnixStream,
    writer: UnixStream,
}

impl Interrupt {
    /// An interrupt that only [`set`](Self::set) sets.
    pub fn new() -> Result<Self> {
        let (reader, writer) =
            UnixStream::pair().or_fail(Exit::Internal, || "cannot open a socket pair")?;
        // When the buffer is full it is set all the more: nobody must ever wait for room.
        writer.set_nonblocking(true).or_fail(Exit::Internal, || "cannot set up a socket pair")?;
        Ok(Self { reader, writer })
    }

    /// An interrupt that SIGINT, SIGTERM and SIGHUP set, for the rest of this process.
    pub fn on_signals() -> Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

        let interrupt = Self::new()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            interrupt
                .writer
                .try_clone()
                .and_then(|writer| signal_hook::low_level::pipe::register(signal, writer))
                .or_fail(Exit::Internal, || format!("cannot handle signal {signal}"))?;
        }
        Ok(interrupt)
    }

    /// Sets it.
    pub fn set(&self) {
        // It fails only when it is set already, many times over.
        let _ = (&self.writer).write(&[1]);
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.reader, PollFlags::IN)];
        matches!(poll(&mut fds, Some(&now)), Ok(1))
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_set_it_stays_set() {
        let interrupt = Interrupt::new().unwrap();
        assert!(!interrupt.is_set());
        interrupt.set();
        assert!(interrupt.is_set());
        assert!(interrupt.is_set());
    }

    #[test]
    fn a_signal_sets_it_instead_of_ending_the_process() {
        use std::{thread, time::Duration};

        use rustix::process::{Signal, getpid, kill_process};

        let interrupt = Interrupt::on_signals().unwrap();
        assert!(!interrupt.is_set());
        kill_process(getpid(), Signal::HUP).unwrap();
        // Another thread may be the one that handles it.
        for _ in 0..1000 {
            if interrupt.is_set() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the signal was not noticed");
    }

    #[test]
    fn setting_it_any_number_of_times_never_blocks() {
        let interrupt = Interrupt::new().unwrap();
        for _ in 0..100_000 {
            interrupt.set();
        }
        assert!(interrupt.is_set());
    }
}
