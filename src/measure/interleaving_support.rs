//! Executes both versions of a benchmark at once, interleaved, and finds out whether the benchmark
//! supports that.

use std::{path::Path, thread, time::Duration};

use tracing::debug;

use super::{
    preloaded::PreloadedLibrary,
    program_use,
    subject::{BuiltProgram, InVersion, Obstacle, outcome_of},
};
use crate::{
    error::{Error, Exit, Result},
    harness::{Conditions, Executable},
    machine::by_core,
    model::{
        Execution, ExecutionRequest, Incident, InterleavingUnavailable, Name, Outcome, Schedule,
        Threads, Unmeasured,
    },
    process::interleaving::{InterleavedProcess, InterleavedUse, Sampled, SharedPage},
};

/// Limit for the CPU time of other threads: 1/50 of the first thread's; and of child processes: 1/50
/// of all threads'. Less than that hardly affects the measurements.
const OTHERS: u32 = 50;
/// How long an execution that was not traced may wait without handing over.
const UNKNOWN_RUN_TIME: Duration = Duration::from_secs(60);
/// The obstacle of a pair that was ended because neither went on.
const STAND_STILL: Obstacle = Obstacle::Unavailable(InterleavingUnavailable::StandStill);
/// CPU time below this only starts and ends processes.
const LITTLE: Duration = Duration::from_millis(1);

/// Everything that interleaved executions of one experiment share.
pub(super) struct SupportTable<'t> {
    pub(super) library: &'t Path,
    pub(super) build_path: &'t Path,
    /// The CPUs for executions that run alone.
    pub(super) cpus: &'t [usize],
    pub(super) conditions: Conditions<'t>,
    /// The interval at which they are sampled, if they are.
    pub(super) period: Option<Duration>,
}

pub(super) struct ProcessUse<'h> {
    pub(super) version: &'h InVersion<'h>,
    pub(super) build: &'h BuiltProgram,
}

/// The result of one of two interleaved executions.
pub(super) struct Attempt {
    pub(super) outcome: Result<Outcome>,
    /// Why its measurements do not count, if so.
    pub(super) obstacle: Option<Obstacle>,
    /// What was sampled of its process, if it was.
    pub(super) sampled: Option<Sampled>,
}

/// How both versions of a benchmark share the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Both have this CPU alone.
    Cpu(usize),
    /// Both have all CPUs, and the other threads of a version stop while the other version runs.
    Cpus(Threads),
}

