//! How much a random initial state matters: impact factors, Kalibera et al. 2005, figure 2.

use crate::stats::{Interval, impact::Impact};

/// The influence of one level: of starting the program again, or of building it again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Influence {
    /// The factor by bootstrap, and the factor without the shift of each data set: near 1 if the additive
    /// model fits (2005, section 5.2).
    pub impact: Impact,
    /// `sqrt(1 + T_above² / T_below²)`, which the factor is near where the additive model holds, with its
    /// interval.
    pub analytic: Interval,
    /// The standard deviation that this level adds, relative to the mean: .01 is 1 %.
    pub relative_sd: f64,
    /// The probability of so large an influence if there were none: of the F test of this level. NaN if there
    /// is no test.
    pub p: f64,
}
