//! Options that are both flags and keys of `bench.toml`: for builds, sample sizes and verdict criteria.
//!
//! Doc comments of fields are the help texts of the flags.

use std::time::Duration;

use clap::Args;
use rbench_stats::{Estimator, Rule};
use serde::Deserialize;

use super::values::{self, key};
use crate::model::{InterimAnalyses, Layout, Metric, MetricSource, Mode, Strategy};

/// Build options; an absent one is left to the next source.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Compilation")]
pub struct BuildOptions {
    /// Placement of functions in each build. Not a flag here: commands that compile, but need no builds, have none.
    #[arg(skip)]
    pub layout: Option<Layout>,
    /// One link for each build, or one compilation for each build.
    #[arg(skip)]
    pub strategy: Option<Strategy>,
    /// The seed that all layout seeds are derived from.
    #[arg(skip)]
    pub seed: Option<u64>,
    /// The cargo profile [default: bench]
    #[arg(long, value_name = "NAME", value_parser = values::profile)]
    #[serde(deserialize_with = "key::profile")]
    pub profile: Option<String>,
    /// Features to enable, separated by commas.
    #[arg(short = 'F', long, value_name = "FEATURES", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Enable all features.
    #[arg(long)]
    pub all_features: bool,
    /// Do not enable the default features.
    #[arg(long)]
    pub no_default_features: bool,
    /// Refuse to change Cargo.lock.
    #[arg(skip)]
    pub locked: bool,
    /// Do not use the network.
    #[arg(skip)]
    pub offline: bool,
    /// Parallel jobs of cargo and of linking.
    #[arg(skip)]
    #[serde(deserialize_with = "key::jobs")]
    pub jobs: Option<u32>,
    /// Pass this argument to cargo, for example --cargo-arg=--ignore-rust-version; may be repeated.
    #[arg(long = "cargo-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub cargo_args: Vec<String>,
}

impl BuildOptions {
    #[must_use]
    pub fn in_layout(&self, layout: Option<Layout>) -> Self {
        Self { layout, ..self.clone() }
    }
}

/// Sample sizes and times of a benchmark; an absent one is left to the next source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Experiment")]
pub struct SamplingOptions {
    /// Number of builds of each version, each with a different code layout: a fixed number, or 5..20 for interim
    /// analyses after 5, 10 and 20 builds, continuing with undecided benchmarks [default: 5..20 to compare, 10 to run]
    #[arg(short = 'l', long, value_name = "L", value_parser = values::builds)]
    #[serde(deserialize_with = "key::builds")]
    pub builds: Option<InterimAnalyses>,
    /// Number of executions of each build [default: 1 to compare, up to 5 times as many if noisy; 2 to run]
    #[arg(short = 'm', long, value_name = "M", value_parser = values::count)]
    #[serde(deserialize_with = "key::count")]
    pub executions: Option<u32>,
    /// Number of measurements in each execution [default: 80 interleaved, 10 sequential]
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count)]
    #[serde(deserialize_with = "key::count")]
    pub measurements: Option<u32>,
    /// Duration of the warm-up before the first measurement [default: 10ms]
    #[arg(skip)]
    #[serde(deserialize_with = "key::time")]
    pub warm_up: Option<Duration>,
    /// Minimum duration of each measurement [default: 300us interleaved, 5ms sequential]
    #[arg(skip)]
    #[serde(deserialize_with = "key::time")]
    pub min_time: Option<Duration>,
    /// Maximum duration of one execution [default: 5min plus ten times the expected duration]
    #[arg(skip)]
    #[serde(deserialize_with = "key::deadline")]
    pub deadline: Option<Duration>,
    /// Number of interleaved benchmarks to run at once, each on its own CPU [default: 2, on machines with two cores]
    #[arg(skip)]
    #[serde(deserialize_with = "key::parallel")]
    pub parallel: Option<u32>,
    /// Interleaved or sequential. Not a flag of every command that measures: a single version has nothing to be
    /// interleaved with.
    #[arg(skip)]
    pub mode: Option<Mode>,
    /// True if the number of measurements is that of `--quick`.
    #[arg(skip)]
    #[serde(skip)]
    pub has_quick_number: bool,
}

