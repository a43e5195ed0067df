//! The report of `diagnose` for programs. Shares and changes are relative: 0.01 is 1 %. Unknown
//! values are null, with the reason under `unanswered`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Conditions, DiagnosisReport, Examination, ExaminedBenchmark, ExaminedLength, NotExamined,
    findings::{AdviceFields, EstimatorFields, PrologueFields, SimultaneousFields, VarianceFields},
};
use crate::{
    diagnosis::{Autocorrelation, Influence, LevelShifts, SteadyStates, Trend, Warning},
    model::{Benchmark, Machine, SampleSizes, Version},
    report::json::MetricFields,
    stats::Estimator,
};

/// The noise of some benchmarks of a version. Shares and changes are relative: 0.01 is 1 %. Null is what is unknown or
/// infinite; each finding that is null has its reason in `unanswered`.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Fields<'r> {
    version: &'r Version,
    machine: Option<&'r Machine>,
    benchmarks: Vec<BenchmarkFields<'r>>,
}

/// A benchmark.
#[derive(Serialize, JsonSchema)]
struct BenchmarkFields<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    /// The reason why it failed, if it did.
    failure: Option<&'r str>,
    /// The reason why the benchmark chose not to run, if it did.
    skipped: Option<&'r str>,
    diagnosis: Option<ExaminationFields<'r>>,
}

/// The findings about a benchmark.
#[derive(Serialize, JsonSchema)]
struct ExaminationFields<'r> {
    #[serde(flatten)]
    metric: MetricFields<'r>,
    #[serde(flatten)]
    conditions: ConditionFields<'r>,
    warnings: Vec<WarningFields<'r>>,
    /// Warnings that a control which is known to be steady shows as well: they are about the
    /// machine, and not about the benchmark.
    machine_warnings: Vec<WarningFields<'r>>,
    /// True if a control was measured.
    has_control: bool,
    notes: &'r [String],
    variance: Option<VarianceFields>,
    executions: Option<Influence>,
    builds: Option<Influence>,
    advice: Option<AdviceFields>,
    trend: Option<&'r Trend>,
    states: Option<&'r SteadyStates>,
    level_shifts: Option<&'r LevelShifts>,
    multimodality: Option<SimultaneousFields>,
    order_effect: Option<PrologueFields<'r>>,
    autocorrelation: Option<Autocorrelation>,
    estimators: Option<EstimatorFields>,
    length: Option<&'r ExaminedLength>,
    /// The reason for each question without an answer.
    unanswered: BTreeMap<&'static str, String>,
}

/// The conditions of the measurements.
#[derive(Serialize, JsonSchema)]
struct ConditionFields<'r> {
    /// The identities of their experiments.
    experiments: &'r [String],
    /// The largest numbers, if they vary.
    sample_sizes: SampleSizes,
    /// The smallest change of interest.
    min_effect: f64,
    /// The estimator of the value of an execution.
    estimator: Estimator,
    /// The confidence of all intervals.
    confidence: f64,
    /// The median duration of a measurement.
    measurement_seconds: Option<f64>,
    /// The median number of iterations of a measurement.
    iterations: Option<u64>,
    /// The warm-up before the first measurement.
    warm_up_seconds: f64,
    /// The number of busy processes that ran at the same time.
    load: u32,
    /// The share of the time of all CPUs that other processes used meanwhile.
    others: Option<f64>,
    /// The share of executions that were often interrupted, if that is more than 10 %.
    preempted: Option<f64>,
}

/// A phenomenon that is large enough to matter, its values, and both as sentences.
#[derive(Serialize, JsonSchema)]
struct WarningFields<'r> {
    #[serde(flatten)]
    warning: &'r Warning,
    #[schemars(length(min = 1))]
    finding: String,
    #[schemars(length(min = 1))]
    advice: String,
}

