//! What runs beside a measured benchmark: an artificial load that the user asked for, and a benchmark as a control.

use std::{
    hint::black_box,
    process::{Child, Command, ExitCode, Stdio},
};

use rbench_harness::{Suite, run};
use rustix::process::Signal;

use super::child::end_with_this_process;
use crate::error::{Context, Exit, Result};

/// Keeps one CPU busy. Every system has a shell, and it does nothing else here.
const BUSY: &str = "while :; do :; done";

/// Processes that compute without end while this value lives. They are in the group of this process, so a Ctrl-C at the
/// terminal ends them as well, and the kernel kills them when this process ends in any way.
#[derive(Debug, Default)]
pub struct Load(Vec<Child>);

impl Load {
    /// Starts `count` processes.
    pub fn start(count: u32) -> Result<Self> {
        let mut load = Self::default();
        for _ in 0..count {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", BUSY]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            end_with_this_process(&mut command, Signal::KILL);
            let child =
                command.spawn().context(Exit::Internal, || "cannot start a busy process")?;
            load.0.push(child);
        }
        Ok(load)
    }

    pub fn is_running(&mut self) -> bool {
        self.0.iter_mut().all(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended already, which is no error.
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

/// The second argument that makes this program the control: that of a request to a benchmark of rbench-harness, behind
/// `--bench`. No command line of a user has it.
pub const CONTROL_ARGUMENT: &str = "--rbench-protocol";

/// Main function of the benchmark `control`, which is known to be steady: integer arithmetic in registers. `diagnose`
/// measures it beside others, to tell their peculiarities from those of the machine. rbench-harness reads the
/// arguments.
pub fn run_as_control() -> ExitCode {
    run(|suite: &mut Suite<'_>| {
        suite.bench("control", |bencher| bencher.iter(|| steps(black_box(1))));
    })
}

/// Each step needs the one before, and none needs memory.
fn steps(seed: u64) -> u64 {
    let mut state = seed;
    for _ in 0..1000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::child;

    #[test]
    fn load_runs_until_dropped_and_leaves_nothing_behind() {
        let mut load = Load::start(2).unwrap();
        assert!(load.is_running());
        let ids: Vec<_> = load.0.iter().map(Child::id).collect();
        let is_there = |id: &u32| {
            let mut all = child::processes().into_iter();
            all.any(|process| process.id.as_raw_pid().cast_unsigned() == *id)
        };
        assert_eq!(ids.len(), 2);
        assert!(ids.iter().all(is_there));
        drop(load);
        assert!(!ids.iter().any(is_there));
    }

    #[test]
    fn zero_load_starts_no_process() {
        let mut none = Load::start(0).unwrap();
        assert!(none.is_running() && none.0.is_empty());
    }
}
