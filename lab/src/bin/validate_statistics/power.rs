//! The power of one stage, and the gain from pairing.

use std::f64::consts::FRAC_PI_2;

use cargo_rbench::model::{Metric, SampleSizes};
use rbench_stats::{
    Comparison, Estimator, Levels, Measurements, Pairing, Random, Rule, Summary,
    distribution::t_quantile,
    power::{noncentral_t_cdf, two_sided_power},
};

use super::{
    alarms::{flagged, flags},
    sheet::{Sheet, Target},
    simulation::Simulation,
};

/// The false-alarm rate of the checks.
const ALPHA: f64 = 0.05;

/// Only builds vary, with variance 1 and this correlation between versions.
fn only_builds(builds: usize, correlation: f64) -> Simulation {
    let dimensions = SampleSizes { first_analysis: None, builds, executions: 1, measurements: 1 };
    let truth = Levels { execution: 0.0, build: 0.0, version: 1.0 };
    Simulation { correlation, ..Simulation::new(truth, dimensions) }
}

/// The smallest changes that the two rules flag with a power of 80 %, where builds of different
/// layouts differ by 30 %, and those of one layout by .5 % more or less than the change.
///
/// Those of `paired` are from the noncentral t distribution. Those of `overlap` are the 80 %
/// quantiles of the smallest changes that separate the two intervals, over 600,000 and more
/// experiments drawn by other software.
pub fn of_rules(sheet: &mut Sheet) {
    for (builds, of_paired, of_overlap) in [(5, 0.84, 93.0), (10, 0.5, 56.0)] {
        // Both rules get the same layouts.
        let trials = sheet.trials(40_000);
        for (rule, percent) in [(Rule::Paired, of_paired), (Rule::Overlap, of_overlap)] {
            let estimate = trials.rate(|random| {
                let versions = of_shared_layouts(builds, percent / 100.0, random)?;
                flags(&versions, Pairing::BySeed, rule)
            });
            let check =
                format!("power, {rule}, {percent} %, layouts ± 30 %, pairs ± .5 %, l={builds}");
            sheet.estimated(check, Target::Within(0.8, 0.015), estimate);
        }
    }
}

/// Two versions of builds of the same layouts.
fn of_shared_layouts(builds: usize, change: f64, random: &mut Random) -> Option<[Summary; 2]> {
    let mut drawn = || {
        let base = 1000.0 * (0.3 * random.normal()).exp();
        [base, base * (1.0 + change) * (0.005 * random.normal()).exp()]
    };
    let pairs: Vec<[f64; 2]> = std::iter::repeat_with(&mut drawn).take(builds).collect();
    let version = |version: usize| {
        let builds = (0..).zip(pairs.iter().map(|pair| [[pair[version]]]));
        let measurements = Measurements::new(Metric::wall(), builds).ok()?;
        Some(Summary::compute(&measurements, Estimator::Mean))
    };
    Some([version(0)?, version(1)?])
}

/// The power of `paired` is that of the noncentral t distribution.
pub fn one_stage(sheet: &mut Sheet) {
    // With correlation 1/2 the differences have the variance of the builds, 1.
    for (builds, effect) in [(5, 1.68), (10, 0.75), (10, 1.0), (10, 1.5)] {
        let noncentrality = effect / (1.0 / builds as f64).sqrt();
        let exact = two_sided_power(builds as f64 - 1.0, noncentrality, ALPHA);
        let check = format!("power, paired, change of {effect} sd of d, l={builds}");
        found(sheet, check, exact, Pairing::BySeed, effect, only_builds(builds, 0.5));
    }
    for (builds, effect) in [(5, 2.02), (10, 1.32), (20, 0.91)] {
        let exact = welch_power(builds, effect);
        let check = format!("power, Welch, change of {effect} sd of build means, l={builds}");
        found(sheet, check, exact, Pairing::Unpaired, effect, only_builds(builds, 0.0));
    }
}

fn found(
    sheet: &mut Sheet,
    check: String,
    exact: f64,
    pairing: Pairing,
    shift: f64,
    simulation: Simulation,
) {
    let simulation = Simulation { shift, ..simulation };
    let estimate =
        sheet.trials(40_000).rate(|random| flagged(&simulation, pairing, Rule::Paired, random));
    // Four digits of the exact value are more than the tolerance needs.
    let exact = (exact * 1e4).round() / 1e4;
    sheet.estimated(check, Target::Within(exact, 0.015), estimate);
}

/// The exact power of Welch's test for two versions of `l` normal builds with equal variances.
///
/// With equal `l` the statistic is that of the pooled test, noncentral t with `2(l − 1)` degrees of
/// freedom; only the critical value varies, with Welch's `ν = (l − 1) / (s² + (1 − s)²)` for the
/// share `s` of one version in the sum of variances. That share has a Beta((l−1)/2, (l−1)/2)
/// distribution and is independent of the sum. With `s = sin² θ` its density is smooth at both
/// ends, and the midpoint rule suffices.
///
/// Using `2(l − 1)` for the critical value as well gives 2.3 points too much at l = 5, and less
/// than half a point from l = 10 on.
pub fn welch_power(builds: usize, effect: f64) -> f64 {
    const POINTS: usize = 200;
    let pairs = builds as f64 - 1.0;
    let noncentrality = effect / (2.0 / builds as f64).sqrt();
    let (mut weights, mut total) = (0.0, 0.0);
    for point in 0..POINTS {
        let (sin, cos) = ((point as f64 + 0.5) / POINTS as f64 * FRAC_PI_2).sin_cos();
        let weight = (sin * cos).powf(pairs - 1.0);
        let critical = t_quantile(1.0 - ALPHA / 2.0, pairs / (sin.powi(4) + cos.powi(4)));
        let cdf = |x| noncentral_t_cdf(x, 2.0 * pairs, noncentrality);
        weights += weight;
        total += weight * (1.0 - cdf(critical) + cdf(-critical));
    }
    total / weights
}

/// The gain is the correlation; whatever it is, pairing keeps the false-alarm rate.
pub fn pairing(sheet: &mut Sheet) {
    for correlation in [0.0, 0.5, 0.9] {
        let simulation = only_builds(30, correlation);
        let gain = sheet.trials(20_000).mean(|random| {
            let [base, head] =
                simulation.two(random).ok()?.map(|data| Summary::compute(&data, Estimator::Mean));
            Comparison::new(&base, &head, Pairing::BySeed, ALPHA).ok()?.gain
        });
        let check = format!("pairing gain at correlation {correlation}, l=30");
        sheet.estimated(check, Target::Within(correlation, 0.02), gain);
        let simulation = only_builds(10, correlation);
        let alarms = sheet
            .trials(60_000)
            .rate(|random| flagged(&simulation, Pairing::BySeed, Rule::Paired, random));
        let check = format!("false alarms, paired, correlation {correlation}, l=10");
        sheet.estimated(check, Target::Between(0.045, 0.055), alarms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By 200-point Gauss-Legendre quadrature over another parameter, with scipy 1.17.
    #[test]
    fn power_of_welch_agrees_with_other_software() {
        assert!((welch_power(5, 2.02) - 0.774_934).abs() < 1e-5);
        assert!((welch_power(10, 1.32) - 0.792_804).abs() < 1e-5);
        assert!((welch_power(5, 0.0) - 0.044_183).abs() < 1e-5);
    }
}
