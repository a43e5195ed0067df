//! Several states at the same time: Hartigan's dip test of each execution (Hartigan & Hartigan 1985), for what
//! Gil et al. 2011, section 5, saw in their figure 9.

use super::{
    Lacking, Options, Position, SIGNIFICANT,
    dip::{dip, p_of_dip},
    execution::{Execution, long_enough, mean, quantile, sorted},
    neighbours::ratio,
    ranks::Ranks,
};
use crate::stats::{Random, median};

/// Fewer measurements do not show several states.
const FEWEST: usize = 50;
/// More measurements show states that are too rare to matter.
const MOST: usize = 2_000;
/// A group has at least this share of the measurements.
const SMALLEST: f64 = 0.1;
/// The stream of the seed from which the choice of measurements is drawn.
const STREAM: u64 = 21;

/// The modes of every execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Simultaneous {
    /// Each execution that has enough measurements, in the order of the builds and their rounds.
    pub executions: Vec<Modes>,
    /// The executions that have several states: p below .001, and states apart by `min_effect`.
    pub several: usize,
    /// Of these, the one with the median distance, as an index into `executions`.
    pub typical: Option<usize>,
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
    /// The probability of so large a dip of a uniform distribution, which no unimodal one exceeds.
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
        resolution: f64,
        options: &Options,
    ) -> Result<Self, Lacking> {
        let executions = long_enough(executions, FEWEST)?;
        let mut random = Random::stream(options.seed, STREAM);
        let modes: Vec<Modes> =
            executions.iter().map(|one| Modes::of(one, resolution, &mut random)).collect();
        let mut several: Vec<usize> =
            (0..modes.len()).filter(|&index| modes[index].are_several(options)).collect();
        several.sort_by(|&a, &b| modes[a].distance.total_cmp(&modes[b].distance));
        let typical = several.get(several.len() / 2).copied();
        Ok(Self { executions: modes, several: several.len(), typical })
    }
}

impl Modes {
    fn of(execution: &Execution<'_>, resolution: f64, random: &mut Random) -> Self {
        let chosen = chosen(execution.values, random);
        let levels = sorted(chosen);
        let (dip, p) = if levels.len() < FEWEST {
            (0.5 / levels.len().max(1) as f64, 1.0)
        } else {
            let dip = dip(&without_steps(&levels, resolution, random));
            (dip, p_of_dip(dip, levels.len()))
        };
        let groups = Groups::of(&sorted(execution.values.to_vec()));
        Self {
            position: execution.position,
            tested: levels.len(),
            dip,
            p,
            levels: groups.levels,
            slower: groups.slower,
            distance: groups.levels[1] / groups.levels[0] - 1.0,
            gap_ratio: groups.gap_ratio,
        }
    }

    /// Are there several states, far enough apart?
    pub(super) fn are_several(&self, options: &Options) -> bool {
        self.p < SIGNIFICANT && self.distance >= options.min_effect
    }
}

/// As many of the measurements as are worth independent ones, and not too many: one at random from each of so many
/// equal stretches. A regular choice would see one state of two that alternate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the number of values"
)]
fn chosen(values: &[f64], random: &mut Random) -> Vec<f64> {
    let alike = ratio(&Ranks::of(values)).map_or(0.0, |ratio| (1.0 - ratio / 2.0).max(0.0));
    let independent = (values.len() as f64 * (1.0 - alike) / (1.0 + alike)).round() as usize;
    let count = independent.min(MOST);
    if count >= values.len() {
        return values.to_vec();
    }
    let bound = |part: usize| part * values.len() / count;
    let choice = |part| values[bound(part) + random.below(bound(part + 1) - bound(part))];
    (0..count).map(choice).collect()
}

/// Sorted values, each moved at random by up to half a step of the clock if many are equal: the steps are not the
/// benchmark's. Where the step is unknown, it is the smallest difference.
fn without_steps(values: &[f64], resolution: f64, random: &mut Random) -> Vec<f64> {
    let differences = || values.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    if differences().count() > values.len() / 2 {
        return values.to_vec();
    }
    let smallest = differences().fold(f64::INFINITY, f64::min);
    let step = if resolution > 0.0 { resolution } else { smallest };
    if !step.is_finite() {
        return values.to_vec();
    }
    sorted(values.iter().map(|value| value + (random.unit() - 0.5) * step).collect())
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
