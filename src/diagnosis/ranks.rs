//! Ranks with ties, for the distribution-free tests.

/// The ranks of some values.
pub struct Ranks {
    /// The ranks from 1, in the order of the values; tied values share the mean of their ranks.
    pub ranks: Vec<f64>,
    /// `Σ (R_i − R̄)² = (n³ − n − Σ (t³ − t)) / 12` over groups of `t` tied values.
    pub squares: f64,
}

impl Ranks {
    pub fn new(values: &[f64]) -> Self {
        let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let cube = |count: usize| (count as f64).powi(3) - count as f64;
        let mut ranks = vec![0.0; values.len()];
        let (mut before, mut squares) = (0, cube(values.len()));
        for tied in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
            for &(_, index) in tied {
                ranks[index] = rank;
            }
            before += tied.len();
            squares -= cube(tied.len());
        }
        Self { ranks, squares: squares / 12.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_tied_values_are_their_mean() {
        let Ranks { ranks, squares } = Ranks::new(&[3.0, 1.0, 3.0, 2.0, 3.0]);
        assert_eq!(ranks, [4.0, 1.0, 4.0, 2.0, 4.0]);
        let expected: f64 = ranks.iter().map(|rank| (rank - 3.0).powi(2)).sum();
        assert_eq!(squares, expected);
    }
}