impl DiagnosisReport {
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields {
            version: (&self.version).into(),
            machine: self.machine.as_ref(),
            benchmarks: self.benchmarks.iter().map(BenchmarkFields::from).collect(),
        }
    }
}

impl<'r> From<&'r ExaminedBenchmark> for BenchmarkFields<'r> {
    fn from(examined: &'r ExaminedBenchmark) -> Self {
        let (mut failure, mut skipped, mut diagnosis) = (None, None, None);
        match &examined.outcome {
            Ok(examination) => diagnosis = Some(examination.fields()),
            Err(NotExamined::Failed(reason)) => failure = Some(reason.as_str()),
            Err(NotExamined::Skipped(reason)) => skipped = Some(reason.as_str()),
        }
        Self { id: (&examined.benchmark).into(), failure, skipped, diagnosis }
    }
}

impl Examination {
    fn fields(&self) -> ExaminationFields<'_> {
        let found = &self.findings;
        let mut unanswered = BTreeMap::new();
        let mut why = |question, lacking: Option<String>| {
            unanswered.extend(lacking.map(|reason| (question, reason)));
        };
        let text = |lacking: &crate::diagnosis::InsufficientData| format!("this {lacking}");
        why("variance", found.variance.as_ref().err().map(text));
        why("executions", found.executions.as_ref().err().map(text));
        why("builds", found.builds.as_ref().err().map(text));
        why("advice", found.advice.as_ref().err().map(text));
        why("trend", found.trend.as_ref().err().map(text));
        why("states", found.states.as_ref().err().map(text));
        why("level_shifts", found.leaps.as_ref().err().map(text));
        why("multimodality", found.simultaneous.as_ref().err().map(text));
        why("order_effect", self.prologue.as_ref().err().cloned());
        why("autocorrelation", found.neighbours.as_ref().err().map(text));
        why("estimators", found.candidates.as_ref().err().map(text));
        why("length", self.length.as_ref().err().cloned());
        ExaminationFields {
            metric: Some(self.data.metric()).into(),
            conditions: (&self.conditions).into(),
            warnings: self.warnings.iter().map(|warning| self.warning_fields(warning)).collect(),
            machine_warnings: self
                .machine
                .iter()
                .map(|warning| self.warning_fields(warning))
                .collect(),
            has_control: self.control.is_some(),
            notes: &self.notes,
            variance: found.variance.as_ref().ok().map(VarianceFields::from),
            executions: found.executions.ok(),
            builds: found.builds.ok(),
            advice: found.advice.as_ref().ok().map(AdviceFields::from),
            trend: found.trend.as_ref().ok(),
            states: found.states.as_ref().ok(),
            level_shifts: found.leaps.as_ref().ok(),
            multimodality: found.simultaneous.as_ref().ok().map(SimultaneousFields::from),
            order_effect: self.prologue.as_ref().ok().map(PrologueFields::from),
            autocorrelation: found.neighbours.ok(),
            estimators: found.candidates.as_ref().ok().map(EstimatorFields::from),
            length: self.length.as_ref().ok(),
            unanswered,
        }
    }

    fn warning_fields<'r>(&self, warning: &'r Warning) -> WarningFields<'r> {
        let words = self.words(warning);
        WarningFields { warning, finding: words.finding, advice: words.advice }
    }
}

impl<'r> From<&'r Conditions> for ConditionFields<'r> {
    fn from(conditions: &'r Conditions) -> Self {
        Self {
            experiments: &conditions.experiments,
            sample_sizes: conditions.dimensions,
            min_effect: conditions.min_effect,
            estimator: conditions.estimator,
            confidence: conditions.confidence,
            measurement_seconds: conditions.measurement.map(|time| time.as_secs_f64()),
            iterations: conditions.iterations,
            warm_up_seconds: conditions.warm_up.as_secs_f64(),
            load: conditions.load,
            others: conditions.others,
            preempted: conditions.preempted,
        }
    }
}
