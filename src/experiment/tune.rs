//! Iterations of a measurement, tuned for a benchmark, a machine and a floor, so that all builds of all
//! versions use the same number. Only rbench-harness and Divan can be told it.

use super::{Builds, Runner, schedule::Step, subject::Subject};
use crate::{
    failure::Result,
    machine::this_machine,
    model::{Execution, Series},
};

impl Runner<'_> {
    /// Finds the iterations of a benchmark: in the store, else by executing it once.
    ///
    /// A benchmark that fails here fails again when it is measured, and is reported then.
    pub(super) fn tune(
        &self,
        subject: &mut Subject<'_>,
        step: &Step,
        builds: &Builds,
    ) -> Result<()> {
        if !subject.is_tunable() {
            return Ok(());
        }
        let known = self.store.tuned(&subject.benchmark, &this_machine(), subject.request.floor)?;
        if known.is_some() {
            subject.request.iterations = known;
            return Ok(());
        }
        let first = step.versions.first().copied().unwrap_or_default();
        self.tune_anew(subject, step, first, builds)
    }

    /// Tunes again what no longer takes about as long as the floor asks for: the program has changed since
    /// it was tuned, or the machine has.
    pub(super) fn tune_again_if_needed(
        &self,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
        builds: &Builds,
        execution: &Execution,
    ) -> Result<()> {
        let Some(iterations) = subject.request.iterations else { return Ok(()) };
        // Of two that were executed at once, one has decided for both.
        if execution.asked.iterations != Some(iterations) {
            return Ok(());
        }
        let lasted = execution.compared_with_floor();
        if subject.retuning.is_needed(version, iterations, lasted) {
            self.tune_anew(subject, step, version, builds)?;
        }
        Ok(())
    }

    /// Tunes a benchmark again that failed with the iterations it was tuned to: they may have become so many
    /// that its process reached the deadline. Returns whether there are fewer now.
    pub(super) fn tune_after_failure(
        &self,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
        builds: &Builds,
    ) -> Result<bool> {
        let before = subject.request.iterations;
        if before.is_none() {
            return Ok(false);
        }
        subject.retuning.settle();
        self.tune_anew(subject, step, version, builds)?;
        Ok(subject.request.iterations < before)
    }

    fn tune_anew(
        &self,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
        builds: &Builds,
    ) -> Result<()> {
        let request = subject.tuning_request(version);
        let outcome = self.execute_once(subject, step, version, builds, &request)?;
        let series = outcome.as_ref().ok().and_then(|execution| execution.series.first());
        if let Some(iterations) = series.and_then(Series::same_iterations) {
            subject.request.iterations = Some(iterations);
            let (machine, floor) = (this_machine(), request.floor);
            self.store.record_tuned(&subject.benchmark, &machine, floor, iterations)?;
        }
        Ok(())
    }
}
