//! Finds several states at the same time: Hartigan's dip test of each execution (Hartigan & Hartigan 1985), for the
//! effect in figure 9 of Gil et al. 2011, section 5.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    InsufficientData, LevelShifts, Options, Position, SIGNIFICANT,
    autocorrelation::ratio,
    dip::{dip, p_of_dip},
    execution::{Execution, long_enough},
    values::{Ranks, mean, quantile, sorted, without_steps},
};
use crate::{Random, distribution::chi_squared_survival, median, whole};

/// Fewer measurements cannot show several states.
const FEWEST: usize = 50;
/// More measurements show states that are too rare to matter.
const MOST: usize = 2_000;
/// Combined with other executions, this many suffice: the table of the dip is slightly conservative there.
const FEWEST_TOGETHER: usize = 15;
/// A group has at least this share of the measurements.
const SMALLEST: f64 = 0.1;
/// A smaller share in the slower group may be times at which the machine did other work.
const SLOWER: f64 = 0.2;
/// The stream of the seed that chooses the measurements.
const STREAM: u64 = 21;

/// The modes of every execution without level shifts: the states of one with level shifts follow each other in time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Multimodality {
    /// Each execution with enough measurements, in the order of builds and rounds.
    pub executions: Vec<Modes>,
    /// The p value of all executions together, by Fisher's method, for neighbours in time so alike that most single
    /// executions show too little.
    #[schemars(range(min = 0, max = 1))]
    pub p_together: Option<f64>,
    /// The number of executions with several states: `min_effect` apart, a fifth of the measurements or more in the
    /// slower, with p below .001 by their own test or by that of all together.
    pub several: usize,
    /// The one of these with the median distance.
    pub typical: Option<Modes>,
    /// The largest p value of these; 1 without any.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

/// The two best groups of an execution's measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Modes {
    /// The execution.
    #[serde(flatten)]
    pub position: Position,
    /// The number of its measurements that were tested: fewer than it has where neighbours in time are alike.
    pub tested: usize,
    /// The dip: the largest distance of the empirical distribution from the nearest unimodal one, from
    /// `1/(2n)` to 1/4.
    pub dip: f64,
    /// The p value of the dip against a uniform distribution, the worst case of unimodal ones; 1 for fewer than 50
    /// measurements.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
    /// The best two groups: the medians of the faster and of the slower, in the metric's unit.
    pub levels: [f64; 2],
    /// The share of measurements in the slower group, from .1 to .9.
    pub slower: f64,
    /// The distance of the groups, relative to the faster.
    pub distance: f64,
    /// The gap ratio: their distance, in standard deviations within the groups; infinite, and null in JSON, if these
    /// are constant.
    #[schemars(with = "Option<f64>")]
    pub gap_ratio: f64,
}

impl Multimodality {
    pub(super) fn detect(
        executions: &[Execution<'_>],
        shifts: Option<&LevelShifts>,
        resolution: f64,
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let has_shifts = |one: &Execution<'_>| {
            let mut found = shifts.into_iter().flat_map(|shifts| &shifts.executions);
            found.any(|segments| segments.position == one.position && segments.has_shifts())
        };
        let steady = long_enough(executions, FEWEST)?.into_iter().filter(|one| !has_shifts(one));
        let mut random = Random::stream(options.seed, STREAM);
        let modes: Vec<Modes> =
            steady.map(|one| Modes::detect(&one, resolution, &mut random)).collect();
        let alone = modes.iter().filter(|modes| modes.tested >= FEWEST).count();
        let p_together = if 2 * alone < modes.len() { together(&modes) } else { None };
        let p_of_all = p_together.unwrap_or(1.0);
        let p = |index: &usize| modes[*index].p.min(p_of_all);
        let is_several = |index: &usize| {
            let Modes { distance, slower, .. } = modes[*index];
            p(index) < SIGNIFICANT && distance >= options.min_effect && slower >= SLOWER
        };
        let mut several: Vec<usize> = (0..modes.len()).filter(is_several).collect();
        several.sort_by(|&a, &b| modes[a].distance.total_cmp(&modes[b].distance));
        Ok(Self {
            typical: several.get(several.len() / 2).map(|typical| modes[*typical]),
            p: several.iter().map(p).reduce(f64::max).unwrap_or(1.0),
            several: several.len(),
            executions: modes,
            p_together,
        })
    }
}

