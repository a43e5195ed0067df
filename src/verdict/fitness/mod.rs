//! Evaluates a machine by A/A comparisons (a version compared with itself): the false-positive
//! rate, the kind of noise, and the smallest detectable change. Pure: it measures nothing.

mod observed;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    model::{Benchmark, Mode},
    stats::{
        Proportion,
        noise::{
            Autocorrelation, PositionEffect, Uniformity, far_from_median, pooled, scaled,
            smallest_detectable,
        },
    },
};

pub use observed::{FirstStage, Observed, Pair, Reported};

/// The numbers of builds for which the smallest detectable change is reported.
pub const BUILDS: [usize; 3] = [5, 10, 20];

/// The distance, in standard deviations, beyond which pairs are clipped, so that outliers do not
/// dominate the autocorrelation.
const CUT: f64 = 5.0;

/// The evaluation of repeated A/A comparisons that were all measured in one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitness {
    /// The number of times that everything was compared.
    pub repetitions: usize,
    /// The number of decided rows: one for each benchmark and repetition.
    pub rows: usize,
    /// The number of these rows that were measured interleaved.
    pub interleaved: usize,
    /// The number of rows without a decision: the benchmark failed, or skipped itself.
    pub unjudged: usize,
    /// The share of rows that the first stage flagged.
    pub flagged: Proportion,
    /// The false-positive rate that the criteria allow the first stage.
    pub target_error_rate: f64,
    /// The number of rows reported as regressed.
    pub regressed: usize,
    /// The number of rows reported as improved.
    pub improved: usize,
    /// The number of comparisons with any row reported as regressed.
    pub with_regressions: usize,
    /// The number of comparisons with any row reported as improved.
    pub with_improvements: usize,
    /// The share of rows reported as unchanged.
    pub unchanged: Proportion,
    /// The test that the p values of the first stage are uniform.
    pub uniformity: Option<Uniformity>,
    /// The difference between first and second executions.
    pub order: Option<PositionEffect>,
    /// The correlation of consecutive pairs of executions.
    pub autocorrelation: Option<Autocorrelation>,
    /// The share of pairs of executions far from the median of their benchmark.
    pub far: Proportion,
    /// The noise floor of each benchmark.
    pub floors: Vec<Floor>,
}

/// The noise floor of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// The benchmark measured.
    pub benchmark: Benchmark,
    /// The standard deviation of the difference of a pair of builds, on the log scale: 0.01 is 1 %.
    pub deviation: f64,
    /// The smallest relative changes that these numbers of [builds](BUILDS) flag with a power of 80
    /// %.
    pub detectable: [f64; 3],
    /// The smallest relative change of interest.
    pub min_effect: f64,
}

impl Fitness {
    /// Evaluates the rows of all repetitions against a target false-positive rate of `target_rate`.
    pub fn evaluate(rows: &[Observed], repetitions: usize, target_rate: f64) -> Self {
        let decided: Vec<(&Observed, &FirstStage)> =
            rows.iter().filter_map(|row| Some((row, row.first.as_ref()?))).collect();
        let count = |what| rows.iter().filter(|row| row.reported == what).count();
        let p_values: Vec<f64> = decided.iter().map(|(_, first)| first.p).collect();
        let pairs = || decided.iter().flat_map(|(_, first)| &first.pairs);
        let is_interleaved =
            |(_, first): &&(&Observed, &FirstStage)| first.mode == Mode::Interleaved;
        Self {
            repetitions,
            rows: decided.len(),
            interleaved: decided.iter().filter(is_interleaved).count(),
            unjudged: rows.len() - decided.len(),
            flagged: Proportion::count(&decided, |(_, first)| first.is_flagged),
            target_error_rate: target_rate,
            regressed: count(Reported::Regressed),
            improved: count(Reported::Improved),
            with_regressions: comparisons_with(Reported::Regressed, rows, repetitions),
            with_improvements: comparisons_with(Reported::Improved, rows, repetitions),
            unchanged: Proportion::count(&decided, |(row, _)| row.reported == Reported::Unchanged),
            uniformity: Uniformity::test(&p_values),
            order: PositionEffect::estimate(
                pairs().map(|pair| (pair.log_ratio, pair.is_head_second)),
            ),
            autocorrelation: autocorrelation_in_time(&decided),
            far: far_from_median(&by_benchmark(&decided).into_values().collect::<Vec<_>>()),
            floors: floors(&decided, target_rate),
        }
    }

