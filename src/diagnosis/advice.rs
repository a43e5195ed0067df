//! How many builds, executions and measurements: 2005 (8), 2006 (18)-(23), with unbiased components.

use crate::{
    model::Dimensions,
    stats::plan::{Cost, Optimum},
};

/// The dimensions that would give the most precision for the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// What was assumed, in the time of one measurement.
    pub cost: Cost,
    /// `n0`: measurements of each execution.
    pub measurements: Repetitions,
    /// `m0`: executions of each build.
    pub executions: Repetitions,
    /// The half-width that `l0` is for, relative to the mean: half of the smallest effect of interest.
    pub half_width: f64,
    /// `l0` builds of `m0` executions of `n0` measurements, in whole numbers. None if more than 1,000 builds
    /// would be needed.
    pub dimensions: Option<Dimensions>,
    /// The half-width that the dimensions of these data give, relative to the mean.
    pub half_width_now: f64,
}

/// The best number of repetitions at one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetitions {
    /// From the components as estimated.
    pub best: Optimum,
    /// The interval of `best`: where the components are unsure, both ends differ widely. Infinite where the
    /// level above may not vary.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}
