//! Options that are flags as well as keys of `bench.toml`: how much is measured, and how it is judged.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;

use super::values::{self, key};
use crate::stats::{Estimator, Rule};

/// How much is spent on measuring a benchmark; what is absent is left to the next source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Experiment")]
pub struct EffortOptions {
    /// How many builds of each version are measured, each with another code layout [default: 10]
    #[arg(short = 'l', long, value_name = "L", value_parser = values::builds)]
    #[serde(deserialize_with = "key::builds")]
    pub builds: Option<u32>,
    /// How many times each build is executed [default: 2]
    #[arg(short = 'm', long, value_name = "M", value_parser = values::count)]
    #[serde(deserialize_with = "key::count")]
    pub executions: Option<u32>,
    /// How many measurements each execution takes [default: 10]
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count)]
    #[serde(deserialize_with = "key::count")]
    pub measurements: Option<u32>,
    /// How long to run before the first measurement [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    #[serde(deserialize_with = "key::time")]
    pub warm_up: Option<Duration>,
    /// How long each measurement lasts at least [default: 5ms]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    #[serde(deserialize_with = "key::time")]
    pub floor: Option<Duration>,
    /// How long one execution may take [default: 5min and ten times what it should take]
    #[arg(long, value_name = "TIME", value_parser = values::deadline)]
    #[serde(deserialize_with = "key::deadline")]
    pub deadline: Option<Duration>,
}

impl EffortOptions {
    /// A first look: wide intervals after a quarter of the time.
    pub const QUICK: Self = Self {
        builds: Some(5),
        executions: Some(1),
        measurements: Some(5),
        warm_up: Some(Duration::from_millis(10)),
        floor: Some(Duration::from_millis(5)),
        deadline: None,
    };

    /// These options, and where they are absent, those of `next`.
    #[must_use]
    pub fn or(self, next: Self) -> Self {
        Self {
            builds: self.builds.or(next.builds),
            executions: self.executions.or(next.executions),
            measurements: self.measurements.or(next.measurements),
            warm_up: self.warm_up.or(next.warm_up),
            floor: self.floor.or(next.floor),
            deadline: self.deadline.or(next.deadline),
        }
    }
}

/// How benchmarks are judged; what is absent is left to the next source.
#[derive(Clone, Debug, Default, PartialEq, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Verdict")]
pub struct CriteriaOptions {
    /// Judge and report only this metric, for instance wall, user, system or peak-memory; may be
    /// repeated [default: all]
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    /// What stands for one execution: mean, trimmed-mean, median, lower-quartile or minimum
    /// [default: minimum]
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "key::estimator")]
    pub estimator: Option<Estimator>,
    /// What flags a benchmark: overlap, overlap-95, paper or permutation [default: overlap]
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "key::rule")]
    pub rule: Option<Rule>,
    /// How often one stage may flag a benchmark that did not change [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[serde(deserialize_with = "key::share")]
    pub false_alarm_rate: Option<f64>,
    /// The confidence of the intervals of one version [default: 95%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[serde(deserialize_with = "key::share")]
    pub confidence: Option<f64>,
    /// The smallest change of interest [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[serde(deserialize_with = "key::share")]
    pub min_effect: Option<f64>,
    /// Report what is flagged without measuring it again on fresh builds
    #[arg(long = "no-confirm", num_args = 0, default_missing_value = "false")]
    pub confirm: Option<bool>,
}

impl CriteriaOptions {
    /// These options, and where they are absent, those of `next`.
    #[must_use]
    pub fn or(self, next: Self) -> Self {
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
