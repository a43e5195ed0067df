//! Where the variance comes from: Kalibera et al. 2006, (14)-(16), with the unbiased components.

use crate::stats::{Components, Estimator, Interval, Levels};

/// The components of variance, their shares, and whether layouts and executions differ at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// The mean of all build means, in the metric's unit.
    pub mean: f64,
    /// The squares and components of *means*, in the squared unit; see [`Components`].
    pub components: Components,
    /// What share of the variance of a single measurement each level adds, from 0 to 1: together 1. A
    /// component below 0 counts as 0. The intervals are generalized ones (Weerahandi 1993): the shares that
    /// the observed squares would have under draws of their chi-squared distributions.
    pub shares: Levels<Option<Interval>>,
    /// By which estimator `of_executions` and `layout` judge.
    pub estimator: Estimator,
    /// What share of the variance of one execution's *estimate* its execution (with its measurements)
    /// adds, from 0 to 1; the rest is of the build. None with one execution of each build.
    pub of_executions: Option<Interval>,
    /// Do builds differ by more than their executions explain? By the estimator in use.
    pub layout: Option<FTest>,
    /// Do executions of one build differ by more than their measurements explain? By means, and as if
    /// measurements were independent: see [`SteadyStates::test`](super::SteadyStates::test).
    pub executions: Option<FTest>,
}

/// An F test of two mean squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FTest {
    /// The statistic: infinite where there is no variance below.
    pub f: f64,
    /// Degrees of freedom above and below.
    pub freedom: [f64; 2],
    /// The probability of so large an `f` if the upper level had no effect.
    pub p: f64,
}
