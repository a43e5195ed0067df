//! How long must a measurement be? The curve that Algorithm 1 of Chen & Revels 2016 decides on.

/// Relative errors against iterations per measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Length {
    /// By ascending iterations.
    pub points: Vec<LengthPoint>,
    /// What the errors are relative to: the median at the most iterations, in the metric's unit per iteration.
    pub reference: f64,
}

/// All measurements of one number of iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthPoint {
    /// Iterations per measurement.
    pub iterations: u64,
    /// Measurements of so many iterations.
    pub measurements: usize,
    /// Their median, in the metric's unit per iteration.
    pub value: f64,
    /// The root of the mean squared relative deviation from the reference: .01 is 1 %.
    pub error: f64,
}

impl Length {
    /// From measurements as (iterations, value per iteration), in any order. None without any.
    pub fn of(measurements: &[(u64, f64)]) -> Option<Self> {
        todo!("{measurements:?}")
    }
}
