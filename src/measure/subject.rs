//! A benchmark while it is measured, the rules for tuning its iterations again, and the conversion
//! of an outcome to a result of the benchmark.

use std::{cmp::Ordering, collections::HashSet, path::PathBuf, time::Duration};

use tracing::info;

use super::{
    guard::{Guard, LARGE},
    preloaded::PreloadedLibrary,
    slices::{in_slices, longer_slice},
};
use crate::{
    error::{Error, Exit, Result},
    harness::{Executable, Harness},
    model::{
        Benchmark, Execution, ExecutionRequest, Incident, InterleavingUnavailable, Metric, Mode,
        Outcome, Schedule, Slot, Threads, Unmeasured,
    },
    process::interleaving::{SLICE, SLICE_WITH_THREADS},
};

/// A benchmark while it is measured.
pub(super) struct Subject<'v> {
    pub(super) benchmark: Benchmark,
    /// The request of each execution, except for the initial state.
    pub(super) request: ExecutionRequest,
    pub(super) versions: Vec<InVersion<'v>>,
    /// Decides when iterations are tuned again during this stage.
    pub(super) retuning: Retuning,
    /// The requested mode. Interleaved only while `unavailable` is absent.
    pub(super) mode: Mode,
    /// Where its threads run while it is interleaved.
    pub(super) threads: Threads,
    /// True if it has a set-up, which may not be for two executions of a version at once.
    pub(super) has_setup: bool,
    /// Why it cannot be interleaved, where that was requested.
    pub(super) unavailable: Option<InterleavingUnavailable>,
    /// The executions stored by earlier runs of this stage.
    pub(super) done: HashSet<Slot>,
    /// True once both versions were measured interleaved.
    pub(super) was_interleaved: bool,
    /// True once it failed interleaved, and not alone.
    pub(super) failed_interleaved: bool,
    /// Why its slices are longer than others', if they are: the reason to measure it sequentially if they do not help.
    pub(super) interference: Option<InterleavingUnavailable>,
    /// The length of the time slices in which it is interleaved.
    pub(super) slice: Duration,
    /// Compares its times interleaved with those alone.
    pub(super) guard: Guard,
    /// The peak memory of an execution in bytes: the most in any version, if it is known.
    pub(super) memory: Option<u64>,
    /// True if a version uses anything outside of the checkout, where two executions of it would meet.
    pub(super) uses_outside: bool,
    /// The files outside of the checkout that a version writes: each execution finds them in the same state.
    pub(super) outside: Vec<PathBuf>,
    /// The run time of its traced process, if it is known.
    pub(super) run_time: Option<Duration>,
}

/// Why an interleaved execution does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Its other threads work: it must be interleaved with them, on all CPUs.
    Threads,
    /// The versions disturb each other: its threads must be free, or its time slices longer. If they cannot be, it cannot
    /// be interleaved, for this reason.
    Interference(InterleavingUnavailable),
    Unavailable(InterleavingUnavailable),
}

pub(super) struct InVersion<'v> {
    /// The harness that runs it: one of another version has another command line.
    pub(super) harness: &'v dyn Harness,
    pub(super) builds: Vec<BuiltProgram>,
    /// What it needs even if it is executed alone: its measurements are clock readings.
    pub(super) library: Option<PreloadedLibrary>,
}

/// One build of a benchmark's bench target in a version.
pub(super) struct BuiltProgram {
    pub(super) executable: Executable,
    /// The directory of its compilation.
    pub(super) home: PathBuf,
}

