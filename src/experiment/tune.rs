//! Iterations of a measurement, tuned for a benchmark, a machine and a floor, so that all builds of all
//! versions use the same. Other harnesses than our own decide for themselves.

use super::{Builds, Runner, measure::Subject, schedule::Step};
use crate::{
    failure::Result,
    machine::this_machine,
    model::{Execution, ExecutionRequest, HarnessKind, Series},
};

impl Runner<'_> {
    /// Finds the iterations of a benchmark: in the store, else by executing it once.
    ///
    /// A benchmark that fails here fails again when it is measured, and is reported then.
    pub(super) fn tune(
        &self,
        subject: &mut Subject<'_>,
        step: Step,
        builds: &Builds,
    ) -> Result<()> {
        if subject.harness.kind() != HarnessKind::Native {
            return Ok(());
        }
        let known = self.store.tuned(&subject.benchmark, &this_machine(), subject.request.floor)?;
        if known.is_some() {
            subject.request.iterations = known;
            return Ok(());
        }
        self.tune_anew(subject, step, builds)
    }

    /// Tunes again, once in a stage, what no longer takes about as long as the floor asks for: the program
    /// has changed since it was tuned, or the machine has.
    pub(super) fn tune_again_if_needed(
        &self,
        subject: &mut Subject<'_>,
        step: Step,
        builds: &Builds,
        execution: &Execution,
    ) -> Result<()> {
        let is_tuned = subject.request.iterations.is_some();
        if subject.is_tuned_again || !is_tuned || !execution.is_out_of_tune() {
            return Ok(());
        }
        subject.is_tuned_again = true;
        self.tune_anew(subject, step, builds)
    }

    fn tune_anew(&self, subject: &mut Subject<'_>, step: Step, builds: &Builds) -> Result<()> {
        let request =
            ExecutionRequest { measurements: 1, iterations: None, ..subject.request.clone() };
        let outcome = self.execute_once(subject, step, builds, &request)?;
        let series = outcome.as_ref().ok().and_then(|execution| execution.series.first());
        if let Some(iterations) = series.and_then(Series::same_iterations) {
            subject.request.iterations = Some(iterations);
            let (machine, floor) = (this_machine(), request.floor);
            self.store.record_tuned(&subject.benchmark, &machine, floor, iterations)?;
        }
        Ok(())
    }
}
