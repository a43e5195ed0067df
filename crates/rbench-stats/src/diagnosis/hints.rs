//! Cheap checks of the measurements of a comparison. They only suggest a diagnosis; they do not replace one.

use super::{Options, Trend, execution::executions, values::sorted};
use crate::{Measurements, Moments};

/// A reason to run a diagnosis. Sizes are relative: .01 is 1 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hint {
    /// The first tenth of an execution is slower than its second half by this much; below 0, faster.
    Trend { effect: f64 },
    TwoGroups {
        /// The distance between the means of the groups.
        distance: f64,
    },
}

/// The hints in these measurements and the values of their builds.
pub fn hints(data: &Measurements, builds: &[f64], options: &Options) -> Vec<Hint> {
    let trend = Trend::test(&executions(data), options).ok();
    let trend = trend.filter(|it| it.is_clear() && it.effect.center.abs() >= options.min_effect);
    let trend = trend.map(|trend| Hint::Trend { effect: trend.effect.center });
    let groups = two_groups(builds, options.min_effect);
    trend.into_iter().chain(groups.map(|distance| Hint::TwoGroups { distance })).collect()
}

/// The distance between the two groups of these values, if there are two, at least `min_effect` apart.
///
/// Uses the division into two groups of two or more values with the least squares within them. There are two groups if
/// the gap between them, in standard deviations within the groups, exceeds 130 divided by the number of values: normal,
/// uniform and exponential values exceed that about once in a thousand times.
pub fn two_groups(values: &[f64], min_effect: f64) -> Option<f64> {
    /// The least number of values for two groups.
    const FEWEST: usize = 8;
    const LIMIT: f64 = 130.0;
    if values.len() < FEWEST {
        return None;
    }
    let sorted = sorted(values.to_vec());
    let divided = (2..=sorted.len() - 2).map(|at| {
        let (low, high) = sorted.split_at(at);
        let (low, high) = (Moments::compute(low), Moments::compute(high));
        (low.squares + high.squares, sorted[at] - sorted[at - 1], low.mean, high.mean)
    });
    let (squares, gap, low, high) = divided.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let count = sorted.len() as f64;
    let sd = (squares / (count - 2.0)).sqrt();
    let distance = high / low - 1.0;
    (gap > LIMIT / count * sd && distance >= min_effect).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn two_groups_finds_two_and_not_one() {
        let mut random = Random::new(11);
        let mut values = |shift: f64| -> Vec<f64> {
            let noise =
                |at: usize| 100.0 + 0.1 * random.normal() + if at < 4 { shift } else { 0.0 };
            (0..10).map(noise).collect()
        };
        let distance = two_groups(&values(5.0), 0.01).unwrap();
        assert!((distance - 0.05).abs() < 0.002, "{distance}");
        assert_eq!(two_groups(&values(5.0), 0.1), None, "it does not matter");
        assert_eq!(two_groups(&[1.0, 1.0, 2.0, 2.0], 0.01), None, "too few");
        let found = (0..2000).filter(|_| two_groups(&values(0.0), 0.0).is_some()).count();
        assert!(found <= 6, "{found} of 2000");
    }
}