impl Subject<'_> {
    /// The limits of the versions' harnesses that keep them from doing all that is requested.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.versions.iter().filter_map(|InVersion { harness, .. }| {
            let count = self.request.measurements;
            let s = if count == 1 { "" } else { "s" };
            let cannot =
                |limit| format!("an execution cannot have {count} measurement{s}: {limit}");
            harness.measurement_limit(count, self.is_interleaved()).map(cannot)
        })
    }

    /// Reports that an execution has fewer measurements than planned, unless it has said so itself, or a note on the
    /// harness has.
    pub(super) fn fewer_measurements(&self, execution: &Execution) -> Option<Incident> {
        let (measurements, planned) = (execution.measurements(), self.request.measurements);
        let is_reported =
            |incident: &Incident| matches!(incident, Incident::FewerMeasurements { .. });
        if measurements >= planned || execution.incidents.iter().any(is_reported) {
            return None;
        }
        let limit = |is_interleaved| {
            let mut harnesses = self.versions.iter().map(|version| version.harness);
            harnesses.find_map(|harness| harness.measurement_limit(planned, is_interleaved))
        };
        if limit(self.mode == Mode::Interleaved).is_some() {
            return None;
        }
        let reason = limit(self.is_interleaved()).unwrap_or("the benchmark has its own settings");
        Some(Incident::FewerMeasurements { measurements, planned, reason: reason.to_owned() })
    }

    /// True if both versions are executed at once.
    pub(super) fn is_interleaved(&self) -> bool {
        self.mode == Mode::Interleaved && self.unavailable.is_none()
    }

    /// True if a step of this benchmark can be executed at the same time as those `taken`, with this much memory for all
    /// of them. Cores share the last cache, so nothing is executed beside large data, or beside times that are compared with
    /// those alone; longer slices may be for threads, which need all CPUs; and programs at once were studied only alone. Two
    /// steps of one benchmark are, once that was interleaved: its iterations are known then, and are the same for both.
    pub(super) fn fits_beside(&self, taken: &[(usize, &Self)], own: usize, memory: u64) -> bool {
        let all = || taken.iter().map(|(_, subject)| *subject).chain([self]);
        let is_taken = taken.iter().any(|(benchmark, _)| *benchmark == own);
        // Unknown until it was executed once.
        let needed = all().map(Self::memory_of_both).sum::<Option<u64>>();
        all().all(|subject| {
            let is_alone = subject.threads != Threads::Together
                || subject.has_setup
                || subject.uses_outside
                || subject.is_program()
                || subject.guard.is_looking()
                || subject.memory >= Some(LARGE)
                || subject.slice != SLICE;
            subject.is_interleaved() && !is_alone
        }) && (!is_taken || self.was_interleaved)
            && needed.is_some_and(|needed| needed <= memory)
    }

    /// True if both versions at once are known to need more than this memory. Not after they were interleaved, since all
    /// builds must be measured in the same way: they had enough then.
    pub(super) fn lacks_memory(&self, memory: u64) -> bool {
        self.is_interleaved() && !self.was_interleaved && self.memory_of_both() > Some(memory)
    }

    /// The memory of both versions at once in bytes, if it is known.
    fn memory_of_both(&self) -> Option<u64> {
        self.memory.map(|memory| memory.saturating_mul(2))
    }

    /// True if the way in which it is measured already avoids the obstacle.
    pub(super) fn knows(&self, obstacle: &Obstacle) -> bool {
        !self.is_interleaved()
            || (*obstacle == Obstacle::Threads && self.threads != Threads::Together)
    }

    /// Changes the way in which it is measured from now on, because of an obstacle.
    pub(super) fn meet(&mut self, obstacle: Obstacle) {
        // What was measured so far does not count.
        self.was_interleaved = false;
        match obstacle {
            Obstacle::Threads => {
                info!("{} is interleaved with its other threads", self.benchmark);
                self.threads = Threads::Placed;
                self.slice = SLICE_WITH_THREADS;
                self.guard.forget();
            }
            Obstacle::Interference(why) if self.threads == Threads::Placed => {
                info!("{}: {why}: its threads are no longer placed", self.benchmark);
                self.threads = Threads::Free;
                self.guard.look_anew();
            }
            Obstacle::Interference(why) => match self.longer_slice() {
                Some(longer) => {
                    info!("{}: {why}: slices of {longer:?}", self.benchmark);
                    (self.slice, self.interference) = (longer, Some(why));
                    self.guard.look_anew();
                }
                None => self.meet(Obstacle::Unavailable(why)),
            },
            Obstacle::Unavailable(unavailable) => {
                let is_too_short =
                    unavailable == InterleavingUnavailable::NoClock && self.slice > SLICE;
                // It is too short for the longer slices that it needs.
                let unavailable =
                    self.interference.take().filter(|_| is_too_short).unwrap_or(unavailable);
                info!("{} is measured sequentially: {unavailable}", self.benchmark);
                self.unavailable = Some(unavailable);
            }
        }
    }

    /// The next longer slices, if there are any. The kernel chooses those of whole programs.
    fn longer_slice(&self) -> Option<Duration> {
        longer_slice(self.slice).filter(|_| !self.is_program())
    }

    /// The request of an interleaved execution, except for the initial state.
    pub(super) fn interleaved_request(&self) -> ExecutionRequest {
        if self.slice <= SLICE || self.is_program() {
            return self.request.clone();
        }
        let [base, head] = self.guard.hints.map(Option::unwrap_or_default);
        let iteration = Duration::try_from_secs_f64(base.min(head) / 1e9).unwrap_or_default();
        in_slices(self.slice, &self.request, iteration)
    }

    /// The metric that shows whether interleaving slows it down: wall time, or the CPU time of a whole program.
    pub(super) fn guarded_metric(&self) -> Metric {
        if self.is_program() { Metric::cpu() } else { Metric::wall() }
    }

    pub(super) fn is_program(&self) -> bool {
        self.versions.iter().any(|version| version.harness.facts().measures_process)
    }

    /// True if it may succeed interleaved after it has failed once.
    pub(super) fn may_fail_interleaved(&self) -> bool {
        self.versions.iter().any(|version| version.harness.facts().may_fail_interleaved)
    }

    pub(super) fn build(&self, version: usize, build: usize) -> Result<&BuiltProgram> {
        self.versions[version].builds.get(build).ok_or_else(|| {
            Error::new(Exit::Internal, format!("{} has no build {build}", self.benchmark))
        })
    }

    /// The schedule to store with an execution that ran alone.
    pub(super) fn sequential_schedule(&self) -> Schedule {
        self.unavailable.clone().map_or(Schedule::NotRequested, Schedule::Unavailable)
    }

    /// True if the clock readings of a program are the measurements.
    pub(super) fn is_custom(&self) -> bool {
        self.versions.iter().all(|version| version.harness.facts().measures_readings)
    }

    /// True if every version accepts a number of iterations.
    pub(super) fn is_tunable(&self) -> bool {
        self.versions.iter().all(|version| version.harness.facts().takes_iterations)
    }

    /// The request of an execution of `version` that finds the iterations.
    pub(super) fn tuning_request(&self, version: usize) -> ExecutionRequest {
        tuning_request(self.versions[version].harness, &self.request)
    }
}

