//! The report of `selftest` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CONFIDENCE, ModeResult, SelftestReport};
use crate::stats::Criteria;
use crate::{
    error::Result,
    model::{BenchTarget, Benchmark, FailedTarget, Machine, Mode, SampleSizes, Version},
    report::{compare::WarningFields, json::document},
    stats::{self, noise},
    verdict::fitness::{BUILDS, Finding, Floor},
};

/// Comparisons of a version with itself.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Selftest<'r> {
    /// The version of rbench.
    rbench: &'static str,
    /// The version that was compared with itself.
    version: &'r Version,
    machine: &'r Machine,
    criteria: Criteria,
    /// True if the first mode is fit. The exit code is 1 if not.
    fit: bool,
    /// The number of comparisons in each mode.
    repetitions: usize,
    /// The benchmarks that were measured.
    benchmarks: Vec<&'r Benchmark>,
    /// Benchmarks that were not measured, because the compiler generates different code for
    /// something that they execute in the two versions.
    left_out: Vec<&'r Benchmark>,
    /// Bench targets that are the same programs in both versions, because the linker removes the
    /// function in which they differ.
    same_programs: &'r [BenchTarget],
    /// Reasons why the results are less certain.
    warnings: Vec<WarningFields>,
    /// The first one is the mode that `compare` uses.
    modes: Vec<WayFields<'r>>,
    against: Option<Against>,
    failed_targets: Vec<&'r FailedTarget>,
}

/// One mode of measuring.
#[derive(Serialize, JsonSchema)]
struct WayFields<'r> {
    mode: Mode,
    sample_sizes: SampleSizes,
    /// The duration, linking included.
    #[schemars(range(min = 0))]
    duration_seconds: f64,
    /// True if its verdicts can be trusted.
    fit: bool,
    /// The most important first.
    findings: Vec<Finding>,
    /// The number of rows with a verdict: a benchmark in a repetition each, in its first metric.
    rows: usize,
    /// The number of rows measured interleaved.
    rows_interleaved: usize,
    /// The number of rows that failed or skipped themselves.
    rows_not_judged: usize,
    /// The rate at which the first stage may flag unchanged benchmarks.
    #[schemars(range(min = 0, max = 1))]
    target_error_rate: f64,
    /// Rows that the first stage flagged: false positives.
    flagged: Rate,
    /// The number of rows reported as regressed, by mistake.
    regressed: usize,
    /// The number of rows reported as improved, by mistake.
    improved: usize,
    /// The number of repetitions with any row reported as regressed.
    comparisons_with_regressions: usize,
    /// The number of repetitions with any row reported as improved.
    comparisons_with_improvements: usize,
    /// Rows shown to be unchanged.
    unchanged: Rate,
    p_values: Option<PValues>,
    order: Option<Order>,
    autocorrelation: Option<Serial>,
    /// Pairs of executions beyond 5 median absolute deviations from the median of their benchmark; 0.07 % if they were
    /// normal.
    far_pairs: Rate,
    noise_floors: Vec<NoiseFloor<'r>>,
}

/// A proportion, with the 95 % interval of Clopper and Pearson of the true rate.
#[derive(Serialize, JsonSchema)]
struct Rate {
    count: usize,
    of: usize,
    #[schemars(range(min = 0, max = 1))]
    low: f64,
    #[schemars(range(min = 0, max = 1))]
    high: f64,
}

/// The distance of the p values of the first stage from uniform, by Kolmogorov and Smirnov.
#[derive(Serialize, JsonSchema)]
struct PValues {
    count: usize,
    /// The square root of count times the larger of the two distances; above 1.36 for 5 % of uniform samples.
    #[schemars(range(min = 0))]
    statistic: f64,
    /// The largest excess of the share of p values below a value over that value.
    #[schemars(range(min = 0, max = 1))]
    too_small: f64,
    /// The largest deficit.
    #[schemars(range(min = 0, max = 1))]
    too_large: f64,
}

/// The difference between first and second executions of a pair.
#[derive(Serialize, JsonSchema)]
struct Order {
    /// The number of pairs of executions.
    pairs: usize,
    /// The mean slowdown of the second, on the log scale.
    mean: f64,
    /// The mean divided by its standard error.
    t: f64,
    /// The two-sided p value.
    #[schemars(range(min = 0, max = 1))]
    p: f64,
}

/// The correlation of consecutive pairs of executions.
#[derive(Serialize, JsonSchema)]
struct Serial {
    /// The number of such pairs.
    pairs: usize,
    /// The autocorrelation at lag 1.
    correlation: f64,
    /// The correlation that chance exceeds in 5 % of cases.
    #[schemars(range(min = 0))]
    by_chance: f64,
}

