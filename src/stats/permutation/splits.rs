//! All splits of the builds of two versions into two groups of the same sizes, and how many of them
//! are as extreme as the observed one by Welch's `|t|`.

use super::TIE;
use crate::stats::random::Random;

/// Up to so many splits, C(20, 10), every split is tried.
const EXACT_SPLITS: u64 = 184_756;

/// The pooled values and the observed split.
///
/// A group is known by its sum and its sum of squares, so a split costs the same for any number of
/// builds. Sums run in the order of values: then splits that agree in their values agree to the last
/// bit, and neither the order of the builds nor that of the versions matters.
pub(super) struct Splits {
    /// In ascending order, less their mean, which keeps the sums of squares small.
    values: Vec<f64>,
    /// The size of the smaller group, which a split is told by.
    size: usize,
    total: Sums,
    observed: Contrast,
}

/// Sum and sum of squares of a group.
#[derive(Clone, Copy, Default)]
struct Sums {
    sum: f64,
    squares: f64,
}

/// Welch's `t²` as numerator and denominator, either of which may be 0.
struct Contrast {
    /// The squared difference of the means.
    difference: f64,
    /// Its estimated variance.
    variance: f64,
}

impl Splits {
    pub(super) fn new(a: &[f64], b: &[f64]) -> Self {
        let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        let mut pooled: Vec<(f64, bool)> = few.iter().map(|&value| (value, true)).collect();
        pooled.extend(many.iter().map(|&value| (value, false)));
        pooled.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mean = pooled.iter().map(|(value, _)| value).sum::<f64>() / pooled.len() as f64;
        let values: Vec<f64> = pooled.iter().map(|(value, _)| value - mean).collect();
        // Of two groups of one size, the one with the smallest value stands for the split.
        let mirrored = few.len() == many.len() && !pooled[0].1;
        let group = values.iter().zip(&pooled).filter(|(_, (_, few))| few ^ mirrored);
        let inside = group.fold(Sums::default(), |sums, (value, _)| sums.with(*value));
        let total = values.iter().fold(Sums::default(), |sums, value| sums.with(*value));
        let observed = contrast(inside, total, few.len(), values.len());
        Self { values, size: few.len(), total, observed }
    }

    /// How many splits are at least as extreme as the observed one, and how many there are, unless they
    /// are too many to try.
    pub(super) fn count_extreme(&self) -> Option<(u64, u64)> {
        let all = binomial(self.values.len(), self.size)?;
        if 2 * self.size == self.values.len() {
            // Exchanging the groups leaves |t| alone: the smallest value may stay inside.
            let first = Sums::default().with(self.values[0]);
            return Some((self.count(1, self.size - 1, first), all / 2));
        }
        Some((self.count(0, self.size, Sums::default()), all))
    }

    /// How many extreme splits have these `sums` inside and `missing` more of the values at `from..`.
    fn count(&self, from: usize, missing: usize, sums: Sums) -> u64 {
        if missing == 0 {
            return u64::from(self.is_extreme(sums));
        }
        let last = self.values.len() - missing;
        (from..=last)
            .map(|index| self.count(index + 1, missing - 1, sums.with(self.values[index])))
            .sum()
    }

    /// Something for [`Self::is_random_extreme`] to choose from.
    pub(super) fn indices(&self) -> Vec<usize> {
        (0..self.values.len()).collect()
    }

    /// Is a random split at least as extreme as the observed one?
    pub(super) fn is_random_extreme(&self, indices: &mut [usize], random: &mut Random) -> bool {
        let chosen = random.choose_front(indices, self.size);
        let with = |sums: Sums, index: &usize| sums.with(self.values[*index]);
        self.is_extreme(chosen.iter().fold(Sums::default(), with))
    }

    fn is_extreme(&self, inside: Sums) -> bool {
        let Contrast { difference, variance } =
            contrast(inside, self.total, self.size, self.values.len());
        // t² ≥ t²_observed without divisions by zero.
        difference * self.observed.variance >= self.observed.difference * variance * (1.0 - TIE)
    }
}

impl Sums {
    fn with(self, value: f64) -> Self {
        Self { sum: self.sum + value, squares: self.squares + value * value }
    }
}

/// The contrast of a group of `size` values with the others of `count`.
fn contrast(inside: Sums, total: Sums, size: usize, count: usize) -> Contrast {
    let group = |Sums { sum, squares }: Sums, size: f64| {
        let mean = sum / size;
        (mean, (squares - sum * mean).max(0.0) / ((size - 1.0) * size))
    };
    let outside = Sums { sum: total.sum - inside.sum, squares: total.squares - inside.squares };
    let (mean_in, variance_in) = group(inside, size as f64);
    let (mean_out, variance_out) = group(outside, (count - size) as f64);
    let difference = (mean_in - mean_out).powi(2);
    Contrast { difference, variance: variance_in + variance_out }
}

/// C(`n`, `k`), if it is at most [`EXACT_SPLITS`].
fn binomial(n: usize, k: usize) -> Option<u64> {
    let mut result = 1;
    for i in 0..k.min(n - k) as u64 {
        // An integer after every step, and no step overflows: the result is small before it.
        result = result * (n as u64 - i) / (i + 1);
        if result > EXACT_SPLITS {
            return None;
        }
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Moments;

    /// Welch's `|t|` by its definition.
    fn welch(a: &[f64], b: &[f64]) -> f64 {
        let [a, b] = [a, b].map(Moments::of);
        let square = |m: &Moments| m.variance().unwrap() / m.count as f64;
        (a.mean - b.mean).abs() / (square(&a) + square(&b)).sqrt()
    }

    #[test]
    fn counting_by_sums_agrees_with_trying_every_split_by_the_definition() {
        let a = [3.1, 4.7, 5.2, 9.6];
        for b in [&[4.9, 6.3, 7.7][..], &[4.9, 6.3, 7.7, 8.8], &[4.9, 6.3, 7.7, 8.8, 2.2]] {
            let pooled = [&a[..], b].concat();
            let observed = welch(&a, b);
            let (mut extreme, mut all) = (0, 0);
            for choice in (0u32..1 << pooled.len()).filter(|choice| choice.count_ones() == 4) {
                let (inside, outside): (Vec<_>, Vec<_>) =
                    (0..pooled.len()).partition(|index| choice >> index & 1 == 1);
                let group = |indices: Vec<usize>| -> Vec<f64> {
                    indices.into_iter().map(|index| pooled[index]).collect()
                };
                extreme +=
                    u64::from(welch(&group(inside), &group(outside)) >= observed * 0.999_999);
                all += 1;
            }
            let (counted, of) = Splits::new(&a, b).count_extreme().unwrap();
            assert_eq!(counted * all, extreme * of);
        }
    }

    #[test]
    fn splits_are_counted_up_to_ten_against_ten() {
        assert_eq!(binomial(7, 3), Some(35));
        assert_eq!((binomial(20, 10), binomial(21, 10)), (Some(184_756), None));
        assert_eq!((binomial(1000, 1), binomial(1000, 500)), (Some(1000), None));
    }
}
