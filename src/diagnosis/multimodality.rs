//! Finds several states at the same time: Hartigan's dip test of each execution (Hartigan & Hartigan 1985), for the
//! effect in figure 9 of Gil et al. 2011, section 5.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    InsufficientData, LevelShifts, Options, Position, SIGNIFICANT,
    autocorrelation::ratio,
    values::{Execution, Ranks, long_enough, mean, quantile, sorted, without_steps},
};
use crate::stats::{Random, distribution::chi_squared_survival, median, whole};

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

/// The dip of sorted values, from `1/(2n)` to 1/4 (Hartigan & Hartigan 1985, section 2).
///
/// For a mode in a given interval of values, the best unimodal distribution is the greatest convex minorant of the
/// empirical one before it and the least concave majorant after it. The interval shrinks to the place where the two are
/// furthest apart, until that distance no longer exceeds the distance already found outside.
pub fn dip(sorted: &[f64]) -> f64 {
    let count = sorted.len();
    if count < 2 {
        return 0.5 / count.max(1) as f64;
    }
    let (mut low, mut high) = (0, count - 1);
    // In counts, and doubled: the least dip is the step of the empirical distribution at one value.
    let mut dip = 1.0_f64;
    loop {
        let minorant = Hull::new(sorted, low, high, false);
        let majorant = Hull::new(sorted, low, high, true);
        let (apart, [next_low, next_high]) = furthest(&minorant, &majorant);
        if apart <= dip {
            break;
        }
        dip = dip.max(minorant.exceeded(low, next_low)).max(majorant.exceeded(next_high, high));
        if (next_low, next_high) == (low, high) {
            break;
        }
        (low, high) = (next_low, next_high);
    }
    dip / (2.0 * count as f64)
}

/// One of the two curves between two indices, as the corners through which it passes.
struct Hull<'a> {
    values: &'a [f64],
    corners: Vec<usize>,
    /// The majorant lies on the upper ends of the steps.
    upper: bool,
}

impl<'a> Hull<'a> {
    fn new(values: &'a [f64], low: usize, high: usize, upper: bool) -> Self {
        let mut corners: Vec<usize> = vec![];
        for index in low..=high {
            while let [.., before, last] = corners[..] {
                // Twice the area of the triangle: positive if the last corner lies below the line.
                let area = (values[last] - values[before]) * (index - before) as f64
                    - (values[index] - values[before]) * (last - before) as f64;
                let bends = if upper { area < 0.0 } else { area > 0.0 };
                if bends {
                    break;
                }
                corners.pop();
            }
            corners.push(index);
        }
        Self { values, corners, upper }
    }

    /// The height of the curve at the value of an index, in counts.
    fn value_at(&self, index: usize) -> f64 {
        let after = self.corners.partition_point(|corner| *corner < index);
        let right = self.corners[after];
        let height = |corner: usize| corner as f64 + f64::from(u8::from(self.upper));
        if right == index {
            return height(index);
        }
        let left = self.corners[after - 1];
        let width = self.values[right] - self.values[left];
        let share =
            if width > 0.0 { (self.values[index] - self.values[left]) / width } else { 1.0 };
        height(left) + share * (right - left) as f64
    }

    /// The largest distance of the other ends of the steps from the curve, between two indices.
    fn exceeded(&self, from: usize, to: usize) -> f64 {
        let other = |index: usize| index as f64 + f64::from(u8::from(!self.upper));
        (from..=to).map(|index| (other(index) - self.value_at(index)).abs()).fold(0.0, f64::max)
    }
}

/// The largest distance of the two curves, and the corners between which the mode then lies.
fn furthest(minorant: &Hull<'_>, majorant: &Hull<'_>) -> (f64, [usize; 2]) {
    let mut best = (0.0, [0, 0]);
    for &corner in &minorant.corners {
        let apart = majorant.value_at(corner) - corner as f64;
        if apart > best.0 {
            let next = majorant.corners.partition_point(|other| *other < corner);
            best = (apart, [corner, majorant.corners[next]]);
        }
    }
    for &corner in &majorant.corners {
        let apart = corner as f64 + 1.0 - minorant.value_at(corner);
        if apart > best.0 {
            let next = minorant.corners.partition_point(|other| *other <= corner);
            best = (apart, [minorant.corners[next - 1], corner]);
        }
    }
    best
}

