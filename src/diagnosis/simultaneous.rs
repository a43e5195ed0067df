//! Several states at the same time: Hartigan's dip test of each execution (Hartigan & Hartigan 1985), for what
//! Gil et al. 2011, section 5, saw in their figure 9.

use super::Position;

/// The modes of every execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Simultaneous {
    /// Each execution that has enough measurements, in the order of the builds and their rounds.
    pub executions: Vec<Modes>,
    /// The executions that have several states: p below .001, and states apart by `min_effect`.
    pub several: usize,
    /// Of these, the one with the median distance, as an index into `executions`.
    pub typical: Option<usize>,
}

/// One execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Which execution.
    pub position: Position,
    /// How many of its measurements were tested: fewer than it has where neighbours in time are alike.
    pub tested: usize,
    /// The dip: the largest distance of the empirical distribution from the nearest unimodal one, from
    /// `1/(2n)` to 1/4.
    pub dip: f64,
    /// The probability of so large a dip of a uniform distribution, which no unimodal one exceeds.
    pub p: f64,
    /// The best two groups: the medians of the faster and of the slower, in the metric's unit.
    pub levels: [f64; 2],
    /// The share of measurements in the slower group, from .1 to .9.
    pub slower: f64,
    /// How far apart the groups are, relative to the faster.
    pub distance: f64,
    /// The gap ratio: their distance, in standard deviations within the groups; infinite if these are constant.
    pub gap_ratio: f64,
}
