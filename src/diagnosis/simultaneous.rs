//! Several states at the same time: Hartigan's dip test of each execution (Hartigan & Hartigan 1985), for what
//! Gil et al. 2011, section 5, saw in their figure 9.

use super::{
    Lacking, Leaps, Options, Position, SIGNIFICANT,
    dip::{dip, p_of_dip},
    execution::{Execution, long_enough, mean, quantile, sorted},
    neighbours::ratio,
    ranks::Ranks,
    steps::without_steps,
};
use crate::stats::{Estimator, Random, Scratch, median};

/// Fewer measurements do not show several states.
const FEWEST: usize = 50;
/// More measurements show states that are too rare to matter.
const MOST: usize = 2_000;
/// As many as one execution of the default length has.
const POOLED: usize = 200;
/// A group has at least this share of the measurements.
const SMALLEST: f64 = 0.1;
/// The stream of the seed from which the choice of measurements is drawn.
const STREAM: u64 = 21;

/// The modes of every execution that does not leap: the states of one that leaps come one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Simultaneous {
    /// Each execution that has enough measurements, in the order of the builds and their rounds.
    pub executions: Vec<Modes>,
    /// The test of all of them together, where neighbours in time are so alike that most executions alone show
    /// too little.
    pub pooled: Option<Pooled>,
    /// The executions that have several states: `min_effect` apart, with p below .001 by their own test or by
    /// that of all together.
    pub several: usize,
    /// Of these, the one with the median distance, as an index into `executions`.
    pub typical: Option<usize>,
    /// The largest p by which one of these was found; 1 without any.
    pub p: f64,
}

/// The dip test of measurements of all executions, each relative to the trimmed mean of its execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// How many measurements: as many as an execution of the default length has, so that it is no stricter.
    pub tested: usize,
    /// Their dip.
    pub dip: f64,
    /// The probability of so large a dip.
    pub p: f64,
}

/// One execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Which execution.
    pub position: Position,
    /// How many of its measurements were tested: fewer than it has where neighbours in time are alike.
    pub tested: usize,
    /// The dip: the largest distance of the empirical distribution from the nearest unimodal one, from
    /// `1/(2n)` to 1/4.
    pub dip: f64,
    /// The probability of so large a dip of a uniform distribution, which no unimodal one exceeds; 1 of fewer than 50.
    pub p: f64,
    /// The best two groups: the medians of the faster and of the slower, in the metric's unit.
    pub levels: [f64; 2],
    /// The share of measurements in the slower group, from .1 to .9.
    pub slower: f64,
    /// How far apart the groups are, relative to the faster.
    pub distance: f64,
    /// The gap ratio: their distance, in standard deviations within the groups; infinite if these are constant.
    pub gap_ratio: f64,
}

impl Simultaneous {
    pub(super) fn of(
        executions: &[Execution<'_>],
        leaps: Option<&Leaps>,
        resolution: f64,
        options: &Options,
    ) -> Result<Self, Lacking> {
        let leaping = |one: &Execution<'_>| {
            let mut found = leaps.into_iter().flat_map(|leaps| &leaps.executions);
            found.any(|segments| segments.position == one.position && segments.leaps())
        };
        let steady = long_enough(executions, FEWEST)?.into_iter().filter(|one| !leaping(one));
        let mut random = Random::stream(options.seed, STREAM);
        let chosen: Vec<Chosen> =
            steady.map(|one| Chosen::of(&one, resolution, &mut random)).collect();
        let modes: Vec<Modes> = chosen.iter().map(Modes::of).collect();
        let alone = modes.iter().filter(|modes| modes.tested >= FEWEST).count();
        let pooled = if 2 * alone < modes.len() { Pooled::of(&chosen) } else { None };
        let p_of_all = pooled.map_or(1.0, |pooled| pooled.p);
        let p = |index: &usize| modes[*index].p.min(p_of_all);
        let is_several =
            |index: &usize| p(index) < SIGNIFICANT && modes[*index].distance >= options.min_effect;
        let mut several: Vec<usize> = (0..modes.len()).filter(is_several).collect();
        several.sort_by(|&a, &b| modes[a].distance.total_cmp(&modes[b].distance));
        Ok(Self {
            typical: several.get(several.len() / 2).copied(),
            p: several.iter().map(p).reduce(f64::max).unwrap_or(1.0),
            several: several.len(),
            executions: modes,
            pooled,
        })
    }
}

