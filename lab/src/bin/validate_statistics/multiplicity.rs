//! Many benchmarks, many p values: Holm's and Benjamini-Hochberg's adjustments.
//!
//! rbench does not use them: its protection against many benchmarks is the second stage, on fresh
//! builds. The suites of this study compare the two methods.

/// Holm's adjusted p values, in the order of the given ones:
/// `p(i) = max over h <= i of min(1, (G − h + 1) · p(h))` for the sorted p values.
///
/// Rejecting those of at most α keeps P(any false rejection) at α, whatever the dependence.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        largest = largest.max(((order.len() - rank) as f64 * p_values[index]).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

/// Benjamini and Hochberg's adjusted p values, in the order of the given ones:
/// `p(i) = min over h >= i of min(1, G · p(h) / h)` for the sorted p values.
///
/// Rejecting those of at most α keeps the expected share of false ones among the rejections at α,
/// for independent or positively dependent benchmarks.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![0.0; p_values.len()];
    let mut smallest = 1.0_f64;
    for (rank, &index) in order.iter().enumerate().rev() {
        smallest = smallest.min(order.len() as f64 * p_values[index] / (rank + 1) as f64);
        adjusted[index] = smallest;
    }
    adjusted
}

/// The indices of `p_values`, from the smallest value to the largest.
fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_close(obtained: &[f64], expected: &[f64]) {
        assert_eq!(obtained.len(), expected.len());
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(obtained.iter().zip(expected).all(close), "{obtained:?}");
    }

    #[test]
    fn holm_agrees_with_a_case_computed_by_hand() {
        // Sorted: .01 ×4, .02 ×3, .03 ×2 (= .06, as before), .04 ×1 (raised to .06).
        assert_close(&holm(&[0.04, 0.01, 0.03, 0.02]), &[0.06, 0.04, 0.06, 0.06]);
        assert_close(&holm(&[0.9, 0.8]), &[1.0, 1.0]);
    }

    #[test]
    fn benjamini_hochberg_agrees_with_a_case_computed_by_hand() {
        // Sorted: .01 ×4/1, .02 ×4/2, .03 ×4/3, .04 ×4/4: all .04.
        assert_close(&benjamini_hochberg(&[0.04, 0.01, 0.03, 0.02]), &[0.04; 4]);
        assert_close(&benjamini_hochberg(&[0.5, 0.001, 0.2]), &[0.5, 0.003, 0.3]);
    }

    #[test]
    fn single_or_no_p_value_stays_the_same() {
        assert_close(&holm(&[0.03]), &[0.03]);
        assert_close(&benjamini_hochberg(&[0.03]), &[0.03]);
        assert_close(&holm(&[]), &[]);
        assert_close(&benjamini_hochberg(&[]), &[]);
    }

    proptest! {
        #[test]
        fn adjusting_raises_keeps_the_order_and_holm_is_the_stricter(
            p_values in prop::collection::vec(0.0..=1.0, 1..30),
        ) {
            let (holm, bh) = (holm(&p_values), benjamini_hochberg(&p_values));
            for i in 0..p_values.len() {
                prop_assert!(bh[i] >= p_values[i] - 1e-12 && holm[i] >= bh[i] - 1e-12);
                prop_assert!(holm[i] <= 1.0);
                for j in 0..p_values.len() {
                    if p_values[i] < p_values[j] {
                        prop_assert!(holm[i] <= holm[j] && bh[i] <= bh[j]);
                    }
                }
            }
        }
    }
}
