//! The criteria of verdicts: flags > `[verdict]` > the defaults. The min-effect has [more sources](MinEffects).

use std::collections::BTreeMap;

use rbench_stats::Criteria;

use super::{BenchToml, CriteriaOptions, min_effect::MinEffects};
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
    min_effects: MinEffects,
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

    /// Resolves the settings for a comparison, which has a part for the metrics of benchmarks and a part for those of
    /// compilations and their executables. A part without metrics is `None`. Both share the false-alarm rate.
    pub fn resolve_parts(file: &BenchToml, flags: &CriteriaOptions) -> Result<[Option<Self>; 2]> {
        let settings = Self::resolve_any(file, flags)?;
        let (compiled, executed): (Vec<Metric>, Vec<Metric>) =
            settings.metrics.iter().cloned().partition(Metric::is_of_compilations);
        let part = |metrics| Self { metrics, ..settings.clone() };
        // No metrics at all are those of benchmarks.
        let executes = compiled.is_empty() || !executed.is_empty();
        let compiles = !compiled.is_empty();
        Ok([executes.then(|| part(executed)), compiles.then(|| part(compiled))])
    }

    fn resolve_any(file: &BenchToml, flags: &CriteriaOptions) -> Result<Self> {
        let default = Criteria::default();
        let options = flags.clone().or_else(file.judge().verdict.clone());
        let criteria = Criteria {
            estimator: options.estimator.or(default.estimator),
            rule: options.rule.unwrap_or(default.rule),
            false_alarm_rate: options.false_alarm_rate.unwrap_or(default.false_alarm_rate),
            confidence: options.confidence.unwrap_or(default.confidence),
            confirm: options.confirm.unwrap_or(default.confirm),
            ..default
        };
        let min_effects = MinEffects::new(file, flags);
        let criteria = min_effects.of(None, criteria).checked().map_err(|refusal| {
            Error::new(Exit::Usage, "cannot use the settings for verdicts")
                .cause(refusal.to_string())
        })?;
        let settings = Self { criteria, metrics: options.metrics, min_effects };
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

    /// Returns the settings for a comparison with a release, which may have its own min-effect.
    #[must_use]
    pub fn with_gate(&self, min_effect: Option<f64>) -> Self {
        let min_effects = self.min_effects.with_gate(min_effect);
        Self { criteria: min_effects.of(None, self.criteria), min_effects, ..self.clone() }
    }

    /// The criteria of a benchmark, with its own min-effect.
    pub fn criteria(&self, benchmark: &Benchmark) -> Criteria {
        self.min_effects.of(Some(benchmark), self.criteria)
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

    /// Returns the settings for the counted metrics only, or for the timed ones only.
    #[must_use]
    pub fn only(&self, counted: bool) -> Self {
        let mut settings = self.clone();
        settings.metrics.retain(|metric| metric.is_counted() == counted);
        settings
    }

    pub fn includes(&self, metric: &Metric) -> bool {
        if self.metrics.is_empty() { metric.is_default() } else { self.metrics.contains(metric) }
    }
}

#[cfg(test)]
mod tests;
