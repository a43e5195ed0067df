//! What comparisons of a version with itself say of the machine: how often it misleads, what its noise is like,
//! and how small a change it shows.

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

/// For so many builds it is told how small a change they show.
pub const BUILDS: [usize; 3] = [5, 10, 20];

/// Single measurements far off do not decide alone how alike neighbours are.
const CUT: f64 = 5.0;

/// What repeated comparisons of a version with itself, all measured in one way, say.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitness {
    /// How often everything was compared.
    pub repetitions: usize,
    /// The rows that were judged: a benchmark in a repetition each.
    pub rows: usize,
    /// How many of them took turns.
    pub interleaved: usize,
    /// Rows that could not be judged: the benchmark failed, or skipped itself.
    pub unjudged: usize,
    /// How many rows the first stage flagged.
    pub flagged: Proportion,
    /// How often it may flag them: the false-alarm rate of the criteria.
    pub target_error_rate: f64,
    /// How many rows were reported as regressed.
    pub regressed: usize,
    /// How many rows were reported as improved.
    pub improved: usize,
    /// In how many comparisons any row was reported as regressed.
    pub with_regressions: usize,
    /// In how many comparisons any row was reported as improved.
    pub with_improvements: usize,
    /// How many rows ended as unchanged.
    pub unchanged: Proportion,
    /// Whether the p values of the first stage are uniform.
    pub uniformity: Option<Uniformity>,
    /// Whether what is executed second takes longer.
    pub order: Option<PositionEffect>,
    /// Whether pairs of executions that follow each other are alike.
    pub autocorrelation: Option<Autocorrelation>,
    /// How many pairs of executions are far from the median of their benchmark.
    pub far: Proportion,
    /// The noise floor of each benchmark.
    pub floors: Vec<Floor>,
}

/// The noise floor of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The standard deviation of the difference of a pair of builds, on the log scale: 0.01 is 1 %.
    pub deviation: f64,
    /// The smallest relative change that so many [builds](BUILDS) flag with a power of 80 %.
    pub detectable: [f64; 3],
    /// The smallest change of interest.
    pub min_effect: f64,
}

impl Fitness {
    /// What these rows of so many repetitions say, of comparisons with this false-alarm rate.
    pub fn evaluate(rows: &[Observed], repetitions: usize, promised: f64) -> Self {
        let judged: Vec<(&Observed, &FirstStage)> =
            rows.iter().filter_map(|row| Some((row, row.first.as_ref()?))).collect();
        let count = |what| rows.iter().filter(|row| row.reported == what).count();
        let p_values: Vec<f64> = judged.iter().map(|(_, first)| first.p).collect();
        let pairs = || judged.iter().flat_map(|(_, first)| &first.pairs);
        let took_turns = |(_, first): &&(&Observed, &FirstStage)| first.mode == Mode::Interleaved;
        Self {
            repetitions,
            rows: judged.len(),
            interleaved: judged.iter().filter(took_turns).count(),
            unjudged: rows.len() - judged.len(),
            flagged: Proportion::count(&judged, |(_, first)| first.is_flagged),
            target_error_rate: promised,
            regressed: count(Reported::Regressed),
            improved: count(Reported::Improved),
            with_regressions: comparisons_with(Reported::Regressed, rows, repetitions),
            with_improvements: comparisons_with(Reported::Improved, rows, repetitions),
            unchanged: Proportion::count(&judged, |(row, _)| row.reported == Reported::Unchanged),
            uniformity: Uniformity::test(&p_values),
            order: PositionEffect::estimate(
                pairs().map(|pair| (pair.log_ratio, pair.is_head_second)),
            ),
            autocorrelation: serial(&judged),
            far: far_from_median(&by_benchmark(&judged).into_values().collect::<Vec<_>>()),
            floors: floors(&judged, promised),
        }
    }

    /// How many comparisons report a regression, and how many an improvement, of twice as many as there are.
    pub const fn misleading(&self) -> Proportion {
        let Self { with_regressions, with_improvements, repetitions, .. } = self;
        Proportion { count: *with_regressions + *with_improvements, of: 2 * *repetitions }
    }