impl SamplingOptions {
    /// True if the user chose the number of measurements.
    pub const fn requests_measurements(&self) -> bool {
        self.measurements.is_some() && !self.has_quick_number
    }

    /// Returns the sample sizes of `--quick`: a quarter of the time, with wide intervals.
    pub fn quick(mode: Mode) -> Self {
        let measurements = match mode {
            Mode::Interleaved => 20,
            Mode::Sequential => 5,
        };
        Self {
            builds: Some(InterimAnalyses::fixed(5)),
            // Interleaved versions have one anyway, but short programs more.
            executions: (mode == Mode::Sequential).then_some(1),
            measurements: Some(measurements),
            has_quick_number: true,
            ..Self::default()
        }
    }

    /// Returns these options, with absent ones taken from `next`.
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
            has_quick_number: match self.measurements {
                Some(_) => self.has_quick_number,
                None => next.has_quick_number,
            },
        }
    }
}

/// Criteria of verdicts; an absent one is left to the next source.
#[derive(Clone, Debug, Default, PartialEq, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Verdict")]
pub struct CriteriaOptions {
    /// The metrics to decide and report; empty for the default ones.
    #[arg(long = "metric", help = metrics_help(), value_name = "NAME", value_delimiter = ',')]
    #[serde(deserialize_with = "key::metrics")]
    pub metrics: Vec<Metric>,
    /// Estimator of an execution's measurements: mean, trimmed-mean, median, lower-quartile or
    /// minimum [default: minimum; for interleaved benchmarks, pairwise: the median of the log ratios of neighboring
    /// measurements]. With minimum and pairwise, a change that the mean of all
    /// measurements contradicts is inconclusive, and a change that only the mean shows is decided by the mean of fresh
    /// builds
    #[arg(skip)]
    #[serde(deserialize_with = "key::estimator")]
    pub estimator: Option<Estimator>,
    /// Rule that flags benchmarks: paired, a t test at the false-alarm rate, paired by layout if both versions have
    /// the same layouts, else Welch's; or overlap, the rule of Kalibera et al. 2006: three-level intervals of base
    /// and head, by their (17), that do not overlap. With both rules, a t test on fresh builds confirms flagged
    /// benchmarks [default: paired]
    #[arg(skip)]
    #[serde(deserialize_with = "key::rule")]
    pub rule: Option<Rule>,
    /// Probability that the test flags an unchanged benchmark [default: 5%]
    #[arg(skip)]
    #[serde(deserialize_with = "key::share")]
    pub false_alarm_rate: Option<f64>,
    /// Confidence level of the intervals of base and head, and of the intervals that the rule overlap compares
    /// [default: 95%]
    #[arg(skip)]
    #[serde(deserialize_with = "key::share")]
    pub confidence: Option<f64>,
    /// Smallest change to report [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[serde(deserialize_with = "key::share")]
    pub min_effect: Option<f64>,
    /// Whether flagged benchmarks are confirmed on fresh builds before they are reported.
    #[arg(skip)]
    pub confirm: Option<bool>,
}

/// The help of `--metric`.
pub fn metrics_help() -> String {
    let of = |sources: [MetricSource; 2]| {
        let metrics: Vec<Metric> = sources.into_iter().flat_map(Metric::with_source).collect();
        Metric::names(&metrics)
    };
    format!(
        "Report only these metrics, separated by commas. Timed: {}. Counted in separate executions, and if all are \
         counted, nothing is timed: {}. Of compilations, only with `compare`, and nothing runs: {} [default: all timed \
         metrics]",
        Metric::names(&Metric::with_source(MetricSource::Execution)),
        of([MetricSource::InstructionCount, MetricSource::AllocationCount]),
        of([MetricSource::Executable, MetricSource::Compilation]),
    )
}

impl CriteriaOptions {
    /// Returns these options, with absent ones taken from `next`.
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
