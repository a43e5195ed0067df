//! Runs the schedule of an experiment, and stores each execution before the next one starts.

use super::{
    Begun, Builds, ListedVersion, Runner,
    schedule::{Queue, ScheduleShape, Step, schedule},
    seeds::stage_seed,
    subject::{InVersion, Retuning, Subject},
};
use crate::{
    build::VersionBuilds,
    failure::{Exit, Failure, Result},
    harness::{Executable, Outcome},
    model::{Benchmark, Execution, ExecutionRequest, Slot, Stage, Unmeasured},
    settings::Effort,
};

impl Runner<'_> {
    /// Measures benchmarks that all versions have, interleaved over the builds. What an earlier run left
    /// is not measured again, and a benchmark that fails or skips itself is not executed again, in no version.
    pub fn measure(
        &self,
        begun: &Begun,
        stage: Stage,
        versions: &[ListedVersion],
        builds: &Builds,
        benchmarks: &[Benchmark],
    ) -> Result<()> {
        let mut steps = self.steps(begun, stage, versions.len(), builds.seeds.len(), benchmarks);
        let slot = |step: &Step| Slot {
            version: step.version,
            stage,
            round: u32::try_from(step.round).unwrap_or(u32::MAX),
            seed: builds.seeds[step.build],
        };
        steps.retain(|step| {
            let key = (benchmarks[step.benchmark].clone(), slot(step));
            !begun.done.contains(&key)
        });
        let mut subjects: Vec<Subject<'_>> = benchmarks
            .iter()
            .map(|benchmark| self.subject(versions, builds, benchmark))
            .collect::<Result<_>>()?;
        let mut notes: Vec<String> = subjects.iter().flat_map(Subject::notes).collect();
        notes.sort();
        notes.dedup();
        for note in &notes {
            self.observer.note(note);
        }
        let mut queue = Queue::new(steps);
        self.observer.executed(queue.done(), queue.total());
        while let Some(step) = queue.take() {
            if self.conditions.interrupt.is_set() {
                return Err(Failure::new(Exit::Interrupted, "stopped between two executions"));
            }
            let subject = &mut subjects[step.benchmark];
            if subject.request.iterations.is_none() {
                self.tune(subject, step, builds)?;
            }
            let mut outcome = self.execute(subject, step, builds)?;
            if matches!(outcome, Err(Unmeasured::Failed(_)))
                && self.tune_after_failure(subject, step, builds)?
            {
                outcome = self.execute(subject, step, builds)?;
            }
            let recorded = outcome.as_ref();
            self.store.record_execution(begun.id, &subject.benchmark, slot(&step), recorded)?;
            match &outcome {
                Ok(execution) => {
                    for incident in &execution.incidents {
                        self.observer.incident(&subject.benchmark, incident);
                    }
                    self.tune_again_if_needed(subject, step, builds, execution)?;
                }
                Err(_) => queue.skip(step.benchmark),
            }
            self.observer.executed(queue.done(), queue.total());
        }
        Ok(())
    }

    /// The executions of a stage, in order. Benchmarks may have fewer builds or rounds than others.
    fn steps(
        &self,
        begun: &Begun,
        stage: Stage,
        versions: usize,
        builds: usize,
        benchmarks: &[Benchmark],
    ) -> Vec<Step> {
        let efforts: Vec<Effort> =
            benchmarks.iter().map(|benchmark| self.settings.efforts.of(benchmark)).collect();
        let rounds = efforts.iter().map(|effort| effort.executions as usize).max();
        let shape = ScheduleShape {
            versions,
            benchmarks: benchmarks.len(),
            builds,
            executions: rounds.unwrap_or_default(),
        };
        let seed = stage_seed(self.settings.builds.seed, &begun.identity, stage);
        let mut steps = schedule(shape, seed);
        steps.retain(|step| {
            let effort = efforts[step.benchmark];
            step.build < effort.builds as usize && step.round < effort.executions as usize
        });
        steps
    }

    /// The benchmark in all builds of all versions.
    fn subject<'v>(
        &self,
        versions: &'v [ListedVersion],
        builds: &Builds,
        benchmark: &Benchmark,
    ) -> Result<Subject<'v>> {
        let in_version = |(version, builds): (&'v ListedVersion, &VersionBuilds)| {
            let Some(target) = version.target_of(benchmark) else {
                let what = format!("{benchmark} is not in {}", version.version);
                return Err(Failure::new(Exit::Internal, what));
            };
            let executables = executables_of(benchmark, builds, &target.executable);
            Ok(InVersion { harness: &*target.harness, executables })
        };
        Ok(Subject {
            benchmark: benchmark.clone(),
            request: self.settings.efforts.of(benchmark).request(),
            versions: versions
                .iter()
                .zip(&builds.versions)
                .map(in_version)
                .collect::<Result<_>>()?,
            retuning: Retuning::default(),
        })
    }

    /// One execution, from the initial state of the step.
    fn execute(
        &self,
        subject: &Subject<'_>,
        step: Step,
        builds: &Builds,
    ) -> Result<Result<Execution, Unmeasured>> {
        let request = ExecutionRequest { seed: step.initial_state, ..subject.request.clone() };
        self.execute_once(subject, step, builds, &request)
    }

    /// One execution of a build, with a request of its own.
    pub(super) fn execute_once(
        &self,
        subject: &Subject<'_>,
        step: Step,
        builds: &Builds,
        request: &ExecutionRequest,
    ) -> Result<Result<Execution, Unmeasured>> {
        self.workshop.activate(builds.versions[step.version].home_of(step.build))?;
        let InVersion { harness, executables } = &subject.versions[step.version];
        let Some(executable) = executables.get(step.build) else {
            let what = format!("{} has no build {}", subject.benchmark, step.build);
            return Err(Failure::new(Exit::Internal, what));
        };
        let name = &subject.benchmark.name;
        match harness.execute(executable, name, request, &self.conditions) {
            Err(failure) => failed(failure).map(Err),
            Ok(Outcome::Skipped(reason)) => Ok(Err(Unmeasured::Skipped(reason))),
            Ok(Outcome::Measured(execution)) => Ok(Ok(execution)),
        }
    }
}

/// What a failure says of a benchmark that was executed. Only its own is a result, which is kept as such:
/// any other has nothing to do with the version, and ends the run.
fn failed(failure: Failure) -> Result<Unmeasured> {
    match failure.exit() {
        Exit::Benchmark => Ok(Unmeasured::Failed(failure.to_string())),
        Exit::Interrupted => Err(failure),
        _ => {
            Err(failure
                .hint("every finished execution is kept: run the same command again to resume"))
        }
    }
}

/// The executable of each build, with all else as it was listed.
fn executables_of(
    benchmark: &Benchmark,
    builds: &VersionBuilds,
    listed: &Executable,
) -> Vec<Executable> {
    let target = builds.target(&benchmark.bench_target());
    let all = target.map(|target| target.builds.as_slice()).unwrap_or_default();
    all.iter()
        .map(|build| Executable { path: build.executable.clone(), ..listed.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_failure_is_a_result_of_a_benchmark() {
        let of = |exit| failed(Failure::new(exit, "cannot"));
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
