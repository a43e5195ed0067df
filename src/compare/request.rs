//! What is asked of a comparison: plain values, whoever asks.

use std::time::Duration;

use crate::{
    config::{Gate, StoppingRule, VerdictSettings},
    model::{Benchmark, Version},
};

/// Two versions to compare, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Base and head.
    pub versions: [Version; 2],
    /// Which release the head is judged against as well.
    pub gate: Option<Gate>,
    /// Which of the benchmarks that both versions have are measured.
    pub benchmarks: Benchmarks,
    /// How they are judged.
    pub verdicts: VerdictSettings,
    /// How long a benchmark is measured that is not decided.
    pub patience: StoppingRule,
    /// How long all are measured together, if that is limited; with a release, in both comparisons together.
    pub budget: Option<Duration>,
    /// Whether finished experiments on the same versions with the same settings are taken instead of measuring again.
    pub reuses: bool,
    /// Whether it is found out which of the benchmarks that are not measured are the same machine code: that takes linking
    /// them.
    pub identifies: bool,
    /// Whether it is found out where the instructions of benchmarks went that execute more or fewer.
    pub explains: bool,
    /// Whether nothing is measured, and only the plan is reported.
    pub only_plan: bool,
}

/// Which benchmarks are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Benchmarks {
    /// Those that execute or read something that differs between the versions.
    Affected,
    /// All.
    All,
    /// These, whatever they execute and read.
    These(Vec<Benchmark>),
}

impl Request {
    /// A request to measure what differs between two versions, base and head, and to judge it.
    pub const fn new(versions: [Version; 2], verdicts: VerdictSettings) -> Self {
        Self {
            versions,
            gate: None,
            benchmarks: Benchmarks::Affected,
            verdicts,
            patience: StoppingRule::Usual,
            budget: None,
            reuses: false,
            identifies: false,
            explains: false,
            only_plan: false,
        }
    }
}
