//! Divides the variance between builds, executions and measurements: Kalibera et al. 2006, (14)-(16), with the unbiased
//! components.

use schemars::JsonSchema;
use serde::Serialize;

use super::{InsufficientData, Options, draws::draws, execution::interval_of_draws};
use crate::stats::{
    Components, Estimator, Interval, LayoutTest, Levels, Measurements, Random, Scratch, Summary,
    distribution::f_survival,
};

/// The stream of the seed for the draws.
const STREAM: u64 = 1;

/// The components of variance, their shares, and the tests for effects of layouts and executions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// The mean of all build means, in the metric's unit.
    pub mean: f64,
    /// The squares and components of *means*, in the squared unit; see [`Components`].
    pub components: Components,
    /// The share of each level in the variance of a single measurement, from 0 to 1: together 1. A component below 0
    /// counts as 0. The intervals are generalized ones (Weerahandi 1993): the shares of the observed squares under
    /// draws of their chi-squared distributions.
    pub shares: Levels<Option<Interval>>,
    /// The estimator behind `of_executions` and `layout`.
    pub estimator: Estimator,
    /// The share of the executions (with their measurements) in the variance of one execution's *estimate*, from 0 to
    /// 1; the rest is of the build. None with one execution of each build.
    pub of_executions: Option<Interval>,
    /// Tests whether builds differ by more than their executions explain, by the estimator in use.
    pub layout: Option<FTest>,
    /// Tests whether executions of one build differ by more than their measurements explain. By means, and assuming
    /// independent measurements: see [`SteadyStates::test`](super::SteadyStates::test).
    pub executions: Option<FTest>,
}

/// An F test of two mean squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FTest {
    /// The statistic: infinite, and null in JSON, where there is no variance below.
    #[schemars(with = "Option<f64>")]
    pub f: f64,
    /// The degrees of freedom above and below.
    #[serde(rename = "degrees_of_freedom")]
    pub freedom: [f64; 2],
    /// The p value of `f`, if the upper level had no effect.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

impl FTest {
    /// Tests `f`. None if it is NaN.
    pub(super) fn new(f: f64, freedom: [f64; 2]) -> Option<Self> {
        if f.is_nan() || freedom.iter().any(|freedom| *freedom < 1.0) {
            return None;
        }
        let p = if f.is_infinite() { 0.0 } else { f_survival(f, freedom[0], freedom[1]) };
        Some(Self { f, freedom, p })
    }
}

impl From<LayoutTest> for FTest {
    fn from(LayoutTest { f, freedom, p }: LayoutTest) -> Self {
        Self { f, freedom, p }
    }
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
        let EstimatedLevels { mean, components, draws } = means;
        let Components { s, freedom, weights, .. } = components;
        let executions = s.execution.zip(s.build).and_then(|(below, above)| {
            FTest::new(above / (weights.e_in_b * below), [freedom.build, freedom.execution])
        });
        let of_executions = |estimates: &EstimatedLevels| {
            shares(&estimates.components.t, &estimates.draws, options.confidence).build
        };
        Self {
            mean: *mean,
            components: *components,
            shares: shares(&components.t, draws, options.confidence),
            estimator: options.estimator,
            of_executions: estimates.and_then(of_executions),
            layout: estimates.and_then(|known| known.components.layout).map(FTest::from),
            executions,
        }
    }
}

/// The share of each known level, with its interval.
fn shares(
    components: &Levels<Option<f64>>,
    draws: &[Levels<Option<f64>>],
    confidence: f64,
) -> Levels<Option<Interval>> {
    let share = |level: fn(&Levels<Option<f64>>) -> Option<f64>| {
        let of = |components: &Levels<Option<f64>>| {
            let Levels { execution, build, version } = components;
            let total: f64 =
                [execution, build, version].into_iter().flatten().map(|t| t.max(0.0)).sum();
            let part = level(components)?.max(0.0);
            Some(if total > 0.0 { part / total } else { 0.0 })
        };
        let drawn = draws.iter().filter_map(of).collect();
        Some(interval_of_draws(of(components)?, drawn, confidence))
    };
    Levels {
        execution: share(|components| components.execution),
        build: share(|components| components.build),
        version: share(|components| components.version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::simulated::{Truth, simulated};

    fn variance(truth: Truth, options: &Options) -> Variance {
        let data = simulated(truth, [10, 8, 20], &mut Random::new(6));
        let means = EstimatedLevels::from_means(&data, options).unwrap();
        let estimates = EstimatedLevels::from_estimates(&data, options);
        Variance::new(&means, estimates.as_ref().ok(), options)
    }

    #[test]
    fn shares_add_up_to_1_and_lie_within_their_intervals() {
        let truth = Truth { version: 1.0, build: 1.0, execution: 1.0, ..Truth::default() };
        let found = variance(truth, &Options::default());
        let Levels { execution, build, version } = found.shares;
        let shares = [execution, build, version].map(Option::unwrap);
        assert!((shares.iter().map(|share| share.center).sum::<f64>() - 1.0).abs() < 1e-12);
        for Interval { low, center, high } in shares {
            assert!(0.0 <= low && low < center && center < high && high <= 1.0);
            assert!(low < 1.0 / 3.0 && 1.0 / 3.0 < high, "{low} {high}");
        }
        assert!(found.layout.unwrap().p < 0.01 && found.executions.unwrap().p < 0.001, "{found:?}");
    }

    #[test]
    fn constant_levels_have_no_significant_test() {
        let found = variance(Truth { execution: 1.0, ..Truth::default() }, &Options::default());
        assert!(found.layout.unwrap().p > 0.001 && found.executions.unwrap().p > 0.001);
        assert!(found.shares.execution.unwrap().center > 0.95);
    }

    #[test]
    fn layout_tests_agree_for_the_mean() {
        let truth = Truth { version: 1.0, build: 2.0, execution: 5.0, ..Truth::default() };
        let options = Options { estimator: Estimator::Mean, ..Options::default() };
        let found = variance(truth, &options);
        let (one, other) = (found.layout.unwrap(), found.components.layout.unwrap());
        assert!((one.f / other.f - 1.0).abs() < 1e-9);
    }
}
