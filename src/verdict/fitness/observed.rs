//! What one comparison of a version with itself says of one benchmark.

use std::{collections::HashMap, time::SystemTime};

use crate::{
    model::{Benchmark, LayoutSeed, Mode, Stage},
    stats::Verdict,
    store::StoredExecution,
    verdict::{DecidedRow, DecidedStage},
};

/// What a comparison said of a benchmark that did not change.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// In which repetition, from 0.
    pub repetition: usize,
    /// What was reported, by both stages.
    pub reported: Reported,
    /// What the first stage measured; `None` where nothing could be judged.
    pub first: Option<FirstStage>,
}

/// What is reported of a benchmark that did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// That it is slower, which is wrong.
    Regressed,
    /// That it is faster, which is wrong.
    Improved,
    /// That it did not change.
    Unchanged,
    /// Neither.
    Neither,
}

/// What the first stage measured of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstStage {
    /// The two-sided p value of "no change".
    pub p: f64,
    /// Whether a test at the false-alarm rate flags it: a false alarm.
    pub is_flagged: bool,
    /// The standard deviation of the difference of a pair of builds, on the log scale.
    pub deviation: f64,
    /// The smallest relative change of interest.
    pub min_effect: f64,
    /// How the executions were interleaved.
    pub mode: Mode,
    /// The pairs of executions.
    pub pairs: Vec<Pair>,
}

/// An execution of both versions in the same build and round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// When the first of both was started.
    pub started: SystemTime,
    /// Whether the head went second.
    pub is_head_second: bool,
    /// The logarithm of the ratio of the head's value to that of the base.
    pub log_ratio: f64,
}

/// The versions in their order.
const BASE: usize = 0;

impl Observed {
    /// What a judged row and the executions that it is judged by say, in a repetition and by a test at this rate;
    /// `went_first` knows which version went first
    /// in a round and a build.
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
        let reported = match row.verdict {
            Verdict::Regressed { .. } => Reported::Regressed,
            Verdict::Improved { .. } => Reported::Improved,
            Verdict::Unchanged { .. } => Reported::Unchanged,
            _ => Reported::Neither,
        };
        Self { benchmark: row.benchmark.clone(), repetition, reported, first }
    }
}

/// The pairs of executions of a stage, as far as both versions have a value, and it is known which went first.
fn pairs(
    stage: &DecidedStage,
    executions: &[StoredExecution],
    went_first: impl Fn(usize, LayoutSeed) -> Option<usize>,
) -> Vec<Pair> {
    let mut begun: HashMap<(usize, LayoutSeed), SystemTime> = HashMap::new();
    for row in executions.iter().filter(|row| row.slot.stage == Stage::First) {
        let Ok(execution) = &row.outcome else { continue };
        let start = execution.resources.start;
        let place = (row.slot.round as usize, row.slot.seed);
        begun.entry(place).and_modify(|known| *known = start.min(*known)).or_insert(start);
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
                    started: *begun.get(&(one.round, seed))?,
                    is_head_second: went_first(one.round, seed)? == BASE,
                    log_ratio: (beside.compared / one.compared).ln(),
                })
            };
            pairs.extend(pair());
        }
    }
    pairs
}
