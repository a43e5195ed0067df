//! One benchmark of a plan: its variance at each level, the costs of repetition, and the sample
//! sizes that pay best. Pure.

use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use super::MOST_EXECUTIONS;
use crate::{
    model::{Benchmark, Mode, SampleSizes},
    report::show::ImpactFactors,
    stats::{
        ABOVE_MIN_EFFECT, Components, Criteria, Levels, Measurements, Power, Summary,
        plan::{
            Cost, Optimum, best_executions, best_measurements, best_measurements_by_subsampling,
            builds_by_stein,
        },
    },
    verdict::Interleaving,
};

/// The stored measurements of a benchmark, which a plan starts from.
#[derive(Clone, Debug)]
pub struct LevelsFound {
    /// The benchmark measured.
    pub benchmark: Benchmark,
    /// The experiment that measured it, by its identity, which is the same in every store.
    pub experiment: String,
    /// The start of that experiment.
    pub started: SystemTime,
    /// The interleaving of its executions.
    pub interleaving: Option<Interleaving>,
    /// Every measurement.
    pub data: Measurements,
    /// The summary of its builds.
    pub summary: Summary,
    /// The impact of starting and of building the program on the measurements.
    pub impact: ImpactFactors,
}

/// The cost of one more repetition at each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// One build of the whole bench target.
    pub link: Duration,
    /// The number of benchmarks that share the build.
    pub sharing: u32,
    /// Starting an execution, warming it up and ending it.
    pub start: Duration,
    /// One measurement.
    pub measurement: Duration,
}

/// The expected power of comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The contribution of a build to the variance of a change.
    pub power: Power,
    /// The data that it is estimated from.
    pub basis: PlanBasis,
}

/// The data from which the variance of a change is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlanBasis {
    /// The differences of a stored comparison, of this version or of others.
    Compared,
    /// One version alone: the sum of the variances of two versions, as if pairing gained nothing.
    /// Paired comparisons have at least this power.
    OneVersion,
}

impl PlanBasis {
    /// The name in JSON and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compared => "compared",
            Self::OneVersion => "one-version",
        }
    }
}

/// One benchmark of a plan.
#[derive(Clone, Debug)]
pub struct PlannedBenchmark {
    /// The benchmark planned.
    pub benchmark: Benchmark,
    /// The experiment that measured it, by its identity, which is the same in every store.
    pub experiment: String,
    /// The start of that experiment.
    pub started: SystemTime,
    /// The interleaving of its executions.
    pub interleaving: Option<Interleaving>,
    /// The summary of its builds.
    pub summary: Summary,
    /// The variance of means at each level.
    pub components: Components,
    /// The impact of starting and of building the program on the measurements.
    pub impact: ImpactFactors,
    /// The costs of repetition.
    pub costs: Costs,
    /// `m0` of (23), of means; `None` if a component is unknown.
    pub best_executions: Option<Optimum>,
    /// `n0` of (23), of means; `None` if a component is unknown.
    pub best_measurements: Option<Optimum>,
    /// The number of executions that pays best for the estimator in use, by the variance of a
    /// change.
    pub executions: Option<usize>,
    /// The number of measurements that pays best for the estimator in use; `None` if executions
    /// were interleaved, or have one measurement.
    pub measurements: Option<usize>,
    /// The expected power of comparisons; `None` if nothing varies.
    pub expected: Option<Expected>,
    /// The smallest relative change of interest.
    pub min_effect: f64,
    /// The false-positive rate of the first interim analysis.
    pub false_alarm_rate: f64,
}

impl Costs {
    /// The costs in units of one measurement. The benchmark bears its share of the cost of a build.
    pub fn in_measurements(&self) -> Cost {
        // A measurement too short for the clock still takes some time: avoids 0 / 0.
        let unit = self.measurement.as_secs_f64().max(1e-9);
        let link = self.link.as_secs_f64() / f64::from(self.sharing.max(1));
        Cost {
            build: (link / unit).max(1e-3),
            execution: (self.start.as_secs_f64() / unit).max(1e-3),
            repeat: 1.0,
        }
    }

    /// The duration of an experiment on one version.
    pub fn duration(&self, sample_sizes: SampleSizes) -> Duration {
        let seconds = self.in_measurements().total(sample_sizes) * self.measurement.as_secs_f64();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

impl PlannedBenchmark {
    /// Plans a benchmark from its measurements, their costs, and the expected power.
    pub fn new(
        found: LevelsFound,
        costs: Costs,
        expected: Option<Expected>,
        criteria: &Criteria,
    ) -> Self {
        let LevelsFound { benchmark, experiment, started, interleaving, data, summary, impact } =
            found;
        let components = Components::estimate(&summary);
        let cost = costs.in_measurements();
        let of_means = known(components.t);
        let alone = interleaving.is_some_and(|all| all.mode == Mode::Sequential);
        let measurements = alone
            .then(|| {
                let estimator = summary.estimator();
                best_measurements_by_subsampling(&data, estimator, &cost, MOST_EXECUTIONS)
            })
            .flatten();
        let taken = summary.measurements_per_execution();
        let taken = measurements.map_or(taken, |number| number as f64);
        let of_execution = Cost { execution: cost.execution + taken, ..cost };
        let levels = expected.and_then(|expected| expected.power.levels());
        let executions =
            levels.map(|levels| best_executions(&levels, &of_execution).at_most(MOST_EXECUTIONS));
        Self {
            benchmark,
            experiment,
            started,
            interleaving,
            components,
            impact,
            costs,
            best_executions: of_means.map(|levels| best_executions(&levels, &cost)),
            best_measurements: of_means
                .filter(|_| components.t.execution.is_some())
                .map(|levels| best_measurements(&levels, &cost)),
            executions,
            measurements,
            expected,
            min_effect: criteria.min_effect,
            false_alarm_rate: criteria.false_alarm_rate,
            summary,
        }
    }

    /// The expected power with this many executions of each build; with the measured number, if the
    /// contribution of executions is unknown.
    pub fn expected_with(&self, executions: usize) -> Option<Power> {
        let power = self.expected?.power;
        Some(power.at_executions(executions).unwrap_or(power))
    }

    /// The number of builds, from 5 on, that report one and a half times the min-effect with a
    /// power of 80 %, or have an interval of this half-width; `None` if [the
    /// maximum](super::MOST_BUILDS) is not enough.
    pub fn builds_for(&self, half_width: Option<f64>, executions: usize) -> Option<usize> {
        let (least, most) = (super::BUILDS[0], super::MOST_BUILDS);
        let Some(power) = self.expected_with(executions) else { return Some(least) };
        let Some(half_width) = half_width else {
            return power.builds_for(ABOVE_MIN_EFFECT * self.min_effect, least, most);
        };
        // Changes are relative, and variances are of logarithms.
        let (width, confidence) = (half_width.ln_1p(), 1.0 - self.false_alarm_rate);
        let builds = builds_by_stein(power.builds(), power.deviation(), width, confidence);
        Some(builds.max(least)).filter(|builds| *builds <= most)
    }
}

/// The components, if those that (23) needs are known. Measurements that cannot be separated from
/// executions count as part of these.
fn known(t: Levels<Option<f64>>) -> Option<Levels<f64>> {
    Some(Levels { execution: t.execution.unwrap_or(0.0), build: t.build?, version: t.version? })
}
