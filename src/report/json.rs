//! Values that the JSON of several reports has: everything in snake case, units in names, and intervals as
//! `low` and `high`. A bound or number that is infinite or unknown is null.

use std::time::SystemTime;

use serde::Serialize;

use super::visible::is_hidden;
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    judge::{Interleaving, JudgedRow},
    model::{self, BenchTarget, Benchmark, Interleave, Metric, Obstacle},
    stats::{self, Assessment, Comparison, Method, Summary},
};

/// The version of the JSON of every report.
pub const SCHEMA_VERSION: u32 = 1;

/// A document with the version of its shape, indented, with a line break at its end. What steers a terminal is
/// escaped: it neither steers one, nor is it taken for styles and removed.
pub fn document(report: &impl Serialize) -> Result<String> {
    #[derive(Serialize)]
    struct Document<'a, T> {
        schema_version: u32,
        #[serde(flatten)]
        report: &'a T,
    }
    whole_document(&Document { schema_version: SCHEMA_VERSION, report })
}

/// The same of a report that has the version of its shape itself.
pub fn whole_document(document: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(document);
    let text = text.or_fail(Exit::Internal, || "cannot write the report as JSON")?;
    Ok(escaped(&text) + "\n")
}

/// A JSON document in which every hidden character, each of which is in a string, is written as its code.
fn escaped(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for character in document.chars() {
        if character != '\n' && is_hidden(character) {
            // None of them has more than 16 bits.
            out += &format!("\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

/// Seconds since 1970-01-01 UTC.
pub fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// A version.
#[derive(Serialize)]
pub struct Version<'r> {
    revision: &'r str,
    commit: Option<&'r str>,
    tree: &'r str,
    dirty: bool,
    summary: &'r str,
    /// When the commit was made.
    time_seconds: Option<i64>,
}

impl<'r> From<&'r model::Version> for Version<'r> {
    fn from(version: &'r model::Version) -> Self {
        Self {
            revision: &version.revision,
            commit: version.commit.as_deref(),
            tree: &version.tree,
            dirty: version.dirty,
            summary: &version.summary,
            time_seconds: version.time,
        }
    }
}

/// A machine.
#[derive(Serialize)]
pub struct Machine<'r> {
    cpu: &'r str,
    cores: u32,
    memory_bytes: u64,
    os: &'r str,
    architecture: &'r str,
    id: &'r str,
}

impl<'r> From<&'r model::Machine> for Machine<'r> {
    fn from(machine: &'r model::Machine) -> Self {
        let model::Machine { cpu, cores, memory, os, architecture, id } = machine;
        Self { cpu, cores: *cores, memory_bytes: *memory, os, architecture, id }
    }
}

/// How benchmarks were judged.
#[derive(Serialize)]
pub struct Criteria {
    /// The one that was asked for; absent where it is the one that suits each benchmark.
    estimator: Option<&'static str>,
    rule: &'static str,
    false_alarm_rate: f64,
    confidence: f64,
    min_effect: f64,
    confirm: bool,
}

impl From<&stats::Criteria> for Criteria {
    fn from(criteria: &stats::Criteria) -> Self {
        Self {
            estimator: criteria.estimator.map(stats::Estimator::name),
            rule: criteria.rule.name(),
            false_alarm_rate: criteria.false_alarm_rate,
            confidence: criteria.confidence,
            min_effect: criteria.min_effect,
            confirm: criteria.confirm,
        }
    }
}

/// The full name of a benchmark.
#[derive(Serialize)]
pub struct FullName<'r> {
    package: &'r str,
    target: &'r str,
    id: &'r str,
}

impl<'r> From<&'r Benchmark> for FullName<'r> {
    fn from(benchmark: &'r Benchmark) -> Self {
        let Benchmark { package, target, name } = benchmark;
        Self { package, target, id: &name.id }
    }
}

/// A package of which two versions use other versions.
#[derive(Serialize)]
pub struct Dependency<'r> {
    name: &'r str,
    base: &'r [String],
    head: &'r [String],
}

impl<'r> From<&'r model::DependencyChange> for Dependency<'r> {
    fn from(model::DependencyChange { name, base, head }: &'r model::DependencyChange) -> Self {
        Self { name, base, head }
    }
}

