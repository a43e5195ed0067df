//! Does it warm up? Page's trend test over ranks within executions, Friedman's test of any effect of the
//! index, and the size of the trend.

use crate::stats::Interval;

/// The trend within executions, over the indices that all executions have.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// `N`: executions.
    pub executions: usize,
    /// `n`: measurements of each that are used, those of the shortest.
    pub measurements: usize,
    /// Page's `L = Σ i·R_i`, with `R_i` the sum over executions of the rank of measurement `i` within
    /// its execution.
    pub l: f64,
    /// `N n (n+1)² / 4`.
    pub expected: f64,
    /// The square root of `N n² (n+1)² (n−1) / 144`, less where there are ties.
    pub sd: f64,
    /// Page's test, two-sided by the normal distribution: exact only for independent measurements.
    pub p_page: f64,
    /// The test that the warning uses: Student's t of the executions' own rank correlations with the index.
    /// Executions are independent even where neighbouring measurements are not.
    pub p: f64,
    /// The mean over executions of Spearman's rank correlation with the index, −1 to 1: below 0 it gets
    /// faster.
    pub correlation: f64,
    /// Friedman's statistic, chi-squared with `n − 1` degrees of freedom for independent measurements.
    pub friedman: f64,
    /// Its probability if the index had no effect.
    pub p_friedman: f64,
    /// By how much the first tenth of an execution is slower than its second half, relative (.01 is 1 %):
    /// the median over executions with its interval. Below 0 it slows down.
    pub effect: Interval,
    /// How much slower than the second half of its execution each of up to 50 equally long parts of an
    /// execution is: medians over executions, relative.
    pub profile: Vec<f64>,
    /// How many measurements at the start are slower than the second half by `min_effect / 2` or more, in
    /// whole parts of the profile.
    pub warm_up: usize,
}
