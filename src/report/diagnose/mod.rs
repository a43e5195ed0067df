//! The report of `diagnose`: the sources of noise in the measurements of a few benchmarks. It gives
//! no verdict.

mod chart;
mod document;
mod plots;
mod sections;
mod sentence;
pub(super) mod small;

use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::json::MetricFields;
use crate::{
    diagnosis::{Answer, Diagnosis, Length, OrderEffects, Warning, serialize_answer},
    model::{Benchmark, Machine, SampleSizes, Unmeasured, Version},
    shell::CommandLine,
    stats::{Estimator, Measurements},
};

/// The noise of some benchmarks of a version. Shares and changes are relative: 0.01 is 1 %. A number is null if it is
/// unknown or infinite. A question without an answer has the reason under `unanswered`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiagnosisReport {
    /// The version measured.
    pub version: Version,
    /// The machine that measured.
    pub machine: Option<Machine>,
    /// The benchmarks, in the order of definition.
    pub benchmarks: Vec<ExaminedBenchmark>,
    /// Writes the suggested commands.
    #[serde(skip)]
    pub command_line: Rc<dyn CommandLine>,
}

/// An examined benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExaminedBenchmark {
    /// The benchmark examined.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The findings, or the reason why nothing was measured.
    #[serde(flatten)]
    pub outcome: ExaminationOutcome,
}

/// The findings on a benchmark, or the reason why it was not examined.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExaminationOutcome {
    /// The findings.
    Diagnosis(Box<Examination>),
    /// The reason why it failed.
    Failure(String),
    /// The reason why it chose not to run.
    Skipped(String),
}

/// The findings on one benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Examination {
    /// All measurements, each execution in the order of time.
    #[serde(flatten, serialize_with = "serialize_metric")]
    #[schemars(with = "MetricFields<'static>")]
    pub data: Measurements,
    /// The conditions of the measurements.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// All warnings, including those of additional measurements, without those of the machine.
    pub warnings: Vec<WordedWarning>,
    /// Warnings that a control which is known to be steady shows as well: they are about the machine, and not about the
    /// benchmark.
    pub machine_warnings: Vec<WordedWarning>,
    /// True if a control was measured at the same time.
    pub has_control: bool,
    /// Limits of the findings, as sentences.
    pub notes: Vec<String>,
    /// The findings from the measurements.
    #[serde(flatten)]
    pub findings: Diagnosis,
    /// The effect of benchmarks that ran before.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<OrderEffects>")]
    pub order_effect: Result<OrderEffects, String>,
    /// The dependence of errors on the length of a measurement.
    #[serde(serialize_with = "serialize_answer")]
    #[schemars(with = "Answer<Length>")]
    pub length: Result<Length, String>,
}

/// A phenomenon that is large enough to matter, its values, and both as sentences.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WordedWarning {
    /// The phenomenon with its values.
    #[serde(flatten)]
    pub warning: Warning,
    /// The phenomenon, its size and the evidence.
    #[schemars(length(min = 1))]
    pub finding: String,
    /// The advice.
    #[schemars(length(min = 1))]
    pub advice: String,
}

/// The conditions of the measurements.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Conditions {
    /// The identities of their experiments, which are the same in every store.
    pub experiments: Vec<String>,
    /// The numbers of builds, of executions of each and of measurements of each; the largest, if they vary.
    pub sample_sizes: SampleSizes,
    /// The smallest change of interest.
    pub min_effect: f64,
    /// The estimator of the value of an execution.
    pub estimator: Estimator,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// The median duration of a measurement.
    pub measurement_seconds: Option<f64>,
    /// The median number of iterations of a measurement.
    pub iterations: Option<u64>,
    /// The warm-up before the first measurement.
    pub warm_up_seconds: f64,
    /// The number of busy processes that ran at the same time.
    pub load: u32,
    /// The share of the time of all CPUs that other processes used meanwhile, including the busy ones; null for stored
    /// results.
    pub others: Option<f64>,
    /// The share of executions that were often interrupted, if that is more than 10 %.
    pub preempted: Option<f64>,
}

impl DiagnosisReport {
    /// True if a benchmark failed.
    pub fn has_failures(&self) -> bool {
        self.benchmarks.iter().any(|one| matches!(one.outcome, ExaminationOutcome::Failure(_)))
    }
}

impl From<Result<Box<Examination>, Unmeasured>> for ExaminationOutcome {
    fn from(outcome: Result<Box<Examination>, Unmeasured>) -> Self {
        match outcome {
            Ok(examination) => Self::Diagnosis(examination),
            Err(Unmeasured::Failed(reason)) => Self::Failure(reason),
            Err(Unmeasured::Skipped(reason)) => Self::Skipped(reason),
        }
    }
}

fn serialize_metric<S: Serializer>(data: &Measurements, serializer: S) -> Result<S::Ok, S::Error> {
    MetricFields::from(Some(data.metric())).serialize(serializer)
}

#[cfg(test)]
mod tests;
