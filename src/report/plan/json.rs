//! The report of `plan` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{BUILDS, Costs, PlanBasis, PlanReport, PlannedBenchmark, Suggestion, document::shares};
use crate::stats::Criteria;
use crate::{
    model::{Benchmark, FailedTarget, SampleSizes, Version},
    report::{
        date,
        json::{Estimate, Measured, MetricFields},
    },
    stats::{Levels, impact::ImpactFactor, plan::Optimum},
};

/// The sample sizes that follow from stored results.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Plan<'r> {
    version: &'r Version,
    criteria: Criteria,
    /// The requested half-width of the relative interval of a change; null if the plan is for
    /// detecting changes of the min-effect.
    half_width: Option<f64>,
    benchmarks: Vec<BenchmarkFields<'r>>,
    suggestion: Suggested<'r>,
    /// Benchmarks without usable results.
    failures: Vec<Failed<'r>>,
    failed_targets: Vec<&'r FailedTarget>,
}

/// A benchmark in one metric.
#[derive(Serialize, JsonSchema)]
struct BenchmarkFields<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    /// The identity of the experiment that measured it.
    experiment: &'r str,
    /// The start of that experiment, in UTC.
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    /// The average numbers of each build and execution.
    sample_sizes: SampleSizes,
    #[serde(flatten)]
    measured: Measured,
    result: Estimate,
    /// The unbiased components `T_V²`, `T_B²` and `T_E²` of the variance of means, in the squared
    /// unit. They may be negative; null if they are unknown.
    components: ByLevel<Option<f64>>,
    /// The shares of the sum of the components; those below 0 count as 0.
    shares: ByLevel<f64>,
    impact: ImpactFactors,
    costs: CostFields,
    /// m0 and n0 by (23) of Kalibera et al. 2006, before rounding; null if a component is unknown.
    best_for_means: Best<Option<Repetitions>>,
    /// For the estimator in use; null if it is unknown.
    best: Best<Option<usize>>,
    /// The basis of `detectable`.
    basis: Option<PlanBasis>,
    /// With the suggested number of executions.
    detectable: Vec<Detectable>,
    /// The number of builds that is needed; null if it is above the maximum ever suggested.
    #[schemars(range(min = 2))]
    builds: Option<usize>,
}

/// A value for each level of an experiment.
#[derive(Serialize, JsonSchema)]
struct ByLevel<T> {
    builds: T,
    executions: T,
    measurements: T,
}

/// Impact factors; null if they are infinite, or the shape of the data does not allow them.
#[derive(Serialize, JsonSchema)]
struct ImpactFactors {
    builds: Option<f64>,
    executions: Option<f64>,
}

/// The costs of repetition.
#[derive(Serialize, JsonSchema)]
struct CostFields {
    /// One build of the bench target.
    #[schemars(range(min = 0))]
    link_seconds: f64,
    /// The number of benchmarks that share it.
    #[schemars(range(min = 1))]
    link_shared_by: u32,
    /// An execution without its measurements: start, warm-up, end.
    #[schemars(range(min = 0))]
    start_seconds: f64,
    #[schemars(range(min = 0))]
    measurement_seconds: f64,
}

/// The best numbers of repetitions.
#[derive(Serialize, JsonSchema)]
struct Best<T> {
    executions: T,
    measurements: T,
}

/// A number of repetitions, or that there is no best one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Repetitions {
    /// The level above does not vary.
    Many,
    /// Neither this level nor the one above varies.
    Any,
    #[serde(untagged)]
    Number(f64),
}

/// The power of a number of builds.
#[derive(Serialize, JsonSchema)]
struct Detectable {
    #[schemars(range(min = 2))]
    builds: usize,
    /// The smallest relative change that a fixed plan with this many builds in each stage reports
    /// with a power of 80 %.
    change: Option<f64>,
}

/// The suggested sizes of experiments.
#[derive(Serialize, JsonSchema)]
struct Suggested<'r> {
    #[schemars(range(min = 2))]
    builds: Option<usize>,
    #[schemars(range(min = 1))]
    executions: Option<usize>,
    /// Of executions that run alone.
    #[schemars(range(min = 1))]
    measurements: Option<usize>,
    /// Benchmarks that need more builds than most.
    individual: Vec<Own<'r>>,
    /// Benchmarks that need more builds than the maximum ever suggested.
    excess: Vec<&'r Benchmark>,
    /// The approximate duration of one version.
    #[schemars(range(min = 0))]
    seconds: f64,
    /// The lines for bench.toml.
    toml: String,
}

/// A benchmark with an individual number of builds.
#[derive(Serialize, JsonSchema)]
struct Own<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    #[schemars(range(min = 2))]
    builds: usize,
}

/// A benchmark without usable results, and the reason.
#[derive(Serialize, JsonSchema)]
struct Failed<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    reason: &'r str,
}

impl PlanReport {
    pub(super) fn fields(&self) -> Plan<'_> {
        Plan {
            version: (&self.version).into(),
            criteria: self.criteria,
            half_width: self.half_width,
            benchmarks: self.benchmarks.iter().map(|one| self.benchmark(one)).collect(),
            suggestion: self.suggested(),
            failures: self
                .unknown
                .benchmarks
                .iter()
                .map(|(benchmark, reason)| Failed { id: benchmark.into(), reason })
                .collect(),
            failed_targets: self.unknown.targets.iter().collect(),
        }
    }

    fn benchmark<'r>(&'r self, one: &'r PlannedBenchmark) -> BenchmarkFields<'r> {
        let executions = self.suggestion.executions.unwrap_or(1);
        let power = one.expected_with(executions);
        let Levels { execution, build, version } = one.components.t;
        let [of_builds, of_executions, of_measurements] = shares(one);
        let factor = |impact: Option<ImpactFactor>| impact.map(|impact| impact.factor);
        let detectable = BUILDS.map(|builds| {
            let change = power.map(|power| power.with_builds(builds));
            Detectable { builds, change }
        });
        BenchmarkFields {
            id: (&one.benchmark).into(),
            metric: Some(one.summary.metric()).into(),
            experiment: &one.experiment,
            started_at: date::rfc3339(one.started),
            sample_sizes: one.sample_sizes(),
            measured: Measured::new(one.interleaving, Some(&one.summary)),
            result: Estimate::new(&one.summary, self.criteria.confidence),
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
            basis: one.expected.map(|expected| expected.basis),
            detectable: detectable.into(),
            builds: one.builds_for(self.half_width, executions),
        }
    }

    fn suggested(&self) -> Suggested<'_> {
        let Suggestion { builds, executions, measurements, individual: own, excess: beyond, time } =
            &self.suggestion;
        let id = |index: usize| &self.benchmarks[index].benchmark;
        Suggested {
            builds: *builds,
            executions: *executions,
            measurements: *measurements,
            individual: own
                .iter()
                .map(|(index, builds)| Own { id: id(*index), builds: *builds })
                .collect(),
            excess: beyond.iter().map(|index| id(*index)).collect(),
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
            Optimum::Unlimited => Self::Many,
            Optimum::Indifferent => Self::Any,
        }
    }
}
