//! Estimates the effect of the code layout alone, to show what comparing a single build of each
//! commit would have reported. Pure: uses measured values only.

use crate::stats::Summary;

/// The difference of two builds above which most people would suspect a change.
pub const NOTICED: f64 = 0.05;

/// The effect of layouts on a benchmark whose code did not change.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutEffect {
    /// The id of the benchmark.
    pub benchmark: String,
    /// The build values of the base with the fastest and the slowest layout, in the metric's unit.
    pub range: [f64; 2],
    /// The standard deviation, on the log scale, of the part of the build values that both versions
    /// share layout by layout: it comes from the layouts and not from noise.
    pub spread: f64,
    /// The share of that part in the variation between builds: the correlation of both versions.
    pub share: f64,
    /// The number of pairs of one build of each version with *different* layouts, and the number of
    /// them that differ by more than 5 %.
    pub pairs: [usize; 2],
}

impl LayoutEffect {
    /// Estimates the effect on a benchmark measured with the same layouts in two versions; `None`
    /// if they have fewer than three layouts in common.
    pub fn from_summaries(benchmark: &str, [base, head]: [&Summary; 2]) -> Option<Self> {
        let of_head = |seed| head.builds().iter().find(|build| build.seed == seed);
        let both: Vec<[f64; 2]> = base
            .builds()
            .iter()
            .filter_map(|build| Some([build.value, of_head(build.seed)?.value]))
            .collect();
        if both.len() < 3 {
            return None;
        }
        let logs = |version: usize| -> Vec<f64> {
            both.iter().map(|values| values[version].ln()).collect()
        };
        let (x, y) = (logs(0), logs(1));
        let differences = (0..both.len()).flat_map(|i| {
            let others = (0..both.len()).filter(move |j| *j != i);
            let (x, y) = (&x, &y);
            others.map(move |j| (y[j] - x[i]).abs())
        });
        let shared = covariance(&x, &y);
        let of_base = both.iter().map(|values| values[0]);
        Some(Self {
            benchmark: benchmark.to_owned(),
            range: [
                of_base.clone().fold(f64::INFINITY, f64::min),
                of_base.fold(f64::NEG_INFINITY, f64::max),
            ],
            spread: shared.max(0.0).sqrt(),
            share: shared / (covariance(&x, &x) * covariance(&y, &y)).sqrt(),
            pairs: [
                both.len() * (both.len() - 1),
                differences.filter(|d| *d > NOTICED.ln_1p()).count(),
            ],
        })
    }

    /// The relative slowdown from the fastest to the slowest layout: 0.3 is 30 %.
    pub fn width(&self) -> f64 {
        self.range[1] / self.range[0] - 1.0
    }
}

/// The sample covariance of two series of the same length.
fn covariance(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    products / (x.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Metric,
        stats::{Estimator, Measurements},
    };

    fn version(builds: &[f64]) -> Summary {
        let builds = builds.iter().enumerate().map(|(seed, value)| (seed as u64, [[*value]]));
        Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
    }

    fn effect(base: &[f64], head: &[f64]) -> LayoutEffect {
        LayoutEffect::from_summaries("x", [&version(base), &version(head)]).unwrap()
    }

    #[test]
    fn layout_effect_is_common_to_both_versions() {
        let of_layout = effect(&[10.0, 13.0, 10.0, 13.0], &[10.0, 13.0, 10.0, 13.0]);
        assert!((of_layout.width() - 0.3).abs() < 1e-9);
        // The standard deviation of two values taken twice each is 1/sqrt(3) of their distance.
        assert!((of_layout.share - 1.0).abs() < 1e-9);
        assert!((of_layout.spread - 1.3_f64.ln() / 3.0_f64.sqrt()).abs() < 1e-9);
        let of_chance = effect(&[10.0, 13.0, 10.0, 13.0], &[10.0, 10.0, 13.0, 13.0]);
        assert!(of_chance.spread.abs() < 1e-9, "{of_chance:?}");
        assert!(of_chance.share.abs() < 1e-9, "{of_chance:?}");
    }

    #[test]
    fn pairs_count_builds_with_different_layouts() {
        // Of twelve ordered pairs of different layouts, eight are a fast one and a slow one.
        assert_eq!(effect(&[10.0, 13.0, 10.0, 13.0], &[10.0, 13.0, 10.0, 13.0]).pairs, [12, 8]);
        assert_eq!(effect(&[10.0; 4], &[10.1; 4]).pairs, [12, 0]);
    }

    #[test]
    fn two_layouts_have_no_effect_estimate() {
        assert_eq!(
            LayoutEffect::from_summaries("x", [&version(&[1.0, 2.0]), &version(&[1.0, 2.0])]),
            None
        );
    }
}
