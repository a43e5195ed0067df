//! A plan for programs.

use serde::Serialize;

use super::{BUILDS, Costs, PlanReport, PlannedBenchmark, Suggestion, document::shares};
use crate::{
    model::Dimensions,
    report::json::{
        self, Criteria, Estimate, FailedTarget, FullName, Measured, MetricFields, Version,
    },
    stats::{Levels, impact::Impact, plan::Optimum},
};

/// A plan.
#[derive(Serialize)]
pub(super) struct Plan<'r> {
    version: Version<'r>,
    criteria: Criteria,
    half_width: Option<f64>,
    benchmarks: Vec<Benchmark<'r>>,
    suggestion: Suggested<'r>,
    failures: Vec<Failed<'r>>,
    failed_targets: Vec<FailedTarget<'r>>,
}

#[derive(Serialize)]
struct Benchmark<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    experiment: &'r str,
    begun_seconds: f64,
    /// What was measured of each build and execution, on average.
    dimensions: Dimensions,
    #[serde(flatten)]
    measured: Measured,
    result: Estimate,
    /// `T_V²`, `T_B²` and `T_E²`, in the squared unit.
    components: ByLevel<Option<f64>>,
    /// Of the sum of these, those below 0 counted as 0.
    shares: ByLevel<f64>,
    impact: ImpactFactors,
    costs: CostFields,
    /// (23), of means.
    best_for_means: Best<Option<Repetitions>>,
    /// For the estimator in use.
    best: Best<Option<usize>>,
    basis: Option<&'static str>,
    detectable: Vec<Detectable>,
    builds: Option<usize>,
}

#[derive(Serialize)]
struct ByLevel<T> {
    builds: T,
    executions: T,
    measurements: T,
}

#[derive(Serialize)]
struct ImpactFactors {
    builds: Option<f64>,
    executions: Option<f64>,
}

#[derive(Serialize)]
struct CostFields {
    link_seconds: f64,
    link_shared_by: u32,
    start_seconds: f64,
    measurement_seconds: f64,
}

#[derive(Serialize)]
struct Best<T> {
    executions: T,
    measurements: T,
}

/// A number of repetitions, or that there is no best one.
#[derive(Serialize)]
#[serde(untagged)]
enum Repetitions {
    Number(f64),
    Word(&'static str),
}

/// What a number of builds would flag with a power of 80 %.
#[derive(Serialize)]
struct Detectable {
    builds: usize,
    change: Option<f64>,
}

#[derive(Serialize)]
struct Suggested<'r> {
    builds: Option<usize>,
    executions: Option<usize>,
    measurements: Option<usize>,
    own: Vec<Own<'r>>,
    beyond: Vec<FullName<'r>>,
    seconds: f64,
    toml: String,
}

#[derive(Serialize)]
struct Own<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    builds: usize,
}

#[derive(Serialize)]
struct Failed<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    reason: &'r str,
}

impl PlanReport {
    pub(super) fn fields(&self) -> Plan<'_> {
        Plan {
            version: (&self.version).into(),
            criteria: (&self.criteria).into(),
            half_width: self.half_width,
            benchmarks: self.benchmarks.iter().map(|one| self.benchmark(one)).collect(),
            suggestion: self.suggested(),
            failures: self
                .unknown
                .benchmarks
                .iter()
                .map(|(benchmark, reason)| Failed { id: benchmark.into(), reason })
                .collect(),
            failed_targets: self.unknown.targets.iter().map(FailedTarget::from).collect(),
        }
    }

    fn benchmark<'r>(&'r self, one: &'r PlannedBenchmark) -> Benchmark<'r> {
        let executions = self.suggestion.executions.unwrap_or(1);
        let outlook = one.expected_with(executions);
        let Levels { execution, build, version } = one.components.t;
        let [of_builds, of_executions, of_measurements] = shares(one);
        let factor = |impact: Option<Impact>| impact.map(|impact| impact.factor);
        let detectable = BUILDS.map(|builds| {
            let change = outlook.map(|outlook| outlook.with_builds(builds));
            Detectable { builds, change }
        });
        Benchmark {
            id: (&one.benchmark).into(),
            metric: Some(one.summary.metric()).into(),
            experiment: &one.experiment,
            begun_seconds: json::seconds(one.begun),
            dimensions: one.dimensions(),
            measured: Measured::of(one.interleaving, Some(&one.summary)),
            result: Estimate::of(&one.summary, self.criteria.confidence),
            components: ByLevel { builds: version, executions: build, measurements: execution },
            shares: ByLevel {
                builds: of_builds,
                executions: of_executions,
                measurements: of_measurements,
            },
            impact: ImpactFactors {
                builds: factor(one.impact.builds),
                executions: factor(one.impact.executions),
            },
            costs: (&one.costs).into(),
            best_for_means: Best {
                executions: one.best_executions.map(Repetitions::from),
                measurements: one.best_measurements.map(Repetitions::from),
            },
            best: Best { executions: one.executions, measurements: one.measurements },
            basis: one.expected.map(|expected| expected.basis.name()),
            detectable: detectable.into(),
            builds: one.builds_for(self.half_width, executions),
        }
    }

    fn suggested(&self) -> Suggested<'_> {
        let Suggestion { builds, executions, measurements, own, beyond, time } = &self.suggestion;
        let id = |index: usize| FullName::from(&self.benchmarks[index].benchmark);
        Suggested {
            builds: *builds,
            executions: *executions,
            measurements: *measurements,
            own: own
                .iter()
                .map(|(index, builds)| Own { id: id(*index), builds: *builds })
                .collect(),
            beyond: beyond.iter().map(|index| id(*index)).collect(),
            seconds: time.as_secs_f64(),
            toml: self.toml(),
        }
    }
}

impl From<&Costs> for CostFields {
    fn from(costs: &Costs) -> Self {
        Self {
            link_seconds: costs.link.as_secs_f64(),
            link_shared_by: costs.sharing,
            start_seconds: costs.start.as_secs_f64(),
            measurement_seconds: costs.measurement.as_secs_f64(),
        }
    }
}

impl From<Optimum> for Repetitions {
    fn from(optimum: Optimum) -> Self {
        match optimum {
            Optimum::About(number) => Self::Number(number),
            Optimum::Unlimited => Self::Word("many"),
            Optimum::Indifferent => Self::Word("any"),
        }
    }
}
