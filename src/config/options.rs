//! Options that are flags as well as keys of `bench.toml`: how much is measured, and how it is judged.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;

use super::values::{self, key};
use crate::{
    model::{InterimAnalyses, Metric, Mode},
    stats::{Estimator, Rule},
};

/// How much is spent on measuring a benchmark; what is absent is left to the next source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Experiment")]
pub struct SamplingOptions {
    /// Number of builds of each version, each with a different code layout: a fixed number, or 5..20 to compare
    /// after 5, 10 and 20 builds and go on with what is not decided [default: 5..20 to compare, 10 to run]
    #[arg(short = 'l', long, value_name = "L", value_parser = values::builds)]
    #[serde(deserialize_with = "key::builds")]
    pub builds: Option<InterimAnalyses>,
    /// Number of executions of each build [default: 1 to compare, 2 to run]
    #[arg(short = 'm', long, value_name = "M", value_parser = values::count)]
    #[serde(deserialize_with = "key::count")]
    pub executions: Option<u32>,
    /// Number of measurements in each execution [default: 80 in turns, otherwise 10]
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count)]
    #[serde(deserialize_with = "key::count")]
    pub measurements: Option<u32>,
    /// Duration of the warm-up before the first measurement [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    #[serde(deserialize_with = "key::time")]
    pub warm_up: Option<Duration>,
    /// Minimum duration of each measurement [default: 1ms in turns, otherwise 5ms]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    #[serde(deserialize_with = "key::time")]
    pub min_time: Option<Duration>,
    /// Maximum duration of one execution [default: 5min plus ten times the expected duration]
    #[arg(long, value_name = "TIME", value_parser = values::deadline)]
    #[serde(deserialize_with = "key::deadline")]
    pub deadline: Option<Duration>,
    /// How many benchmarks that take turns are executed at once, each on a CPU of its own [default: 1]
    #[arg(long, value_name = "N", value_parser = values::parallel)]
    #[serde(deserialize_with = "key::parallel")]
    pub parallel: Option<u32>,
    /// How two versions share the machine. No flag of all commands that measure: one version has no other to
    /// take turns with.
    #[arg(skip)]
    pub mode: Option<Mode>,
}

impl SamplingOptions {
    /// A first look: wide intervals after a quarter of the time.
    pub const fn quick(mode: Mode) -> Self {
        let measurements = match mode {
            Mode::Interleaved => 20,
            Mode::Sequential => 5,
        };
        Self {
            builds: Some(InterimAnalyses::fixed(5)),
            executions: Some(1),
            measurements: Some(measurements),
            warm_up: None,
            min_time: None,
            deadline: None,
            parallel: None,
            mode: None,
        }
    }

    /// These options, and where they are absent, those of `next`.
    #[must_use]
    pub fn or_else(self, next: Self) -> Self {
        Self {
            builds: self.builds.or(next.builds),
            executions: self.executions.or(next.executions),
            measurements: self.measurements.or(next.measurements),
            warm_up: self.warm_up.or(next.warm_up),
            min_time: self.min_time.or(next.min_time),
            deadline: self.deadline.or(next.deadline),
            parallel: self.parallel.or(next.parallel),
            mode: self.mode.or(next.mode),
        }
    }
}

/// How benchmarks are judged; what is absent is left to the next source.
#[derive(Clone, Debug, Default, PartialEq, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Verdict")]
pub struct CriteriaOptions {
    /// Judge and report only this metric: wall, user, system, peak-memory, cycles or bytes; or instructions,
    /// allocations or allocated-bytes, which are counted by executions of their own, without timing anything where no
    /// other metric is named; separated by commas [default: all that is timed]
    #[arg(long = "metric", value_name = "NAME", value_delimiter = ',')]
    #[serde(deserialize_with = "key::metrics")]
    pub metrics: Vec<Metric>,
    /// Estimator of an execution's measurements: mean, trimmed-mean, median, lower-quartile or
    /// minimum [default: minimum; for benchmarks that took turns, pairwise: the interquartile mean of the log
    /// ratios of neighbouring measurements, of the fastest fifth]. By minimum and pairwise, a change that the mean of
    /// all measurements contradicts is inconclusive, and one that only the mean shows is decided by the mean of fresh
    /// builds
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "key::estimator")]
    pub estimator: Option<Estimator>,
    /// Rule that flags benchmarks: paired, a t test at the false-alarm rate, paired by layout if both versions have
    /// the same layouts, else Welch's; or overlap, the rule of Kalibera et al. 2006: three-level intervals of base
    /// and head, by their (17), that do not overlap. By both rules, what is flagged is confirmed by a t test on fresh
    /// builds [default: paired]
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "key::rule")]
    pub rule: Option<Rule>,
    /// How often the test may flag a benchmark that did not change [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[serde(deserialize_with = "key::share")]
    pub false_alarm_rate: Option<f64>,
    /// Confidence level of the intervals of base and head, and of those that the rule overlap compares [default: 95%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[serde(deserialize_with = "key::share")]
    pub confidence: Option<f64>,
    /// Smallest change to report [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[serde(deserialize_with = "key::share")]
    pub min_effect: Option<f64>,
    /// Report flagged benchmarks without confirming them on fresh builds
    #[arg(long = "no-confirm", num_args = 0, default_missing_value = "false")]
    pub confirm: Option<bool>,
}

impl CriteriaOptions {
    /// These options, and where they are absent, those of `next`.
    #[must_use]
    pub fn or_else(self, next: Self) -> Self {
        Self {
            metrics: if self.metrics.is_empty() { next.metrics } else { self.metrics },
            estimator: self.estimator.or(next.estimator),
            rule: self.rule.or(next.rule),
            false_alarm_rate: self.false_alarm_rate.or(next.false_alarm_rate),
            confidence: self.confidence.or(next.confidence),
            min_effect: self.min_effect.or(next.min_effect),
            confirm: self.confirm.or(next.confirm),
        }
    }
}
