//! Divides the variance between builds, executions and measurements: Kalibera et al. 2006, (14)-(16), with the unbiased
//! components.

use schemars::JsonSchema;
use serde::Serialize;

use super::{FTest, InsufficientData, Options, values::interval_of_draws};
use crate::{Components, Estimator, Interval, Levels, Measurements, Random, Scratch, Summary};

/// The stream of the seed for the draws.
const STREAM: u64 = 1;

/// The components of variance as shares, and the tests for effects of layouts and executions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Variance {
    /// The mean of all build means, in the metric's unit.
    pub mean: f64,
    /// The shares in the variance of a single measurement.
    #[serde(flatten)]
    pub shares: Shares,
    /// The share that the execution, with its measurements, contributes to the variance of an execution's *estimate*,
    /// from 0 to 1; the rest is of the build. Null with one execution of each build.
    pub execution_share_of_estimate: Option<Interval>,
    /// Tests whether builds differ by more than their executions explain, by the estimator in use.
    pub layout_test: Option<FTest>,
    /// Tests whether executions of one build differ by more than their measurements explain. By means, and assuming
    /// independent measurements: see [`SteadyStates::test`](super::SteadyStates::test).
    pub execution_test: Option<FTest>,
}

/// The share of each level in the variance, from 0 to 1: together 1. A component below 0 counts as 0. The intervals are
/// generalized ones (Weerahandi 1993): the shares of the observed squares under draws of their chi-squared distributions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Shares {
    /// The share that layouts contribute.
    pub layouts: Option<Interval>,
    /// The share that executions contribute.
    pub executions: Option<Interval>,
    /// The share that measurements contribute.
    pub measurements: Option<Interval>,
}

/// The estimated components with draws of them, before further use.
pub(super) struct EstimatedLevels {
    pub mean: f64,
    pub components: Components,
    pub draws: Vec<Levels<Option<f64>>>,
}

impl EstimatedLevels {
    /// Estimates from means. Fails if nothing varies.
    pub fn from_means(data: &Measurements, options: &Options) -> Result<Self, InsufficientData> {
        Self::estimate(data, &mut Random::stream(options.seed, STREAM))
    }

    /// Estimates from the estimates of executions, each of which counts as one measurement: so `B` contains the
    /// contribution of measurements, and `E` is unknown.
    pub fn from_estimates(
        data: &Measurements,
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let mut scratch = Scratch::default();
        let mut estimate = |values: &[f64]| [options.estimator.estimate(values, &mut scratch)];
        let builds: Vec<(u64, Vec<[f64; 1]>)> = data
            .builds()
            .map(|build| (build.seed(), build.executions().map(&mut estimate).collect()))
            .collect();
        let estimates = Measurements::new(data.metric().clone(), builds);
        let estimates = estimates.map_err(|_| InsufficientData::Variance)?;
        Self::estimate(&estimates, &mut Random::stream(options.seed, STREAM + 1))
    }

    fn estimate(data: &Measurements, random: &mut Random) -> Result<Self, InsufficientData> {
        let summary = Summary::compute(data, Estimator::Mean);
        let components = Components::estimate(&summary);
        let Levels { execution, build, version } = components.s;
        if [execution, build, version].iter().flatten().sum::<f64>() > 0.0 {
            let draws = draws(&components, random);
            Ok(Self { mean: summary.means().mean, components, draws })
        } else {
            Err(InsufficientData::Variance)
        }
    }
}

impl Variance {
    /// From the components of means, and those of estimates if these vary.
    pub(super) fn new(
        means: &EstimatedLevels,
        estimates: Option<&EstimatedLevels>,
        options: &Options,
    ) -> Self {
        let Components { s, freedom, weights, .. } = &means.components;
        let execution_test = s.execution.zip(s.build).and_then(|(below, above)| {
            FTest::new(above / (weights.e_in_b * below), [freedom.build, freedom.execution])
        });
        let shares_of = |levels: &EstimatedLevels| Shares::estimate(levels, options.confidence);
        Self {
            mean: means.mean,
            shares: shares_of(means),
            execution_share_of_estimate: estimates.and_then(|known| shares_of(known).executions),
            layout_test: estimates.and_then(|known| known.components.layout),
            execution_test,
        }
    }
}

impl Shares {
    fn estimate(
        EstimatedLevels { components, draws, .. }: &EstimatedLevels,
        confidence: f64,
    ) -> Self {
        let share = |level: fn(&Levels<Option<f64>>) -> Option<f64>| {
            let of = |components: &Levels<Option<f64>>| {
                let Levels { execution, build, version } = components;
                let all = [execution, build, version].into_iter().flatten();
                let total: f64 = all.map(|component| component.max(0.0)).sum();
                let part = level(components)?.max(0.0);
                Some(if total > 0.0 { part / total } else { 0.0 })
            };
            let drawn = draws.iter().filter_map(of).collect();
            Some(interval_of_draws(of(&components.t)?, drawn, confidence))
        };
        Self {
            layouts: share(|components| components.version),
            executions: share(|components| components.build),
            measurements: share(|components| components.execution),
        }
    }
}