impl SupportTable<'_> {
    /// Executes both at once, in time slices of this length; the first one has the first slice. Ends them if neither goes
    /// on for longer than the `run_time` of one alone.
    pub(super) fn execute(
        &self,
        name: &Name,
        request: &ExecutionRequest,
        halves: &[ProcessUse<'_>; 2],
        sharing: Sharing,
        slice: Duration,
        run_time: Option<Duration>,
    ) -> Result<[Attempt; 2]> {
        let (cpu, slice) = match sharing {
            Sharing::Cpu(cpu) => (Some(cpu), slice),
            // An execution that is shorter than a slice would hand over not even once.
            Sharing::Cpus(_) => (self.conditions.cpu, slice.min(request.least_time() / 4)),
        };
        let page = SharedPage::new(self.library, self.cpus, slice)?;
        page.draw_alike(request.seed)?;
        page.expect_run_time(run_time.unwrap_or(UNKNOWN_RUN_TIME));
        if let Sharing::Cpus(threads) = sharing {
            page.stop_threads(threads)?;
        }
        let member = |index: usize, half: &ProcessUse<'_>| {
            let member = page.member(index, &half.build.home)?;
            let is_program = half.version.harness.facts().measures_process;
            Ok(if is_program { member.as_program() } else { member })
        };
        let [one, other] = halves;
        let members = [member(0, one)?, member(1, other)?];
        let run = |half: &ProcessUse<'_>, member: &InterleavedProcess| {
            let _leaves = LeavesOnDrop(member);
            let conditions =
                Conditions { cpu, member: Some(member), setups: None, ..self.conditions };
            let executable = self.in_its_own_directory(half);
            half.version.harness.execute(&executable, name, request, &conditions)
        };
        let execute = || {
            thread::scope(|scope| {
                let other = scope.spawn(|| run(other, &members[1]));
                [run(one, &members[0]), other.join().unwrap_or_else(|_| Err(panicked()))]
            })
        };
        let outcomes = match self.period {
            Some(period) => page.sampled_while(period, &others(self.cpus, cpu), execute)?,
            None => execute(),
        };
        let times = outcomes.iter().map(|outcome| match outcome {
            Ok(Outcome::Measured(execution)) => execution.measured_time(),
            _ => Duration::MAX,
        });
        let together = times.min().unwrap_or(Duration::MAX);
        let mut attempts = outcomes.into_iter().zip(&members).map(|(outcome, member)| {
            if member.is_program() {
                let switches = |execution: &mut Execution| {
                    program_use::switches(execution).map_err(Obstacle::Unavailable)
                };
                return Ok(attempt(outcome, sharing, switches));
            }
            let (taken, own) = (member.taken()?, member.own_time()?);
            let own = own.unwrap_or_default();
            let sampled = self.period.map(|_| member.sampled()).transpose()?;
            let attempt = attempt(outcome, sharing, |execution| {
                obstacle(execution, sharing, (slice, together), taken, own)
                    .map_or(Ok(taken.passed), Err)
            });
            Ok(Attempt { sampled, ..attempt })
        });
        let mut attempts = match (attempts.next(), attempts.next()) {
            (Some(one), Some(other)) => [one?, other?],
            _ => return Err(panicked()),
        };
        if page.stands_still() {
            attempts[0].obstacle = Some(STAND_STILL);
        }
        Ok(attempts)
    }

    /// The executable with its version's own directory, because the build path leads elsewhere
    /// until the process has started.
    pub(super) fn in_its_own_directory(&self, half: &ProcessUse<'_>) -> Executable {
        let BuiltProgram { executable, home } = half.build;
        let directory = &executable.directory;
        let below = directory.strip_prefix(self.build_path);
        let directory = below.map_or_else(|_| directory.clone(), |below| home.join(below));
        Executable { directory, ..executable.clone() }
    }
}

/// The CPUs besides the one of a benchmark; all, if it has none of its own.
pub(super) fn others(cpus: &[usize], own: Option<usize>) -> Vec<usize> {
    cpus.iter().copied().filter(|cpu| Some(*cpu) != own).collect()
}

pub(super) fn panicked() -> Error {
    Error::new(Exit::Internal, "an interleaved execution ended unexpectedly")
}

/// Lets the other process continue when this one has ended, however it ended.
struct LeavesOnDrop<'m>(&'m InterleavedProcess);

impl Drop for LeavesOnDrop<'_> {
    fn drop(&mut self) {
        // Leaving fails only where the other process has lost its memory too.
        let _ = self.0.leave();
    }
}

/// `switches` counts the switches to the other version in a measured execution.
fn attempt(
    outcome: Result<Outcome>,
    sharing: Sharing,
    switches: impl FnOnce(&mut Execution) -> Result<u64, Obstacle>,
) -> Attempt {
    match outcome {
        Ok(Outcome::Measured(mut execution)) => {
            let switches = switches(&mut execution);
            let passed = *switches.as_ref().unwrap_or(&0);
            // It is stored only without an obstacle.
            execution.schedule = match sharing {
                Sharing::Cpu(_) => Schedule::Interleaved(passed),
                Sharing::Cpus(Threads::Free) => Schedule::InterleavedFreeThreads(passed),
                Sharing::Cpus(_) => Schedule::InterleavedThreads(passed),
            };
            let outcome = Ok(Outcome::Measured(execution));
            Attempt { outcome, obstacle: switches.err(), sampled: None }
        }
        outcome => Attempt { outcome, obstacle: None, sampled: None },
    }
}

