//! How often an estimator speaks up, and whether it should have.

use cargo_rbench::stats::{Estimator, Refusal, Verdict};

use crate::{
    judgement,
    study::{Subject, Tried},
};

/// Which benchmarks of a trial are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those whose work is the same.
    Same,
    /// Those that have more work.
    Planted,
}

/// What one estimator said.
#[derive(Debug, Default)]
pub struct Count {
    /// Benchmarks judged.
    pub of: usize,
    /// Flagged by the first stage alone.
    pub flagged: usize,
    /// Regressed, by both stages.
    pub regressed: usize,
    /// Improved, by both stages.
    pub improved: usize,
    /// The standard errors of the change, on the log scale, by the first stage.
    pub standard_errors: Vec<f64>,
}

impl Count {
    /// Counts over some trials.
    pub fn over<'a>(
        trials: impl IntoIterator<Item = &'a Tried>,
        which: Which,
        estimator: Estimator,
    ) -> Result<Self, Refusal> {
        let mut count = Self::default();
        for tried in trials {
            let planted = |subject: &Subject| tried.is_planted(&subject.benchmark);
            for subject in &tried.subjects {
                if planted(subject) == (which == Which::Planted) {
                    count.add(subject, tried.subjects.len(), estimator)?;
                }
            }
        }
        Ok(count)
    }

    fn add(
        &mut self,
        subject: &Subject,
        judged: usize,
        estimator: Estimator,
    ) -> Result<(), Refusal> {
        let said = judgement::judge(&subject.first, subject.fresh.as_ref(), judged, estimator)?;
        self.of += 1;
        self.flagged += usize::from(said.flagged.is_some());
        self.regressed += usize::from(matches!(said.verdict, Verdict::Regressed { .. }));
        self.improved += usize::from(matches!(said.verdict, Verdict::Improved { .. }));
        self.standard_errors.push(said.standard_error);
        Ok(())
    }
}
