//! One steady state, or several: Gil et al. 2011, sections 3 and 4.

use super::{Densities, FTest, Position};

/// Where the executions of one build settle.
///
/// The state of an execution is the mean of the trimmed means of ten parts of it, one after the other in time:
/// neither outliers nor a few measurements of another state move it, and how the parts differ tells how
/// well it is known, also where neighbours in time are alike. States are told without the effects of
/// builds: other layouts are other programs.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyStates {
    /// Each execution, in the order of the builds and their rounds.
    pub states: Vec<State>,
    /// Between executions of one build, against between the parts of one execution.
    pub test: FTest,
    /// How far apart the states of executions of one build are, relative: from the 10 % to the 90 % quantile.
    pub spread: f64,
    /// The lowest and the highest state less the effects of builds, as indices into `states`.
    pub extremes: [usize; 2],
    /// How far apart these two are, relative to the mean.
    pub range: f64,
    /// Density curves with one width.
    pub common: Densities,
    /// Density curves each with its own.
    pub own: Densities,
}

/// The state of one execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Which execution.
    pub position: Position,
    /// Its state, in the metric's unit, as measured.
    pub value: f64,
    /// The standard error of that, from the parts of the execution.
    pub error: f64,
    /// Its distance from the mean of all, relative, without the effect of its build.
    pub deviation: f64,
}
