//! A diagnosis for programs. Shares and changes are relative: 0.01 is 1 %. What is not known is null, with the
//! reason under `unanswered`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Conditions, DiagnosisReport, Examination, ExaminedBenchmark, NotExamined,
    findings::{
        AdviceFields, EstimatorFields, InfluenceFields, LeapFields, LengthFields, NeighbourFields,
        PrologueFields, SimultaneousFields, StateFields, TrendFields, VarianceFields,
    },
};
use crate::{
    diagnosis::Warning,
    model::Dimensions,
    report::json::{FullName, Machine, MetricFields, Version},
};

/// All benchmarks.
#[derive(Serialize)]
pub(super) struct Fields<'r> {
    version: Version<'r>,
    machine: Option<Machine<'r>>,
    benchmarks: Vec<BenchmarkFields<'r>>,
}

#[derive(Serialize)]
struct BenchmarkFields<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    failure: Option<&'r str>,
    skipped: Option<&'r str>,
    diagnosis: Option<ExaminationFields<'r>>,
}

#[derive(Serialize)]
struct ExaminationFields<'r> {
    #[serde(flatten)]
    metric: MetricFields<'r>,
    #[serde(flatten)]
    conditions: ConditionFields<'r>,
    warnings: Vec<WarningFields<'r>>,
    /// What a control shows as well that is known to be steady: no warnings of the benchmark.
    of_machine: Vec<WarningFields<'r>>,
    has_control: bool,
    notes: &'r [String],
    variance: Option<VarianceFields>,
    executions: Option<InfluenceFields>,
    builds: Option<InfluenceFields>,
    advice: Option<AdviceFields>,
    trend: Option<TrendFields>,
    states: Option<StateFields>,
    leaps: Option<LeapFields>,
    simultaneous: Option<SimultaneousFields>,
    prologue: Option<PrologueFields<'r>>,
    neighbours: Option<NeighbourFields>,
    estimators: Option<EstimatorFields>,
    length: Option<LengthFields>,
    /// For each question without an answer, why.
    unanswered: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct ConditionFields<'r> {
    experiments: &'r [String],
    dimensions: Dimensions,
    min_effect: f64,
    estimator: &'static str,
    confidence: f64,
    measurement_seconds: Option<f64>,
    iterations: Option<u64>,
    warm_up_seconds: f64,
    load: u32,
    others: Option<f64>,
    preempted: Option<f64>,
}

/// A warning: what it is, its values, and both as sentences.
#[derive(Serialize)]
struct WarningFields<'r> {
    #[serde(flatten)]
    warning: &'r Warning,
    finding: String,
    advice: String,
}

impl DiagnosisReport {
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields {
            version: (&self.version).into(),
            machine: self.machine.as_ref().map(Machine::from),
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
        let text = |lacking: &crate::diagnosis::Lacking| format!("this {lacking}");
        why("variance", found.variance.as_ref().err().map(text));
        why("executions", found.executions.as_ref().err().map(text));
        why("builds", found.builds.as_ref().err().map(text));
        why("advice", found.advice.as_ref().err().map(text));
        why("trend", found.trend.as_ref().err().map(text));
        why("states", found.states.as_ref().err().map(text));
        why("leaps", found.leaps.as_ref().err().map(text));
        why("simultaneous", found.simultaneous.as_ref().err().map(text));
        why("prologue", self.prologue.as_ref().err().cloned());
        why("neighbours", found.neighbours.as_ref().err().map(text));
        why("estimators", found.candidates.as_ref().err().map(text));
        why("length", self.length.as_ref().err().cloned());
        ExaminationFields {
            metric: Some(self.data.metric()).into(),
            conditions: (&self.conditions).into(),
            warnings: self.warnings.iter().map(|warning| self.warning_fields(warning)).collect(),
            of_machine: self.machine.iter().map(|warning| self.warning_fields(warning)).collect(),
            has_control: self.control.is_some(),
            notes: &self.notes,
            variance: found.variance.as_ref().ok().map(VarianceFields::from),
            executions: found.executions.as_ref().ok().map(InfluenceFields::from),
            builds: found.builds.as_ref().ok().map(InfluenceFields::from),
            advice: found.advice.as_ref().ok().map(AdviceFields::from),
            trend: found.trend.as_ref().ok().map(TrendFields::from),
            states: found.states.as_ref().ok().map(StateFields::from),
            leaps: found.leaps.as_ref().ok().map(LeapFields::from),
            simultaneous: found.simultaneous.as_ref().ok().map(SimultaneousFields::from),
            prologue: self.prologue.as_ref().ok().map(PrologueFields::from),
            neighbours: found.neighbours.as_ref().ok().map(NeighbourFields::from),
            estimators: found.candidates.as_ref().ok().map(EstimatorFields::from),
            length: self.length.as_ref().ok().map(LengthFields::from),
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
            dimensions: conditions.dimensions,
            min_effect: conditions.min_effect,
            estimator: conditions.estimator.name(),
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
