//! The report of `diagnose`: what the numbers of a few benchmarks are made of. It gives no verdict.

mod document;
mod estimators;
mod findings;
pub(super) mod json;
mod plots;
mod scale;
mod sections;
mod sentence;
mod small;
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

/// Some benchmarks of one version, examined.
#[derive(Clone, Debug)]
pub struct DiagnosisReport {
    /// The version.
    pub version: Version,
    /// The machine that measured.
    pub machine: Option<Machine>,
    /// The benchmarks, in the order of definition.
    pub benchmarks: Vec<ExaminedBenchmark>,
    /// What writes the commands that are suggested.
    pub command_line: Rc<dyn CommandLine>,
}

/// A benchmark, and what came of examining it.
#[derive(Clone, Debug)]
pub struct ExaminedBenchmark {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// What was found; or why nothing was measured.
    pub outcome: Result<Box<Examination>, NotExamined>,
}

/// Why a benchmark was not examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotExamined {
    /// It failed, for this reason.
    Failed(String),
    /// It chose not to run, for this reason.
    Skipped(String),
}

/// What was found of one benchmark.
#[derive(Clone, Debug)]
pub struct Examination {
    /// All measurements, each execution in the order of time.
    pub data: Measurements,
    /// How they were taken.
    pub conditions: Conditions,
    /// What they say.
    pub findings: Diagnosis,
    /// What a benchmark that is known to be steady did meanwhile, if that was measured.
    pub control: Option<Diagnosis>,
    /// All warnings, also of what was measured besides, but for those below.
    pub warnings: Vec<Warning>,
    /// What the control shows as well, so that it may be of the machine.
    pub machine: Vec<Warning>,
    /// Whether it matters what ran before; or why that is not known.
    pub prologue: Result<ExaminedPrologue, String>,
    /// How errors depend on the length of a measurement; or why that is not known.
    pub length: Result<ExaminedLength, String>,
    /// What cannot be answered, or only in part, and other things to know.
    pub notes: Vec<String>,
}

/// How measurements were taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// The experiments that they are of, by which they are known in every store.
    pub experiments: Vec<String>,
    /// Builds, executions of each and measurements of each; the most of each, where they are not equally many.
    pub dimensions: SampleSizes,
    /// The smallest change of interest: .01 is 1 %.
    pub min_effect: f64,
    /// By which executions are compared.
    pub estimator: Estimator,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// How long a measurement lasts, the median; unknown where the iterations are.
    pub measurement: Option<Duration>,
    /// Iterations of a measurement, the median.
    pub iterations: Option<u64>,
    /// Whether a warm-up came before the first measurement.
    pub warm_up: Duration,
    /// How many busy processes ran beside.
    pub load: u32,
    /// The share of the time of all CPUs that other processes used meanwhile, those busy ones included; unknown
    /// of what is stored.
    pub others: Option<f64>,
    /// The share of executions that were interrupted often.
    pub preempted: Option<f64>,
}

/// A benchmark after others in one process, set against fresh processes.
#[derive(Clone, Debug)]
pub struct ExaminedPrologue {
    /// The others, in their order.
    pub others: Vec<String>,
    /// After all of them.
    pub after_all: OrderEffect,
    /// For each index of a measurement, how much slower it is after the others: medians over the pairs.
    pub by_index: Vec<f64>,
    /// After each of them alone, where that was measured.
    pub after_each: Vec<(String, OrderEffect)>,
}

/// Relative errors against iterations.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExaminedLength {
    /// The curve.
    #[serde(flatten)]
    pub curve: Length,
    /// The iterations that the oracle of Algorithm 1 asks for, for the clock alone.
    pub oracle: u64,
    /// The iterations that are in use, which reach the floor.
    pub in_use: u64,
}

impl DiagnosisReport {
    /// Whether a benchmark failed.
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
