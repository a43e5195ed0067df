//! Advises on the numbers of builds, executions and measurements: 2005 (8), 2006 (18)-(23), with unbiased components.

use schemars::JsonSchema;
use serde::Serialize;

use super::{InsufficientData, Options, values::interval_of_draws, variance::EstimatedLevels};
use crate::{
    Interval, Levels, Measurements, SampleSizes,
    plan::{self, Cost, Optimum, best_executions, best_measurements, builds_for_half_width},
};

/// The fewest builds ever advised: fewer hardly show how builds vary.
const FEWEST_BUILDS: usize = 5;

/// The most builds ever advised: beyond it, the benchmark itself should be changed.
pub const MOST_BUILDS: usize = 100;

/// The most executions of a build ever advised, even if builds seem not to vary: that is never certain.
const MOST_EXECUTIONS: usize = 4;

/// The most measurements of an execution ever advised, even if executions seem not to vary.
const MOST_MEASUREMENTS: usize = 1_000;

/// The sample sizes with the highest precision for the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// `n0`: the number of measurements of each execution.
    pub measurements: Repetitions,
    /// `m0`: the number of executions of each build.
    pub executions: Repetitions,
    /// The intended half-width of `l0` builds, relative to the mean: half of the smallest effect of interest.
    pub half_width: f64,
    /// `l0` builds of `m0` executions of `n0` measurements, in whole numbers: at least 5 builds, and at most 4
    /// executions and 1,000 measurements. Null if more than 100 builds would be needed.
    pub dimensions: Option<SampleSizes>,
    /// The half-width of the present sample sizes, relative to the mean.
    #[schemars(with = "Option<f64>")]
    pub half_width_now: f64,
    /// The assumed cost of a build, in the time of one measurement.
    pub build_cost: f64,
    /// The assumed cost of starting an execution, in the time of one measurement.
    pub execution_cost: f64,
}

/// The best number of repetitions at one level. Infinite, and null in JSON, where the level above does not vary: more
/// repetitions are always better then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Repetitions {
    /// From the components as estimated; 1 if neither this level nor the one above varies.
    #[schemars(with = "Option<f64>")]
    pub best: f64,
    /// The lower end of the interval of `best`: where the components are uncertain, both ends differ widely.
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// The upper end of the interval of `best`.
    #[schemars(with = "Option<f64>")]
    pub high: f64,
}

impl Advice {
    /// From the components of means.
    pub(super) fn new(
        data: &Measurements,
        means: &EstimatedLevels,
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let cost = options.cost.ok_or(InsufficientData::Cost)?;
        let now = shape(data);
        let components = all_known(&means.components.t, now)?;
        let drawn: Vec<Levels<f64>> =
            means.draws.iter().filter_map(|draw| all_known(draw, now).ok()).collect();
        let confidence = options.confidence;
        let repetitions = |best: fn(&Levels<f64>, &Cost) -> Optimum| {
            let draws = drawn.iter().map(|components| number(best(components, &cost))).collect();
            let best = number(best(&components, &cost));
            let Interval { low, high, .. } = interval_of_draws(best, draws, confidence);
            Repetitions { best, low, high }
        };
        let half_width = options.min_effect / 2.0;
        let executions = best_executions(&components, &cost).at_most(MOST_EXECUTIONS);
        let measurements = best_measurements(&components, &cost).at_most(MOST_MEASUREMENTS);
        let wanted = half_width * means.mean;
        let builds = builds_for_half_width(
            &components,
            executions,
            measurements,
            confidence,
            wanted,
            MOST_BUILDS,
        );
        let sizes = |builds: usize| SampleSizes {
            first_analysis: None,
            builds: builds.max(FEWEST_BUILDS),
            executions,
            measurements,
        };
        Ok(Self {
            measurements: repetitions(best_measurements),
            executions: repetitions(best_executions),
            half_width,
            dimensions: builds.map(sizes),
            half_width_now: plan::half_width(&components, now, confidence) / means.mean,
            build_cost: cost.build,
            execution_cost: cost.execution,
        })
    }
}