/// Why an execution does not count as interleaved. `own` is the total time in which it was allowed
/// to run; the other values are the length of a time slice, and the time that the shorter of both executions measured.
fn obstacle(
    execution: &Execution,
    sharing: Sharing,
    (slice, together): (Duration, Duration),
    taken: InterleavedUse,
    own: Duration,
) -> Option<Obstacle> {
    let InterleavedUse { joined, time_read, passed, first_thread, others, children, given_up } =
        taken;
    let mut incidents = execution.incidents.iter();
    let left_behind = |incident: &Incident| matches!(incident, Incident::LeftBehind(_));
    let works =
        |used: Duration, beside: Duration| used > LITTLE && used.saturating_mul(OTHERS) > beside;
    let unavailable = if !joined {
        InterleavingUnavailable::NotLoaded
    } else if given_up {
        InterleavingUnavailable::ThreadsCannotStop
    } else if !time_read {
        InterleavingUnavailable::EndsOtherwise
    } else if incidents.clone().any(|incident| matches!(incident, Incident::Repeated(_))) {
        // The repeated process may have had no partner.
        InterleavingUnavailable::FailsInterleaved
    } else if incidents.any(left_behind) || works(children, first_thread + others) {
        InterleavingUnavailable::ChildProcesses
    } else if matches!(sharing, Sharing::Cpu(_)) && works(others, first_thread) {
        return Some(Obstacle::Threads);
    } else if passed > 0 && execution.measured_time() > own {
        InterleavingUnavailable::OtherClock
    } else if passed == 0 || is_rare(passed, execution, slice, together) {
        InterleavingUnavailable::NoClock
    } else {
        return None;
    };
    Some(Obstacle::Unavailable(unavailable))
}

/// True if an execution handed over so seldom that it hardly alternated with its partner. It should hand over at the end of
/// each slice, or of each measurement if measurements are longer, while both measure: one that is much slower goes on alone.
fn is_rare(passed: u64, execution: &Execution, slice: Duration, together: Duration) -> bool {
    /// How many times as long as that its slices may have been in the mean.
    const MOST: u32 = 4;
    // Without the measurements in which another program had the CPU: they are as long, and are one slice.
    let usual = execution.median_measurement();
    let measurements = u32::try_from(execution.measurements()).unwrap_or(u32::MAX);
    let passed = u32::try_from(passed).unwrap_or(u32::MAX);
    slice.max(usual).saturating_mul(MOST).saturating_mul(passed)
        < usual.saturating_mul(measurements).min(together)
}

/// The result of two interleaved executions.
#[derive(Debug, PartialEq)]
pub(super) enum Both {
    Measured(Box<[Execution; 2]>),
    /// They do not count.
    Obstacle(Obstacle),
    /// The execution at this index failed.
    Failed(usize),
    /// The execution at this index skipped itself, for this reason.
    Skipped(usize, Unmeasured),
}

/// Combines the results of two interleaved executions. Fails where that is no result of the
/// benchmark.
///
/// An execution's interleaving counts only where both measured: alone, it has no partner to pass
/// the CPU to.
pub(super) fn both(attempts: [Attempt; 2]) -> Result<Both> {
    let [one, other] = attempts;
    let obstacle = match (one.obstacle, other.obstacle) {
        // Other threads of the other one do not matter then.
        (Some(Obstacle::Threads) | None, Some(other)) => Some(other),
        (one, _) => one,
    };
    // An interrupt says nothing about the benchmark.
    let outcomes = [outcome_of(one.outcome)?, outcome_of(other.outcome)?];
    // They were ended for that.
    if obstacle.as_ref() == Some(&STAND_STILL) {
        return Ok(Both::Obstacle(STAND_STILL));
    }
    for failed in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        // If it succeeds alone, nobody else reports the reason.
        debug!("an interleaved execution has no result: {failed}");
    }
    Ok(match (outcomes, obstacle) {
        ([Ok(_), Ok(_)], Some(obstacle)) => Both::Obstacle(obstacle),
        ([Ok(one), Ok(other)], None) => Both::Measured(Box::new([one, other])),
        ([Err(Unmeasured::Failed(_)), _], _) => Both::Failed(0),
        ([_, Err(Unmeasured::Failed(_))], _) => Both::Failed(1),
        ([Err(skipped), _], _) => Both::Skipped(0, skipped),
        ([_, Err(skipped)], _) => Both::Skipped(1, skipped),
    })
}

/// Assigns CPUs to interleaved pairs: all that rbench may use in turn, so that another program on
/// one of them does not disturb every execution.
pub(super) struct Cpus {
    all: Vec<usize>,
    next: usize,
}

impl Cpus {
    /// All CPUs on which executions may run, one of each core first; empty without the library.
    pub(super) fn with_library(library: Option<&PreloadedLibrary>) -> Self {
        Self { all: library.map(|library| by_core(&library.cpus)).unwrap_or_default(), next: 0 }
    }

