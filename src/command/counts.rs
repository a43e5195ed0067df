//! Counts what two versions execute or allocate, and judges that: first in one layout, and what differs there in all.

use super::announcement;
use crate::{
    console::Console,
    experiment::{Begun, Builds, Counter, ListedVersion, Runner},
    failure::{Exit, Result},
    judge::{Judge, JudgeOptions, JudgedRow, Relation, Results, VersionRef},
    model::{Benchmark, Metric, Sameness},
    settings::VerdictSettings,
    store::ExperimentId,
};

/// What is counted.
pub struct Counts<'e> {
    /// What executes.
    pub runner: &'e Runner<'e>,
    /// What counts.
    pub counter: Counter,
    /// Base and head.
    pub versions: &'e [ListedVersion; 2],
    /// The benchmarks that are counted.
    pub measured: &'e [Benchmark],
    /// Those that are not, and why.
    pub unmeasured: &'e [(Benchmark, Sameness)],
    /// How they are judged.
    pub verdicts: &'e VerdictSettings,
    /// Where progress is told.
    pub console: &'e Console,
}

/// What counts a version, and the one that it is compared with, in the metrics that are judged. What cannot be counted is left
/// out where something else is judged, and told.
pub fn counters(
    runner: &Runner<'_>,
    head: &ListedVersion,
    verdicts: &VerdictSettings,
    console: &Console,
) -> Result<Vec<Counter>> {
    let kinds = verdicts.kinds();
    let is_alone = kinds.len() == 1;
    let mut counters = Vec::new();
    for kind in kinds.iter().filter(|kind| kind.counts()) {
        counters.extend(counter(runner, head, kind, is_alone, console)?);
    }
    Ok(counters)
}

/// What counts one kind of metrics. That it cannot be counted is a failure where it is alone.
pub fn counter(
    runner: &Runner<'_>,
    head: &ListedVersion,
    kind: &VerdictSettings,
    is_alone: bool,
    console: &Console,
) -> Result<Option<Counter>> {
    if !kind.metrics.contains(&Metric::instructions()) {
        return runner.allocation_counter(head).map(Some);
    }
    match runner.instruction_counter(head) {
        Ok(counter) => Ok(Some(Counter::Instructions(counter))),
        Err(failure) if failure.exit() == Exit::Interrupted || is_alone => Err(failure),
        Err(failure) => {
            let rest = "only the other metrics are judged";
            console.line(&format!("warning: {}", failure.because(rest)));
            Ok(None)
        }
    }
}

impl Counts<'_> {
    /// Counts all benchmarks and judges them. The experiment is still to be finished.
    pub fn measure(&self) -> Result<(Begun, Vec<JudgedRow>)> {
        let Self { runner, versions, measured, .. } = *self;
        let seeds = runner.counted_seeds();
        let builds = self.link(measured, 1)?;
        let mut begun = runner.begin_counting(&self.counter, versions, measured, &builds)?;
        announcement::resumed(self.console, &begun);
        for (benchmark, sameness) in self.unmeasured {
            runner.store.record_unmeasured(begun.id, benchmark, *sameness)?;
        }
        runner.count(&begun, &self.counter, versions, &builds, measured)?;
        let rows = self.judged(begun.id, measured)?;
        let differing = differing(&rows);
        if differing.is_empty() {
            return Ok((begun, rows));
        }
        announcement::counted(self.console, differing.len(), measured.len(), seeds.len());
        let builds = self.link(&differing, seeds.len())?;
        runner.count_everywhere(&mut begun, &self.counter, versions, &builds, &differing)?;
        let rows = self.judged(begun.id, measured)?;
        Ok((begun, rows))
    }

    fn link(&self, benchmarks: &[Benchmark], layouts: usize) -> Result<Builds> {
        let seeds = self.runner.counted_seeds().into_iter().take(layouts).collect();
        self.runner.link(self.versions, benchmarks, seeds)
    }

    /// What the experiment says of these benchmarks by now.
    fn judged(&self, id: ExperimentId, benchmarks: &[Benchmark]) -> Result<Vec<JudgedRow>> {
        let counted = self.counter.metrics();
        let mut verdicts = self.verdicts.clone();
        verdicts.metrics.retain(|metric| counted.contains(metric));
        judged(self.runner, &verdicts, id, benchmarks)
    }
}

/// The benchmarks whose counts differ by so much that their range matters.
fn differing(rows: &[JudgedRow]) -> Vec<Benchmark> {
    let differs = |row: &&JudgedRow| {
        row.decisive().is_some_and(|stage| {
            let change = stage.assessment.change.estimate.abs();
            change > 0.0 && change >= stage.assessment.min_effect / 2.0
        })
    };
    let mut all: Vec<Benchmark> =
        rows.iter().filter(differs).map(|row| row.benchmark.clone()).collect();
    all.dedup();
    all
}

/// Counts benchmarks of one version, in every layout.
pub fn of_version(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 1],
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
    console: &Console,
) -> Result<()> {
    for counter in counters(runner, &versions[0], verdicts, console)? {
        let builds = runner.link(versions, benchmarks, runner.counted_seeds())?;
        let mut begun = runner.begin_counting(&counter, versions, benchmarks, &builds)?;
        runner.count_everywhere(&mut begun, &counter, versions, &builds, benchmarks)?;
        runner.finish(&begun)?;
    }
    Ok(())
}

/// What an experiment that counted two versions says of these benchmarks.
pub fn judged(
    runner: &Runner<'_>,
    verdicts: &VerdictSettings,
    id: ExperimentId,
    benchmarks: &[Benchmark],
) -> Result<Vec<JudgedRow>> {
    let results = Results::of_experiment(&runner.store, id)?;
    let options = JudgeOptions { metrics: verdicts.only(true).metrics, allow_different: false };
    let judge = Judge::new(&results, options);
    let place = |version| VersionRef { experiment: 0, version };
    let relation = Relation::SameExperiment([place(0), place(1)]);
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        let of_benchmark = results.of_benchmark(benchmark, [0])?;
        rows.extend(judge.rows(&of_benchmark, &relation, &verdicts.of(benchmark))?);
    }
    Ok(rows)
}
