//! Removes the steps of a clock, which are no property of the benchmark.

use crate::stats::Random;

/// Moves each value at random by up to half a step if most are equal to others, so that distributions and differences
/// show the benchmark, not the clock. If the step is unknown (0), it is the smallest difference.
pub fn without_steps(values: &[f64], resolution: f64, random: &mut Random) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let differences = || sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    let smallest = differences().fold(f64::INFINITY, f64::min);
    let step = if resolution > 0.0 { resolution } else { smallest };
    if differences().count() > values.len() / 2 || !step.is_finite() {
        return values.to_vec();
    }
    values.iter().map(|value| value + (random.unit() - 0.5) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_steps_moves_only_stepped_values_by_half_a_step() {
        let mut random = Random::new(1);
        let fine: Vec<f64> = (0..50).map(|_| 100.0 + random.normal()).collect();
        assert_eq!(without_steps(&fine, 0.0, &mut random), fine);
        assert_eq!(without_steps(&[7.0; 9], 0.0, &mut random), [7.0; 9]);
        let coarse: Vec<f64> = fine.iter().map(|value| (value / 2.0).round() * 2.0).collect();
        for (resolution, most) in [(0.0, 1.0), (0.5, 0.25)] {
            let moved = without_steps(&coarse, resolution, &mut random);
            let furthest =
                moved.iter().zip(&coarse).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(furthest <= most && furthest > 0.8 * most, "{furthest}");
        }
    }
}
