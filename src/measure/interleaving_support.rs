//! Executes both versions of a benchmark at once, by turns, and tells whether they could take turns.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::subject::{InVersion, outcome_of};
use crate::{
    error::{Error, Exit, Result},
    harness::{Conditions, Executable},
    model::{
        Execution, ExecutionRequest, Incident, InterleavingUnavailable, Name, Outcome, Schedule,
        Unmeasured,
    },
    process::interleaving::{InterleavedProcess, InterleavedUse, SharedPage},
};

/// How much CPU time other threads and child processes may take, against the first thread: 1 in 50. What is
/// less hardly changes what is measured.
const OTHERS: u32 = 50;
/// Less CPU time than this is nothing but what processes need to begin and to end.
const LITTLE: Duration = Duration::from_millis(1);

/// What lets processes take turns, for one experiment.
pub(super) struct SupportTable<'t> {
    /// The library that is preloaded.
    pub(super) library: &'t Path,
    /// The path at which all versions are compiled.
    pub(super) build_path: &'t Path,
    /// The CPUs on which executions run that run alone.
    pub(super) cpus: &'t [usize],
    /// The conditions of all executions.
    pub(super) conditions: Conditions<'t>,
}

/// One of two executions to be.
pub(super) struct ProcessUse<'h> {
    /// The benchmark in its version.
    pub(super) version: &'h InVersion<'h>,
    /// The executable.
    pub(super) executable: &'h Executable,
    /// The compilation that the executable comes from.
    pub(super) home: &'h Path,
}

/// What came of one of two executions in turns.
pub(super) struct Attempt {
    /// The outcome.
    pub(super) outcome: Result<Outcome>,
    /// What keeps the benchmark from taking turns, if something does.
    pub(super) obstacle: Option<InterleavingUnavailable>,
}

impl SupportTable<'_> {
    /// Executes both at once on `cpu`; the first one has the first turn.
    pub(super) fn execute(
        &self,
        name: &Name,
        request: &ExecutionRequest,
        halves: &[ProcessUse<'_>; 2],
        cpu: usize,
    ) -> Result<[Attempt; 2]> {
        let ring = SharedPage::new(self.library, self.cpus)?;
        let member = |index: usize, half: &ProcessUse<'_>| ring.member(index, half.home);
        let [one, other] = halves;
        let members = [member(0, one)?, member(1, other)?];
        let run = |half: &ProcessUse<'_>, member: &InterleavedProcess| {
            let _leaves = LeavesOnDrop(member);
            let conditions = Conditions { cpu: Some(cpu), member: Some(member), ..self.conditions };
            let executable = self.in_its_own_directory(half);
            half.version.harness.execute(&executable, name, request, &conditions)
        };
        let outcomes = thread::scope(|scope| {
            let other = scope.spawn(|| run(other, &members[1]));
            [run(one, &members[0]), other.join().unwrap_or_else(|_| Err(panicked()))]
        });
        let mut attempts = outcomes.into_iter().zip(&members).map(|(outcome, member)| {
            let (taken, own) = (member.taken()?, member.own_time()?);
            Ok(attempt(outcome, taken, own.unwrap_or_default()))
        });
        match (attempts.next(), attempts.next()) {
            (Some(one), Some(other)) => Ok([one?, other?]),
            _ => Err(panicked()),
        }
    }

    /// The executable with its version's own directory: the build path leads elsewhere until the process has
    /// begun.
    fn in_its_own_directory(&self, half: &ProcessUse<'_>) -> Executable {
        let directory = &half.executable.directory;
        let below = directory.strip_prefix(self.build_path);
        let directory = below.map_or_else(|_| directory.clone(), |below| half.home.join(below));
        Executable { directory, ..half.executable.clone() }
    }
}

pub(super) fn panicked() -> Error {
    Error::new(Exit::Internal, "an execution in turns ended unexpectedly")
}

/// Lets the other process go on when this one has ended, whatever came of it.
struct LeavesOnDrop<'m>(&'m InterleavedProcess);

impl Drop for LeavesOnDrop<'_> {
    fn drop(&mut self) {
        // It fails only where the other one has lost its memory too.
        let _ = self.0.leave();
    }
}

fn attempt(outcome: Result<Outcome>, taken: InterleavedUse, own: Duration) -> Attempt {
    match outcome {
        Ok(Outcome::Measured(mut execution)) => {
            let obstacle = unavailable_reason(&execution, taken, own);
            execution.schedule =
                obstacle.map_or(Schedule::Interleaved(taken.passed), Schedule::Unavailable);
            Attempt { outcome: Ok(Outcome::Measured(execution)), obstacle }
        }
        outcome => Attempt { outcome, obstacle: None },
    }
}

