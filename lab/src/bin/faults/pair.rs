//! Single pairs of processes, in this process and without a store.

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    thread,
    time::Duration,
};

use cargo_rbench::{
    error::{Exit, Result as RbenchResult},
    harness::{Conditions, Executable, Harness as _, Native},
    model::{ExecutionRequest, Incident, Name, Outcome, Threads},
    process::{
        Interrupt, cpus,
        interleaving::{InterleavedUse, LIBRARY_FLAGS, LIBRARY_SOURCE, SLICE, SharedPage},
    },
};
use rbench_stats::Random;

use crate::{
    kind::{Fault, Kind},
    patience::usual,
    tally::{Finding, Wrong},
};

/// The deadline of faults that run to it, and of all others.
const DEADLINES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(20)];

pub struct Pairs {
    pub executables: [Executable; 2],
    pub homes: [PathBuf; 2],
    library: PathBuf,
    cpus: Vec<usize>,
}

impl Pairs {
    pub fn new(
        executables: [Executable; 2],
        homes: [PathBuf; 2],
        scratch: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let (source, library) = (scratch.join("interleaving.rs"), scratch.join("interleaving.so"));
        std::fs::write(&source, LIBRARY_SOURCE)?;
        let mut rustc = Command::new("rustc");
        rustc.args(LIBRARY_FLAGS.split(' ')).arg("-o").args([&library, &source]);
        if !rustc.status()?.success() {
            return Err("the library cannot be compiled".into());
        }
        Ok(Self { executables, homes, library, cpus: cpus()? })
    }

    /// Executes a pair with these faults, which are already in the file, and checks the outcome.
    pub fn throw(
        &self,
        faults: &[Fault; 2],
        interrupted: bool,
        random: &mut Random,
    ) -> Result<Vec<Finding>, Box<dyn Error>> {
        let is_slow = faults.iter().any(|fault| fault.kind.is_slow);
        let interrupt = Interrupt::new()?;
        let ring = SharedPage::new(&self.library, &cpus()?, SLICE)?;
        // Half of all pairs have all CPUs, and their other threads are stopped.
        let has_threads = random.below(2) == 1;
        if has_threads {
            ring.stop_threads([Threads::Placed, Threads::Free][random.below(2)])?;
        }
        let cpu = self.cpus[random.below(self.cpus.len())];
        let conditions = Conditions {
            deadline: Some(usual(DEADLINES[usize::from(!is_slow)])),
            cpu: Some(cpu).filter(|_| !has_threads),
            ..Conditions::new(&interrupt)
        };
        // The version that runs first.
        let first = random.below(2);
        let moment = Duration::from_micros(random.below(20_000) as u64);
        let outcomes = thread::scope(|scope| {
            let halves = [0, 1].map(|version: usize| {
                let index = usize::from(version != first);
                let (ring, conditions) = (&ring, &conditions);
                scope.spawn(move || self.half(ring, version, index, conditions))
            });
            if interrupted {
                thread::sleep(moment);
                interrupt.set();
            }
            halves.map(|half| half.join().map_err(|_| "a thread panicked"))
        });
        let mut found = Vec::new();
        for (version, outcome) in outcomes.into_iter().enumerate() {
            let (outcome, taken) = outcome?;
            let kind = faults[version].kind;
            let wrong = wrong_outcome(kind, &outcome, taken, interrupted);
            let name = ["base", "head"][version];
            found.extend(wrong.map(|what| (Wrong::Error, format!("{name}: {what}"))));
        }
        Ok(found)
    }

    fn half(
        &self,
        ring: &Arc<SharedPage>,
        version: usize,
        index: usize,
        conditions: &Conditions<'_>,
    ) -> (RbenchResult<Outcome>, Option<InterleavedUse>) {
        let member = match ring.member(index, &self.homes[version]) {
            Ok(member) => member,
            Err(failure) => return (Err(failure), None),
        };
        let request = ExecutionRequest {
            measurements: 10,
            warm_up: Duration::from_millis(2),
            min_time: Duration::from_micros(200),
            iterations: Some(200),
            seed: 7,
        };
        let conditions = Conditions { member: Some(&member), ..*conditions };
        let executable = &self.executables[version];
        let outcome = Native.execute(executable, &Name::plain("bad"), &request, &conditions);
        let left = member.leave();
        (left.and(outcome), member.taken().ok())
    }
}

/// The error in the outcome of an execution with a fault of this kind.
fn wrong_outcome(
    kind: &Kind,
    outcome: &RbenchResult<Outcome>,
    taken: Option<InterleavedUse>,
    interrupted: bool,
) -> Option<String> {
    match outcome {
        Ok(Outcome::Skipped(reason)) => Some(format!("it skipped itself: {reason}")),
        Err(failure) if failure.exit() == Exit::Interrupted && interrupted => None,
        Err(failure) => {
            let text = failure.to_string();
            let is_expected = kind.failures.iter().any(|part| text.contains(part));
            (failure.exit() != Exit::Benchmark || !is_expected).then_some(text)
        }
        Ok(Outcome::Measured(_)) if !kind.may_measure => Some("it measured".to_owned()),
        Ok(Outcome::Measured(execution)) => {
            let left = execution.incidents.iter().find(|incident| {
                matches!(incident, Incident::LeftBehind(_)) && kind.name != "daemon"
            });
            let in_order = taken.is_some_and(|taken| taken.joined && taken.time_read);
            match left {
                Some(incident) => Some(incident.to_string()),
                None if kind.name == "none" && !in_order => Some(format!("it took {taken:?}")),
                None => None,
            }
        }
    }
}
