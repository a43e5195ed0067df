//! How the estimate of an execution varies with the number of its measurements, and the number that pays best.
//!
//! Of means, [`plan`](super::plan) knows that `n` measurements leave `E/n` of their variance. How an estimate by
//! order statistics varies follows from no component, so it is looked up: an execution of `N` measurements has
//! `⌊N/n⌋` stretches of `n`, each of which is what a shorter execution would have measured.

use super::{
    components::Levels,
    data::{BuildMeasurements, Measurements},
    estimator::{Estimator, Scratch},
    moments::Moments,
    plan::{Cost, Optimum, best_executions},
};

/// Numbers of measurements that are tried, as far as executions have so many.
const TRIED: [usize; 9] = [1, 2, 3, 5, 10, 20, 30, 50, 100];

/// A loss must be this much smaller for more measurements to be worth it: estimates of variances are uncertain.
const NOTEWORTHY: f64 = 0.95;

/// How many measurements of an execution give the smallest variance for a given cost, with the best number of
/// executions for each: `(b + (w + n)·m)·(V + W_n/m)` is least, where `W_n` is the variance of executions of `n`
/// measurements, by this estimator, about their build, and `V` that of builds. On logs.
///
/// None where no build has two executions, or there is one build, or executions have a single measurement. Never
/// more than they have.
pub fn best_measurements(
    data: &Measurements,
    estimator: Estimator,
    cost: &Cost,
    most_executions: usize,
) -> Option<usize> {
    let all = shortest(data);
    if all < 2 {
        return None;
    }
    let builds = between_builds(data, estimator)?;
    let mut best: Option<(usize, f64)> = None;
    for n in TRIED.into_iter().filter(|n| *n < all).chain([all]) {
        let within = within_builds(data, estimator, n)?;
        let levels = Levels { version: builds, build: within, execution: 0.0 };
        let of_one = cost.execution + n as f64;
        let price = Cost { execution: of_one, ..*cost };
        let m = match best_executions(&levels, &price) {
            Optimum::About(number) => number.clamp(1.0, most_executions.max(1) as f64),
            other => other.at_most(most_executions) as f64,
        };
        let loss = (cost.build + of_one * m * cost.repeat) * (builds + within / m);
        if best.is_none_or(|(_, least)| loss < NOTEWORTHY * least) {
            best = Some((n, loss));
        }
    }
    best.map(|(n, _)| n)
}

/// The measurements of the shortest execution.
fn shortest(data: &Measurements) -> usize {
    let executions = data.builds().flat_map(|build| build.executions().map(<[f64]>::len));
    executions.min().unwrap_or(0)
}

/// `W_n`: the variance of logarithms of estimates of `n` measurements, of executions within builds.
fn within_builds(data: &Measurements, estimator: Estimator, n: usize) -> Option<f64> {
    let stretches = shortest(data) / n;
    let mut scratch = Scratch::default();
    let (mut squares, mut freedom) = (0.0, 0);
    for build in data.builds() {
        for stretch in 0..stretches {
            let part = stretch * n..(stretch + 1) * n;
            let log =
                |execution: &[f64]| estimator.estimate(&execution[part.clone()], &mut scratch).ln();
            let logs: Vec<f64> = build.executions().map(log).collect();
            squares += Moments::of(&logs).squares;
            freedom += logs.len() - 1;
        }
    }
    (freedom > 0).then(|| squares / freedom as f64)
}

/// `V`, 0 at least: the variance of logarithms of builds, without what their executions explain.
fn between_builds(data: &Measurements, estimator: Estimator) -> Option<f64> {
    let mut scratch = Scratch::default();
    let mut mean_log = |build: BuildMeasurements<'_>| {
        let logs: Vec<f64> = build
            .executions()
            .map(|execution| estimator.estimate(execution, &mut scratch).ln())
            .collect();
        let moments = Moments::of(&logs);
        (moments.mean, moments.squares, logs.len())
    };
    let builds: Vec<(f64, f64, usize)> = data.builds().map(&mut mean_log).collect();
    let l = builds.len();
    let freedom: usize = builds.iter().map(|(_, _, m)| m - 1).sum();
    if l < 2 || freedom == 0 {
        return None;
    }
    let means: Vec<f64> = builds.iter().map(|(mean, _, _)| *mean).collect();
    let of_means = Moments::of(&means).squares / (l as f64 - 1.0);
    let within = builds.iter().map(|(_, squares, _)| squares).sum::<f64>() / freedom as f64;
    let inverse = builds.iter().map(|(_, _, m)| 1.0 / *m as f64).sum::<f64>() / l as f64;
    Some((of_means - within * inverse).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Metric, stats::Random};

    /// Ten builds of eight executions of so many measurements. Standard deviations in percent.
    fn data(
        measurements: usize,
        of_builds: f64,
        of_executions: f64,
        of_measurements: f64,
    ) -> Measurements {
        let mut random = Random::new(7);
        let builds = (0..10).map(|seed| {
            let build = of_builds * random.normal();
            let execution = |_| {
                let execution = build + of_executions * random.normal();
                let value = |_| 100.0 + execution + of_measurements * random.normal().abs();
                (0..measurements).map(value).collect::<Vec<f64>>()
            };
            (seed, (0..8).map(execution).collect::<Vec<_>>())
        });
        Measurements::new(Metric::wall(), builds).unwrap()
    }

    const COST: Cost = Cost { build: 5.0, execution: 2.0, repeat: 1.0 };

    #[test]
    fn measurements_that_hardly_differ_are_not_repeated() {
        let found = best_measurements(&data(20, 1.0, 1.0, 0.01), Estimator::Minimum, &COST, 4);
        assert_eq!(found, Some(1));
    }

    #[test]
    fn measurements_are_repeated_where_they_are_what_varies() {
        let noisy = data(20, 0.01, 0.01, 5.0);
        for estimator in [Estimator::Mean, Estimator::Minimum] {
            let found = best_measurements(&noisy, estimator, &COST, 4).unwrap();
            assert!(found >= 5, "{estimator}: {found}");
        }
        // The variance of a minimum falls much faster than that of a mean.
        let [mean, minimum] = [Estimator::Mean, Estimator::Minimum]
            .map(|estimator| within_builds(&noisy, estimator, 10).unwrap());
        assert!(minimum < mean / 3.0, "{minimum} {mean}");
    }

    #[test]
    fn a_mean_of_n_measurements_has_one_nth_of_their_variance() {
        let noisy = data(20, 1.0, 0.0, 5.0);
        let [one, ten] = [1, 10].map(|n| within_builds(&noisy, Estimator::Mean, n).unwrap());
        assert!((one / ten / 10.0 - 1.0).abs() < 0.25, "{one} {ten}");
    }

    #[test]
    fn what_was_not_repeated_tells_nothing() {
        let once = data(1, 1.0, 1.0, 1.0);
        assert_eq!(best_measurements(&once, Estimator::Minimum, &COST, 4), None);
        let build = |seed: u64| (seed, [[1.0, 2.0]]);
        let alone = Measurements::new(Metric::wall(), [build(1), build(2)]).unwrap();
        assert_eq!(best_measurements(&alone, Estimator::Minimum, &COST, 4), None);
    }
}
