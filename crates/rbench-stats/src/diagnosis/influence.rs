//! Estimates the influence of a random initial state: impact factors, Kalibera et al. 2005, figure 2.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    FTest, InsufficientData, Options, values::interval_of_draws, variance::EstimatedLevels,
};
use crate::{
    Interval, Levels, Measurements, Random,
    impact::{Bootstrap, ImpactFactor, NoImpact},
};

/// A level of the experiment whose initial state matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Executions of one build.
    Executions,
    /// Builds, each in its own layout.
    Builds,
}

/// The influence of one level: of restarting the program, or of rebuilding it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Influence {
    /// The number of executions, or of builds, that were compared.
    pub compared: usize,
    /// The factor by bootstrap, and the factor without the shift of each data set: near 1 if the additive
    /// model fits (2005, section 5.2).
    #[serde(flatten)]
    pub impact: ImpactFactor,
    /// `sqrt(1 + T_above² / T_below²)` with its interval; the factor is near it if the additive model holds.
    #[serde(rename = "by_additive_model")]
    pub analytic: Interval,
    /// The standard deviation that this level adds, relative to the mean: .01 is 1 %.
    pub relative_sd: f64,
    /// The p value of the F test of this level. NaN, and null in JSON, if there is no test.
    #[schemars(with = "Option<f64>")]
    pub p: f64,
}

impl Influence {
    /// The influence of a level, from the components of means for executions, and of the estimator in use for builds.
    /// `test` is of the level.
    pub(super) fn estimate(
        level: Level,
        data: &Measurements,
        known: &EstimatedLevels,
        test: Option<FTest>,
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let bootstrap = Bootstrap { choose: None, repetitions: options.repetitions.max(1) };
        let (compared, impact) = match level {
            Level::Executions => {
                let mut random = Random::stream(options.seed, 11);
                let executions = data.builds().map(|build| build.executions().len()).sum();
                (executions, ImpactFactor::execution_impact(data, &bootstrap, &mut random))
            }
            Level::Builds => {
                let (mut random, by) = (Random::stream(options.seed, 12), options.estimator);
                let builds = data.builds().len();
                (builds, ImpactFactor::build_impact(data, by, &bootstrap, &mut random))
            }
        };
        let impact = impact.map_err(|reason| lacking(level, reason))?;
        // The components of the level and of the one below.
        let components = |levels: &Levels<Option<f64>>| {
            let Levels { execution, build, version } = *levels;
            let (above, below) = match level {
                Level::Executions => build.zip(execution)?,
                Level::Builds => version.zip(build)?,
            };
            Some([above.max(0.0), below.max(0.0)])
        };
        let factor = |levels: &Levels<Option<f64>>| {
            let [above, below] = components(levels)?;
            Some(if above > 0.0 { (1.0 + above / below).sqrt() } else { 1.0 })
        };
        let center = factor(&known.components.t).unwrap_or(1.0);
        let drawn = known.draws.iter().filter_map(factor).collect();
        let above = components(&known.components.t).map_or(0.0, |[above, _]| above);
        Ok(Self {
            compared,
            impact,
            analytic: interval_of_draws(center, drawn, options.confidence),
            relative_sd: above.sqrt() / known.mean,
            p: test.map_or(f64::NAN, |test| test.p),
        })
    }
}

/// Translates a bootstrap's error into the missing data.
fn lacking(level: Level, reason: NoImpact) -> InsufficientData {
    match (level, reason) {
        (Level::Executions, NoImpact::Choose { sets: found @ 0..3, .. })
        | (Level::Builds, NoImpact::Choose { sets: 3.., values: found, .. }) => {
            InsufficientData::Executions { needed: 3, found }
        }
        (Level::Executions, NoImpact::Choose { values: found, .. }) => {
            InsufficientData::Measurements { needed: 3, found }
        }
        (Level::Builds, NoImpact::Choose { sets: found, .. }) => {
            InsufficientData::Builds { needed: 3, found }
        }
        // There is always at least one repetition.
        (_, NoImpact::NoRepetition) => InsufficientData::Variance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{Truth, simulated};

    #[test]
    fn impact_factor_is_near_the_analytic_one() {
        let truth = Truth { version: 9.0, build: 1.0, execution: 1.0, ..Truth::default() };
        let data = simulated(truth, [12, 6, 40], &mut Random::new(8));
        let options = Options { repetitions: 1000, ..Options::default() };
        let means = EstimatedLevels::from_means(&data, &options).unwrap();
        let found = Influence::estimate(Level::Executions, &data, &means, None, &options).unwrap();
        // sqrt(1 + 1 / 1)
        assert!((found.impact.factor - 1.41).abs() < 0.2, "{found:?}");
        assert!((found.impact.without_shift - 1.0).abs() < 0.1, "{found:?}");
        assert!(
            found.analytic.low < found.impact.factor && found.impact.factor < found.analytic.high
        );
        assert!((found.relative_sd - 0.001).abs() < 0.0003 && found.p.is_nan());
        let few = simulated(truth, [2, 6, 40], &mut Random::new(8));
        let lacking = Influence::estimate(Level::Builds, &few, &means, None, &options).unwrap_err();
        assert_eq!(lacking, InsufficientData::Builds { needed: 3, found: 2 });
    }
}
