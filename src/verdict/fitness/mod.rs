//! Evaluates a machine by A/A comparisons (a version compared with itself): the false-positive
//! rate, the kind of noise, and the smallest detectable change. Pure: it measures nothing.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::SystemTime,
};

use rbench_stats::{
    Proportion,
    noise::{
        Autocorrelation, PositionEffect, Uniformity, far_from_median, pooled, scaled,
        smallest_detectable,
    },
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{DecidedRow, DecidedStage, VerdictKind};
use crate::{
    model::{Benchmark, LayoutSeed, Mode, Stage},
    store::StoredExecution,
};

/// The numbers of builds for which the smallest detectable change is reported.
pub const BUILDS: [usize; 3] = [5, 10, 20];

/// The distance, in standard deviations, beyond which pairs are clipped, so that outliers do not
/// dominate the autocorrelation.
const CUT: f64 = 5.0;

/// The evaluation of repeated A/A comparisons that were all measured in one mode. A row is a
/// benchmark in a repetition, in its first metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fitness {
    /// True if verdicts of this machine can be trusted: no finding speaks against them.
    pub fit: bool,
    /// The most important first.
    pub findings: Vec<Finding>,
    /// The number of times that everything was compared.
    #[serde(skip)]
    pub repetitions: usize,
    /// The number of rows with a verdict.
    pub rows: usize,
    /// The number of rows measured interleaved.
    #[serde(rename = "rows_interleaved")]
    pub interleaved: usize,
    /// The number of rows that failed or skipped themselves.
    #[serde(rename = "rows_undecided")]
    pub undecided: usize,
    /// The rate at which the first stage may flag unchanged benchmarks.
    #[schemars(range(min = 0, max = 1))]
    pub target_error_rate: f64,
    /// Rows that the first stage flagged: false positives.
    pub flagged: Proportion,
    /// The number of rows reported as regressed, by mistake.
    pub regressed: usize,
    /// The number of rows reported as improved, by mistake.
    pub improved: usize,
    /// The number of repetitions with any row reported as regressed.
    #[serde(rename = "comparisons_with_regressions")]
    pub with_regressions: usize,
    /// The number of repetitions with any row reported as improved.
    #[serde(rename = "comparisons_with_improvements")]
    pub with_improvements: usize,
    /// Rows shown to be unchanged.
    pub unchanged: Proportion,
    /// The test that the p values of the first stage are uniform.
    #[serde(rename = "p_values")]
    pub uniformity: Option<Uniformity>,
    /// The difference between first and second executions of a pair.
    pub order: Option<PositionEffect>,
    /// The correlation of consecutive pairs of executions.
    pub autocorrelation: Option<Autocorrelation>,
    /// Pairs of executions beyond 5 median absolute deviations from the median of their benchmark;
    /// 0.07 % if they were normal.
    #[serde(rename = "far_pairs")]
    pub far: Proportion,
    /// The noise floor of each benchmark.
    #[serde(rename = "noise_floors")]
    pub floors: Vec<Floor>,
}

/// The noise floor of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Floor {
    /// The benchmark measured.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The standard deviation of the difference of a pair of builds, on the log scale: 0.01 is 1 %.
    #[schemars(range(min = 0))]
    pub deviation: f64,
    /// The smallest change of interest in this benchmark.
    #[schemars(range(min = 0))]
    pub min_effect: f64,
    /// The smallest detectable change for each number of [builds](BUILDS).
    pub detectable: [Detectable; 3],
}

/// The smallest relative change that a number of builds flags with a power of 80 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Detectable {
    /// The number of pairs of builds.
    pub builds: usize,
    /// The relative change: 0.01 is 1 %.
    #[schemars(range(min = 0))]
    pub change: f64,
}