/// The smallest detectable changes of a benchmark.
#[derive(Serialize, JsonSchema)]
struct NoiseFloor<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    /// The standard deviation of the difference of a pair of builds, on the log scale: 0.01 is 1 %.
    #[schemars(range(min = 0))]
    deviation: f64,
    /// The smallest change of interest in this benchmark.
    #[schemars(range(min = 0))]
    min_effect: f64,
    detectable: Vec<Detectable>,
}

/// The smallest relative change that a number of builds flags with a power of 80 %.
#[derive(Serialize, JsonSchema)]
struct Detectable {
    builds: usize,
    #[schemars(range(min = 0))]
    change: f64,
}

/// The verdicts of another tool on the same benchmarks, with as many comparisons.
#[derive(Serialize, JsonSchema)]
struct Against {
    #[schemars(extend("const" = "criterion"))]
    tool: &'static str,
    /// Benchmarks reported as changed.
    changed: Rate,
    regressed: usize,
    improved: usize,
    #[schemars(range(min = 0))]
    duration_seconds: f64,
}

impl SelftestReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Selftest {
            rbench: env!("CARGO_PKG_VERSION"),
            version: (&self.version).into(),
            machine: (&self.machine).into(),
            criteria: self.criteria,
            fit: self.modes.first().is_some_and(|first| first.fitness.is_fit()),
            repetitions: self.repetitions,
            benchmarks: self.benchmarks.iter().collect(),
            left_out: self.left_out.iter().collect(),
            same_programs: &self.same_programs,
            warnings: self.warnings.iter().map(WarningFields::from).collect(),
            modes: self.modes.iter().map(WayFields::from).collect(),
            against: self.criterion.map(|criterion| Against {
                tool: "criterion",
                changed: criterion.changed.into(),
                regressed: criterion.regressed,
                improved: criterion.improved,
                duration_seconds: criterion.duration.as_secs_f64(),
            }),
            failed_targets: self.failed_targets.iter().collect(),
        })
    }
}

impl From<stats::Proportion> for Rate {
    fn from(proportion: stats::Proportion) -> Self {
        let [low, high] = proportion.interval(CONFIDENCE);
        Self { count: proportion.count, of: proportion.of, low, high }
    }
}

impl<'r> From<&'r ModeResult> for WayFields<'r> {
    fn from(ModeResult { mode, sample_sizes, duration: took, fitness }: &'r ModeResult) -> Self {
        Self {
            mode: *mode,
            sample_sizes: *sample_sizes,
            duration_seconds: took.as_secs_f64(),
            fit: fitness.is_fit(),
            findings: fitness.findings(),
            rows: fitness.rows,
            rows_interleaved: fitness.interleaved,
            rows_not_judged: fitness.unjudged,
            target_error_rate: fitness.target_error_rate,
            flagged: fitness.flagged.into(),
            regressed: fitness.regressed,
            improved: fitness.improved,
            comparisons_with_regressions: fitness.with_regressions,
            comparisons_with_improvements: fitness.with_improvements,
            unchanged: fitness.unchanged.into(),
            p_values: fitness.uniformity.map(PValues::from),
            order: fitness.order.map(Order::from),
            autocorrelation: fitness.autocorrelation.map(Serial::from),
            far_pairs: fitness.far.into(),
            noise_floors: fitness.floors.iter().map(NoiseFloor::from).collect(),
        }
    }
}

impl From<noise::Uniformity> for PValues {
    fn from(all: noise::Uniformity) -> Self {
        let noise::Uniformity { count, too_small, too_large } = all;
        Self { count, statistic: all.statistic(), too_small, too_large }
    }
}

impl From<noise::PositionEffect> for Order {
    fn from(order: noise::PositionEffect) -> Self {
        let noise::PositionEffect { mean, t, pairs } = order;
        Self { pairs, mean, t, p: order.p() }
    }
}

impl From<noise::Autocorrelation> for Serial {
    fn from(serial: noise::Autocorrelation) -> Self {
        let noise::Autocorrelation { correlation, pairs: neighbours } = serial;
        Self { pairs: neighbours, correlation, by_chance: serial.by_chance() }
    }
}

impl<'r> From<&'r Floor> for NoiseFloor<'r> {
    fn from(Floor { benchmark, deviation, detectable, min_effect }: &'r Floor) -> Self {
        let detectable = BUILDS.into_iter().zip(*detectable);
        Self {
            id: benchmark.into(),
            deviation: *deviation,
            min_effect: *min_effect,
            detectable: detectable.map(|(builds, change)| Detectable { builds, change }).collect(),
        }
    }
}