/// A bench target that failed as a whole.
#[derive(Serialize)]
pub struct FailedTarget<'r> {
    package: &'r str,
    target: &'r str,
    error: String,
}

impl<'r> From<&'r (BenchTarget, Failure)> for FailedTarget<'r> {
    fn from((BenchTarget { package, target }, failure): &'r (BenchTarget, Failure)) -> Self {
        Self { package, target, error: failure.to_string() }
    }
}

/// An interval, in the metric's unit.
#[derive(Serialize)]
pub struct Interval {
    low: f64,
    high: f64,
}

impl From<stats::Interval> for Interval {
    fn from(stats::Interval { low, high, .. }: stats::Interval) -> Self {
        Self { low, high }
    }
}

/// The value of one version.
#[derive(Serialize)]
pub struct Estimate {
    /// By the estimator, in the metric's unit.
    value: f64,
    /// The three-level interval at the confidence of the criteria; absent with less than two builds.
    low: Option<f64>,
    high: Option<f64>,
    builds: usize,
    /// Of all builds together.
    executions: usize,
    /// Of all executions together.
    measurements: usize,
}

impl Estimate {
    /// The value with its interval at this confidence.
    pub fn of(summary: &Summary, confidence: f64) -> Self {
        let interval = stats::Interval::three_level(summary, confidence).ok();
        Self {
            value: summary.values().mean,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            builds: summary.builds().len(),
            executions: summary.builds().iter().map(|build| build.executions).sum(),
            measurements: summary.builds().iter().map(|build| build.measurements).sum(),
        }
    }
}

/// A relative change: 0.05 is 5 % more than the base.
#[derive(Serialize)]
pub struct Change {
    estimate: f64,
    low: f64,
    high: f64,
    /// Of the interval.
    confidence: f64,
    /// Two-sided.
    p: f64,
    /// Whether builds of one layout seed were compared with each other.
    paired: bool,
}

impl Change {
    /// The change by the stage that decides, if there is one.
    pub fn of(row: &JudgedRow) -> Option<Self> {
        row.decisive().map(|stage| Self::from(&stage.assessment))
    }
}

impl From<&Assessment> for Change {
    fn from(Assessment { change, comparison, rates, .. }: &Assessment) -> Self {
        let Comparison { p, method, .. } = comparison;
        Self {
            estimate: change.estimate,
            low: change.low,
            high: change.high,
            confidence: rates.confidence,
            p: *p,
            paired: matches!(method, Method::Paired { .. }),
        }
    }
}

/// How a benchmark was measured, and what stands for each of its executions; all of it is absent where there
/// are no values.
#[derive(Serialize)]
pub struct Measured {
    interleave: Option<Interleave>,
    /// Why it did not take turns although that was asked for.
    obstacle: Option<Obstacle>,
    /// By which the values were estimated.
    estimator: Option<&'static str>,
}

impl Measured {
    /// What belongs to this value.
    pub fn of(interleaving: Option<Interleaving>, summary: Option<&Summary>) -> Self {
        let interleaving = interleaving.filter(|_| summary.is_some());
        Self {
            interleave: interleaving.map(|all| all.interleave),
            obstacle: interleaving.and_then(|all| all.obstacle),
            estimator: summary.map(|summary| summary.estimator().name()),
        }
    }
}

/// What was measured, and its unit.
#[derive(Serialize)]
pub struct MetricFields<'r> {
    metric: Option<&'r str>,
    unit: Option<&'static str>,
}

impl<'r> From<Option<&'r Metric>> for MetricFields<'r> {
    fn from(metric: Option<&'r Metric>) -> Self {
        Self {
            metric: metric.map(|metric| &*metric.name),
            unit: metric.map(|metric| metric.unit.symbol()),
        }
    }
}

/// How much one iteration processes.
#[derive(Serialize)]
pub struct Throughput {
    unit: &'static str,
    amount: u64,
}

impl From<model::Throughput> for Throughput {
    fn from(throughput: model::Throughput) -> Self {
        let (amount, unit) = throughput.amount();
        Self { unit, amount }
    }
}
