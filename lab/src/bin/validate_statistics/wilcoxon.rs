//! The signed-rank test of Wilcoxon (1945) with its exact null distribution, and the estimate and
//! interval of Hodges & Lehmann (1963) that belong to it.
//!
//! `W` is the sum of the ranks, by size, of the positive differences. If differences are symmetric
//! about 0, every sign is a toss of a coin, so `W` is a sum of a random half of the ranks.
//! Differences of pairs of builds are symmetric where nothing changed, because layouts and the
//! order of executions are drawn alike for both versions.

/// The distribution of `W` if nothing differs, in halves of ranks: equal sizes share their mean
/// rank.
#[derive(Clone, Debug)]
pub struct Null {
    /// P(2W <= index).
    cumulative: Vec<f64>,
}

impl Null {
    /// The distribution for `count` differences of different sizes.
    pub fn for_count(count: usize) -> Self {
        Self::of_doubled(&(1..=count).map(|rank| 2 * rank).collect::<Vec<_>>())
    }

    /// Adds rank after rank: half of the previous probability stays, and half moves up by the rank.
    fn of_doubled(ranks: &[usize]) -> Self {
        let most: usize = ranks.iter().sum();
        let mut density = vec![0.0; most + 1];
        density[0] = 1.0;
        for rank in ranks {
            for at in (0..=most).rev() {
                let moved = if at >= *rank { density[at - rank] } else { 0.0 };
                density[at] = f64::midpoint(density[at], moved);
            }
        }
        let mut sum = 0.0;
        let add = |density: f64| {
            sum += density;
            sum
        };
        Self { cumulative: density.into_iter().map(add).collect() }
    }

    /// P(W <= `w`), where `doubled` is `2w`.
    fn at_most(&self, doubled: usize) -> f64 {
        self.cumulative[doubled.min(self.cumulative.len() - 1)]
    }

    /// The two-sided p value of `w`, where `doubled` is `2w`.
    fn two_sided(&self, doubled: usize) -> f64 {
        let mirrored = self.cumulative.len() - 1 - doubled;
        (2.0 * self.at_most(doubled.min(mirrored))).min(1.0)
    }

    /// The largest `w` that a two-sided test at this rate rejects; none if even 0 is too likely.
    pub fn critical(&self, rate: f64) -> Option<usize> {
        let most = self.cumulative.len() / 2;
        let rejected = |w: &usize| 2.0 * self.at_most(2 * w) <= rate;
        (0..=most / 2).take_while(rejected).last()
    }

    /// The rejection rate of a two-sided test at this nominal rate if nothing differs.
    pub fn size(&self, rate: f64) -> f64 {
        self.critical(rate).map_or(0.0, |w| 2.0 * self.at_most(2 * w))
    }
}

/// The two-sided p value of "the differences are symmetric about 0". `null` is for this number of
/// differences of different sizes. With zeros, which carry no information, or equal sizes, their
/// exact distribution is used.
pub fn two_sided_p(differences: &[f64], null: &Null) -> f64 {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let is_tied = |pair: &[f64]| pair[0].abs() >= pair[1].abs();
    if sorted.len() == differences.len() && !sorted.windows(2).any(is_tied) {
        let positive = sorted.iter().zip(1..).filter(|(d, _)| **d > 0.0);
        return null.two_sided(positive.map(|(_, rank): (_, usize)| 2 * rank).sum());
    }
    let doubled = doubled_ranks(&sorted);
    let positive = sorted.iter().zip(&doubled).filter(|(d, _)| **d > 0.0);
    Null::of_doubled(&doubled).two_sided(positive.map(|(_, rank)| rank).sum())
}

/// Twice the ranks of values that are sorted by size; equal ones have their mean.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for same in sorted.chunk_by(|a, b| a.abs() >= b.abs()) {
        let first = ranks.len() + 1;
        ranks.extend(std::iter::repeat_n(2 * first + same.len() - 1, same.len()));
    }
    ranks
}

