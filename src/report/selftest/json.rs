//! The self-test for programs.

use serde::Serialize;

use super::{CONFIDENCE, SelftestReport, Way};
use crate::{
    failure::Result,
    judge::fitness::{BUILDS, Finding, Floor},
    model::{BenchTarget, Dimensions, Interleave},
    report::{
        compare::WarningFields,
        json::{Criteria, FailedTarget, FullName, Machine, Version, document},
    },
    stats::{self, noise},
};

#[derive(Serialize)]
struct Selftest<'r> {
    rbench: &'static str,
    version: Version<'r>,
    machine: Machine<'r>,
    criteria: Criteria,
    fit: bool,
    repetitions: usize,
    benchmarks: Vec<FullName<'r>>,
    left_out: Vec<FullName<'r>>,
    same_programs: Vec<Target<'r>>,
    warnings: Vec<WarningFields>,
    ways: Vec<WayFields<'r>>,
    against: Option<Against>,
    failed_targets: Vec<FailedTarget<'r>>,
}

#[derive(Serialize)]
struct Target<'r> {
    package: &'r str,
    target: &'r str,
}

impl<'r> From<&'r BenchTarget> for Target<'r> {
    fn from(BenchTarget { package, target }: &'r BenchTarget) -> Self {
        Self { package, target }
    }
}

#[derive(Serialize)]
struct WayFields<'r> {
    interleave: Interleave,
    dimensions: Dimensions,
    took_seconds: f64,
    fit: bool,
    findings: Vec<&'static str>,
    rows: usize,
    rows_in_turns: usize,
    rows_not_judged: usize,
    promised: f64,
    flagged: Rate,
    regressed: usize,
    improved: usize,
    comparisons_with_regressions: usize,
    comparisons_with_improvements: usize,
    unchanged: Rate,
    p_values: Option<PValues>,
    order: Option<Order>,
    serial: Option<Serial>,
    far_pairs: Rate,
    noise_floors: Vec<NoiseFloor<'r>>,
}

/// So many of so many, with the interval of the true rate at 95 %.
#[derive(Serialize)]
struct Rate {
    count: usize,
    of: usize,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct PValues {
    count: usize,
    statistic: f64,
    too_small: f64,
    too_large: f64,
}

#[derive(Serialize)]
struct Order {
    pairs: usize,
    mean: f64,
    t: f64,
    p: f64,
}

#[derive(Serialize)]
struct Serial {
    neighbours: usize,
    correlation: f64,
    by_chance: f64,
}

#[derive(Serialize)]
struct NoiseFloor<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    deviation: f64,
    min_effect: f64,
    detectable: Vec<Detectable>,
}

#[derive(Serialize)]
struct Detectable {
    builds: usize,
    change: f64,
}

#[derive(Serialize)]
struct Against {
    tool: &'static str,
    changed: Rate,
    regressed: usize,
    improved: usize,
    took_seconds: f64,
}

impl SelftestReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Selftest {
            rbench: env!("CARGO_PKG_VERSION"),
            version: (&self.version).into(),
            machine: (&self.machine).into(),
            criteria: (&self.criteria).into(),
            fit: self.ways.first().is_some_and(|way| way.fitness.is_fit()),
            repetitions: self.repetitions,
            benchmarks: self.benchmarks.iter().map(FullName::from).collect(),
            left_out: self.left_out.iter().map(FullName::from).collect(),
            same_programs: self.same_programs.iter().map(Target::from).collect(),
            warnings: self.warnings.iter().map(WarningFields::from).collect(),
            ways: self.ways.iter().map(WayFields::from).collect(),
            against: self.criterion.map(|criterion| Against {
                tool: "criterion",
                changed: criterion.changed.into(),
                regressed: criterion.regressed,
                improved: criterion.improved,
                took_seconds: criterion.took.as_secs_f64(),
            }),
            failed_targets: self.failed_targets.iter().map(FailedTarget::from).collect(),
        })
    }
}

impl From<stats::Proportion> for Rate {
    fn from(proportion: stats::Proportion) -> Self {
        let [low, high] = proportion.interval(CONFIDENCE);
        Self { count: proportion.count, of: proportion.of, low, high }
    }
}

impl<'r> From<&'r Way> for WayFields<'r> {
    fn from(Way { interleave, dimensions, took, fitness }: &'r Way) -> Self {
        Self {
            interleave: *interleave,
            dimensions: *dimensions,
            took_seconds: took.as_secs_f64(),
            fit: fitness.is_fit(),
            findings: fitness.findings().into_iter().map(name).collect(),
            rows: fitness.rows,
            rows_in_turns: fitness.in_turns,
            rows_not_judged: fitness.unjudged,
            promised: fitness.promised,
            flagged: fitness.flagged.into(),
            regressed: fitness.regressed,
            improved: fitness.improved,
            comparisons_with_regressions: fitness.with_regressions,
            comparisons_with_improvements: fitness.with_improvements,
            unchanged: fitness.unchanged.into(),
            p_values: fitness.uniformity.map(PValues::from),
            order: fitness.order.map(Order::from),
            serial: fitness.serial.map(Serial::from),
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

impl From<noise::OrderEffect> for Order {
    fn from(order: noise::OrderEffect) -> Self {
        let noise::OrderEffect { mean, t, pairs } = order;
        Self { pairs, mean, t, p: order.p() }
    }
}

impl From<noise::Serial> for Serial {
    fn from(serial: noise::Serial) -> Self {
        let noise::Serial { correlation, neighbours } = serial;
        Self { neighbours, correlation, by_chance: serial.by_chance() }
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

const fn name(finding: Finding) -> &'static str {
    match finding {
        Finding::TooManyFlagged => "too_many_flagged",
        Finding::TooManyReported => "too_many_reported",
        Finding::SmallP => "small_p_values",
        Finding::Noisy => "noisy",
        Finding::Order => "order_effect",
        Finding::Serial => "serial_correlation",
        Finding::Nothing => "nothing_judged",
    }
}