/// One execution, with those of its measurements that are tested.
struct Chosen<'a> {
    execution: Execution<'a>,
    /// In ascending order, without the steps of a clock.
    values: Vec<f64>,
}

impl<'a> Chosen<'a> {
    fn of(execution: &Execution<'a>, resolution: f64, random: &mut Random) -> Self {
        let chosen = independent(execution.values, random);
        let values = sorted(without_steps(&chosen, resolution, random));
        Self { execution: *execution, values }
    }
}

/// As many of the measurements as are worth independent ones, and not too many: one at random from each of so many
/// equal stretches. A regular choice would see one state of two that alternate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the number of values"
)]
fn independent(values: &[f64], random: &mut Random) -> Vec<f64> {
    let alike = ratio(&Ranks::of(values)).map_or(0.0, |ratio| (1.0 - ratio / 2.0).max(0.0));
    let worth = (values.len() as f64 * (1.0 - alike) / (1.0 + alike)).round() as usize;
    let count = worth.clamp(1, MOST);
    if count >= values.len() {
        return values.to_vec();
    }
    let bound = |part: usize| part * values.len() / count;
    let choice = |part| values[bound(part) + random.below(bound(part + 1) - bound(part))];
    (0..count).map(choice).collect()
}

impl Pooled {
    /// None if all executions together do not have enough.
    fn of(executions: &[Chosen<'_>]) -> Option<Self> {
        let mut scratch = Scratch::default();
        let mut relative = vec![];
        for Chosen { execution, values } in executions {
            let center = Estimator::TrimmedMean.estimate(execution.values, &mut scratch);
            relative.extend(values.iter().map(|value| value / center));
        }
        // Ascending within each execution: every so many is a fair choice of all.
        let every = relative.len().div_ceil(POOLED).max(1);
        let values = sorted(relative.into_iter().step_by(every).collect());
        let dip = (values.len() >= FEWEST).then(|| dip(&values))?;
        Some(Self { tested: values.len(), dip, p: p_of_dip(dip, values.len()) })
    }
}

impl Modes {
    fn of(Chosen { execution, values }: &Chosen<'_>) -> Self {
        let dip = dip(values);
        let enough = values.len() >= FEWEST;
        let groups = Groups::of(&sorted(execution.values.to_vec()));
        Self {
            position: execution.position,
            tested: values.len(),
            dip,
            p: if enough { p_of_dip(dip, values.len()) } else { 1.0 },
            levels: groups.levels,
            slower: groups.slower,
            distance: groups.levels[1] / groups.levels[0] - 1.0,
            gap_ratio: groups.gap_ratio,
        }
    }
}

/// The best division of values into a faster and a slower group.
struct Groups {
    levels: [f64; 2],
    slower: f64,
    gap_ratio: f64,
}

impl Groups {
    /// The division with the least sum of squares within both groups, each of a tenth of the values or more. The
    /// outermost twentieths count as if they were no further out, so that outliers are no group.
    fn of(sorted: &[f64]) -> Self {
        let (low, high) = (quantile(sorted, 0.05), quantile(sorted, 0.95));
        let clipped: Vec<f64> = sorted.iter().map(|value| value.clamp(low, high)).collect();
        let at = best_division(&clipped);
        let (faster, slower) = clipped.split_at(at);
        let levels = [median(&mut faster.to_vec()), median(&mut slower.to_vec())];
        let squares = |group: &[f64]| {
            let center = mean(group);
            group.iter().map(|value| (value - center).powi(2)).sum::<f64>()
        };
        let sd = ((squares(faster) + squares(slower)) / clipped.len() as f64).sqrt();
        let distance = levels[1] - levels[0];
        let gap_ratio = if distance > 0.0 { distance / sd } else { 0.0 };
        Self { levels, slower: slower.len() as f64 / clipped.len() as f64, gap_ratio }
    }
}

/// The index at which the second group starts. The least sum of squares within groups is the largest between them,
/// `a b / (a + b)` times the squared distance of the means.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the number of values"
)]
fn best_division(sorted: &[f64]) -> usize {
    let count = sorted.len();
    let fewest = ((SMALLEST * count as f64).ceil() as usize).max(1);
    let center = mean(sorted);
    let (mut sum, mut best) = (0.0, (0.0, count / 2));
    for at in 1..=count.saturating_sub(fewest) {
        sum += sorted[at - 1] - center;
        let between = sum * sum * (1.0 / at as f64 + 1.0 / (count - at) as f64);
        if at >= fewest && between > best.0 {
            best = (between, at);
        }
    }
    best.1
}