/// With this many draws, the ends of a 95 % interval are accurate to a tenth of its width or better.
const DRAWS: usize = 2_000;

/// Draws the components `T²` at random, which gives intervals of all numbers computed from them; unknown levels stay
/// unknown.
///
/// Generalized inference (Weerahandi 1993): a mean square `S²` with `f` degrees of freedom about its expectation `θ` is
/// `θ χ²_f / f` for normal effects, so `S² f / χ²_f` is drawn in place of `θ`. The spread of the drawn components is
/// then the uncertainty of the observed ones.
fn draws(components: &Components, random: &mut Random) -> Vec<Levels<Option<f64>>> {
    let Components { s, freedom, weights, .. } = components;
    let mut draw = |square: Option<f64>, freedom: f64| {
        square.map(|square| square * freedom / chi_squared(freedom, random))
    };
    let squares = (0..DRAWS).map(|_| Levels {
        execution: draw(s.execution, freedom.execution),
        build: draw(s.build, freedom.build),
        version: draw(s.version, freedom.version),
    });
    squares.map(|squares| weights.unbiased(&squares)).collect()
}

/// A chi-squared number with `freedom` degrees of freedom, a whole number from 1 up: a square of a normal one,
/// or Marsaglia & Tsang 2000 of a gamma one.
fn chi_squared(freedom: f64, random: &mut Random) -> f64 {
    if freedom < 2.0 {
        return random.normal().powi(2);
    }
    let d = freedom / 2.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - random.unit()).ln() < x * x / 2.0 + d - d * v + d * v.ln() {
            return 2.0 * d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Moments,
        diagnosis::testing::{Truth, simulated},
    };

    fn variance(truth: Truth, options: &Options) -> (EstimatedLevels, Variance) {
        let data = simulated(truth, [10, 8, 20], &mut Random::new(6));
        let means = EstimatedLevels::from_means(&data, options).unwrap();
        let estimates = EstimatedLevels::from_estimates(&data, options);
        let found = Variance::new(&means, estimates.as_ref().ok(), options);
        (means, found)
    }

    #[test]
    fn shares_add_up_to_1_and_lie_within_their_intervals() {
        let truth = Truth { version: 1.0, build: 1.0, execution: 1.0, ..Truth::default() };
        let (_, found) = variance(truth, &Options::default());
        let Shares { layouts, executions, measurements } = found.shares;
        let shares = [layouts, executions, measurements].map(Option::unwrap);
        assert!((shares.iter().map(|share| share.center).sum::<f64>() - 1.0).abs() < 1e-12);
        for Interval { low, center, high } in shares {
            assert!(0.0 <= low && low < center && center < high && high <= 1.0);
            assert!(low < 1.0 / 3.0 && 1.0 / 3.0 < high, "{low} {high}");
        }
        let [layouts, executions] = [found.layout_test, found.execution_test].map(Option::unwrap);
        assert!(layouts.p < 0.01 && executions.p < 0.001, "{found:?}");
    }

    #[test]
    fn constant_levels_have_no_significant_test() {
        let truth = Truth { execution: 1.0, ..Truth::default() };
        let (_, found) = variance(truth, &Options::default());
        assert!(found.layout_test.unwrap().p > 0.001 && found.execution_test.unwrap().p > 0.001);
        assert!(found.shares.measurements.unwrap().center > 0.95);
    }

    #[test]
    fn layout_tests_agree_for_the_mean() {
        let truth = Truth { version: 1.0, build: 2.0, execution: 5.0, ..Truth::default() };
        let options = Options { estimator: Estimator::Mean, ..Options::default() };
        let (means, found) = variance(truth, &options);
        let (one, other) = (found.layout_test.unwrap(), means.components.layout.unwrap());
        assert!((one.f / other.f - 1.0).abs() < 1e-9);
    }

    #[test]
    fn chi_squared_has_the_right_mean_and_variance() {
        let mut random = Random::new(1);
        for freedom in [1.0, 2.0, 9.0, 90.0, 19_900.0] {
            let drawn: Vec<f64> = (0..20_000).map(|_| chi_squared(freedom, &mut random)).collect();
            let moments = Moments::compute(&drawn);
            let error = (2.0 * freedom / 20_000.0_f64).sqrt();
            assert!((moments.mean - freedom).abs() < 4.0 * error, "{freedom} {}", moments.mean);
            let variance = moments.variance().unwrap() / (2.0 * freedom);
            assert!((variance - 1.0).abs() < 0.15, "{freedom} {variance}");
        }
    }
}
