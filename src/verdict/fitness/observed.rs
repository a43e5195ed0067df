//! Extracts the evidence about one benchmark from one comparison of a version with itself (an A/A
//! comparison).

use std::{collections::HashMap, time::SystemTime};

use crate::{
    model::{Benchmark, LayoutSeed, Mode, Stage},
    store::StoredExecution,
    verdict::{DecidedRow, DecidedStage, VerdictKind},
};

/// The outcome of one A/A comparison for one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The benchmark compared.
    pub benchmark: Benchmark,
    /// The index of the repetition, from 0.
    pub repetition: usize,
    /// The verdict after both stages; a change is a false positive.
    pub reported: VerdictKind,
    /// The measurements of the first stage; `None` if it had no values.
    pub first: Option<FirstStage>,
}

/// The first stage of an A/A comparison of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstStage {
    /// The two-sided p value of "no change".
    pub p: f64,
    /// True if a test at the target error rate flags it, which is a false positive.
    pub is_flagged: bool,
    /// The standard deviation of the difference of a pair of builds, on the log scale.
    pub deviation: f64,
    /// The smallest relative change of interest.
    pub min_effect: f64,
    /// The mode of the executions: interleaved or sequential.
    pub mode: Mode,
    /// The pairs of executions.
    pub pairs: Vec<Pair>,
}

/// One execution of each version, in the same build and round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The start of the earlier of both.
    pub started: SystemTime,
    /// True if the head ran second.
    pub is_head_second: bool,
    /// The logarithm of the ratio of the head's value to the base's.
    pub log_ratio: f64,
}

/// The index of the base among the two versions.
const BASE: usize = 0;

impl Observed {
    /// Extracts the evidence of one repetition from a decided row and its executions, tested at
    /// this rate. `went_first` returns the version that ran first in a round and a build.
    pub fn new(
        row: &DecidedRow,
        executions: &[StoredExecution],
        (repetition, rate): (usize, f64),
        went_first: impl Fn(usize, LayoutSeed) -> Option<usize>,
    ) -> Self {
        let first = row.stages.first().map(|stage| {
            let comparison = &stage.assessment.comparison;
            let builds = comparison.builds[0].min(comparison.builds[1]);
            FirstStage {
                p: comparison.p,
                is_flagged: comparison.p <= rate,
                deviation: comparison.standard_error * (builds as f64).sqrt(),
                min_effect: stage.assessment.min_effect,
                mode: row.interleaving.map_or(Mode::Sequential, |all| all.mode),
                pairs: pairs(stage, executions, went_first),
            }
        });
        let reported = VerdictKind::new(&row.verdict);
        Self { benchmark: row.benchmark.clone(), repetition, reported, first }
    }
}

/// The pairs of executions of a stage in which both versions have a value and the order is known.
fn pairs(
    stage: &DecidedStage,
    executions: &[StoredExecution],
    went_first: impl Fn(usize, LayoutSeed) -> Option<usize>,
) -> Vec<Pair> {
    let mut starts: HashMap<(usize, LayoutSeed), SystemTime> = HashMap::new();
    for row in executions.iter().filter(|row| row.slot.stage == Stage::First) {
        let Ok(execution) = &row.outcome else { continue };
        let start = execution.resources.start;
        let place = (row.slot.round as usize, row.slot.seed);
        starts.entry(place).and_modify(|known| *known = start.min(*known)).or_insert(start);
    }
    let [base, head] = &stage.summaries;
    let mut pairs = Vec::new();
    for build in base.builds() {
        let Some(other) = head.builds().iter().find(|other| other.seed == build.seed) else {
            continue;
        };
        let seed = u32::try_from(build.seed).ok().and_then(LayoutSeed::new);
        for one in &build.estimates {
            let beside = other.estimates.iter().find(|beside| beside.round == one.round);
            let pair = || {
                let (seed, beside) = (seed?, beside?);
                Some(Pair {
                    started: *starts.get(&(one.round, seed))?,
                    is_head_second: went_first(one.round, seed)? == BASE,
                    log_ratio: (beside.compared / one.compared).ln(),
                })
            };
            pairs.extend(pair());
        }
    }
    pairs
}
