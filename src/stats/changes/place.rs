//! Where a change may be.

use crate::stats::segmentation::Sums;

/// The places `first ..= last` that contain a change with this probability, if every place between the changes beside it
/// was as likely before: `exp(−cost / 2)` of each place, with the best levels for it. They lie around `at`, the best.
pub(super) fn interval(sums: &Sums, [start, at, end]: [usize; 3], confidence: f64) -> [usize; 2] {
    let cost = |place: usize| sums.cost(start, place) + sums.cost(place, end);
    let least = cost(at);
    let density = |place: usize| ((least - cost(place)) / 2.0).exp();
    let total: f64 = (start + 1..end).map(density).sum();
    let (mut first, mut last, mut covered) = (at, at, density(at));
    while covered < confidence * total {
        let before = if first > start + 1 { density(first - 1) } else { -1.0 };
        let after = if last + 1 < end { density(last + 1) } else { -1.0 };
        if before.max(after) < 0.0 {
            break;
        }
        if before > after {
            first -= 1;
            covered += before;
        } else {
            last += 1;
            covered += after;
        }
    }
    [first, last]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64], at: usize) -> [usize; 2] {
        interval(&Sums::of(values, &vec![1.0; values.len()]), [0, at, values.len()], 0.95)
    }

    #[test]
    fn a_large_change_has_one_place() {
        assert_eq!(of(&[0.0, 0.1, 0.0, 9.0, 9.1, 9.0], 3), [3, 3]);
    }

    #[test]
    fn a_value_between_two_levels_may_belong_to_either() {
        assert_eq!(of(&[0.0, 0.0, 0.0, 4.5, 9.0, 9.0, 9.0], 4), [3, 4]);
    }

    #[test]
    fn a_small_change_may_be_nearly_anywhere() {
        let [first, last] = of(&[0.0, 0.4, -0.3, 0.5, 0.2, 0.8], 3);
        assert_eq!([first, last], [1, 5]);
    }
}
