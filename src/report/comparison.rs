//! The report of `compare`: every benchmark with both versions' intervals, the change, the verdict,
//! and where the variance lies.

mod advice;
mod figures;
mod grounds;
mod markdown;
mod row;
mod summary;
mod text;

use advice::NextStep;
pub(super) use figures::{bare_percent, percent, value};
pub use row::ComparisonRow;
use serde::Serialize;
use summary::{Counts, GeometricMean};

use crate::{
    build::VersionBuilds,
    cli::{FailOn, TypedFlags, VerdictArgs},
    code::FunctionDiff,
    failure::{Exit, Failure},
    machine::disturbance::Disturbance,
    model::{BenchTarget, Benchmark, Dimensions, Machine, Version},
    stats::Criteria,
};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// The comparison of two versions.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonReport {
    schema_version: u32,
    rbench: &'static str,
    base: Version,
    head: Version,
    /// By which benchmarks were judged.
    criteria: Option<CriteriaReport>,
    /// What was asked: builds, executions of each, measurements of each.
    dimensions: Option<Dimensions>,
    machine: Option<Machine>,
    warnings: Vec<Warning>,
    /// How the machine code of each bench target differs.
    functions: Vec<FunctionCounts>,
    benchmarks: Vec<NamedRow>,
    /// Benchmarks that only the head has.
    added: Vec<Unmatched>,
    /// Benchmarks that only the base has.
    removed: Vec<Unmatched>,
    /// Bench targets whose benchmarks could not be listed.
    failed_targets: Vec<FailedTarget>,
    #[serde(skip)]
    typed: TypedFlags,
}

/// The report with what follows from it.
#[derive(Serialize)]
struct Complete<'a> {
    #[serde(flatten)]
    report: &'a ComparisonReport,
    counts: Counts,
    geometric_mean: Option<GeometricMean>,
    next_steps: Vec<NextStep>,
}

#[derive(Clone, Debug, Serialize)]
struct NamedRow {
    package: String,
    target: String,
    id: String,
    #[serde(flatten)]
    row: ComparisonRow,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct CriteriaReport {
    estimator: &'static str,
    rule: &'static str,
    false_alarm_rate: f64,
    confidence: f64,
    min_effect: f64,
    confirm: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Warning {
    kind: &'static str,
    text: String,
    /// The number in the text, if it is about one.
    value: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct FunctionCounts {
    package: String,
    target: String,
    changed: usize,
    added: usize,
    removed: usize,
    unchanged: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Unmatched {
    package: String,
    target: String,
    id: String,
}

#[derive(Clone, Debug, Serialize)]
struct FailedTarget {
    package: String,
    target: String,
    error: String,
}

impl ComparisonReport {
    /// A report about two versions, without benchmarks yet.
    pub fn new(base: &Version, head: &Version) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            rbench: env!("CARGO_PKG_VERSION"),
            base: base.clone(),
            head: head.clone(),
            criteria: None,
            dimensions: None,
            machine: None,
            warnings: Vec::new(),
            functions: Vec::new(),
            benchmarks: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            failed_targets: Vec::new(),
            typed: TypedFlags::default(),
        }
    }

    /// Says how benchmarks were judged.
    pub fn judged_by(&mut self, criteria: &Criteria) {
        self.criteria = Some(CriteriaReport {
            estimator: criteria.estimator.name(),
            rule: criteria.rule.name(),
            false_alarm_rate: criteria.false_alarm_rate,
            confidence: criteria.confidence,
            min_effect: criteria.min_effect,
            confirm: criteria.confirm,
        });
    }

    /// Says what was asked of the experiment, and what measured it.
    pub fn measured_on(&mut self, machine: Machine, dimensions: Dimensions) {
        self.machine = Some(machine);
        self.dimensions = Some(dimensions);
    }

    /// Says how many functions of a bench target differ.
    pub fn functions(&mut self, target: &BenchTarget, diff: &FunctionDiff) {
        self.functions.push(FunctionCounts {
            package: target.package.clone(),
            target: target.target.clone(),
            changed: diff.changed.len(),
            added: diff.added.len(),
            removed: diff.removed.len(),
            unchanged: diff.unchanged,
        });
    }

    /// Adds a warning for the top of the report.
    pub fn warn(&mut self, text: String) {
        self.warnings.push(Warning { kind: "experiment", text, value: None });
    }

    /// Warns of what disturbs, or disturbed, the measurements; of each kind once.
    pub fn warn_of(&mut self, disturbances: &[Disturbance]) {
        for disturbance in disturbances {
            let (kind, value) = (disturbance.kind(), disturbance.value());
            if self.warnings.iter().all(|warning| warning.kind != kind) {
                self.warnings.push(Warning { kind, text: disturbance.to_string(), value });
            }
        }
    }

    /// Warns where fewer builds differ than were asked for.
    pub fn warn_about_builds(&mut self, builds: &[VersionBuilds], asked: usize) {
        for target in builds.iter().flat_map(|builds| &builds.targets) {
            let distinct = target.distinct();
            if distinct < asked {
                let text = format!("{}: only {distinct} of {asked} builds differ", target.target);
                if self.warnings.iter().all(|warning| warning.text != text) {
                    self.warnings.push(Warning {
                        kind: "builds",
                        text,
                        value: Some(distinct as f64),
                    });
                }
            }
        }
    }

    /// Adds a benchmark.
    pub fn add(&mut self, benchmark: &Benchmark, row: ComparisonRow) {
        self.benchmarks.push(NamedRow {
            package: benchmark.package.clone(),
            target: benchmark.target.clone(),
            id: benchmark.name.id.clone(),
            row,
        });
    }

    /// Whether any benchmark was executed, whatever came of it.
    pub fn has_measurements(&self) -> bool {
        self.benchmarks.iter().any(|named| named.row.verdict != "identical")
    }

    /// Adds benchmarks that only this version has.
    pub fn only_in(&mut self, version: &Version, benchmarks: Vec<Benchmark>) {
        let list = if *version == self.base { &mut self.removed } else { &mut self.added };
        list.extend(benchmarks.into_iter().map(|benchmark| Unmatched {
            package: benchmark.package,
            target: benchmark.target,
            id: benchmark.name.id,
        }));
    }

    /// Adds a bench target that could not be listed.
    pub fn target_failed(&mut self, target: &BenchTarget, failure: &Failure) {
        self.failed_targets.push(FailedTarget {
            package: target.package.clone(),
            target: target.target.clone(),
            error: failure.to_string(),
        });
    }

    /// The exit code: a regression counts more than a failed benchmark, and that more than an
    /// inconclusive verdict.
    pub fn exit(&self, wanted: &VerdictArgs) -> Exit {
        let counts = self.counts();
        if counts.regressed > 0 && !wanted.advisory {
            Exit::Regression
        } else if counts.failed + counts.failed_targets > 0 {
            Exit::Benchmark
        } else if counts.inconclusive > 0 && wanted.fail_on == FailOn::Inconclusive {
            Exit::Inconclusive
        } else {
            Exit::Success
        }
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(&Complete {
            counts: self.counts(),
            geometric_mean: self.geometric_mean(),
            next_steps: self.next_steps(),
            report: self,
        })
    }
}

#[cfg(test)]
mod tests;
