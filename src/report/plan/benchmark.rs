//! One benchmark of a plan: how it varies at each level, what repetitions cost, and how many of them pay.

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

/// What was measured of a benchmark.
#[derive(Clone, Debug)]
pub struct LevelsFound {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The experiment that measured it, as it is known in every store.
    pub experiment: String,
    /// When that began.
    pub started: SystemTime,
    /// How executions were interleaved with those of another version.
    pub interleaving: Option<Interleaving>,
    /// Every measurement.
    pub data: Measurements,
    /// The builds.
    pub summary: Summary,
    /// How much starting the program and building it spread the measurements.
    pub impact: ImpactFactors,
}

/// What one more of each costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// One build: of the whole bench target.
    pub link: Duration,
    /// How many benchmarks share it.
    pub sharing: u32,
    /// Starting an execution, warming it up and ending it.
    pub start: Duration,
    /// One measurement.
    pub measurement: Duration,
}

/// What is expected of comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// How much a build contributes to the variance of a change.
    pub power: Power,
    /// What that is estimated from.
    pub basis: PlanBasis,
}

/// What the variance of a change is estimated from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlanBasis {
    /// The differences of a stored comparison, of this version or of others.
    Compared,
    /// One version alone: the variances of two versions together, as if pairing gained nothing. Paired
    /// comparisons see at least as much.
    OneVersion,
}

impl PlanBasis {
    /// What programs and tables call it.
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
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The experiment that measured it, as it is known in every store.
    pub experiment: String,
    /// When that began.
    pub started: SystemTime,
    /// How executions were interleaved with those of another version.
    pub interleaving: Option<Interleaving>,
    /// The builds.
    pub summary: Summary,
    /// The variance of means at each level.
    pub components: Components,
    /// How much starting the program and building it spread the measurements.
    pub impact: ImpactFactors,
    /// What repetitions cost.
    pub costs: Costs,
    /// `m0` of (23), of means; absent where a component is not known.
    pub best_executions: Option<Optimum>,
    /// `n0` of (23), of means; absent where a component is not known.
    pub best_measurements: Option<Optimum>,
    /// How many executions pay best for the estimator in use, by the variance of a change.
    pub executions: Option<usize>,
    /// How many measurements pay best for the estimator in use; absent where executions took turns, or have one
    /// measurement.
    pub measurements: Option<usize>,
    /// What is expected of comparisons; absent where nothing varies.
    pub expected: Option<Expected>,
    /// The smallest relative change of interest.
    pub min_effect: f64,
    /// How often the first look may flag it without a change.
    pub false_alarm_rate: f64,
}

impl Costs {
    /// In the time of one measurement. A build costs this benchmark its share of the link.
    pub fn in_measurements(&self) -> Cost {
        // What is too short for the clock still takes something: no price is 0 / 0.
        let unit = self.measurement.as_secs_f64().max(1e-9);
        let link = self.link.as_secs_f64() / f64::from(self.sharing.max(1));
        Cost {
            build: (link / unit).max(1e-3),
            execution: (self.start.as_secs_f64() / unit).max(1e-3),
            repeat: 1.0,
        }
    }

    /// How long an experiment of one version takes.
    pub fn duration(&self, dimensions: SampleSizes) -> Duration {
        let seconds = self.in_measurements().total(dimensions) * self.measurement.as_secs_f64();
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

impl PlannedBenchmark {
    /// What follows from what was measured, what it cost, and what comparisons are expected to see.
    pub fn new(
        found: LevelsFound,
        costs: Costs,
        expected: Option<Expected>,
        criteria: &Criteria,
    ) -> Self {
        let LevelsFound {
            benchmark,
            experiment,
            started: begun,
            interleaving,
            data,
            summary,
            impact,
        } = found;
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
            started: begun,
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

    /// What is expected with so many executions of each build; with as many as there were, where it is not known
    /// what executions add.
    pub fn expected_with(&self, executions: usize) -> Option<Power> {
        let outlook = self.expected?.power;
        Some(outlook.at_executions(executions).unwrap_or(outlook))
    }

    /// How many builds, from 5 on, report one and a half times the min-effect with a power of 80 %, or their interval
    /// as narrow as this to each side; none if [the most](super::MOST_BUILDS) do not.
    pub fn builds_for(&self, half_width: Option<f64>, executions: usize) -> Option<usize> {
        let (least, most) = (super::BUILDS[0], super::MOST_BUILDS);
        let Some(outlook) = self.expected_with(executions) else { return Some(least) };
        let Some(half_width) = half_width else {
            return outlook.builds_for(ABOVE_MIN_EFFECT * self.min_effect, least, most);
        };
        // Changes are relative, and variances of logarithms.
        let (width, confidence) = (half_width.ln_1p(), 1.0 - self.false_alarm_rate);
        let builds = builds_by_stein(outlook.builds(), outlook.deviation(), width, confidence);
        Some(builds.max(least)).filter(|builds| *builds <= most)
    }
}

/// The components, if all that (23) needs is known; measurements that cannot be told from executions are part of
/// these.
fn known(t: Levels<Option<f64>>) -> Option<Levels<f64>> {
    Some(Levels { execution: t.execution.unwrap_or(0.0), build: t.build?, version: t.version? })
}
