//! A benchmark that is measured, when its iterations are found anew, and what came of an execution, as far as it says
//! something of the benchmark.

use std::{cmp::Ordering, collections::HashSet};

use crate::{
    error::{Error, Exit, Result},
    harness::{Executable, Harness},
    model::{
        Benchmark, Execution, ExecutionRequest, HarnessKind, InterleavingUnavailable, Mode,
        Outcome, Schedule, Slot, Unmeasured,
    },
};

/// A benchmark that is measured.
pub(super) struct Subject<'v> {
    /// The benchmark.
    pub(super) benchmark: Benchmark,
    /// What each execution is asked to do, but for the initial state.
    pub(super) request: ExecutionRequest,
    /// The benchmark in each version.
    pub(super) versions: Vec<InVersion<'v>>,
    /// Decides whether iterations are found anew while this stage is measured.
    pub(super) retuning: Retuning,
    /// How its executions are interleaved: by turns while there is no obstacle.
    pub(super) mode: Mode,
    /// Why it cannot take turns, where that was asked for.
    pub(super) obstacle: Option<InterleavingUnavailable>,
    /// What was measured of it in this stage before.
    pub(super) done: HashSet<Slot>,
}

/// A benchmark in one version.
pub(super) struct InVersion<'v> {
    /// What runs it: a harness of another version has another command line.
    pub(super) harness: &'v dyn Harness,
    /// The executable of each build.
    pub(super) executables: Vec<Executable>,
}

impl Subject<'_> {
    /// Why the harnesses of the versions cannot do all that is requested, if so.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.versions.iter().flat_map(|InVersion { harness, .. }| {
            let count = self.request.measurements;
            let s = if count == 1 { "" } else { "s" };
            let cannot =
                |limit| format!("an execution cannot have {count} measurement{s}: {limit}");
            let limit = harness.measurement_limit(count, self.is_interleaved()).map(cannot);
            harness.note(&self.request).into_iter().chain(limit)
        })
    }

    /// Whether both versions are executed at once.
    pub(super) fn is_interleaved(&self) -> bool {
        self.mode == Mode::Interleaved && self.obstacle.is_none()
    }

    /// The executable of a build of a version.
    pub(super) fn executable(&self, version: usize, build: usize) -> Result<&Executable> {
        self.versions[version].executables.get(build).ok_or_else(|| {
            Error::new(Exit::Internal, format!("{} has no build {build}", self.benchmark))
        })
    }

    /// What an execution says that ran alone.
    pub(super) fn sequential_schedule(&self) -> Schedule {
        self.obstacle.map_or(Schedule::NotRequested, Schedule::Unavailable)
    }

    /// Whether every version can be told how many iterations a measurement has.
    pub(super) fn is_tunable(&self) -> bool {
        self.versions.iter().all(|version| accepts_iterations(version.harness.kind()))
    }

    /// What an execution of `version` is asked that finds the iterations.
    pub(super) fn tuning_request(&self, version: usize) -> ExecutionRequest {
        tuning_request(self.versions[version].harness.kind(), &self.request)
    }
}

/// Decides whether a benchmark's iterations are to be found anew in a stage.
///
/// All versions share them. Where versions differ so much that no number suits all, the slowest decides: a
/// difference of that size shows in short measurements too, and to measure could take hours otherwise.
#[derive(Debug, Default)]
pub(super) struct Retuning {
    /// Whether something was measured, so that more iterations may be too many for another version.
    is_settled: bool,
    /// The versions and numbers for which fewer were looked for. Where that found no fewer, as with programs
    /// that have a number of their own, it would not find them the next time either.
    lowered: Vec<(usize, u64)>,
}

impl Retuning {
    /// Whether iterations are to be found anew after measurements of a version, with so many iterations, that
    /// lasted so long against the floor.
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

    /// From now on iterations only fall.
    pub(super) fn settle(&mut self) {
        self.is_settled = true;
    }
}

/// Whether a harness can be told how many iterations a measurement has.
pub(super) const fn accepts_iterations(kind: HarnessKind) -> bool {
    matches!(kind, HarnessKind::Native | HarnessKind::Divan)
}

/// What an execution is asked that finds the iterations for executions of this request.
pub(super) fn tuning_request(kind: HarnessKind, request: &ExecutionRequest) -> ExecutionRequest {
    let measurements = match kind {
        HarnessKind::Native => 1,
        // It tries numbers by measuring with each. So what all measurements need besides their own time,
        // for instance for inputs, is seen before it is spent in every execution.
        _ => request.measurements,
    };
    ExecutionRequest { measurements, iterations: None, ..request.clone() }
}

