//! Whether p values are as they are where nothing changed: uniform.

/// How far the distribution of some p values is from the uniform one, by Kolmogorov and Smirnov.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniformity {
    /// N: how many p values there are.
    pub count: usize,
    /// D⁺: by how much more of them are below some value than should be. Small p values are false alarms.
    pub too_small: f64,
    /// D⁻: by how much fewer are.
    pub too_large: f64,
}

impl Uniformity {
    /// √N·D is above this for one uniform sample in 20, where N is large.
    pub const USUAL: f64 = 1.36;

    /// Of these p values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let steps = (1_u32..).map(f64::from).zip(&sorted);
        let excess =
            steps.map(|(rank, p)| [rank / count as f64 - p, p - (rank - 1.0) / count as f64]);
        let largest =
            excess.fold([0.0_f64; 2], |most, one| [most[0].max(one[0]), most[1].max(one[1])]);
        let [too_small, too_large] = largest;
        (count > 0).then_some(Self { count, too_small, too_large })
    }

    /// √N·D, where D is the larger of both.
    pub fn statistic(&self) -> f64 {
        (self.count as f64).sqrt() * self.too_small.max(self.too_large)
    }

    /// Whether it is the small ones of which there are more than should be, rather than the large ones.
    pub fn has_small_ones(&self) -> bool {
        self.too_small > self.too_large
    }

    /// How likely so many small ones are of uniform p values: Smirnov's exp(−2 N D⁺²), which is right for large N
    /// and too large for a small one.
    pub fn p_of_small_ones(&self) -> f64 {
        (-2.0 * self.count as f64 * self.too_small.powi(2)).exp()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_a_textbook_comes_out() {
        // Banks, Carson, Nelson and Nicol, Discrete-Event System Simulation: D+ = .26, D- = .21.
        let found = Uniformity::of(&[0.44, 0.81, 0.14, 0.05, 0.93]).unwrap();
        assert!((found.too_small - 0.26).abs() < 1e-12, "{found:?}");
        assert!((found.too_large - 0.21).abs() < 1e-12, "{found:?}");
        assert!((found.statistic() - 5.0_f64.sqrt() * 0.26).abs() < 1e-12);
        assert!(found.has_small_ones());
    }

    #[test]
    fn p_values_that_are_all_small_or_all_one_are_told_apart() {
        let small = Uniformity::of(&[0.01; 30]).unwrap();
        assert!(small.statistic() > Uniformity::USUAL && small.has_small_ones());
        assert!(small.p_of_small_ones() < 1e-20);
        let large = Uniformity::of(&[1.0; 30]).unwrap();
        assert!(large.statistic() > Uniformity::USUAL && !large.has_small_ones());
        assert_eq!(large.p_of_small_ones(), 1.0);
        assert_eq!(Uniformity::of(&[]), None);
    }

    proptest! {
        #[test]
        fn evenly_spread_values_are_as_near_as_any_can_be(count in 1..200_u32) {
            let values: Vec<f64> =
                (0..count).map(|at| (f64::from(at) + 0.5) / f64::from(count)).collect();
            let found = Uniformity::of(&values).unwrap();
            prop_assert!((found.too_small - 0.5 / f64::from(count)).abs() < 1e-12);
            prop_assert!((found.too_large - 0.5 / f64::from(count)).abs() < 1e-12);
        }
    }
}
