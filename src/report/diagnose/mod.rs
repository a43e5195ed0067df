//! The report of `diagnose`: the sources of noise in the measurements of a few benchmarks. It gives
//! no verdict.

mod document;
mod estimators;
mod findings;
pub(super) mod json;
mod line;
mod plots;
mod scale;
mod sections;
mod sentence;
pub(super) mod small;
mod svg;

use std::{rc::Rc, time::Duration};

pub use plots::PlotFile;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    document::{Document, Medium},
    json as of_json,
};
use crate::{
    diagnosis::{Diagnosis, Length, OrderEffect, Warning},
    error::Result,
    model::{Benchmark, Machine, SampleSizes, Version},
    shell::CommandLine,
    stats::{Estimator, Measurements},
};

/// Some examined benchmarks of one version.
#[derive(Clone, Debug)]
pub struct DiagnosisReport {
    /// The version measured.
    pub version: Version,
    /// The machine that measured.
    pub machine: Option<Machine>,
    /// The benchmarks, in the order of definition.
    pub benchmarks: Vec<ExaminedBenchmark>,
    /// Writes the suggested commands.
    pub command_line: Rc<dyn CommandLine>,
}

/// An examined benchmark.
#[derive(Clone, Debug)]
pub struct ExaminedBenchmark {
    /// The benchmark examined.
    pub benchmark: Benchmark,
    /// The findings; or the reason why nothing was measured.
    pub outcome: Result<Box<Examination>, NotExamined>,
}

/// The reason why a benchmark was not examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotExamined {
    /// It failed, for this reason.
    Failed(String),
    /// It chose not to run, for this reason.
    Skipped(String),
}

/// The findings on one benchmark.
#[derive(Clone, Debug)]
pub struct Examination {
    /// All measurements, each execution in the order of time.
    pub data: Measurements,
    /// The conditions of the measurements.
    pub conditions: Conditions,
    /// The findings from the measurements.
    pub findings: Diagnosis,
    /// The findings on a control that is known to be steady, measured at the same time, if there
    /// was one.
    pub control: Option<Diagnosis>,
    /// All warnings, including those of additional measurements, without `machine`.
    pub warnings: Vec<Warning>,
    /// Warnings that the control shows as well, so that the machine may be the cause.
    pub machine: Vec<Warning>,
    /// The effect of benchmarks that ran before; or the reason why it is unknown.
    pub prologue: Result<ExaminedPrologue, String>,
    /// The dependence of errors on the length of a measurement; or the reason why it is unknown.
    pub length: Result<ExaminedLength, String>,
    /// Questions without a full answer, and other notes.
    pub notes: Vec<String>,
}

/// The conditions of the measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// The identities of their experiments, which are the same in every store.
    pub experiments: Vec<String>,
    /// The numbers of builds, of executions of each and of measurements of each; the largest, if
    /// they vary.
    pub dimensions: SampleSizes,
    /// The smallest change of interest: 0.01 is 1 %.
    pub min_effect: f64,
    /// The estimator by which executions are compared.
    pub estimator: Estimator,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// The median duration of a measurement; `None` if the iterations are unknown.
    pub measurement: Option<Duration>,
    /// The median number of iterations of a measurement.
    pub iterations: Option<u64>,
    /// The duration of the warm-up before the first measurement.
    pub warm_up: Duration,
    /// The number of busy processes that ran at the same time.
    pub load: u32,
    /// The share of the time of all CPUs that other processes used meanwhile, including the busy
    /// ones; `None` for stored results.
    pub others: Option<f64>,
    /// The share of executions that were often interrupted.
    pub preempted: Option<f64>,
}

/// A benchmark after others in one process, compared with fresh processes.
#[derive(Clone, Debug)]
pub struct ExaminedPrologue {
    /// The others, in their order.
    pub others: Vec<String>,
    /// The effect of all of them.
    pub after_all: OrderEffect,
    /// The relative slowdown of each measurement after the others, by its index: medians over the
    /// pairs.
    pub by_index: Vec<f64>,
    /// The effect of each of them alone, if that was measured.
    pub after_each: Vec<(String, OrderEffect)>,
}

/// The relative errors by number of iterations.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExaminedLength {
    /// The curve.
    #[serde(flatten)]
    pub curve: Length,
    /// The iterations by the oracle of Algorithm 1, which considers only the clock.
    pub oracle: u64,
    /// The iterations in use, which take at least the minimum time.
    pub in_use: u64,
}

impl DiagnosisReport {
    /// True if a benchmark failed.
    pub fn has_failures(&self) -> bool {
        let failed = |one: &ExaminedBenchmark| matches!(one.outcome, Err(NotExamined::Failed(_)));
        self.benchmarks.iter().any(failed)
    }

    /// The plots of all benchmarks.
    pub fn plots(&self) -> Vec<PlotFile> {
        plots::plots(&self.benchmarks)
    }
}

impl Report for DiagnosisReport {
    fn document(&self, medium: Medium) -> Document {
        self.write_document(medium)
    }

    fn json(&self) -> Result<String> {
        of_json::document(&self.fields())
    }
}

#[cfg(test)]
mod tests;