    /// The number of pairs that can be executed at once, at most `wanted`.
    pub(super) fn parallel(&self, wanted: usize) -> usize {
        wanted.clamp(1, self.all.len().max(1))
    }

    pub(super) fn take(&mut self) -> usize {
        let cpu = self.all.get(self.next % self.all.len().max(1)).copied().unwrap_or(0);
        self.next += 1;
        cpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{Metric, Series, testing},
        process::interleaving::SLICE,
    };

    const NO_CLOCK: Obstacle = Obstacle::Unavailable(InterleavingUnavailable::NoClock);

    fn measured(obstacle: Option<Obstacle>) -> Attempt {
        Attempt {
            outcome: Ok(Outcome::Measured(testing::execution(testing::request(), Vec::new()))),
            obstacle,
            sampled: None,
        }
    }

    fn unmeasured(outcome: Result<Outcome>) -> Attempt {
        Attempt { outcome, obstacle: None, sampled: None }
    }

    fn failed(exit: Exit) -> Attempt {
        unmeasured(Err(Error::new(exit, "it failed")))
    }

    fn skipped() -> Attempt {
        unmeasured(Ok(Outcome::Skipped("no GPU".to_owned())))
    }

    /// Use of the library by a process that was interleaved as it should be.
    const TAKEN: InterleavedUse = InterleavedUse {
        joined: true,
        time_read: true,
        passed: 100,
        first_thread: Duration::from_millis(100),
        others: Duration::from_millis(1),
        children: Duration::ZERO,
        given_up: false,
    };

    fn obstacle_of(sharing: Sharing, taken: InterleavedUse) -> Option<Obstacle> {
        let execution = testing::execution(testing::request(), Vec::new());
        obstacle(&execution, sharing, (SLICE, Duration::MAX), taken, Duration::from_millis(100))
    }

    #[test]
    fn executions_that_hardly_alternate_are_not_interleaved() {
        let is_rare_for = |passed, length: f64, slice, together| {
            let series = Series {
                metric: Metric::wall(),
                values: vec![length * 1e6; 80],
                iterations: vec![1; 80],
                resolution: 0.0,
            };
            is_rare(passed, &testing::execution(testing::request(), vec![series]), slice, together)
        };
        let is_rare = |passed, length, slice| is_rare_for(passed, length, slice, Duration::MAX);
        assert!(!is_rare(24, 0.3, SLICE) && !is_rare(7, 0.3, SLICE), "24 ms in slices of 1");
        assert!(is_rare(5, 0.3, SLICE));
        assert!(!is_rare(80, 10.0, SLICE) && !is_rare(21, 10.0, SLICE), "as long measurements");
        assert!(is_rare(1, 10.0, SLICE) && is_rare(19, 10.0, SLICE));
        assert!(!is_rare(2, 0.3, 5 * SLICE) && is_rare(1, 0.3, 5 * SLICE));
        // Its partner took 4 or 6 ms for as many measurements.
        assert!(!is_rare_for(1, 0.3, SLICE, 4 * SLICE) && is_rare_for(1, 0.3, SLICE, 6 * SLICE));
    }

    #[test]
    fn interleaved_use_shows_why_interleaving_is_unavailable() {
        let millis = Duration::from_millis;
        let of = |taken| obstacle_of(Sharing::Cpu(0), taken);
        assert_eq!(of(TAKEN), None);
        for (taken, expected) in [
            (
                InterleavedUse { joined: false, passed: 0, ..TAKEN },
                InterleavingUnavailable::NotLoaded,
            ),
            (InterleavedUse { time_read: false, ..TAKEN }, InterleavingUnavailable::EndsOtherwise),
            (InterleavedUse { passed: 0, ..TAKEN }, InterleavingUnavailable::NoClock),
            (
                InterleavedUse { given_up: true, time_read: false, ..TAKEN },
                InterleavingUnavailable::ThreadsCannotStop,
            ),
            (
                InterleavedUse { children: millis(3), ..TAKEN },
                InterleavingUnavailable::ChildProcesses,
            ),
        ] {
            assert_eq!(of(taken), Some(Obstacle::Unavailable(expected)));
        }
        // All is done by another thread, which reads the clock as well.
        let by_another = InterleavedUse { others: millis(99), passed: 0, ..TAKEN };
        assert_eq!(of(by_another), Some(Obstacle::Threads));
        let no_clock = Obstacle::Unavailable(InterleavingUnavailable::NoClock);
        assert_eq!(obstacle_of(Sharing::Cpus(Threads::Placed), by_another), Some(no_clock));
        // Processes need this little in any case.
        let short = InterleavedUse { first_thread: millis(10), ..TAKEN };
        assert_eq!(of(short), None);
    }