impl Fitness {
    /// Evaluates the rows of all repetitions against a target false-positive rate of `target_rate`.
    pub fn evaluate(rows: &[Observed], repetitions: usize, target_rate: f64) -> Self {
        let decided: Vec<(&Observed, &FirstStage)> =
            rows.iter().filter_map(|row| Some((row, row.first.as_ref()?))).collect();
        let reported = |what| rows.iter().filter(move |row| row.reported == what);
        let comparisons_with =
            |what| reported(what).map(|row| row.repetition).collect::<BTreeSet<usize>>().len();
        let p_values: Vec<f64> = decided.iter().map(|(_, first)| first.p).collect();
        let pairs = by_benchmark(&decided);
        let all_pairs =
            pairs.iter().flatten().map(|(_, pair)| (pair.log_ratio, pair.is_head_second));
        let is_interleaved =
            |(_, first): &&(&Observed, &FirstStage)| first.mode == Mode::Interleaved;
        let mut fitness = Self {
            fit: false,
            findings: Vec::new(),
            repetitions,
            rows: decided.len(),
            interleaved: decided.iter().filter(is_interleaved).count(),
            undecided: rows.len() - decided.len(),
            flagged: Proportion::count(&decided, |(_, first)| first.is_flagged),
            target_error_rate: target_rate,
            regressed: reported(VerdictKind::Regressed).count(),
            improved: reported(VerdictKind::Improved).count(),
            with_regressions: comparisons_with(VerdictKind::Regressed),
            with_improvements: comparisons_with(VerdictKind::Improved),
            unchanged: Proportion::count(&decided, |(row, _)| {
                row.reported == VerdictKind::Unchanged
            }),
            uniformity: Uniformity::test(&p_values),
            order: PositionEffect::estimate(all_pairs),
            autocorrelation: autocorrelation_in_time(&pairs),
            far: far_from_median(&pairs.iter().map(|of| log_ratios(of)).collect::<Vec<_>>()),
            floors: floors(&decided, target_rate),
        };
        fitness.findings = fitness.findings();
        let is_against = |finding: &Finding| {
            use Finding::{Nothing, SmallP, TooManyFlagged, TooManyReported};
            matches!(finding, TooManyFlagged | TooManyReported | SmallP | Nothing)
        };
        fitness.fit = !fitness.findings.iter().any(is_against);
        fitness
    }

    /// The share of misleading reports: each comparison can report a false regression and a false
    /// improvement, so the total is twice the number of comparisons.
    pub const fn misleading(&self) -> Proportion {
        let Self { with_regressions, with_improvements, repetitions, .. } = self;
        Proportion { count: *with_regressions + *with_improvements, of: 2 * *repetitions }
    }

    /// The number of benchmarks for which this many builds detect a change of the size of interest.
    pub fn sharp_with(&self, builds: usize) -> usize {
        let is_sharp = |floor: &&Floor| {
            let mut detectable = floor.detectable.iter();
            detectable.any(|one| one.builds == builds && one.change <= floor.min_effect)
        };
        self.floors.iter().filter(is_sharp).count()
    }

    /// The most important first.
    fn findings(&self) -> Vec<Finding> {
        if self.rows == 0 {
            return vec![Finding::Nothing];
        }
        let small = |uniformity: Uniformity| uniformity.p_of_small_ones() < LEVEL;
        let unchanged = self.unchanged.share().unwrap_or(0.0);
        // 1.96 standard errors are 5 %, and 2.58 are 1 %.
        let alike =
            |serial: Autocorrelation| serial.correlation.abs() > serial.by_chance * 2.58 / 1.96;
        [
            (self.flagged.at_least(self.target_error_rate) < LEVEL, Finding::TooManyFlagged),
            (self.misleading().at_least(MISLEADING) < LEVEL, Finding::TooManyReported),
            (self.uniformity.is_some_and(small), Finding::SmallP),
            (unchanged < 0.5, Finding::Noisy),
            (self.order.is_some_and(|order| order.p < LEVEL), Finding::Order),
            (self.autocorrelation.is_some_and(alike), Finding::Autocorrelation),
        ]
        .into_iter()
        .filter_map(|(is_so, finding)| is_so.then_some(finding))
        .collect()
    }
}