    /// The share of misleading reports: each comparison can report a false regression and a false
    /// improvement, so the total is twice the number of comparisons.
    pub const fn misleading(&self) -> Proportion {
        let Self { with_regressions, with_improvements, repetitions, .. } = self;
        Proportion { count: *with_regressions + *with_improvements, of: 2 * *repetitions }
    }

    /// The number of benchmarks for which this many builds detect a change of the size of interest.
    pub fn sharp_with(&self, builds: usize) -> usize {
        let index = BUILDS.iter().position(|one| *one == builds);
        let is_sharp =
            |floor: &&Floor| index.is_some_and(|index| floor.detectable[index] <= floor.min_effect);
        self.floors.iter().filter(is_sharp).count()
    }
}

/// The number of comparisons in which any row has this report.
fn comparisons_with(what: Reported, rows: &[Observed], repetitions: usize) -> usize {
    let is_in = |repetition: &usize| {
        rows.iter().any(|row| row.repetition == *repetition && row.reported == what)
    };
    (0..repetitions).filter(is_in).count()
}

/// The log ratios of all pairs of executions, by benchmark.
fn by_benchmark<'r>(
    decided: &[(&'r Observed, &'r FirstStage)],
) -> BTreeMap<&'r Benchmark, Vec<f64>> {
    let mut ratios: BTreeMap<&Benchmark, Vec<f64>> = BTreeMap::new();
    for (row, first) in decided {
        let of_row = first.pairs.iter().map(|pair| pair.log_ratio);
        ratios.entry(&row.benchmark).or_default().extend(of_row);
    }
    ratios
}

/// The autocorrelation of the pairs of each repetition in order of time. Each pair is in units of
/// its benchmark's noise, so that a noisy benchmark does not dominate.
fn autocorrelation_in_time(decided: &[(&Observed, &FirstStage)]) -> Option<Autocorrelation> {
    let mut repetitions: BTreeMap<usize, Vec<(std::time::SystemTime, f64)>> = BTreeMap::new();
    let mut of_benchmark: BTreeMap<&Benchmark, Vec<(usize, &Pair)>> = BTreeMap::new();
    for (row, first) in decided {
        let pairs = first.pairs.iter().map(|pair| (row.repetition, pair));
        of_benchmark.entry(&row.benchmark).or_default().extend(pairs);
    }
    for pairs in of_benchmark.into_values() {
        let ratios: Vec<f64> = pairs.iter().map(|(_, pair)| pair.log_ratio).collect();
        let Some(scaled) = scaled(&ratios) else { continue };
        for ((repetition, pair), value) in pairs.into_iter().zip(scaled) {
            let entry = (pair.started, value.clamp(-CUT, CUT));
            repetitions.entry(repetition).or_default().push(entry);
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
            detectable: BUILDS.map(|builds| smallest_detectable(deviation, builds, rate)),
            min_effect: first.min_effect,
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
    #[serde(rename = "nothing_judged")]
    Nothing,
}

impl Finding {
    /// True if verdicts of this machine should not be trusted.
    pub const fn is_against(self) -> bool {
        matches!(self, Self::TooManyFlagged | Self::TooManyReported | Self::SmallP | Self::Nothing)
    }
}

impl Fitness {
    /// The findings, the most important first.
    pub fn findings(&self) -> Vec<Finding> {
        if self.rows == 0 {
            return vec![Finding::Nothing];
        }
        let small = |uniformity: Uniformity| uniformity.p_of_small_ones() < LEVEL;
        let unchanged = self.unchanged.share().unwrap_or(0.0);
        // 1.96 standard errors are 5 %, and 2.58 are 1 %.
        let alike =
            |serial: Autocorrelation| serial.correlation.abs() > serial.by_chance() * 2.58 / 1.96;
        [
            (self.flagged.at_least(self.target_error_rate) < LEVEL, Finding::TooManyFlagged),
            (self.misleading().at_least(MISLEADING) < LEVEL, Finding::TooManyReported),
            (self.uniformity.is_some_and(small), Finding::SmallP),
            (unchanged < 0.5, Finding::Noisy),
            (self.order.is_some_and(|order| order.p() < LEVEL), Finding::Order),
            (self.autocorrelation.is_some_and(alike), Finding::Autocorrelation),
        ]
        .into_iter()
        .filter_map(|(is_so, finding)| is_so.then_some(finding))
        .collect()
    }

    /// True if no finding speaks against verdicts of this machine.
    pub fn is_fit(&self) -> bool {
        !self.findings().into_iter().any(Finding::is_against)
    }
}

/// The share of A/A comparisons that may report any regression, and likewise any improvement.
pub const MISLEADING: f64 = 0.05;

#[cfg(test)]
mod tests;
