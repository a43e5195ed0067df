//! Tunes the iterations of a measurement for a benchmark, a machine and a minimum time, so that all
//! builds of all versions use the same number. Only rbench-harness and Divan accept a number of
//! iterations.

use tracing::debug;

use super::{
    Runner,
    schedule::Step,
    subject::{Subject, tuning_request},
};
use crate::{
    error::{Exit, Result},
    harness::{Executable, Harness},
    machine::this_machine,
    model::{Benchmark, Execution, ExecutionRequest, Outcome, Series},
};

impl Runner<'_> {
    /// Finds the iterations of a benchmark in the store, or by executing it once.
    ///
    /// A benchmark that fails here fails again when it is measured, and is reported then.
    pub(super) fn tune(&self, subject: &mut Subject<'_>, step: &Step) -> Result<()> {
        if subject.is_custom() {
            return self.check_work(subject, step);
        }
        if !subject.is_tunable() {
            return Ok(());
        }
        subject.request.iterations = self.known_iterations(&subject.benchmark, &subject.request)?;
        match (subject.request.iterations, step.versions.as_slice()) {
            (None, &[first, ..]) => self.tune_anew(subject, step, first),
            _ => Ok(()),
        }
    }

    /// Checks once that each version of a program does the same work in every execution, and finds how many of its
    /// measurements are taken together. Without a number of iterations, an execution makes this check. A version that
    /// fails is executed so again, which shows why.
    fn check_work(&self, subject: &mut Subject<'_>, step: &Step) -> Result<()> {
        if !self.checked.borrow().contains(&subject.benchmark) {
            for version in step.versions.iter().copied() {
                subject.request.iterations = None;
                self.tune_anew(subject, step, version)?;
                if subject.request.iterations.is_none() {
                    return Ok(());
                }
            }
            self.checked.borrow_mut().insert(subject.benchmark.clone());
        }
        let known = self.known_iterations(&subject.benchmark, &subject.request)?;
        subject.request.iterations = known.or(subject.request.iterations);
        Ok(())
    }

    /// Tunes again if an execution no longer takes about the minimum time, because the program or
    /// the machine has changed since it was tuned.
    pub(super) fn tune_again_if_needed(
        &self,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
        execution: &Execution,
    ) -> Result<()> {
        let Some(iterations) = subject.request.iterations.filter(|_| subject.is_tunable()) else {
            return Ok(());
        };
        // The first of two interleaved executions has decided for both.
        if execution.asked.iterations != Some(iterations) {
            return Ok(());
        }
        let lasted = execution.compared_with_floor();
        if subject.retuning.is_needed(version, iterations, lasted) {
            self.tune_anew(subject, step, version)?;
        }
        Ok(())
    }

    /// Tunes a benchmark again that failed with its tuned iterations: they may have become so many
    /// that its process reached the deadline. Returns true if there are fewer now.
    pub(super) fn tune_after_failure(
        &self,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
    ) -> Result<bool> {
        let before = subject.request.iterations;
        if before.is_none() || !subject.is_tunable() {
            return Ok(false);
        }
        subject.retuning.settle();
        self.tune_anew(subject, step, version)?;
        Ok(subject.request.iterations < before)
    }

    fn tune_anew(&self, subject: &mut Subject<'_>, step: &Step, version: usize) -> Result<()> {
        let request = subject.tuning_request(version);
        if let Ok(execution) = self.execute_once(subject, step, version, &request)?
            && let Some(found) = self.record_tuned(&subject.benchmark, &request, &execution)?
        {
            subject.request.iterations = Some(found);
        }
        Ok(())
    }

    /// Finds the iterations of a benchmark with this executable, unless they are in the store.
    pub(super) fn tune_by(
        &self,
        harness: &dyn Harness,
        executable: &Executable,
        benchmark: &Benchmark,
        request: &ExecutionRequest,
    ) -> Result<Option<u64>> {
        if !harness.facts().takes_iterations {
            return Ok(None);
        }
        let known = self.known_iterations(benchmark, request)?;
        if known.is_some() {
            return Ok(known);
        }
        let request = tuning_request(harness, request);
        match harness.execute(executable, &benchmark.name, &request, &self.conditions) {
            Ok(Outcome::Measured(execution)) => self.record_tuned(benchmark, &request, &execution),
            Err(error) if error.exit() == Exit::Interrupted => Err(error),
            Ok(Outcome::Skipped(_)) | Err(_) => Ok(None),
        }
    }

    /// The stored iterations of a benchmark on this machine.
    fn known_iterations(
        &self,
        benchmark: &Benchmark,
        request: &ExecutionRequest,
    ) -> Result<Option<u64>> {
        self.store.tuned(benchmark, &this_machine(), request.min_time)
    }

    /// Stores the iterations that an execution has found, if it has.
    fn record_tuned(
        &self,
        benchmark: &Benchmark,
        request: &ExecutionRequest,
        execution: &Execution,
    ) -> Result<Option<u64>> {
        let found = execution.series.first().and_then(Series::same_iterations);
        if let Some(iterations) = found {
            debug!(iterations, "{benchmark} is tuned");
            self.store.record_tuned(benchmark, &this_machine(), request.min_time, iterations)?;
        }
        Ok(found)
    }
}
