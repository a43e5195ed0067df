//! Finds change points of a mean, and estimates the long-run variance of the values.

use super::values::mean;
use crate::{median, segmentation::Sums};

/// The changes of the mean: the indices at which new segments start, ascending.
///
/// Minimises `Σ (Σ (x − mean of its segment)² + penalty)` over all divisions into segments of at least `shortest`
/// values. `penalty` is in the squared unit of the values.
pub fn change_points(values: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    Sums::new(values, &vec![1.0; values.len()]).divide(penalty, shortest)
}

/// The long-run variance: `length` times the variance of the mean of a long stretch. A few changes of the mean do not
/// affect it.
///
/// The largest of three estimates. One assumes an autoregressive process of order 1, with variance and correlation from
/// the differences of values one and two apart (Chakar et al. 2017), few of which contain a change. The other two use
/// the differences of neighbouring blocks as long as the shortest segment, and twice as long: slow wandering shows only
/// there.
pub fn long_run_variance(values: &[f64], block: usize) -> f64 {
    let blocks = between_blocks(values, block).max(between_blocks(values, 2 * block));
    autoregressive(values).max(blocks)
}

fn autoregressive(values: &[f64]) -> f64 {
    let (one, two) = (squared_difference(values, 1), squared_difference(values, 2));
    if one <= 0.0 {
        return 0.0;
    }
    // E (x_t − x_{t+1})² = 2σ² (1 − ρ), and two apart 2σ² (1 − ρ²).
    let correlation = (two / one - 1.0).clamp(0.0, 0.95);
    let variance = one / (2.0 * (1.0 - correlation));
    variance * (1.0 + correlation) / (1.0 - correlation)
}

/// The expected squared difference of normal values `apart` places apart, from the 75 % quantile of absolute
/// differences.
fn squared_difference(values: &[f64], apart: usize) -> f64 {
    let pairs = values.iter().zip(values.iter().skip(apart));
    let mut differences: Vec<f64> = pairs.map(|(a, b)| (a - b).abs()).collect();
    if differences.is_empty() {
        return 0.0;
    }
    let rank = differences.len() * 3 / 4;
    let (_, at, _) = differences.select_nth_unstable_by(rank, f64::total_cmp);
    (*at / 1.150_349).powi(2)
}

fn between_blocks(values: &[f64], block: usize) -> f64 {
    let means: Vec<f64> = values.chunks_exact(block.max(1)).map(mean).collect();
    let mut differences: Vec<f64> =
        means.iter().zip(&means[1.min(means.len())..]).map(|(a, b)| (a - b).abs()).collect();
    if differences.is_empty() {
        return 0.0;
    }
    // The median of |N(0, 1)| is .6745, and a difference has twice the variance of a block.
    let sd = median(&mut differences) / 0.674_490;
    block as f64 * sd * sd / 2.0
}

/// Replaces each value that stands out from the five before and the five after it by their median (Hampel): one slow
/// value must not look like a short segment, and a level shift stays one.
pub fn without_spikes(values: &[f64]) -> Vec<f64> {
    const BESIDE: usize = 5;
    const LIMIT: f64 = 3.0;
    let replaced = |index: usize| {
        let from = index.saturating_sub(BESIDE);
        let window = &values[from..(index + BESIDE + 1).min(values.len())];
        let center = median(&mut window.to_vec());
        let mut distances: Vec<f64> = window.iter().map(|value| (value - center).abs()).collect();
        let spread = 1.4826 * median(&mut distances);
        if (values[index] - center).abs() > LIMIT * spread { center } else { values[index] }
    };
    (0..values.len()).map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn change_points_find_steps_and_ignore_spikes() {
        let mut random = Random::new(1);
        let mut values: Vec<f64> = (0..200).map(|_| random.normal()).collect();
        for value in &mut values[..80] {
            *value += 4.0;
        }
        values[150] = 50.0;
        let smooth = without_spikes(&values);
        assert!(smooth[150] < 4.0);
        let variance = long_run_variance(&smooth, 10);
        assert!((0.5..2.5).contains(&variance), "{variance}");
        let changes = change_points(&smooth, 30.0 * variance, 10);
        assert_eq!(changes.len(), 1);
        assert!(changes[0].abs_diff(80) <= 1, "{changes:?}");
    }

    #[test]
    fn long_run_variance_of_an_ar_process_matches_theory() {
        let mut random = Random::new(2);
        for correlation in [0.0, 0.5, 0.8] {
            let mut at = 0.0;
            let values: Vec<f64> = (0..20_000)
                .map(|_| {
                    at = correlation * at + random.normal();
                    at
                })
                .collect();
            let expected = 1.0 / (1.0_f64 - correlation).powi(2);
            let ratio = autoregressive(&values) / expected;
            assert!((ratio - 1.0).abs() < 0.4, "{correlation} {ratio}");
            let ratio = between_blocks(&values, 200) / expected;
            assert!((ratio - 1.0).abs() < 0.35, "{correlation} {ratio}");
        }
    }
}
