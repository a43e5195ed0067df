//! The criteria of verdicts: flags > `[verdict]` > the defaults. The min-effect has one more source: flags > the first
//! `[[benchmark]]` that matches the benchmark > `[verdict]`.

use std::collections::BTreeMap;

use rbench_stats::{Criteria, MetricLimits};

use super::{
    CriteriaOptions,
    bench_toml::{BenchToml, BenchmarkTable},
};
use crate::{
    error::{Error, Exit, Result},
    model::{Benchmark, Metric, MetricSource},
};

/// The criteria of verdicts, and the metrics that they are given for.
#[derive(Clone, Debug)]
pub struct VerdictSettings {
    /// The criteria of benchmarks that no `[[benchmark]]` matches.
    pub criteria: Criteria,
    /// The metrics to decide and report; empty for all.
    pub metrics: Vec<Metric>,
    /// Empty if a flag sets the min-effect of all benchmarks.
    tables: Vec<BenchmarkTable>,
}

impl VerdictSettings {
    /// Resolves the settings from flags, file and defaults, for a command that executes benchmarks.
    pub fn resolve(file: &BenchToml, flags: &CriteriaOptions) -> Result<Self> {
        let settings = Self::resolve_any(file, flags)?;
        match settings.metrics.iter().find(|metric| metric.is_of_compilations()) {
            Some(Metric { name, .. }) => {
                Err(Error::new(Exit::Usage, format!("cannot use the metric `{name}` here"))
                    .cause("it is measured of compilations, not of benchmarks")
                    .hint(format!("compare it separately: cargo rbench compare --metric {name}")))
            }
            None => Ok(settings),
        }
    }

    /// The settings for a comparison of compilations and their executables, if only these are compared.
    pub fn resolve_compilations(file: &BenchToml, flags: &CriteriaOptions) -> Result<Option<Self>> {
        let settings = Self::resolve_any(file, flags)?;
        let metrics = &settings.metrics;
        let are_meant = !metrics.is_empty() && metrics.iter().all(Metric::is_of_compilations);
        Ok(are_meant.then_some(settings))
    }

    fn resolve_any(file: &BenchToml, flags: &CriteriaOptions) -> Result<Self> {
        let default = Criteria::default();
        let options = flags.clone().or_else(file.tables.verdict.clone());
        let criteria = Criteria {
            estimator: options.estimator.or(default.estimator),
            rule: options.rule.unwrap_or(default.rule),
            false_alarm_rate: options.false_alarm_rate.unwrap_or(default.false_alarm_rate),
            comparisons: default.comparisons,
            confidence: options.confidence.unwrap_or(default.confidence),
            min_effect: options.min_effect.unwrap_or(default.min_effect),
            limits: limits(file, flags),
            confirm: options.confirm.unwrap_or(default.confirm),
            seed: default.seed,
        };
        let criteria = criteria.checked().map_err(|refusal| {
            Error::new(Exit::Usage, "cannot use the settings for verdicts")
                .cause(refusal.to_string())
        })?;
        let tables = if flags.min_effect.is_some() { Vec::new() } else { file.benchmarks() };
        let settings = Self { criteria, metrics: options.metrics, tables };
        // Each kind of metrics is decided by itself, so all of them share the rate.
        let kinds = settings.kinds().len();
        Ok(settings.shared_by(kinds))
    }

    /// Returns stricter settings: one comparison reports an unchanged benchmark with a probability of at most `rate`.
    #[must_use]
    pub fn within(&self, rate: f64) -> Self {
        Self { criteria: self.criteria.within(rate), ..self.clone() }
    }

    /// Returns the settings for a number of comparisons that share the false-alarm rate, each with what it had of it.
    #[must_use]
    pub fn shared_by(mut self, comparisons: usize) -> Self {
        self.criteria.comparisons *= comparisons;
        self
    }

    /// Returns the settings with this min-effect for all benchmarks, or unchanged settings if it is absent.
    #[must_use]
    pub fn with_limit(&self, min_effect: Option<f64>) -> Self {
        let mut settings = self.clone();
        if let Some(min_effect) = min_effect {
            settings.criteria.min_effect = min_effect;
            settings.tables.clear();
        }
        settings
    }

    /// The criteria of a benchmark, with its own min-effect.
    pub fn criteria(&self, benchmark: &Benchmark) -> Criteria {
        Criteria { min_effect: self.min_effect_of(benchmark), ..self.criteria }
    }

    /// The smallest relative change to report in a benchmark: 0.01 is 1 %.
    fn min_effect_of(&self, benchmark: &Benchmark) -> f64 {
        let table = self.tables.iter().find(|table| table.names(benchmark));
        table.and_then(|table| table.min_effect).unwrap_or(self.criteria.min_effect)
    }

    /// True if anything is timed: always, unless all chosen metrics are counted.
    pub fn times(&self) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|metric| !metric.is_counted())
    }

    /// True if any chosen metric is counted. None is by default.
    pub fn counts(&self) -> bool {
        self.metrics.iter().any(Metric::is_counted)
    }

    /// True if all chosen metrics are counted, so that nothing is timed.
    pub fn counts_only(&self) -> bool {
        self.counts() && !self.times()
    }

    /// Splits the settings by the sources of the metrics, because each needs executions of its own. There is at least one
    /// kind.
    pub fn kinds(&self) -> Vec<Self> {
        if self.metrics.is_empty() {
            return vec![self.clone()];
        }
        let mut by_source: BTreeMap<MetricSource, Vec<Metric>> = BTreeMap::new();
        for metric in &self.metrics {
            by_source.entry(metric.source()).or_default().push(metric.clone());
        }
        by_source.into_values().map(|metrics| Self { metrics, ..self.clone() }).collect()
    }

    /// Returns the settings with the min-effect of the first metric, which must be a counted one.
    #[must_use]
    pub fn limited_as_counts(&self) -> Self {
        let limit = self.metrics.first().and_then(|metric| self.criteria.limits.for_metric(metric));
        self.with_limit(limit)
    }

    /// Returns the settings for the counted metrics only, or for the timed ones only.
    #[must_use]
    pub fn only(&self, counted: bool) -> Self {
        let mut settings = self.clone();
        settings.metrics.retain(|metric| metric.is_counted() == counted);
        settings
    }

    /// True if a metric is decided and reported.
    pub fn includes(&self, metric: &Metric) -> bool {
        if self.metrics.is_empty() { metric.is_default() } else { self.metrics.contains(metric) }
    }
}

/// The min-effects of metrics that have their own: `--min-effect` if all chosen metrics have, else those of the file. With
/// other times among them, the flag is for these: counts have no noise, and their limits are much smaller.
fn limits(file: &BenchToml, flags: &CriteriaOptions) -> MetricLimits {
    let default = MetricLimits::DEFAULT;
    let has_own = |metric: &Metric| default.for_metric(metric).is_some();
    let all_have_own = !flags.metrics.is_empty() && flags.metrics.iter().all(has_own);
    let typed = flags.min_effect.filter(|_| all_have_own);
    let tables = &file.tables.metric;
    default.replaced(|name| typed.or(tables.get(name)?.min_effect))
}

#[cfg(test)]
mod tests;
