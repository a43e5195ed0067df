//! Counts what two versions execute or allocate, and judges that: first in one layout, what differs there in three, and what
//! varies within a version in enough that ranges rarely lie apart by chance.

use super::{Event, Observer, decide::decide_rows};
use crate::{
    config::VerdictSettings,
    error::{Exit, Result},
    measure::{Builds, COUNTED_LAYOUTS, Counter, ListedVersion, Runner, StartedExperiment},
    model::{Benchmark, Metric, SkipReason, Stage},
    stats::{Summary, counts_needed, times_counted, varies},
    store::ExperimentId,
    verdict::{DecidedRow, DecidedStage, Results, VersionRef},
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
    pub unmeasured: &'e [(Benchmark, SkipReason)],
    /// How they are judged: in metrics that are counted.
    pub verdicts: &'e VerdictSettings,
    /// Whom progress is reported to.
    pub observer: &'e dyn Observer,
}

/// What counts a version, and the one that it is compared with, in the metrics that are judged. What cannot be counted is left
/// out where something else is judged, and told.
fn counters(
    runner: &Runner<'_>,
    head: &ListedVersion,
    verdicts: &VerdictSettings,
    observer: &dyn Observer,
) -> Result<Vec<Counter>> {
    let kinds = verdicts.kinds();
    let is_alone = kinds.len() == 1;
    let mut counters = Vec::new();
    for kind in kinds.iter().filter(|kind| kind.counts()) {
        counters.extend(counter(runner, head, kind, is_alone, observer)?);
    }
    Ok(counters)
}

/// What counts one kind of metrics. That it cannot be counted is a failure where it is alone.
pub fn counter(
    runner: &Runner<'_>,
    head: &ListedVersion,
    kind: &VerdictSettings,
    is_alone: bool,
    observer: &dyn Observer,
) -> Result<Option<Counter>> {
    if !kind.metrics.contains(&Metric::instructions()) {
        return runner.allocation_counter(head).map(Some);
    }
    match runner.instruction_counter(head) {
        Ok(counter) => Ok(Some(Counter::Instructions(counter))),
        Err(failure) if failure.exit() == Exit::Interrupted || is_alone => Err(failure),
        Err(failure) => {
            let rest = "only the other metrics are judged";
            let failure = failure.cause(rest).to_string();
            observer.compare_event(Event::Warning(&failure));
            Ok(None)
        }
    }
}

impl Counts<'_> {
    /// Counts all benchmarks and judges them. The experiment is still to be finished.
    pub fn measure(&self) -> Result<(StartedExperiment, Vec<DecidedRow>)> {
        let Self { runner, versions, measured, verdicts, .. } = *self;
        let builds = self.link(measured, 1)?;
        let mut begun = runner.begin_counting(&self.counter, versions, measured, &builds)?;
        self.observer.compare_event(Event::Started(&begun));
        for (benchmark, sameness) in self.unmeasured {
            runner.store.record_unmeasured(begun.id, benchmark, *sameness)?;
        }
        runner.count(&begun, &self.counter, versions, &builds, measured)?;
        let mut rows = decide_rows(runner, verdicts, begun.id, measured)?;
        let differing = differing(&rows);
        if differing.is_empty() {
            return Ok((begun, rows));
        }
        let of = measured.len();
        self.observer.compare_event(Event::CountsDiffer {
            differing: differing.len(),
            of,
            layouts: COUNTED_LAYOUTS,
        });
        self.count_in(&mut begun, &differing, COUNTED_LAYOUTS)?;
        rows = decide_rows(runner, verdicts, begun.id, measured)?;
        let varying = varying(&rows);
        if !varying.is_empty() {
            let layouts = counts_needed(of * self.counter.metrics().len());
            self.observer.compare_event(Event::CountsVary { varying: varying.len(), of, layouts });
            self.count_in(&mut begun, &varying, layouts)?;
            rows = decide_rows(runner, verdicts, begun.id, measured)?;
        }
        Ok((begun, rows))
    }

    /// Counts benchmarks in this number of layouts, the same in both versions.
    fn count_in(
        &self,
        begun: &mut StartedExperiment,
        benchmarks: &[Benchmark],
        layouts: usize,
    ) -> Result<()> {
        let builds = self.link(benchmarks, layouts)?;
        self.runner.count_everywhere(begun, &self.counter, self.versions, &builds, benchmarks)
    }

    fn link(&self, benchmarks: &[Benchmark], layouts: usize) -> Result<Builds> {
        self.runner.link(self.versions, benchmarks, self.runner.counted_seeds(layouts))
    }
}

/// The benchmarks whose counts differ by so much that their range matters; and those that were counted in more than the
/// first layout before an interruption, so that both versions have the same layouts in the end.
fn differing(rows: &[DecidedRow]) -> Vec<Benchmark> {
    benchmarks_of(rows, |DecidedStage { summaries, assessment }| {
        let change = assessment.change.estimate.abs();
        change > 0.0 && change >= assessment.min_effect / 2.0
            || summaries.iter().any(|version| times_counted(version) > 1)
    })
}

