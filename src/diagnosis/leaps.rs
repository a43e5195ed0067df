//! Does it leap within one execution? Gil et al. 2011, section 5, with change points by PELT (Killick et al.
//! 2012) and the classes of Barrett et al. 2017.

use super::Position;

/// The segments of every execution, and what they make of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaps {
    /// Each execution that has enough measurements, in the order of the builds and their rounds.
    pub executions: Vec<Segments>,
    /// A leap is at least so large, relative.
    pub threshold: f64,
}

/// One execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    /// Which execution.
    pub position: Position,
    /// One after the other in time; each has at least 5 % of the measurements, and differs from its neighbours
    /// by the threshold at least.
    pub segments: Vec<Segment>,
    /// The class.
    pub class: Class,
    /// The probability, at most, that the clearest leap is chance; 1 without any.
    pub p: f64,
}

/// A stretch of one execution without a leap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// The index of its first measurement, from 0.
    pub start: usize,
    /// The index after its last measurement.
    pub end: usize,
    /// The median of its measurements, in the metric's unit.
    pub level: f64,
}

/// Barrett's classes of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// One segment.
    Flat,
    /// It ends in its fastest state.
    WarmUp,
    /// It ends in a state that is not its fastest.
    SlowDown,
    /// It still leaps in its last quarter.
    NoSteadyState,
}
