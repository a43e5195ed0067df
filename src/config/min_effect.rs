//! The min-effect, the smallest relative change of interest: 0.01 is 1 %. [`MinEffects::find`] says which source wins.

use std::collections::BTreeMap;

use rbench_stats::{Criteria, MetricLimits};

use super::{
    BenchToml, CriteriaOptions,
    bench_toml::{BenchmarkTable, MetricTable},
};
use crate::model::{Benchmark, KnownMetric, Metric};

#[derive(Clone, Debug)]
pub(super) struct MinEffects {
    /// `min-effect` of `[gate]`; absent where the head is compared with the base.
    gate: Option<f64>,
    /// `--min-effect`.
    flag: Option<f64>,
    /// `--min-effect` with only metrics that have their own. With other metrics among them, the flag is for these: counts
    /// have no noise, and their min-effects are much smaller.
    flag_of_metrics: Option<f64>,
    metrics: BTreeMap<String, MetricTable>,
    benchmarks: Vec<BenchmarkTable>,
    verdict: Option<f64>,
}

impl MinEffects {
    pub(super) fn new(file: &BenchToml, flags: &CriteriaOptions) -> Self {
        let has_own = |metric: &Metric| MetricLimits::DEFAULT.for_metric(metric).is_some();
        let all_have_own = !flags.metrics.is_empty() && flags.metrics.iter().all(has_own);
        Self {
            gate: None,
            flag: flags.min_effect,
            flag_of_metrics: flags.min_effect.filter(|_| all_have_own),
            metrics: file.judge().metric.clone(),
            benchmarks: file.judge().benchmarks(),
            verdict: file.judge().verdict.min_effect,
        }
    }

    /// The same for a comparison with a release.
    pub(super) fn with_gate(&self, gate: Option<f64>) -> Self {
        Self { gate, ..self.clone() }
    }

    /// The min-effect of a benchmark in a metric. In a metric that has its own, the same for all benchmarks:
    ///
    /// 1. `--min-effect`, if all metrics of `--metric` have their own
    /// 2. `[metric.NAME]`
    /// 3. the default of the metric
    ///
    /// In any other metric:
    ///
    /// 1. `[gate]`, for a comparison with a release
    /// 2. `--min-effect`
    /// 3. the first `[[benchmark]]` that matches the benchmark
    /// 4. `[verdict]`
    /// 5. the default
    fn find(&self, benchmark: Option<&Benchmark>, metric: Option<&KnownMetric>) -> f64 {
        if let Some(KnownMetric { name, min_effect: Some(default), .. }) = metric {
            let table = self.metrics.get(*name).and_then(|table| table.min_effect);
            return self.flag_of_metrics.or(table).unwrap_or(*default);
        }
        let matches = |table: &&BenchmarkTable| benchmark.is_some_and(|one| table.names(one));
        let table = self.benchmarks.iter().find(matches).and_then(|table| table.min_effect);
        let default = || Criteria::default().min_effect;
        self.gate.or(self.flag).or(table).or(self.verdict).unwrap_or_else(default)
    }

    /// Returns the criteria with the min-effects of a benchmark, or of those that no `[[benchmark]]` matches.
    pub(super) fn of(&self, benchmark: Option<&Benchmark>, criteria: Criteria) -> Criteria {
        Criteria {
            min_effect: self.find(benchmark, None),
            limits: MetricLimits::new(|metric| {
                metric.min_effect.is_some().then(|| self.find(benchmark, Some(metric)))
            }),
            ..criteria
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Name;

    const FILE: &str = "[verdict]\nmin-effect = '3%'\n[metric.size]\nmin-effect = '4%'\n\
         [[benchmark]]\nfilter = '^noisy/'\nmin-effect = '10%'\n[[benchmark]]\nfilter = 'small'\nbuilds = 20\n\
         [[benchmark]]\nfilter = 'small'\nmin-effect = '20%'\n";

    #[test]
    fn min_effect_is_that_of_the_first_source() {
        let gate = Some(0.05);
        // The file, `--min-effect`, `--metric`, `[gate]`, the benchmark, the metric, and the min-effect.
        for (row, (text, flag, chosen, gate, id, metric, expected)) in [
            ("", None, "", None, "other", "wall", 0.01),
            (FILE, None, "", None, "other", "wall", 0.03),
            (FILE, None, "", None, "noisy/x", "wall", 0.1),
            (FILE, None, "", None, "small", "wall", 0.03), // the first table that matches sets none
            (FILE, Some(0.005), "", None, "noisy/x", "wall", 0.005),
            (FILE, Some(0.005), "", gate, "noisy/x", "wall", 0.05),
            (FILE, None, "", gate, "other", "peak-memory", 0.05),
            ("", None, "", None, "other", "size", 0.005),
            ("", None, "", None, "other", "allocations", 0.0),
            (FILE, None, "", gate, "noisy/x", "size", 0.04),
            (FILE, Some(0.2), "size", gate, "noisy/x", "size", 0.2),
            (FILE, Some(0.2), "size", None, "noisy/x", "instructions", 0.2),
            (FILE, Some(0.2), "wall size", None, "noisy/x", "size", 0.04),
            (FILE, Some(0.2), "", None, "noisy/x", "instructions", 0.005),
        ]
        .into_iter()
        .enumerate()
        {
            let file = BenchToml::parse(text.to_owned(), "bench.toml".into()).unwrap();
            let metrics = chosen.split_whitespace().map(|name| name.parse().unwrap()).collect();
            let flags = CriteriaOptions { metrics, min_effect: flag, ..Default::default() };
            let sources = MinEffects::new(&file, &flags).with_gate(gate);
            let (package, target) = ("p".to_owned(), "t".to_owned());
            let benchmark = Benchmark { package, target, name: Name::plain(id) };
            let criteria = sources.of(Some(&benchmark), Criteria::default());
            let found = criteria.for_metric(&metric.parse().unwrap()).min_effect;
            assert_eq!(found.to_string(), expected.to_string(), "row {row}");
        }
    }
}