/// The pairs of executions of each benchmark, with their repetitions.
fn by_benchmark<'r>(decided: &[(&'r Observed, &'r FirstStage)]) -> Vec<Vec<(usize, &'r Pair)>> {
    let mut pairs: BTreeMap<&Benchmark, Vec<(usize, &Pair)>> = BTreeMap::new();
    for (row, first) in decided {
        let of_row = first.pairs.iter().map(|pair| (row.repetition, pair));
        pairs.entry(&row.benchmark).or_default().extend(of_row);
    }
    pairs.into_values().collect()
}

fn log_ratios(pairs: &[(usize, &Pair)]) -> Vec<f64> {
    pairs.iter().map(|(_, pair)| pair.log_ratio).collect()
}

/// The autocorrelation of the pairs of each repetition in order of time. Each pair is in units of
/// its benchmark's noise, so that a noisy benchmark does not dominate.
fn autocorrelation_in_time(benchmarks: &[Vec<(usize, &Pair)>]) -> Option<Autocorrelation> {
    let mut repetitions: BTreeMap<usize, Vec<(SystemTime, f64)>> = BTreeMap::new();
    for pairs in benchmarks {
        let Some(scaled) = scaled(&log_ratios(pairs)) else { continue };
        for ((repetition, pair), value) in pairs.iter().zip(scaled) {
            let entry = (pair.started, value.clamp(-CUT, CUT));
            repetitions.entry(*repetition).or_default().push(entry);
        }
    }
    let sequences = repetitions.into_values().map(|mut sequence| {
        sequence.sort_by_key(|(started, _)| *started);
        sequence.into_iter().map(|(_, value)| value).collect()
    });
    Autocorrelation::estimate(&sequences.collect::<Vec<_>>())
}

/// The noise floors, in the order in which benchmarks first appear.
fn floors(decided: &[(&Observed, &FirstStage)], rate: f64) -> Vec<Floor> {
    let mut met: Vec<&Benchmark> = Vec::new();
    let mut floors = Vec::new();
    for (row, first) in decided {
        if met.contains(&&row.benchmark) {
            continue;
        }
        met.push(&row.benchmark);
        let own = decided.iter().filter(|(other, _)| other.benchmark == row.benchmark);
        let deviations: Vec<f64> = own.map(|(_, first)| first.deviation).collect();
        let Some(deviation) = pooled(&deviations) else { continue };
        floors.push(Floor {
            benchmark: row.benchmark.clone(),
            deviation,
            min_effect: first.min_effect,
            detectable: BUILDS.map(|builds| Detectable {
                builds,
                change: smallest_detectable(deviation, builds, rate),
            }),
        });
    }
    floors
}

/// The significance level of each test against a machine. There are three such tests, so a fit
/// machine is called unfit in at most 3 % of cases.
const LEVEL: f64 = 0.01;

/// A finding for or against trusting verdicts of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The first stage flags more rows than it may: not fit.
    TooManyFlagged,
    /// More comparisons report a change than may: not fit.
    TooManyReported,
    /// There are more small p values than there should be: not fit.
    #[serde(rename = "small_p_values")]
    SmallP,
    /// Less than half of the rows are shown to be unchanged: honest, but too noisy for the smallest
    /// change of interest.
    Noisy,
    /// Second executions take a different time from first ones. Run order is randomised, so
    /// verdicts are unaffected.
    #[serde(rename = "order_effect")]
    Order,
    /// Consecutive executions are correlated. Run order is randomised, so verdicts are unaffected.
    #[serde(rename = "serial_correlation")]
    Autocorrelation,
    /// No benchmark has a verdict: not fit.
    #[serde(rename = "nothing_decided")]
    Nothing,
}

/// The share of A/A comparisons that may report any regression, and likewise any improvement.
pub const MISLEADING: f64 = 0.05;

/// The outcome of one A/A comparison for one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
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
    pub pairs: Vec<Pair>,
}

/// One execution of each version, in the same build and round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The start of the earlier of both.
    pub started: SystemTime,
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
                mode: row.interleaving.as_ref().map_or(Mode::Sequential, |all| all.mode),
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

#[cfg(test)]
mod tests;
