//! The request of a comparison as plain values, independent of the command that makes it.

use std::time::Duration;

use crate::{
    config::{Gate, StoppingRule, VerdictSettings},
    model::{Benchmark, Version},
};

/// A request to compare two versions.
#[derive(Clone, Debug)]
pub struct Request {
    /// Base and head.
    pub versions: [Version; 2],
    /// The release to compare the head with as well.
    pub gate: Option<Gate>,
    /// The benchmarks to measure, among those that both versions have.
    pub benchmarks: Benchmarks,
    /// The settings of the verdicts.
    pub verdicts: VerdictSettings,
    /// The rule that ends the measurements of an undecided benchmark.
    pub stopping: StoppingRule,
    /// The limit for the time of all measurements together, if any; with a release, of both
    /// comparisons.
    pub budget: Option<Duration>,
    /// True to use finished experiments on the same versions with the same settings instead of
    /// measuring again.
    pub reuses: bool,
    /// True to find the skipped benchmarks that are the same machine code, which requires linking
    /// them.
    pub identifies: bool,
    /// True to explain changed instruction counts by function.
    pub explains: bool,
    /// True to measure nothing and report only the plan.
    pub only_plan: bool,
}

/// The benchmarks to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Benchmarks {
    /// Those that execute or read something that differs between the versions.
    Affected,
    /// All.
    All,
    /// These, without impact analysis.
    These(Vec<Benchmark>),
}

impl Request {
    /// A request to measure the affected benchmarks of base and head, and to decide.
    pub const fn new(versions: [Version; 2], verdicts: VerdictSettings) -> Self {
        Self {
            versions,
            gate: None,
            benchmarks: Benchmarks::Affected,
            verdicts,
            stopping: StoppingRule::Usual,
            budget: None,
            reuses: false,
            identifies: false,
            explains: false,
            only_plan: false,
        }
    }
}
