//! Which of many tests are discoveries, if a share of false ones among them is permitted.

/// The level that the p values of discoveries do not exceed, so that the expected share of false ones among all
/// discoveries is at most `rate` (Benjamini & Hochberg 1995); 0 if nothing is a discovery.
///
/// It is the largest `i · rate / n` that at least `i` of the `n` p values do not exceed. Holds for independent tests, and for
/// those that are positively dependent, as benchmarks of one program are.
pub fn discoveries(p_values: impl IntoIterator<Item = f64>, rate: f64) -> f64 {
    let mut sorted: Vec<f64> = p_values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let level = |rank: usize| (rank + 1) as f64 * rate / count;
    let last = sorted.iter().enumerate().rev().find(|(rank, p)| **p <= level(*rank));
    last.map_or(0.0, |(rank, _)| level(rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The p values of the example in section 3.2 of the paper: four of fifteen are discoveries at 5 %.
    #[test]
    fn the_papers_example_has_four_discoveries() {
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let level = discoveries(p_values, 0.05);
        assert_eq!(level, 4.0 * 0.05 / 15.0);
        assert_eq!(p_values.iter().filter(|p| **p <= level).count(), 4);
    }

    #[test]
    fn one_test_is_judged_at_the_rate_itself() {
        assert_eq!(discoveries([0.04], 0.05), 0.05);
        assert_eq!(discoveries([0.06], 0.05), 0.0);
        assert_eq!(discoveries([], 0.05), 0.0);
    }

    #[test]
    fn a_p_value_may_be_lifted_by_smaller_ones() {
        assert_eq!(discoveries([0.05, 0.03], 0.05), 0.05);
        assert_eq!(discoveries([0.06, 0.03], 0.05), 0.0);
    }
}