/// What kept an execution from taking turns, which had the turn for the time `own` in all.
fn unavailable_reason(
    execution: &Execution,
    taken: InterleavedUse,
    own: Duration,
) -> Option<InterleavingUnavailable> {
    let InterleavedUse { joined, time_read: told, passed, first_thread, others } = taken;
    let mut incidents = execution.incidents.iter();
    let left_behind = |incident: &Incident| matches!(incident, Incident::LeftBehind(_));
    if !joined {
        Some(InterleavingUnavailable::NotLoaded)
    } else if !told {
        Some(InterleavingUnavailable::EndsOtherwise)
    } else if incidents.clone().any(|incident| matches!(incident, Incident::Repeated(_))) {
        // Its second process may have had no partner.
        Some(InterleavingUnavailable::FailsInterleaved)
    } else if incidents.any(left_behind)
        || others > LITTLE && others.saturating_mul(OTHERS) > first_thread
    {
        Some(InterleavingUnavailable::OtherThreads)
    } else if passed == 0 {
        Some(InterleavingUnavailable::NoClock)
    } else if execution.measured_time() > own {
        Some(InterleavingUnavailable::OtherClock)
    } else {
        None
    }
}

/// What came of two executions in turns.
#[derive(Debug, PartialEq)]
pub(super) enum Both {
    /// Both measured.
    Measured(Box<[Execution; 2]>),
    /// Something keeps the benchmark from taking turns.
    Unavailable(InterleavingUnavailable),
    /// This one failed.
    Failed(usize),
    /// This one skipped itself, for the reason that it gave.
    Skipped(usize, Unmeasured),
}

/// What came of two executions in turns. Fails where that is no result of the benchmark.
///
/// What one of them did counts only where both measured: alone, it has nobody to pass the turn to.
pub(super) fn both(attempts: [Attempt; 2]) -> Result<Both> {
    let [one, other] = attempts;
    let obstacle = one.obstacle.or(other.obstacle);
    // Of an interrupt, nothing else is learned.
    let outcomes = [outcome_of(one.outcome)?, outcome_of(other.outcome)?];
    Ok(match (outcomes, obstacle) {
        ([Ok(_), Ok(_)], Some(obstacle)) => Both::Unavailable(obstacle),
        ([Ok(one), Ok(other)], None) => Both::Measured(Box::new([one, other])),
        ([Err(Unmeasured::Failed(_)), _], _) => Both::Failed(0),
        ([_, Err(Unmeasured::Failed(_))], _) => Both::Failed(1),
        ([Err(skipped), _], _) => Both::Skipped(0, skipped),
        ([_, Err(skipped)], _) => Both::Skipped(1, skipped),
    })
}

/// What it takes to take turns.
pub(super) struct InterleavingSupport {
    /// The library that is preloaded.
    pub(super) library: PathBuf,
    /// The CPUs on which executions may run.
    pub(super) cpus: Vec<usize>,
}

/// The next CPU for two that take turns: all that rbench may use, one after the other, so that one that
/// other programs use does not disturb all.
pub(super) struct Cpus {
    all: Vec<usize>,
    next: usize,
}

impl Cpus {
    /// All on which executions may run.
    pub(super) fn for_support(ability: Option<&InterleavingSupport>) -> Self {
        Self { all: ability.map(|ability| ability.cpus.clone()).unwrap_or_default(), next: 0 }
    }

    /// How many pairs can be executed at once, of so many that may be.
    pub(super) fn parallel(&self, wanted: usize) -> usize {
        wanted.clamp(1, self.all.len().max(1))
    }

    /// The next one.
    pub(super) fn take(&mut self) -> usize {
        let cpu = self.all.get(self.next % self.all.len().max(1)).copied().unwrap_or(0);
        self.next += 1;
        cpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metric, Series, testing};

    fn measured(obstacle: Option<InterleavingUnavailable>) -> Attempt {
        Attempt {
            outcome: Ok(Outcome::Measured(testing::execution(testing::request(), Vec::new()))),
            obstacle,
        }
    }

    fn failed(exit: Exit) -> Attempt {
        Attempt { outcome: Err(Error::new(exit, "it failed")), obstacle: None }
    }

    fn skipped() -> Attempt {
        Attempt { outcome: Ok(Outcome::Skipped("no GPU".to_owned())), obstacle: None }
    }

