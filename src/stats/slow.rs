//! Which builds are outliers on the slow side.

use super::median::median;

/// A build is slow from so many robust standard deviations above the median: the limit for modified
/// z-scores of Iglewicz & Hoaglin 1993.
const LIMIT: f64 = 3.5;

/// The median absolute deviation of normal values is their standard deviation divided by this.
const NORMAL: f64 = 1.4826;

/// For each build value, whether it lies above the median of all by more than 3.5 robust standard
/// deviations (1.4826 × the median absolute deviation) and by at least the relative `min_effect`.
///
/// One fast or slow mode of fewer than half of the builds does not hide itself, as it would by inflating
/// a standard deviation.
pub fn slow(values: &[f64], min_effect: f64) -> Vec<bool> {
    let center = median(&mut values.to_vec());
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    let spread = NORMAL * median(&mut deviations);
    let limit = center + (LIMIT * spread).max(min_effect * center);
    values.iter().map(|value| *value > limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_mode_of_two_builds_in_ten_is_named() {
        let values = [100.0, 101.0, 99.0, 130.0, 100.5, 99.5, 131.0, 100.2, 99.8, 100.0];
        let named: Vec<usize> = slow(&values, 0.01)
            .iter()
            .enumerate()
            .filter(|(_, slow)| **slow)
            .map(|(i, _)| i)
            .collect();
        assert_eq!(named, [3, 6]);
    }

    #[test]
    fn the_spread_of_all_is_no_slow_layout_and_neither_is_a_fast_one() {
        assert_eq!(slow(&[90.0, 95.0, 100.0, 105.0, 110.0], 0.01), [false; 5]);
        assert_eq!(slow(&[100.0, 100.0, 100.0, 50.0], 0.01), [false; 4]);
    }

    #[test]
    fn a_difference_that_is_of_no_interest_is_not_named() {
        assert_eq!(slow(&[100.0, 100.0, 100.0, 100.5], 0.01), [false; 4]);
        assert_eq!(slow(&[100.0, 100.0, 100.0, 101.5], 0.01), [false, false, false, true]);
        assert!(slow(&[], 0.01).is_empty());
    }
}
