//! Estimates the influence of a random initial state: impact factors, Kalibera et al. 2005, figure 2.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    FTest, InsufficientData, Options, values::interval_of_draws, variance::EstimatedLevels,
};
use crate::stats::{
    Interval, Levels, Measurements, Random,
    impact::{Bootstrap, ImpactFactor, NoImpact},
};

/// The streams of the seed for the bootstraps.
const STREAMS: [u64; 2] = [11, 12];

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
    /// The influence of restarting the program. `test` is of the executions.
    pub(super) fn execution_influence(
        data: &Measurements,
        means: &EstimatedLevels,
        test: Option<FTest>,
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let mut random = Random::stream(options.seed, STREAMS[0]);
        let impact = ImpactFactor::execution_impact(data, &bootstrap(options), &mut random);
        let lacking = |sets, values| match sets {
            0..3 => InsufficientData::Executions { needed: 3, found: sets },
            _ => InsufficientData::Measurements { needed: 3, found: values },
        };
        let impact = impact.map_err(|reason| no_impact(reason, lacking))?;
        let compared = data.builds().map(|build| build.executions().len()).sum();
        Ok(Self::new(compared, means, impact, test, options, |components| {
            Some([components.build?, components.execution?])
        }))
    }

    /// The influence of rebuilding it, by the estimator in use. `test` is of the layouts.
    pub(super) fn build_influence(
        data: &Measurements,
        estimates: &EstimatedLevels,
        test: Option<FTest>,
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let mut random = Random::stream(options.seed, STREAMS[1]);
        let impact =
            ImpactFactor::build_impact(data, options.estimator, &bootstrap(options), &mut random);
        let lacking = |sets, values| match sets {
            0..3 => InsufficientData::Builds { needed: 3, found: sets },
            _ => InsufficientData::Executions { needed: 3, found: values },
        };
        let impact = impact.map_err(|reason| no_impact(reason, lacking))?;
        let compared = data.builds().len();
        Ok(Self::new(compared, estimates, impact, test, options, |components| {
            Some([components.version?, components.build?])
        }))
    }

    /// `level` returns the components of the level and of the one below.
    fn new(
        compared: usize,
        known: &EstimatedLevels,
        impact: ImpactFactor,
        test: Option<FTest>,
        options: &Options,
        level: impl Fn(&Levels<Option<f64>>) -> Option<[f64; 2]>,
    ) -> Self {
        let factor = |components: &Levels<Option<f64>>| {
            let [above, below] = level(components)?.map(|component| component.max(0.0));
            Some(if above > 0.0 { (1.0 + above / below).sqrt() } else { 1.0 })
        };
        let center = factor(&known.components.t).unwrap_or(1.0);
        let drawn = known.draws.iter().filter_map(factor).collect();
        let above = level(&known.components.t).map_or(0.0, |[above, _]| above.max(0.0));
        Self {
            compared,
            impact,
            analytic: interval_of_draws(center, drawn, options.confidence),
            relative_sd: above.sqrt() / known.mean,
            p: test.map_or(f64::NAN, |test| test.p),
        }
    }
}

fn bootstrap(options: &Options) -> Bootstrap {
    Bootstrap { choose: None, repetitions: options.repetitions.max(1) }
}

/// Translates a bootstrap's error into the missing data.
fn no_impact(
    reason: NoImpact,
    lacking: impl Fn(usize, usize) -> InsufficientData,
) -> InsufficientData {
    match reason {
        NoImpact::Choose { sets, values, .. } => lacking(sets, values),
        // There is always at least one repetition.
        NoImpact::NoRepetition => InsufficientData::Variance,
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
        let found = Influence::execution_influence(&data, &means, None, &options).unwrap();
        // sqrt(1 + 1 / 1)
        assert!((found.impact.factor - 1.41).abs() < 0.2, "{found:?}");
        assert!((found.impact.without_shift - 1.0).abs() < 0.1, "{found:?}");
        assert!(
            found.analytic.low < found.impact.factor && found.impact.factor < found.analytic.high
        );
        assert!((found.relative_sd - 0.001).abs() < 0.0003 && found.p.is_nan());
        let few = simulated(truth, [2, 6, 40], &mut Random::new(8));
        let lacking = Influence::build_influence(&few, &means, None, &options).unwrap_err();
        assert_eq!(lacking, InsufficientData::Builds { needed: 3, found: 2 });
    }
}