    /// What a process says that took turns as it should.
    const TAKEN: InterleavedUse = InterleavedUse {
        joined: true,
        time_read: true,
        passed: 100,
        first_thread: Duration::from_millis(100),
        others: Duration::from_millis(1),
    };

    #[test]
    fn what_a_process_did_shows_what_keeps_it_from_taking_turns() {
        let millis = Duration::from_millis;
        let of = |taken: InterleavedUse| {
            let execution = testing::execution(testing::request(), Vec::new());
            unavailable_reason(&execution, taken, millis(100))
        };
        assert_eq!(of(TAKEN), None);
        for (taken, expected) in [
            (
                InterleavedUse { joined: false, passed: 0, ..TAKEN },
                InterleavingUnavailable::NotLoaded,
            ),
            (InterleavedUse { time_read: false, ..TAKEN }, InterleavingUnavailable::EndsOtherwise),
            (InterleavedUse { passed: 0, ..TAKEN }, InterleavingUnavailable::NoClock),
            (InterleavedUse { others: millis(3), ..TAKEN }, InterleavingUnavailable::OtherThreads),
            // All is done by another thread, which reads the clock as well.
            (
                InterleavedUse { others: millis(99), passed: 0, ..TAKEN },
                InterleavingUnavailable::OtherThreads,
            ),
        ] {
            assert_eq!(of(taken), Some(expected));
        }
        // So little is what processes need anyway.
        let short = InterleavedUse { first_thread: millis(10), ..TAKEN };
        assert_eq!(of(short), None);
    }

    #[test]
    fn what_an_execution_went_through_can_keep_it_from_taking_turns() {
        let of = |incidents: Vec<Incident>, values: Vec<f64>| {
            let series = Series {
                metric: Metric::wall(),
                iterations: vec![1; values.len()],
                values,
                resolution: 0.0,
            };
            let execution = testing::execution(testing::request(), vec![series]);
            unavailable_reason(
                &Execution { incidents, ..execution },
                TAKEN,
                Duration::from_millis(100),
            )
        };
        assert_eq!(of(Vec::new(), vec![5e7, 4.9e7]), None);
        assert_eq!(of(Vec::new(), vec![5e7, 5.1e7]), Some(InterleavingUnavailable::OtherClock));
        let left = Incident::LeftBehind(vec!["server".to_owned()]);
        assert_eq!(of(vec![left], vec![1e7]), Some(InterleavingUnavailable::OtherThreads));
        let repeated = Incident::Repeated("it printed its results".to_owned());
        assert_eq!(of(vec![repeated], vec![1e7]), Some(InterleavingUnavailable::FailsInterleaved));
    }

    #[test]
    fn pairs_go_round_all_cpus() {
        let mut cpus = Cpus { all: vec![2, 5], next: 0 };
        assert_eq!([cpus.take(), cpus.take(), cpus.take()], [2, 5, 2]);
    }

    #[test]
    fn an_obstacle_of_either_keeps_both_from_taking_turns() {
        let threads = || measured(Some(InterleavingUnavailable::OtherThreads));
        for attempts in [[threads(), measured(None)], [measured(None), threads()]] {
            let obstacle = Both::Unavailable(InterleavingUnavailable::OtherThreads);
            assert_eq!(both(attempts).unwrap(), obstacle);
        }
        let none = both([measured(None), measured(None)]).unwrap();
        assert!(matches!(none, Both::Measured(_)));
    }

    #[test]
    fn one_whose_partner_has_failed_is_not_blamed_for_not_taking_turns() {
        let alone = || measured(Some(InterleavingUnavailable::NoClock));
        assert_eq!(both([alone(), failed(Exit::Benchmark)]).unwrap(), Both::Failed(1));
        assert_eq!(both([failed(Exit::Benchmark), alone()]).unwrap(), Both::Failed(0));
        let reason = Unmeasured::Skipped("no GPU".to_owned());
        assert_eq!(both([alone(), skipped()]).unwrap(), Both::Skipped(1, reason));
        assert_eq!(both([skipped(), failed(Exit::Benchmark)]).unwrap(), Both::Failed(1));
    }

    #[test]
    fn an_interrupt_says_nothing_of_a_benchmark() {
        let alone = || measured(Some(InterleavingUnavailable::NoClock));
        for attempts in [
            [alone(), failed(Exit::Interrupted)],
            [failed(Exit::Interrupted), alone()],
            [failed(Exit::Benchmark), failed(Exit::Interrupted)],
        ] {
            assert_eq!(both(attempts).unwrap_err().exit(), Exit::Interrupted);
        }
    }
}
