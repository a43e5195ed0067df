//! Counts instructions or allocations of two versions and decides: in three layouts and initial
//! states, and where the counts vary within a version in so many that ranges rarely lie apart by
//! chance. Equal counts in one state show nothing about a count that depends on the state.

use rbench_stats::{Summary, counts_needed, times_counted, varies};

use super::{Event, Observer, decide::decide_rows};
use crate::{
    config::VerdictSettings,
    error::{Exit, Result},
    measure::{Builds, COUNTED_LAYOUTS, Counter, ListedVersion, Runner, StartedExperiment},
    model::{Benchmark, Metric, MetricSource, SkipReason, Stage},
    store::ExperimentId,
    verdict::{DecidedRow, DecidedStage, Results, VersionRef},
};

pub struct Counts<'e> {
    pub runner: &'e Runner<'e>,
    pub counter: Counter,
    /// Base and head.
    pub versions: &'e [ListedVersion; 2],
    pub measured: &'e [Benchmark],
    pub unmeasured: &'e [(Benchmark, SkipReason)],
    /// The settings of their verdicts, in counted metrics.
    pub verdicts: &'e VerdictSettings,
    pub observer: &'e dyn Observer,
}

/// The counters for the metrics of the verdicts. A metric that cannot be counted is left out with a
/// warning if there are others.
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

/// The counter for one kind of metrics. If it cannot be counted, that is an error where it is the
/// only kind, and otherwise `None` with a warning.
pub fn counter(
    runner: &Runner<'_>,
    head: &ListedVersion,
    kind: &VerdictSettings,
    is_alone: bool,
    observer: &dyn Observer,
) -> Result<Option<Counter>> {
    if kind.metrics.iter().any(|metric| metric.source() == MetricSource::AllocationCount) {
        return runner.allocation_counter(head).map(Some);
    }
    match runner.instruction_counter(head) {
        Ok(counter) => Ok(Some(Counter::Instructions(counter))),
        Err(error) if error.exit() == Exit::Interrupted || is_alone => Err(error),
        Err(error) => {
            let rest = "only the other metrics are compared";
            let error = error.cause(rest).to_string();
            observer.compare_event(Event::Warning(&error));
            Ok(None)
        }
    }
}

impl Counts<'_> {
    /// Counts all benchmarks and decides. The caller must finish the experiment.
    pub fn measure(&self) -> Result<(StartedExperiment, Vec<DecidedRow>)> {
        let Self { runner, versions, measured, verdicts, .. } = *self;
        let builds = self.link(measured, COUNTED_LAYOUTS)?;
        let mut experiment = runner.begin_counting(&self.counter, versions, measured, &builds)?;
        self.observer.compare_event(Event::Started(&experiment));
        for (benchmark, skip_reason) in self.unmeasured {
            runner.store.record_unmeasured(experiment.id, benchmark, *skip_reason)?;
        }
        runner.count_everywhere(&mut experiment, &self.counter, versions, &builds, measured)?;
        let mut rows = decide_rows(runner, verdicts, experiment.id, measured)?;
        let varying = varying(&rows);
        if !varying.is_empty() {
            let of = measured.len();
            let layouts = layouts_needed(of * self.counter.metrics().len(), verdicts);
            self.observer.compare_event(Event::CountsVary { varying: varying.len(), of, layouts });
            let builds = self.link(&varying, layouts)?;
            runner.count_everywhere(&mut experiment, &self.counter, versions, &builds, &varying)?;
            rows = decide_rows(runner, verdicts, experiment.id, measured)?;
        }
        Ok((experiment, rows))
    }

    fn link(&self, benchmarks: &[Benchmark], layouts: usize) -> Result<Builds> {
        self.runner.link(self.versions, benchmarks, self.runner.counted_seeds(layouts))
    }
}

/// The number of layouts in which to count benchmarks whose counts vary: comparisons that share the
/// error rate need as many as their verdicts together.
fn layouts_needed(counts: usize, verdicts: &VerdictSettings) -> usize {
    counts_needed(counts * verdicts.criteria.comparisons.max(1))
}

/// The benchmarks whose counts vary within one version, so that three layouts are too few; also
/// those that were counted in more before an interruption.
fn varying(rows: &[DecidedRow]) -> Vec<Benchmark> {
    benchmarks_of(rows, |DecidedStage { summaries, assessment }| {
        summaries.iter().any(|version| needs_more_layouts(version, assessment.min_effect))
    })
}

/// True if three layouts are too few for the counts of a version, or more were counted before an
/// interruption.
fn needs_more_layouts(version: &Summary, min_effect: f64) -> bool {
    varies(version, min_effect) || times_counted(version) > COUNTED_LAYOUTS
}

/// The benchmarks with a decided row for which `holds` is true.
fn benchmarks_of(rows: &[DecidedRow], holds: impl Fn(&DecidedStage) -> bool) -> Vec<Benchmark> {
    let chosen = rows.iter().filter(|row| row.decisive().is_some_and(&holds));
    let mut all: Vec<Benchmark> = chosen.map(|row| row.benchmark.clone()).collect();
    all.dedup();
    all
}

/// Counts benchmarks of one version in three layouts, and in more layouts where the counts vary.
pub fn count_version(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 1],
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
    observer: &dyn Observer,
) -> Result<()> {
    for counter in counters(runner, &versions[0], verdicts, observer)? {
        let builds = runner.link(versions, benchmarks, runner.counted_seeds(COUNTED_LAYOUTS))?;
        let mut experiment = runner.begin_counting(&counter, versions, benchmarks, &builds)?;
        runner.count_everywhere(&mut experiment, &counter, versions, &builds, benchmarks)?;
        let metrics = counter.metrics();
        let varying = varying_in_version(runner, experiment.id, benchmarks, &metrics, verdicts)?;
        if !varying.is_empty() {
            let of = benchmarks.len();
            let layouts = layouts_needed(of * metrics.len(), verdicts);
            observer.compare_event(Event::CountsVary { varying: varying.len(), of, layouts });
            let builds = runner.link(versions, &varying, runner.counted_seeds(layouts))?;
            runner.count_everywhere(&mut experiment, &counter, versions, &builds, &varying)?;
        }
        runner.finish(&experiment)?;
    }
    Ok(())
}

/// The benchmarks whose counts vary in the only version of an experiment: it may be compared with
/// another one later.
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
    fn varying_selects_benchmarks_whose_counts_vary() {
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
    fn counts_after_interruption_use_the_same_layouts() {
        let metric = Metric::instructions();
        // After an interruption, one version has more counts than the other, though the counts are
        // equal.
        let rows = [
            counted_in(&metric, "three", [&[1000.0; 3][..], &[1000.0; 2]]),
            counted_in(&metric, "six", [&[1000.0; 4][..], &[1000.0; 3]]),
        ];
        assert_eq!(ids(&varying(&rows)), ["six"]);
    }
}