/// The number; infinite where there is no limit.
fn number(optimum: Optimum) -> f64 {
    match optimum {
        Optimum::About(number) => number,
        Optimum::Unlimited => f64::INFINITY,
        Optimum::Indifferent => 1.0,
    }
}

/// The sample sizes of the data: the means, rounded.
fn shape(data: &Measurements) -> SampleSizes {
    let builds = data.builds().len();
    let executions: usize = data.builds().map(|build| build.executions().len()).sum();
    let per = |total: usize, of: usize| ((total + of / 2) / of.max(1)).max(1);
    SampleSizes {
        first_analysis: None,
        builds,
        executions: per(executions, builds),
        measurements: per(data.values().len(), executions),
    }
}

/// The components, if all of them are known.
fn all_known(
    components: &Levels<Option<f64>>,
    now: SampleSizes,
) -> Result<Levels<f64>, InsufficientData> {
    let Levels { execution, build, version } = *components;
    let lacking = InsufficientData::Measurements { needed: 2, found: now.measurements };
    let execution = execution.ok_or(lacking)?;
    let build = build.ok_or(InsufficientData::Executions { needed: 2, found: now.executions })?;
    let version = version.ok_or(InsufficientData::Builds { needed: 2, found: now.builds })?;
    Ok(Levels { execution, build, version })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Random,
        diagnosis::testing::{Truth, simulated},
    };

    #[test]
    fn advice_is_near_that_of_the_true_components() {
        // V = B = 1, E = 25, b = 300, w = 100: m0 = 1.73, n0 = 50.
        let truth = Truth { version: 1.0, build: 1.0, execution: 25.0, ..Truth::default() };
        let data = simulated(truth, [200, 5, 50], &mut Random::new(3));
        let cost = Cost { build: 300.0, execution: 100.0, repeat: 1.0 };
        let options = Options { cost: Some(cost), min_effect: 0.001, ..Options::default() };
        let means = EstimatedLevels::from_means(&data, &options).unwrap();
        let found = Advice::new(&data, &means, &options).unwrap();
        for (repetitions, truth) in [(found.measurements, 50.0), (found.executions, 3.0_f64.sqrt())]
        {
            let best = repetitions.best;
            assert!((best / truth - 1.0).abs() < 0.25, "{repetitions:?}");
            assert!(repetitions.low < best && best < repetitions.high);
            assert!(repetitions.low < truth && truth < repetitions.high);
        }
        let advised = found.dimensions.unwrap();
        // t · sqrt((1 + (1 + 25/50) / 2) / l) is .5 for about 27 builds.
        assert!((20..40).contains(&advised.builds), "{advised}");
        let none = Advice::new(&data, &means, &Options::default()).unwrap_err();
        assert_eq!(none, InsufficientData::Cost);
    }

    #[test]
    fn builds_grow_with_the_square_of_the_precision() {
        let truth = Truth { version: 1.0, build: 1.0, execution: 25.0, ..Truth::default() };
        let data = simulated(truth, [50, 5, 20], &mut Random::new(3));
        let cost = Some(Cost { build: 300.0, execution: 100.0, repeat: 1.0 });
        let advised = |min_effect| {
            let options = Options { min_effect, cost, ..Options::default() };
            let means = EstimatedLevels::from_means(&data, &options).unwrap();
            Advice::new(&data, &means, &options).unwrap().dimensions.map(|sizes| sizes.builds)
        };
        let (wide, narrow) = (advised(0.001).unwrap(), advised(0.0007).unwrap());
        assert!(3 * wide < 2 * narrow && narrow < 3 * wide, "{wide} {narrow}");
        assert_eq!(advised(1.0), Some(FEWEST_BUILDS));
        assert_eq!(advised(1e-5), None);
    }
}