/// The benchmarks of which the counts of one version vary, so that three are too few; likewise.
fn varying(rows: &[DecidedRow]) -> Vec<Benchmark> {
    benchmarks_of(rows, |DecidedStage { summaries, assessment }| {
        summaries.iter().any(|version| needs_more_layouts(version, assessment.min_effect))
    })
}

/// Whether three layouts are too few for the counts of a version, or more were counted before an interruption.
fn needs_more_layouts(version: &Summary, min_effect: f64) -> bool {
    varies(version, min_effect) || times_counted(version) > COUNTED_LAYOUTS
}

/// The benchmarks that have a row of which this holds.
fn benchmarks_of(rows: &[DecidedRow], holds: impl Fn(&DecidedStage) -> bool) -> Vec<Benchmark> {
    let chosen = rows.iter().filter(|row| row.decisive().is_some_and(&holds));
    let mut all: Vec<Benchmark> = chosen.map(|row| row.benchmark.clone()).collect();
    all.dedup();
    all
}

/// Counts benchmarks of one version in three layouts, and those whose counts vary in more.
pub fn count_version(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 1],
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
    observer: &dyn Observer,
) -> Result<()> {
    for counter in counters(runner, &versions[0], verdicts, observer)? {
        let builds = runner.link(versions, benchmarks, runner.counted_seeds(COUNTED_LAYOUTS))?;
        let mut begun = runner.begin_counting(&counter, versions, benchmarks, &builds)?;
        runner.count_everywhere(&mut begun, &counter, versions, &builds, benchmarks)?;
        let metrics = counter.metrics();
        let varying = varying_in_version(runner, begun.id, benchmarks, &metrics, verdicts)?;
        if !varying.is_empty() {
            let of = benchmarks.len();
            let layouts = counts_needed(of * metrics.len());
            observer.compare_event(Event::CountsVary { varying: varying.len(), of, layouts });
            let builds = runner.link(versions, &varying, runner.counted_seeds(layouts))?;
            runner.count_everywhere(&mut begun, &counter, versions, &builds, &varying)?;
        }
        runner.finish(&begun)?;
    }
    Ok(())
}

/// The benchmarks whose counts vary in the only version of an experiment: it may be compared with another one later.
fn varying_in_version(
    runner: &Runner<'_>,
    id: ExperimentId,
    benchmarks: &[Benchmark],
    metrics: &[Metric],
    verdicts: &VerdictSettings,
) -> Result<Vec<Benchmark>> {
    let results = Results::load(&runner.store, id)?;
    let place = VersionRef { experiment: 0, version: 0 };
    let mut varying = Vec::new();
    for benchmark in benchmarks {
        let counted = results.benchmark(benchmark, [0])?;
        let mut does_vary = false;
        for metric in metrics {
            let criteria = verdicts.criteria(benchmark).for_metric(metric);
            let summary = counted.summary(place, Stage::First, metric, &criteria)?;
            does_vary |= summary.is_some_and(|one| needs_more_layouts(&one, criteria.min_effect));
        }
        if does_vary && counted.unmeasured(place).is_none() {
            varying.push(benchmark.clone());
        }
    }
    Ok(varying)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{counted, counted_in};

    fn ids(benchmarks: &[Benchmark]) -> Vec<&str> {
        benchmarks.iter().map(|one| one.name.id.as_str()).collect()
    }

    #[test]
    fn only_what_varies_is_counted_in_more_than_three_layouts() {
        let metric = Metric::instructions();
        let rows = [
            counted(&metric, "same", 1000.0, 1000.0),
            counted(&metric, "changed", 1000.0, 1100.0),
            counted_in(&metric, "hardly", [&[1000.0, 1001.0, 1000.0], &[1100.0; 3]]),
            counted_in(&metric, "base", [&[1000.0, 1002.0, 1000.0], &[1100.0; 3]]),
            counted_in(&metric, "head", [&[1000.0; 3], &[1100.0, 1100.0, 1110.0]]),
        ];
        assert_eq!(ids(&varying(&rows)), ["base", "head"]);
        let allocations = Metric::allocations();
        let [first, other] = [&metric, &allocations].map(|metric| counted(metric, "a", 9.0, 9.0));
        let varies = counted_in(&allocations, "b", [&[9.0, 9.0, 10.0], &[9.0; 3]]);
        let rows = [first, other, counted(&metric, "b", 9.0, 9.0), varies];
        assert_eq!(ids(&varying(&rows)), ["b"], "in one of two metrics");
    }

    #[test]
    fn after_an_interruption_both_versions_are_counted_in_the_same_layouts() {
        let metric = Metric::instructions();
        // Of one version more was counted than of the other, and what was counted does not differ by itself.
        let rows = [
            counted_in(&metric, "first", [&[1000.0], &[1000.0]]),
            counted_in(&metric, "three", [&[1000.0; 2][..], &[1000.0]]),
            counted_in(&metric, "six", [&[1000.0; 4][..], &[1000.0; 3]]),
        ];
        assert_eq!(ids(&differing(&rows)), ["three", "six"]);
        assert_eq!(ids(&varying(&rows)), ["six"]);
    }
}