/// Decides when a benchmark's iterations are tuned again within a stage.
///
/// All versions share them. Where versions differ so much that no number suits all, the slowest
/// decides: a difference of that size shows in short measurements too, and measuring could take
/// hours otherwise.
#[derive(Debug, Default)]
pub(super) struct Retuning {
    /// True once something was measured: more iterations may then be too many for another version.
    is_settled: bool,
    /// The versions and numbers of iterations for which fewer were already tried. Where that found
    /// no fewer, as with programs that choose their own number, another try would not find them
    /// either.
    lowered: Vec<(usize, u64)>,
}

impl Retuning {
    /// True if iterations must be tuned again after measurements of `version` with `iterations`
    /// each, whose time compares in this way with the minimum time.
    pub(super) fn is_needed(
        &mut self,
        version: usize,
        iterations: u64,
        compared_with_floor: Ordering,
    ) -> bool {
        let was_settled = std::mem::replace(&mut self.is_settled, true);
        match compared_with_floor {
            Ordering::Less => !was_settled,
            Ordering::Equal => false,
            Ordering::Greater => {
                let is_new = !self.lowered.contains(&(version, iterations));
                if is_new {
                    self.lowered.push((version, iterations));
                }
                is_new
            }
        }
    }

    /// Iterations only decrease from now on.
    pub(super) fn settle(&mut self) {
        self.is_settled = true;
    }
}