/// What came of an execution, if that is a result of its benchmark.
pub(super) fn outcome_of(outcome: Result<Outcome>) -> Result<Result<Execution, Unmeasured>> {
    match outcome {
        Err(failure) => failed(failure).map(Err),
        Ok(Outcome::Skipped(reason)) => Ok(Err(Unmeasured::Skipped(reason))),
        Ok(Outcome::Measured(execution)) => Ok(Ok(execution)),
    }
}

/// What a failure says of a benchmark that was executed. Only its own is a result, which is kept as such:
/// any other has nothing to do with the version, and ends the run.
fn failed(failure: Error) -> Result<Unmeasured> {
    match failure.exit() {
        Exit::Benchmark => Ok(Unmeasured::Failed(failure.to_string())),
        Exit::Interrupted => Err(failure),
        _ => {
            Err(failure
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
        model::{Name, testing},
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
                .map(|harness| InVersion { harness, executables: Vec::new() })
                .into(),
            retuning: Retuning::default(),
            mode: Mode::Interleaved,
            obstacle: None,
            done: HashSet::new(),
        }
    }

    #[test]
    fn each_version_has_the_harness_that_it_was_listed_with() {
        let criterion = |minor| Criterion { version: semver::Version::new(0, minor, 0) };
        let (base, head) = (criterion(5), criterion(4));
        let subject = subject([&base, &head]);
        let notes: Vec<String> = Subject { request: request(10), ..subject }.notes().collect();
        assert!(matches!(&notes[..], [of_head] if of_head.starts_with("criterion 0.4.0 ")));
    }

    #[test]
    fn it_is_told_where_an_execution_cannot_have_the_measurements_that_are_requested() {
        let criterion = Criterion { version: semver::Version::new(0, 5, 0) };
        let notes = |count| -> Vec<String> {
            Subject { request: request(count), ..subject([&Native, &criterion]) }.notes().collect()
        };
        let limit = "an execution cannot have 5 measurements: Criterion.rs takes at least 10";
        assert_eq!(notes(5), [limit]);
        assert_eq!(notes(10), [""; 0]);
    }

    #[test]
    fn iterations_are_chosen_for_versions_that_can_all_be_told_them() {
        let criterion = Criterion { version: semver::Version::new(0, 5, 0) };
        let divan = Divan { version: semver::Version::new(0, 1, 21) };
        assert!(subject([&Native, &Native]).is_tunable());
        assert!(subject([&divan, &divan]).is_tunable());
        assert!(!subject([&divan, &criterion]).is_tunable());
        assert!(!subject([&Native, &criterion]).is_tunable());
        assert!(!subject([&criterion, &Native]).is_tunable());
    }

    #[test]
    fn divan_finds_iterations_with_all_measurements_and_the_own_harness_with_one() {
        let divan = Divan { version: semver::Version::new(0, 1, 21) };
        let told = ExecutionRequest { iterations: Some(7), ..request(50) };
        let subject = Subject { request: told, ..subject([&Native, &divan]) };
        let asked = [0, 1].map(|version| subject.tuning_request(version));
        assert_eq!(asked.each_ref().map(|asked| asked.measurements), [1, 50]);
        assert_eq!(asked.map(|asked| asked.iterations), [None, None]);
    }

    #[test]
    fn iterations_are_raised_only_in_the_beginning_and_lowered_whenever_they_are_too_many() {
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
    fn fewer_iterations_are_looked_for_once_where_there_are_none() {
        let mut retuning = Retuning::default();
        let mut too_long = |version, number| retuning.is_needed(version, number, Ordering::Greater);
        assert_eq!([too_long(0, 9), too_long(0, 9), too_long(0, 9)], [true, false, false]);
        assert!(too_long(1, 9), "another version may have fewer");
        assert!(too_long(0, 8), "there were fewer");
    }

    #[test]
    fn only_its_own_failure_is_a_result_of_a_benchmark() {
        let of = |exit| failed(Error::new(exit, "cannot"));
        assert_eq!(of(Exit::Benchmark), Ok(Unmeasured::Failed("cannot".to_owned())));
        for exit in [Exit::Usage, Exit::Build, Exit::Internal] {
            let failure = of(exit).unwrap_err();
            assert_eq!(failure.exit(), exit);
            assert!(failure.to_string().ends_with("run the same command again to resume"));
        }
        // Whoever stopped it is told by the run.
        assert_eq!(of(Exit::Interrupted).unwrap_err().to_string(), "cannot");
    }
}