    #[test]
    fn working_threads_are_an_obstacle_only_on_one_cpu() {
        let busy = InterleavedUse { others: Duration::from_millis(3), ..TAKEN };
        assert_eq!(obstacle_of(Sharing::Cpu(0), busy), Some(Obstacle::Threads));
        assert_eq!(obstacle_of(Sharing::Cpus(Threads::Placed), busy), None);
        // 1/50 of the work of all threads.
        let children = Duration::from_micros(2_050);
        let with_children = InterleavedUse { children, ..busy };
        assert_eq!(obstacle_of(Sharing::Cpus(Threads::Placed), with_children), None);
    }

    #[test]
    fn execution_shows_why_interleaving_is_unavailable() {
        let of = |incidents: Vec<Incident>, values: Vec<f64>| {
            let series = Series {
                metric: Metric::wall(),
                iterations: vec![1; values.len()],
                values,
                resolution: 0.0,
            };
            let execution = testing::execution(testing::request(), vec![series]);
            let execution = Execution { incidents, ..execution };
            let lengths = (SLICE, Duration::MAX);
            obstacle(&execution, Sharing::Cpu(0), lengths, TAKEN, Duration::from_millis(100))
        };
        assert_eq!(of(Vec::new(), vec![5e7, 4.9e7]), None);
        assert_eq!(
            of(Vec::new(), vec![5e7, 5.1e7]),
            Some(Obstacle::Unavailable(InterleavingUnavailable::OtherClock))
        );
        let left = Incident::LeftBehind(vec!["server".to_owned()]);
        assert_eq!(
            of(vec![left], vec![1e7]),
            Some(Obstacle::Unavailable(InterleavingUnavailable::ChildProcesses))
        );
        let repeated = Incident::Repeated("it printed its results".to_owned());
        assert_eq!(
            of(vec![repeated], vec![1e7]),
            Some(Obstacle::Unavailable(InterleavingUnavailable::FailsInterleaved))
        );
    }

    #[test]
    fn cpus_are_assigned_round_robin() {
        let mut cpus = Cpus { all: vec![2, 5], next: 0 };
        assert_eq!([cpus.take(), cpus.take(), cpus.take()], [2, 5, 2]);
    }

    #[test]
    fn obstacle_of_one_counts_for_both() {
        let threads = || measured(Some(Obstacle::Threads));
        for attempts in [[threads(), measured(None)], [measured(None), threads()]] {
            assert_eq!(both(attempts).unwrap(), Both::Obstacle(Obstacle::Threads));
        }
        let clock = || measured(Some(NO_CLOCK));
        for attempts in [[threads(), clock()], [clock(), threads()]] {
            assert_eq!(both(attempts).unwrap(), Both::Obstacle(NO_CLOCK));
        }
        let none = both([measured(None), measured(None)]).unwrap();
        assert!(matches!(none, Both::Measured(_)));
    }

    #[test]
    fn partner_of_failed_execution_is_not_unavailable() {
        let alone = || measured(Some(NO_CLOCK));
        assert_eq!(both([alone(), failed(Exit::Benchmark)]).unwrap(), Both::Failed(1));
        assert_eq!(both([failed(Exit::Benchmark), alone()]).unwrap(), Both::Failed(0));
        let reason = Unmeasured::Skipped("no GPU".to_owned());
        assert_eq!(both([alone(), skipped()]).unwrap(), Both::Skipped(1, reason));
        assert_eq!(both([skipped(), failed(Exit::Benchmark)]).unwrap(), Both::Failed(1));
    }

    #[test]
    fn interrupt_is_no_result_of_a_benchmark() {
        let alone = || measured(Some(NO_CLOCK));
        for attempts in [
            [alone(), failed(Exit::Interrupted)],
            [failed(Exit::Interrupted), alone()],
            [failed(Exit::Benchmark), failed(Exit::Interrupted)],
        ] {
            assert_eq!(both(attempts).unwrap_err().exit(), Exit::Interrupted);
        }
    }
}
