//! Are neighbours in time alike? The rank version of von Neumann's ratio, Bartels 1982, for the independence
//! that Kalibera et al. 2005, section 4, assume.

use crate::stats::Interval;

/// How alike neighbouring measurements of one execution are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// `N`: executions that were tested.
    pub executions: usize,
    /// The mean over executions of `Σ (R_i − R_{i+1})² / Σ (R_i − R̄)²`: 2 for independent measurements, less
    /// where neighbours are alike, up to 4 where they alternate.
    pub ratio: f64,
    /// Two-sided, of the mean ratio, by the normal distribution with Bartels' variance.
    pub p: f64,
    /// `1 − ratio / 2`, with its interval: about the correlation of the ranks of neighbours.
    pub correlation: Interval,
    /// The standard error of one execution's trimmed mean, relative, from parts of the execution: right however
    /// neighbours are alike.
    pub error: f64,
    /// The same as if measurements were independent.
    pub error_if_independent: f64,
}