    /// How many benchmarks show a change of the size that is of interest, with so many builds.
    pub fn sharp_with(&self, builds: usize) -> usize {
        let index = BUILDS.iter().position(|one| *one == builds);
        let is_sharp =
            |floor: &&Floor| index.is_some_and(|index| floor.detectable[index] <= floor.min_effect);
        self.floors.iter().filter(is_sharp).count()
    }
}

/// In how many comparisons this is reported of any row.
fn comparisons_with(what: Reported, rows: &[Observed], repetitions: usize) -> usize {
    let is_in = |repetition: &usize| {
        rows.iter().any(|row| row.repetition == *repetition && row.reported == what)
    };
    (0..repetitions).filter(is_in).count()
}

/// The log ratios of all pairs of executions of each benchmark.
fn by_benchmark<'r>(
    judged: &[(&'r Observed, &'r FirstStage)],
) -> BTreeMap<&'r Benchmark, Vec<f64>> {
    let mut ratios: BTreeMap<&Benchmark, Vec<f64>> = BTreeMap::new();
    for (row, first) in judged {
        let of_row = first.pairs.iter().map(|pair| pair.log_ratio);
        ratios.entry(&row.benchmark).or_default().extend(of_row);
    }
    ratios
}

/// The pairs of executions of each repetition in the order of time, each in units of its own benchmark: those of a
/// noisy one would otherwise decide.
fn serial(judged: &[(&Observed, &FirstStage)]) -> Option<Autocorrelation> {
    let mut repetitions: BTreeMap<usize, Vec<(std::time::SystemTime, f64)>> = BTreeMap::new();
    let mut of_benchmark: BTreeMap<&Benchmark, Vec<(usize, &Pair)>> = BTreeMap::new();
    for (row, first) in judged {
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
        sequence.sort_by_key(|(begun, _)| *begun);
        sequence.into_iter().map(|(_, value)| value).collect()
    });
    Autocorrelation::estimate(&sequences.collect::<Vec<_>>())
}

/// The noise floors, in the order in which benchmarks first come.
fn floors(judged: &[(&Observed, &FirstStage)], rate: f64) -> Vec<Floor> {
    let mut met: Vec<&Benchmark> = Vec::new();
    let mut floors = Vec::new();
    for (row, first) in judged {
        if met.contains(&&row.benchmark) {
            continue;
        }
        met.push(&row.benchmark);
        let own = judged.iter().filter(|(other, _)| other.benchmark == row.benchmark);
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

/// So unlikely must be what speaks against a machine, if it is fit. There are three such tests, so a fit machine is
/// called unfit in at most 3 of 100 cases.
const LEVEL: f64 = 0.01;

/// A reason for or against judging on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The first stage flags more than it may: not fit.
    TooManyFlagged,
    /// More comparisons than may report a change: not fit.
    TooManyReported,
    /// There are more small p values than there should be: not fit.
    #[serde(rename = "small_p_values")]
    SmallP,
    /// Less than half of the rows are shown to be unchanged: honest, but too noisy for the smallest change of
    /// interest.
    Noisy,
    /// What is executed second takes another time than what is executed first. The order is drawn, so verdicts
    /// stay right.
    #[serde(rename = "order_effect")]
    Order,
    /// Executions that follow each other are alike. Their order is drawn, so verdicts stay right.
    #[serde(rename = "serial_correlation")]
    Autocorrelation,
    /// There is no verdict on any benchmark: not fit.
    #[serde(rename = "nothing_judged")]
    Nothing,
}

impl Finding {
    /// Whether verdicts from this machine are not to be trusted.
    pub const fn is_against(self) -> bool {
        matches!(self, Self::TooManyFlagged | Self::TooManyReported | Self::SmallP | Self::Nothing)
    }
}

impl Fitness {
    /// What follows, what matters most first.
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

    /// Whether nothing speaks against verdicts from this machine.
    pub fn is_fit(&self) -> bool {
        !self.findings().into_iter().any(Finding::is_against)
    }
}

/// In how many comparisons without a change any regression may be reported, and in as many any improvement.
pub const MISLEADING: f64 = 0.05;

#[cfg(test)]
mod tests;