/// (P(more), value) of `dip · (√n + .75)` of n uniform numbers, which has nearly the same distribution for every n from
/// 50 on; from 3,000,000 samples of 400.
const UNIFORM: [(f64, f64); 19] = [
    (1.0, 0.0),
    (0.9, 0.2946),
    (0.7, 0.3411),
    (0.5, 0.3805),
    (0.3, 0.4267),
    (0.2, 0.4580),
    (0.1, 0.5055),
    (0.05, 0.5479),
    (0.02, 0.5991),
    (0.01, 0.6346),
    (0.005, 0.6679),
    (0.002, 0.7095),
    (0.001, 0.7387),
    (0.000_5, 0.7672),
    (0.000_2, 0.8029),
    (0.000_1, 0.8288),
    (0.000_05, 0.8570),
    (0.000_02, 0.8867),
    (0.000_01, 0.9030),
];

/// The probability of a dip this large in `count` values from a uniform distribution, the worst case of unimodal ones.
/// Accurate to a tenth of itself from 50 values on; smaller values than .00001 are .00001.
pub fn p_of_dip(dip: f64, count: usize) -> f64 {
    let statistic = dip * ((count as f64).sqrt() + 0.75);
    let above = UNIFORM.partition_point(|(_, value)| *value <= statistic).max(1);
    let (p, value) = UNIFORM[above - 1];
    let Some((next_p, next_value)) = UNIFORM.get(above) else { return p };
    // Interpolates on a logarithmic scale.
    p * (next_p / p).powf((statistic - value) / (next_value - value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        diagnosis::testing::{autoregressive, executions_of},
        stats::Random,
    };

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

    #[test]
    fn dip_is_least_for_a_uniform_grid() {
        for count in [2, 3, 10, 101] {
            let grid: Vec<f64> = (0..count).map(f64::from).collect();
            assert!((dip(&grid) - 0.5 / f64::from(count)).abs() < 1e-12, "{count}");
        }
        assert_eq!(dip(&[1.0]), 0.5);
    }

    #[test]
    fn dip_is_largest_for_two_equal_clusters() {
        let clusters: Vec<f64> = (0..50).map(|i| f64::from(i / 25) + 1e-9 * f64::from(i)).collect();
        assert!((dip(&clusters) - 0.25).abs() < 0.001, "{}", dip(&clusters));
    }

    /// The quality of 63 statistics departments: the published example, which has many ties.
    const FACULTY: [u8; 63] = [
        30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44, 44, 45,
        45, 46, 47, 47, 48, 48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53, 54, 54, 57, 57, 59,
        60, 60, 60, 61, 61, 61, 61, 62, 62, 62, 62, 63, 66, 70, 72, 72, 72,
    ];

    #[test]
    fn dip_matches_the_published_example() {
        assert!(
            (dip(&FACULTY.map(f64::from)) - 0.059_523_81).abs() < 1e-8,
            "{}",
            dip(&FACULTY.map(f64::from))
        );
    }

    #[test]
    fn p_of_dip_agrees_with_published_quantiles() {
        // Maechler's table (R package diptest, qDiptab), from 1,000,001 samples each.
        for (count, p, quantile) in [
            (50, 0.05, 0.070_273_8),
            (50, 0.001, 0.094_093_0),
            (100, 0.1, 0.047_152_8),
            (200, 0.5, 0.025_584_4),
            (200, 0.001, 0.049_719_8),
            (500, 0.01, 0.027_451_8),
            (1000, 0.0001, 0.025_612_7),
            (2000, 0.05, 0.012_038_1),
        ] {
            let obtained = p_of_dip(quantile, count);
            assert!((obtained / p - 1.0).abs() < 0.1, "{count} {p} {obtained}");
        }
        assert_eq!((p_of_dip(0.0, 100), p_of_dip(0.25, 100)), (1.0, 0.000_01));
    }

    #[test]
    fn p_of_dip_is_uniform_for_uniform_samples() {
        let mut random = Random::new(3);
        let mut least = 0;
        for _ in 0..2_000 {
            let mut values: Vec<f64> = (0..60).map(|_| random.unit()).collect();
            values.sort_by(f64::total_cmp);
            least += u32::from(p_of_dip(dip(&values), 60) < 0.1);
        }
        assert!((150..250).contains(&least), "{least}");
    }

    fn samples() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-100.0..100.0, 2..40).prop_map(|mut values| {
            values.sort_by(f64::total_cmp);
            values
        })
    }

    proptest! {
        #[test]
        fn dip_is_bounded_and_independent_of_scale_and_direction(
            values in samples(),
            scale in 0.01..100.0,
        ) {
            let dip_of = dip(&values);
            let n = values.len() as f64;
            prop_assert!(dip_of >= 0.5 / n - 1e-12 && dip_of <= 0.25 + 1e-12, "{dip_of}");
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            prop_assert!((dip(&scaled) - dip_of).abs() < 1e-9);
            let mirrored: Vec<f64> = values.iter().rev().map(|value| -value).collect();
            prop_assert!((dip(&mirrored) - dip_of).abs() < 1e-9);
        }
    }
}
