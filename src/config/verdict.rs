//! How benchmarks are judged: flags > `[verdict]` > the defaults, and for the smallest change of
//! interest flags > the first `[[benchmark]]` that names the benchmark > `[verdict]`.

use super::{
    CriteriaOptions,
    bench_toml::{BenchToml, BenchmarkTable},
};
use crate::{
    error::{Error, Exit, Result},
    model::{Benchmark, Metric},
    stats::{CountLimits, Criteria},
};

/// How benchmarks are judged.
#[derive(Clone, Debug)]
pub struct VerdictSettings {
    /// The criteria of benchmarks that no `[[benchmark]]` names.
    pub criteria: Criteria,
    /// The metrics that are judged and reported; empty for all.
    pub metrics: Vec<Metric>,
    /// Empty if a flag decides for all benchmarks.
    tables: Vec<BenchmarkTable>,
}

impl VerdictSettings {
    /// The settings by flags, file and defaults.
    pub fn resolve(file: &BenchToml, flags: &CriteriaOptions) -> Result<Self> {
        let default = Criteria::default();
        let options = flags.clone().or_else(file.criteria());
        let criteria = Criteria {
            estimator: options.estimator.or(default.estimator),
            rule: options.rule.unwrap_or(default.rule),
            false_alarm_rate: options.false_alarm_rate.unwrap_or(default.false_alarm_rate),
            judgements: default.judgements,
            confidence: options.confidence.unwrap_or(default.confidence),
            min_effect: options.min_effect.unwrap_or(default.min_effect),
            counts: count_limits(file, flags),
            confirm: options.confirm.unwrap_or(default.confirm),
            seed: default.seed,
        };
        let criteria = criteria.checked().map_err(|refusal| {
            Error::new(Exit::Usage, "cannot use the settings for verdicts")
                .cause(refusal.to_string())
        })?;
        let tables = if flags.min_effect.is_some() { Vec::new() } else { file.benchmarks() };
        Ok(Self { criteria, metrics: options.metrics, tables })
    }

    /// The same, as strict as one comparison must be to report what did not change with a probability of at most
    /// `rate`.
    #[must_use]
    pub fn within(&self, rate: f64) -> Self {
        Self { criteria: self.criteria.within(rate), ..self.clone() }
    }

    /// The same where so many judgements share the false-alarm rate.
    #[must_use]
    pub fn shared_by(mut self, judgements: usize) -> Self {
        self.criteria.judgements = judgements;
        self
    }

    /// The same with one smallest change of interest for all benchmarks, if there is one.
    #[must_use]
    pub fn with_limit(&self, min_effect: Option<f64>) -> Self {
        let mut settings = self.clone();
        if let Some(min_effect) = min_effect {
            settings.criteria.min_effect = min_effect;
            settings.tables.clear();
        }
        settings
    }

    /// The criteria of a benchmark.
    pub fn criteria(&self, benchmark: &Benchmark) -> Criteria {
        Criteria { min_effect: self.min_effect_of(benchmark), ..self.criteria }
    }

    /// The smallest relative change of interest in a benchmark: 0.01 is 1 %.
    fn min_effect_of(&self, benchmark: &Benchmark) -> f64 {
        let table = self.tables.iter().find(|table| table.names(benchmark));
        table.and_then(|table| table.min_effect).unwrap_or(self.criteria.min_effect)
    }

    /// Whether anything is timed: it is unless metrics are chosen and all of them are counted.
    pub fn times(&self) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|metric| !metric.is_counted())
    }

    /// Whether anything is counted: metrics that are counted are chosen.
    pub fn counts(&self) -> bool {
        self.metrics.iter().any(Metric::is_counted)
    }

    /// Whether things are counted and nothing is timed.
    pub fn counts_only(&self) -> bool {
        self.counts() && !self.times()
    }

    /// The same for each kind of metrics that executions of their own measure: what is timed, instructions, and what is
    /// allocated. There is at least one.
    pub fn kinds(&self) -> Vec<Self> {
        if self.metrics.is_empty() {
            return vec![self.clone()];
        }
        let kinds: [fn(&Metric) -> bool; 3] = [
            |metric| !metric.is_counted(),
            |metric| *metric == Metric::instructions(),
            |metric| metric.is_counted() && *metric != Metric::instructions(),
        ];
        let of = |is_meant: &fn(&Metric) -> bool| {
            let mut settings = self.clone();
            settings.metrics.retain(is_meant);
            settings
        };
        kinds.iter().map(of).filter(|settings| !settings.metrics.is_empty()).collect()
    }

    /// The same with the smallest change of interest of the first metric, which is counted.
    #[must_use]
    pub fn limited_as_counts(&self) -> Self {
        let limit = self.metrics.first().and_then(|metric| self.criteria.counts.for_metric(metric));
        self.with_limit(limit)
    }

    /// The same for what is counted alone, or for what is timed alone.
    #[must_use]
    pub fn only(&self, counted: bool) -> Self {
        let mut settings = self.clone();
        settings.metrics.retain(|metric| metric.is_counted() == counted);
        settings
    }

    /// Whether a metric is judged and reported.
    pub fn includes(&self, metric: &Metric) -> bool {
        self.metrics.is_empty() || self.metrics.contains(metric)
    }
}

/// The smallest changes of interest in what is counted: `--min-effect` where only counts were asked for, else those of
/// the file.
fn count_limits(file: &BenchToml, flags: &CriteriaOptions) -> CountLimits {
    let only_counts = !flags.metrics.is_empty() && flags.metrics.iter().all(Metric::is_counted);
    let typed = flags.min_effect.filter(|_| only_counts);
    let default = CountLimits::DEFAULT;
    let table = file.metric();
    CountLimits {
        instructions: typed.or(table.instructions.min_effect).unwrap_or(default.instructions),
        allocations: typed.or(table.allocations.min_effect).unwrap_or(default.allocations),
        allocated_bytes: typed
            .or(table.allocated_bytes.min_effect)
            .unwrap_or(default.allocated_bytes),
    }
}

#[cfg(test)]
mod tests;