/// The request of an execution that finds the iterations for executions of `request`.
pub(super) fn tuning_request(
    harness: &dyn Harness,
    request: &ExecutionRequest,
) -> ExecutionRequest {
    let measurements = harness.facts().tuning_measurements.unwrap_or(request.measurements);
    ExecutionRequest { measurements, iterations: None, ..request.clone() }
}

/// Converts the outcome of an execution to a result of its benchmark; an error if it is none.
pub(super) fn outcome_of(outcome: Result<Outcome>) -> Result<Result<Execution, Unmeasured>> {
    match outcome {
        Err(error) => failed(error).map(Err),
        Ok(Outcome::Skipped(reason)) => Ok(Err(Unmeasured::Skipped(reason))),
        Ok(Outcome::Measured(execution)) => Ok(Ok(execution)),
    }
}

/// The result of a benchmark whose execution failed. Only a failure of the benchmark itself is
/// stored as a result: any other error has nothing to do with the version, and ends the run.
fn failed(error: Error) -> Result<Unmeasured> {
    match error.exit() {
        Exit::Benchmark => Ok(Unmeasured::Failed(error.to_string())),
        Exit::Interrupted => Err(error),
        _ => {
            Err(error
                .hint("every finished execution is kept: run the same command again to resume"))
        }
    }
}

#[cfg(test)]
mod tests {
    use cargo_metadata::semver;

    use super::*;
    use crate::{
        harness::{Criterion, Divan, Native},
        model::{Metric, Name, Series, testing},
    };

    fn request(measurements: usize) -> ExecutionRequest {
        ExecutionRequest { measurements, ..testing::request() }
    }

