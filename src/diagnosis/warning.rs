//! What of a diagnosis should worry anybody, as numbers from which reports write sentences.

/// A level of the experiment whose initial state matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Executions of one build.
    Executions,
    /// Builds, each in its own layout.
    Builds,
}

/// A phenomenon with its size. Each has p below .001 and a size that matters; the sizes are relative, .01 is 1 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// The initial state matters: an impact factor above 1.1 at a level whose standard deviation is `min_effect`
    /// or more.
    Influence {
        /// Of executions or of builds.
        level: Level,
        /// The impact factor.
        factor: f64,
        /// The standard deviation that the level adds.
        relative_sd: f64,
        /// Of the F test of the level.
        p: f64,
    },
    /// It warms up: the first tenth of an execution is slower than its second half by `min_effect / 2` or more.
    WarmUp {
        /// By how much.
        effect: f64,
        /// How many measurements at the start are slower by `min_effect / 2` or more.
        measurements: usize,
        /// Of the trend.
        p: f64,
    },
    /// It slows down: the first tenth of an execution is faster than its second half by `min_effect / 2` or more.
    SlowDown {
        /// By how much, as a positive number.
        effect: f64,
        /// Of the trend.
        p: f64,
    },
    /// Executions of one build settle in states that are `min_effect` or more apart.
    SeveralSteadyStates {
        /// From the 10 % to the 90 % quantile of states.
        spread: f64,
        /// From the lowest to the highest.
        range: f64,
        /// Of the F test of executions.
        p: f64,
    },
    /// One execution in ten or more leaps by `min_effect / 2` or more. Executions that only warm up do not
    /// count where [`Warning::WarmUp`] says so.
    Leaps {
        /// Executions that leap.
        leaping: usize,
        /// All executions that were looked at.
        executions: usize,
        /// Of those that leap, how many only warm up.
        warm_up: usize,
        /// Of those that leap, how many end in a state that is not their fastest.
        slow_down: usize,
        /// Of those that leap, how many have no steady state.
        no_steady_state: usize,
        /// The largest distance between two segments, the median over executions that leap.
        distance: f64,
        /// The largest p of those that leap.
        p: f64,
    },
    /// One execution in ten or more has several states at the same time, `min_effect` or more apart.
    SimultaneousStates {
        /// Executions that have.
        executions: usize,
        /// All executions that were tested.
        of: usize,
        /// The distance between the states of the typical one.
        distance: f64,
        /// The share of slower measurements in the typical one.
        slower: f64,
        /// The largest p of those that have.
        p: f64,
    },
    /// Neighbours in time are so alike that an execution's value is less sure by `min_effect / 2` or more than
    /// the number of its measurements suggests.
    Neighbours {
        /// The correlation of the ranks of neighbours.
        correlation: f64,
        /// The relative standard error of an execution's trimmed mean.
        error: f64,
        /// The same as if measurements were independent.
        error_if_independent: f64,
        /// Of the rank von Neumann test.
        p: f64,
    },
    /// What ran before matters by `min_effect` or more.
    Prologue {
        /// By how much slower after others; below 0: faster.
        change: f64,
        /// Of no change.
        p: f64,
    },
}
