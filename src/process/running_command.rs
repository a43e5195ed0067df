//! A command that runs beside this process, which does other things meanwhile.

use std::{
    fs, io,
    os::{fd::AsFd, unix::process::CommandExt as _},
    process::Command,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{
    child::{Child, Ending, ExitWatch, end_with_this_process},
    interrupt::Interrupt,
    readable::first_readable,
};

/// Where memory is scarce, the kernel ends the command before this process, and the others of the machine.
const FIRST_TO_END: &str = "500";

/// A command with its descendants, all of which end with this process.
#[derive(Debug)]
pub struct RunningCommand {
    child: Child,
    end: ExitWatch,
}

/// The reason why a wait for a command is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The command has ended.
    Ended,
    /// This process was interrupted.
    Interrupted,
    /// The time is over.
    TimedOut,
}

impl RunningCommand {
    /// Starts a command in a process group of its own.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.process_group(0);
        end_with_this_process(command, Signal::KILL);
        let child = Child::spawn(command, None)?;
        let _ = fs::write(format!("/proc/{}/oom_score_adj", child.id()), FIRST_TO_END);
        let end = ExitWatch::start(child.id())?;
        Ok(Self { child, end })
    }

    /// Waits for its end, an interrupt, or for this time. An interrupt that was seen before is none: `None`.
    pub fn wait(&self, interrupt: Option<&Interrupt>, time: Duration) -> WaitEnd {
        let mut files: Vec<&dyn AsFd> = vec![&self.end];
        files.extend(interrupt.map(|interrupt| interrupt as &dyn AsFd));
        match first_readable(&files, Instant::now().checked_add(time)) {
            Ok(Some(0)) => WaitEnd::Ended,
            Ok(Some(_)) => WaitEnd::Interrupted,
            _ => WaitEnd::TimedOut,
        }
    }

    /// Asks it to end in order, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.child.signal(Signal::INT);
    }

    /// Ends it with its descendants, after it had this time, and returns how it ended.
    pub fn end(self, grace: Duration) -> io::Result<Ending> {
        if self.wait(None, grace) != WaitEnd::Ended {
            self.child.signal(Signal::KILL);
        }
        self.child.reap().map(|(usage, _)| usage.ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> RunningCommand {
        RunningCommand::start(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn end_of_a_command_is_noticed() {
        let command = shell("exit 3");
        assert_eq!(command.wait(None, Duration::from_secs(60)), WaitEnd::Ended);
        assert_eq!(command.end(Duration::ZERO).unwrap(), Ending::Exited(3));
    }

    #[test]
    fn command_that_ignores_an_interrupt_is_killed() {
        let command = shell("trap '' INT; while :; do sleep 1; done");
        let interrupt = Interrupt::new().unwrap();
        let nothing = command.wait(Some(&interrupt), Duration::from_millis(100));
        assert_eq!(nothing, WaitEnd::TimedOut);
        interrupt.set();
        assert_eq!(command.wait(Some(&interrupt), Duration::from_secs(60)), WaitEnd::Interrupted);
        command.interrupt();
        assert_eq!(command.end(Duration::from_millis(100)).unwrap(), Ending::Signalled(9));
    }
}