/// Fisher's method: `−2 Σ ln p` is chi-squared with twice as many degrees of freedom as there are executions.
fn together(modes: &[Modes]) -> Option<f64> {
    let enough = modes.iter().filter(|modes| modes.tested >= FEWEST_TOGETHER);
    let logs: Vec<f64> = enough.map(|modes| p_of_dip(modes.dip, modes.tested).ln()).collect();
    let statistic = -2.0 * logs.iter().sum::<f64>();
    (!logs.is_empty()).then(|| chi_squared_survival(statistic, 2.0 * logs.len() as f64))
}

/// Reduces the measurements to their effective number, with an upper limit: one at random from each of equally long
/// stretches. A regular choice would see one state of two that alternate.
fn independent(values: &[f64], random: &mut Random) -> Vec<f64> {
    let alike = ratio(&Ranks::new(values)).map_or(0.0, |ratio| (1.0 - ratio / 2.0).max(0.0));
    let worth = whole((values.len() as f64 * (1.0 - alike) / (1.0 + alike)).round());
    let count = worth.clamp(1, MOST);
    if count >= values.len() {
        return values.to_vec();
    }
    let bound = |part: usize| part * values.len() / count;
    let choice = |part| values[bound(part) + random.below(bound(part + 1) - bound(part))];
    (0..count).map(choice).collect()
}

impl Modes {
    fn detect(execution: &Execution<'_>, resolution: f64, random: &mut Random) -> Self {
        let chosen = independent(execution.values, random);
        let values = sorted(without_steps(&chosen, resolution, random));
        let dip = dip(&values);
        let enough = values.len() >= FEWEST;
        let groups = Groups::split(&sorted(execution.values.to_vec()));
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
    /// outermost twentieths are clipped, so that outliers are no group.
    fn split(sorted: &[f64]) -> Self {
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

/// The index at which the second group starts. The least sum of squares within groups is the largest between them, `a b
/// / (a + b)` times the squared distance of the means.
fn best_division(sorted: &[f64]) -> usize {
    let count = sorted.len();
    let fewest = whole((SMALLEST * count as f64).ceil()).max(1);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{autoregressive, executions_of};

    fn detect_in(execution: impl Fn(&mut Random) -> Vec<f64>) -> Multimodality {
        let mut random = Random::new(12);
        let all: Vec<Vec<f64>> = (0..20).map(|_| execution(&mut random)).collect();
        Multimodality::detect(&executions_of(&all), None, 0.0, &Options::default()).unwrap()
    }

    #[test]
    fn two_states_are_reported_with_levels_and_weights() {
        for regular in [true, false] {
            let found = detect_in(|random| {
                (0..300)
                    .map(|i| {
                        let slow = if regular { i % 2 == 0 } else { random.chance(0.3) };
                        100.0 + if slow { 4.0 } else { 0.0 } + 0.5 * random.normal()
                    })
                    .collect()
            });
            assert_eq!((found.several, found.p_together), (20, None));
            let typical = found.typical.unwrap();
            assert!((typical.distance - 0.04).abs() < 0.005 && typical.gap_ratio > 5.0);
            let share = if regular { 0.5 } else { 0.3 };
            assert!((typical.slower - share).abs() < 0.1 && found.p < SIGNIFICANT);
        }
    }

    #[test]
    fn persistent_states_are_found_by_all_executions_together() {
        let found = detect_in(|random| {
            let mut slow = random.chance(0.5);
            (0..200)
                .map(|_| {
                    slow ^= random.chance(0.05);
                    100.0 + if slow { 5.0 } else { 0.0 } + 0.5 * random.normal()
                })
                .collect()
        });
        assert!(found.p_together.unwrap() < SIGNIFICANT && found.several > 15, "{found:?}");
    }

    #[test]
    fn one_state_is_not_split_by_correlation_or_clock_steps() {
        for correlation in [0.0, 0.5, 0.95] {
            let found = detect_in(|random| {
                autoregressive(correlation, random)
                    .take(300)
                    .map(|noise| 100.0 + 3.0 * noise)
                    .collect()
            });
            assert_eq!(found.several, 0, "{correlation}");
        }
        let steps =
            detect_in(|random| (0..300).map(|_| (100.0 + random.normal()).round()).collect());
        assert_eq!(steps.several, 0);
    }

    #[test]
    fn gap_ratio_of_a_uniform_distribution_matches_theory() {
        let uniform: Vec<f64> = (0..10_000).map(|i| 10.0 + f64::from(i) / 10_000.0).collect();
        let groups = Groups::split(&uniform);
        // Halves of .45, each clipped; medians a half apart; within each a standard deviation of .5 / sqrt(12), less
        // the effect of clipping.
        assert!((groups.slower - 0.5).abs() < 0.01);
        assert!((groups.gap_ratio - 3.5).abs() < 0.2, "{}", groups.gap_ratio);
    }
}