/// The Walsh averages: the means of all pairs of differences, each with itself too, sorted.
pub fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (index, one) in differences.iter().enumerate() {
        averages.extend(differences[index..].iter().map(|other| f64::midpoint(*one, *other)));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// The interval of the center that the test at this rate does not reject; none if it rejects
/// nothing.
pub fn interval(differences: &[f64], null: &Null, rate: f64) -> Option<[f64; 2]> {
    let outside = null.critical(rate)?;
    let averages = walsh_averages(differences);
    Some([averages[outside], averages[averages.len() - 1 - outside]])
}

/// The asymptotic relative efficiency: the number of differences that the t test needs for each
/// that this one needs, in the limit of many small ones. It is `12 σ² (∫ f²)²`, where `f` is a
/// normal density with a share of one that is `width` times as wide.
pub fn efficiency(share: f64, width: f64) -> f64 {
    let parts = [(1.0 - share, 1.0), (share, width)];
    let variance: f64 = parts.iter().map(|(p, s)| p * s * s).sum();
    let mut integral = 0.0;
    for (p, s) in parts {
        for (q, r) in parts {
            integral += p * q / (std::f64::consts::TAU * (s * s + r * r)).sqrt();
        }
    }
    12.0 * variance * integral * integral
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_differences_reject_at_five_percent_up_to_eight() {
        let null = Null::for_count(10);
        assert_eq!(null.critical(0.05), Some(8));
        assert!((null.size(0.05) - 50.0 / 1024.0).abs() < 1e-15, "{}", null.size(0.05));
        assert!((null.at_most(0) - 1.0 / 1024.0).abs() < 1e-18);
        let all_up: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!((two_sided_p(&all_up, &null) - 2.0 / 1024.0).abs() < 1e-15);
    }

    #[test]
    fn five_differences_reject_nothing_at_five_percent() {
        let null = Null::for_count(5);
        assert_eq!((null.critical(0.05), null.critical(0.02)), (None, None));
        assert!((two_sided_p(&[1.0, 2.0, 3.0, 4.0, 5.0], &null) - 1.0 / 16.0).abs() < 1e-15);
        assert_eq!(null.critical(0.1), Some(0));
        assert_eq!(Null::for_count(6).critical(0.05), Some(0));
        assert_eq!(Null::for_count(6).critical(0.02), None);
    }

    #[test]
    fn interval_ends_at_the_ninth_of_fifty_five_averages() {
        let differences = [0.3, -1.2, 0.8, -0.4, 1.1, 2.9, 0.1, 0.6, -0.7, 0.05];
        let averages = walsh_averages(&differences);
        assert_eq!(averages.len(), 55);
        let found = interval(&differences, &Null::for_count(10), 0.05).unwrap();
        assert_eq!(found.map(f64::to_bits), [averages[8], averages[46]].map(f64::to_bits));
        // It is the set of centers that the test does not reject.
        let null = Null::for_count(10);
        let p = |center: f64| two_sided_p(&differences.map(|d| d - center), &null);
        for end in found {
            let inwards = (0.0 - end).signum() * 1e-9;
            assert!(p(end + inwards) > 0.05 && p(end - inwards) <= 0.05, "{end}");
        }
    }

    #[test]
    fn equal_sizes_share_a_rank_and_zeros_count_for_nothing() {
        assert_eq!(doubled_ranks(&[1.0, -2.0, 2.0, 3.0]), [2, 5, 5, 8]);
        // Signs of 1, 2, 2, 3: all up is one of 16.
        assert!(
            (two_sided_p(&[1.0, 2.0, 2.0, 3.0], &Null::for_count(4)) - 2.0 / 16.0).abs() < 1e-15
        );
        assert!(
            (two_sided_p(&[0.0, 1.0, 2.0, 3.0], &Null::for_count(4)) - 2.0 / 8.0).abs() < 1e-15
        );
        assert!((two_sided_p(&[0.0, 0.0], &Null::for_count(2)) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn efficiency_is_the_known_one() {
        for (share, width, known) in [(0.0, 1.0, 0.955), (0.1, 3.0, 1.37), (0.1, 5.0, 2.41)] {
            let found = efficiency(share, width);
            assert!((found - known).abs() < 0.006, "{width}: {found}");
        }
    }
}
