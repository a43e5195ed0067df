//! Measures some skipped benchmarks all the same, in the time that is left of a budget, to check the
//! analysis that skipped them.

use std::time::Duration;

use super::{Event, Observer, Outcome, outcome::Audited, stages::Stages};
use crate::{
    config::{StoppingRule, VerdictSettings},
    error::Result,
    measure::{ListedVersion, Runner, StartedExperiment},
    model::{Benchmark, SkipReason},
    verdict::{DecidedRow, VerdictKind},
};

/// The skipped benchmarks of a comparison, and what may be spent on measuring some of them.
pub struct Audit<'e> {
    pub runner: &'e Runner<'e>,
    /// Base and head.
    pub versions: &'e [ListedVersion; 2],
    pub skipped: &'e [(Benchmark, SkipReason)],
    /// The settings of verdicts, in timed metrics.
    pub verdicts: &'e VerdictSettings,
    pub left: Duration,
    pub observer: &'e dyn Observer,
}

impl Audit<'_> {
    /// Measures as many skipped benchmarks as time is left for, drawn at random, and adds the result
    /// to the outcome. `None` if there is no time for any. The caller must finish the experiment.
    pub fn measure(
        &self,
        outcome: &mut Outcome,
    ) -> Result<Option<(StartedExperiment, Vec<DecidedRow>)>> {
        let Self { runner, versions, skipped, verdicts, observer, .. } = *self;
        let mut drawn: Vec<Benchmark> = skipped.iter().map(|(one, _)| one.clone()).collect();
        if self.that_fit(&drawn) == 0 {
            return Ok(None);
        }
        let builds =
            runner.link(versions, &drawn, runner.first_analysis_seeds(versions, &drawn))?;
        // All are planned, because the identity of the experiment decides which are drawn: they
        // are the same when it is resumed, and nobody can choose them.
        let mut experiment = runner.begin(versions, &drawn, &builds)?;
        // The newest unfinished experiment is that of this comparison, which was not interrupted.
        experiment.not_resumed.clear();
        drawn.sort_by_cached_key(|benchmark| {
            let name = format!("{}\n{benchmark}", experiment.identity);
            *blake3::hash(name.as_bytes()).as_bytes()
        });
        drawn.truncate(self.that_fit(&drawn).max(1));
        observer.compare_event(Event::Auditing { measured: drawn.len(), skipped: skipped.len() });
        let stages = Stages {
            runner,
            versions,
            measured: &drawn,
            unmeasured: skipped,
            verdicts,
            stopping: StoppingRule::Budget,
            budget: Some(self.left),
            observer,
        };
        let (experiment, rows) = stages.measure(experiment, &builds, outcome)?;
        let differs = |row: &&DecidedRow| VerdictKind::new(&row.verdict).is_change();
        let mut differing: Vec<Benchmark> =
            rows.iter().filter(differs).map(|row| row.benchmark.clone()).collect();
        differing.dedup();
        let home = |version: &ListedVersion| version.compilation.home.join("recipes");
        let of_defect = versions.iter().filter(|_| !differing.is_empty());
        let traces = of_defect.map(home).collect();
        let audited = Audited { skipped: skipped.len(), measured: drawn, differing, traces };
        outcome.audit = Some(audited);
        Ok(Some((experiment, rows)))
    }

    /// The number of these benchmarks, from the first, whose first analysis fits into the time.
    fn that_fit(&self, benchmarks: &[Benchmark]) -> usize {
        let first_analysis = |benchmark: &Benchmark| -> Duration {
            let times = self.versions.iter();
            let pair = times.filter_map(|one| self.runner.execution_time(one, benchmark)).sum();
            Duration::saturating_mul(pair, self.runner.interim_analyses(benchmark).first)
        };
        let sums = benchmarks.iter().map(first_analysis).scan(Duration::ZERO, |sum, time| {
            *sum = sum.saturating_add(time);
            Some(*sum)
        });
        sums.take_while(|sum| *sum <= self.left).count()
    }
}
