//! Which estimator would serve? The tables of Haveraaen & Hundvebakke 2001, of one's own benchmark.

use crate::stats::{Estimator, Interval};

/// Every estimator at numbers of measurements from 1 to n.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    /// The numbers of measurements, ascending: the paper's odd numbers up to 19, then about twice as many each
    /// time, and n.
    pub counts: Vec<usize>,
    /// For each candidate, one entry for each of `counts`.
    pub table: Vec<(Candidate, Vec<Precision>)>,
}

/// A way to make one value of the measurements of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Candidate {
    /// An estimator that executions can be measured with.
    Of(Estimator),
    /// The mean of what remains when a quarter is cut at each end.
    InterquartileMean,
    /// The slope of the least-squares line through the time elapsed after i measurements, against i (Chen &
    /// Revels 2016, section III-B): what happens once is in its intercept.
    Slope,
}

/// One estimator at one number of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// The mean of its values, in the metric's unit.
    pub value: f64,
    /// The standard deviation between executions of one build, relative to `value` (.01 is 1 %), with its
    /// interval for normal values.
    pub relative_sd: Interval,
}