    fn subject(harnesses: [&dyn Harness; 2]) -> Subject<'_> {
        let (package, target) = ("p".to_owned(), "t".to_owned());
        Subject {
            benchmark: Benchmark { package, target, name: Name::plain("a") },
            request: testing::request(),
            versions: harnesses
                .map(|harness| InVersion { harness, builds: Vec::new(), library: None })
                .into(),
            retuning: Retuning::default(),
            mode: Mode::Interleaved,
            threads: Threads::Together,
            has_setup: false,
            unavailable: None,
            done: HashSet::new(),
            was_interleaved: false,
            failed_interleaved: false,
            interference: None,
            slice: SLICE,
            guard: Guard::default(),
            memory: None,
            uses_outside: false,
            outside: Vec::new(),
            run_time: None,
        }
    }

    #[test]
    fn notes_include_measurement_limits_of_harnesses() {
        let criterion = Criterion::new(semver::Version::new(0, 5, 0));
        let notes = |count| -> Vec<String> {
            Subject { request: request(count), ..subject([&Native, &criterion]) }.notes().collect()
        };
        let limit = "an execution cannot have 5 measurements: Criterion.rs takes at least 10";
        assert_eq!(notes(5), [limit]);
        assert_eq!(notes(10), [""; 0]);
    }

    #[test]
    fn fewer_measurements_are_reported_once_with_a_reason() {
        let divan = Divan { version: semver::Version::new(0, 1, 21), is_fork: false };
        let subject = Subject { request: request(80), ..subject([&divan, &divan]) };
        let series = |count: usize| Series {
            metric: Metric::wall(),
            values: vec![1.0; count],
            iterations: vec![1; count],
            resolution: 0.0,
        };
        let execution = |count| testing::execution(request(80), vec![series(count)]);
        assert_eq!(subject.fewer_measurements(&execution(80)), None);
        let sentence = |subject: &Subject<'_>, execution: &Execution| {
            subject.fewer_measurements(execution).map(|incident| incident.to_string())
        };
        let own = "an execution gives 1 of 80 measurements: the benchmark has its own settings";
        assert_eq!(sentence(&subject, &execution(1)), Some(own.to_owned()));
        let unavailable = Some(InterleavingUnavailable::OtherClock);
        let alone = Subject { unavailable, ..subject };
        let table = sentence(&alone, &execution(1)).unwrap();
        assert!(table.contains("1 of 80 measurements: the table of Divan shows"), "{table}");
        let incidents = vec![alone.fewer_measurements(&execution(1)).unwrap()];
        let said = Execution { incidents, ..execution(1) };
        assert_eq!(sentence(&alone, &said), None);
        let noted = Subject { mode: Mode::Sequential, ..alone };
        assert_eq!(sentence(&noted, &execution(1)), None, "a note on the harness says it");
    }

    #[test]
    fn subject_is_tunable_if_every_harness_accepts_iterations() {
        let criterion = Criterion::new(semver::Version::new(0, 5, 0));
        let divan = Divan { version: semver::Version::new(0, 1, 21), is_fork: false };
        assert!(subject([&Native, &Native]).is_tunable());
        assert!(subject([&divan, &divan]).is_tunable());
        assert!(!subject([&divan, &criterion]).is_tunable());
        assert!(!subject([&Native, &criterion]).is_tunable());
        assert!(!subject([&criterion, &Native]).is_tunable());
    }

    #[test]
    fn benchmark_that_is_too_short_for_longer_slices_is_slower_interleaved() {
        let slower = InterleavingUnavailable::SlowerInterleaved;
        for (slice, interference, expected) in [
            (SLICE, None, InterleavingUnavailable::NoClock),
            (10 * SLICE, Some(slower.clone()), slower),
        ] {
            let mut subject = Subject { interference, slice, ..subject([&Native, &Native]) };
            subject.meet(Obstacle::Unavailable(InterleavingUnavailable::NoClock));
            assert_eq!(subject.unavailable, Some(expected));
        }
    }

    #[test]
    fn tuning_request_of_divan_has_all_measurements() {
        let divan = Divan { version: semver::Version::new(0, 1, 21), is_fork: false };
        let with_iterations = ExecutionRequest { iterations: Some(7), ..request(50) };
        let subject = Subject { request: with_iterations, ..subject([&Native, &divan]) };
        let asked = [0, 1].map(|version| subject.tuning_request(version));
        assert_eq!(asked.each_ref().map(|asked| asked.measurements), [1, 50]);
        assert_eq!(asked.map(|asked| asked.iterations), [None, None]);
    }

    #[test]
    fn obstacles_change_where_threads_run_and_then_the_slices() {
        let mut subject = subject([&Native, &Native]);
        let slower = InterleavingUnavailable::SlowerInterleaved;
        let interference = Obstacle::Interference(slower.clone());
        subject.meet(Obstacle::Threads);
        assert_eq!((subject.threads, subject.slice), (Threads::Placed, SLICE_WITH_THREADS));
        assert!(subject.knows(&Obstacle::Threads) && !subject.knows(&interference));
        subject.meet(interference.clone());
        assert!(subject.guard.is_looking());
        assert_eq!((subject.threads, subject.slice), (Threads::Free, SLICE_WITH_THREADS));
        assert!(subject.knows(&Obstacle::Threads));
        subject.meet(interference);
        assert!(subject.slice > SLICE_WITH_THREADS || subject.unavailable == Some(slower));
    }

    #[test]
    fn benchmarks_are_executed_at_once_with_enough_memory() {
        let known = |memory| Subject { memory, ..subject([&Native, &Native]) };
        let (small, unknown) = (known(Some(10)), known(None));
        let alone =
            Subject { unavailable: Some(InterleavingUnavailable::Memory), ..known(Some(1)) };
        let fits = |one: &Subject<'_>, taken: &Subject<'_>| one.fits_beside(&[(1, taken)], 2, 40);
        assert!(fits(&small, &small));
        assert!(!fits(&small, &known(Some(11))), "two of each are 42");
        assert!(!fits(&small, &unknown) && !fits(&unknown, &small));
        let large = Subject { slice: 2 * SLICE, ..known(Some(10)) };
        assert!(!fits(&small, &large) && !fits(&large, &small));
        let fills_caches = known(Some(LARGE));
        let beside_it = |one: &Subject<'_>| one.fits_beside(&[(1, &fills_caches)], 2, 9 * LARGE);
        assert!(!beside_it(&small) && !beside_it(&fills_caches));
        let mut looking = known(Some(10));
        looking.guard.look_anew();
        assert!(!fits(&small, &looking) && !fits(&looking, &small));
        assert!(!fits(&small, &alone) && !fits(&alone, &small));
        let with_port = Subject { uses_outside: true, ..known(Some(10)) };
        assert!(!fits(&small, &with_port) && !fits(&with_port, &small));
    }

    #[test]
    fn benchmark_that_was_interleaved_does_not_lack_memory() {
        let known = |memory, was_interleaved| Subject {
            was_interleaved,
            memory,
            ..subject([&Native, &Native])
        };
        assert!(known(Some(21), false).lacks_memory(40));
        assert!(!known(Some(20), false).lacks_memory(40));
        assert!(!known(None, false).lacks_memory(40));
        assert!(!known(Some(21), true).lacks_memory(40));
    }

    #[test]
    fn two_steps_of_a_benchmark_are_executed_at_once_after_the_first() {
        let known = |was_interleaved| Subject {
            was_interleaved,
            memory: Some(1),
            ..subject([&Native, &Native])
        };
        let fits = |one: &Subject<'_>| one.fits_beside(&[(1, one)], 1, 40);
        assert!(!fits(&known(false)));
        assert!(fits(&known(true)));
    }

    #[test]
    fn retuning_raises_iterations_only_at_the_beginning() {
        use Ordering::{Equal, Greater, Less};
        let needed = |lasted: &[Ordering]| {
            let mut retuning = Retuning::default();
            let lasted = (0..).zip(lasted);
            lasted
                .map(|(number, lasted)| retuning.is_needed(0, number, *lasted))
                .collect::<Vec<_>>()
        };
        assert_eq!(needed(&[Less, Less]), [true, false]);
        assert_eq!(needed(&[Equal, Less]), [false, false]);
        assert_eq!(needed(&[Less, Greater, Less]), [true, true, false]);
        assert_eq!(needed(&[Greater, Less, Equal, Greater]), [true, false, false, true]);
    }

    #[test]
    fn retuning_tries_fewer_iterations_once() {
        let mut retuning = Retuning::default();
        let mut too_long = |version, number| retuning.is_needed(version, number, Ordering::Greater);
        assert_eq!([too_long(0, 9), too_long(0, 9), too_long(0, 9)], [true, false, false]);
        assert!(too_long(1, 9), "another version may have fewer");
        assert!(too_long(0, 8), "there were fewer");
    }

    #[test]
    fn failed_execution_is_a_result_only_for_benchmark_errors() {
        let of = |exit| failed(Error::new(exit, "cannot"));
        assert_eq!(of(Exit::Benchmark), Ok(Unmeasured::Failed("cannot".to_owned())));
        for exit in [Exit::Usage, Exit::Build, Exit::Internal] {
            let error = of(exit).unwrap_err();
            assert_eq!(error.exit(), exit);
            assert!(error.to_string().ends_with("run the same command again to resume"));
        }
        // The run itself reports the interrupt.
        assert_eq!(of(Exit::Interrupted).unwrap_err().to_string(), "cannot");
    }
}
