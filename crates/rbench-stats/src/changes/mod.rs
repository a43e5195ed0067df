//! Finds the versions at which a benchmark's value changed, in a series of many versions. Pure.
//!
//! Logarithms of values are divided into segments of constant level, exactly (see
//! [`segmentation`](super::segmentation)). A segment has at least two versions, so that one odd value is no change.
//! Each value counts by its variance: its squared standard error, and the variance between sessions, since values of
//! two experiments differ by more than their standard errors. Values of one experiment are tied together, and so are
//! those of one machine: a shift of all of them is no change (`model.rs`).
//!
//! The price of a change (its penalty) is calibrated by simulation, so that a series without one is flagged in at most
//! 5 % of all cases (`calibration.rs`). The highest price at which a series still has a change gives its p value.

mod calibration;
mod model;

use std::collections::{BTreeMap, HashMap, HashSet};

use self::model::{Datum, Model};
use super::{
    distribution::{chi_squared_quantile, t_quantile},
    moments::{Moments, median, whole},
    segmentation::Sums,
    sessions::SessionVariance,
    summary::Summary,
};

pub use self::calibration::{LARGEST_P, Noise};

/// Shorter series are refused: each side of a change needs versions to compare with.
pub const FEWEST: usize = 5;

/// The relative precision of highest prices.
const PRECISION: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The place of its version in the order of versions; several observations may share one, and gaps are allowed.
    pub place: usize,
    pub log: f64,
    /// The squared standard error of `log`, from its builds.
    pub variance: f64,
    /// The session that measured it, by any unique number.
    pub session: usize,
    /// The machine of the session, by any unique number.
    pub machine: usize,
}

impl Observation {
    /// A version as one session measured it; `None` with fewer than two builds, whose spread is unknown.
    pub fn new(place: usize, [session, machine]: [usize; 2], summary: &Summary) -> Option<Self> {
        let logs: Vec<f64> = summary.builds().iter().map(|build| build.value.ln()).collect();
        let moments = Moments::compute(&logs);
        let variance = moments.variance()? / moments.count as f64;
        let is_usable = moments.mean.is_finite() && variance.is_finite();
        is_usable.then_some(Self { place, log: moments.mean, variance, session, machine })
    }
}

/// A series of at least [`FEWEST`] versions.
#[derive(Clone, Debug)]
pub struct Series {
    model: Model,
    places: Vec<usize>,
    noise: Noise,
}

/// A change of the level, with 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The place of the first version of the new level, and of the version before it.
    pub at: [usize; 2],
    /// The earliest likely place of the change, as two versions like `at`.
    pub earliest: [usize; 2],
    /// The latest likely place of the change, as two versions like `at`.
    pub latest: [usize; 2],
    /// The difference of the logarithms of the levels.
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

const CONFIDENCE: f64 = 0.95;

impl Series {
    /// Orders the observations by place. The variance between sessions comes from the series itself and from repeated
    /// measurements. `None` if there are too few versions.
    pub fn new(observations: &[Observation], repeats: Option<&SessionVariance>) -> Option<Self> {
        let mut observations = observations.to_vec();
        observations.sort_by_key(|one| (one.place, one.session));
        let mut places: Vec<usize> = observations.iter().map(|one| one.place).collect();
        places.dedup();
        if places.len() < FEWEST {
            return None;
        }
        let effects = effects(&observations);
        let sessions: HashSet<usize> = observations.iter().map(|one| one.session).collect();
        let own = own_variances(&observations);
        let (noise, between, effects) = if sessions.len() == 1 {
            // A shift of the only session shifts no version against another.
            (Noise::Known, 0.0, HashMap::new())
        } else {
            let cautious = !effects.is_empty();
            let between = between_sessions(&observations, &own, repeats, cautious);
            (Noise::Estimated, between, effects)
        };
        // The machine of the newest version is the first.
        let newest = observations.last().map(|one| one.machine);
        let mut machines: Vec<usize> = observations.iter().map(|one| one.machine).collect();
        machines.sort_unstable();
        machines.dedup();
        machines.retain(|machine| Some(*machine) != newest);
        let mut version = 0;
        let mut data = Vec::with_capacity(observations.len());
        for (one, own) in observations.iter().zip(&own) {
            if places[version] != one.place {
                version += 1;
            }
            let effect = effects.get(&one.session).copied();
            let variance = if effect.is_some() { *own } else { own + between };
            let machine = machines.binary_search(&one.machine).ok();
            data.push(Datum { y: one.log, variance, version, effect, machine });
        }
        let mut model = Model {
            data,
            versions: places.len(),
            effects: effects.len(),
            machines: machines.len(),
            between,
        };
        let penalty = noise.price(LARGEST_P, places.len());
        tame(&mut model, penalty);
        Some(Self { model, places, noise })
    }

    pub fn versions(&self) -> usize {
        self.places.len()
    }

    /// The p value of "no change": the probability that a series without a change looks at least this changed; 1 if
    /// above 5 %.
    pub fn p(&self) -> f64 {
        let least = self.noise.price(LARGEST_P, self.versions());
        self.highest_price(least).map_or(1.0, |price| self.noise.p(price, self.versions()))
    }

    /// The highest price for each change at which the series still has one; `None` if it has none at the price `least`.
    pub fn highest_price(&self, least: f64) -> Option<f64> {
        let mut price = least;
        let mut found = self.model.best(price);
        if found.changes.is_empty() {
            return None;
        }
        let without = self.model.fit(Vec::new(), None).cost;
        // It is the largest gain for each change: fewer and fewer changes gain more each (Dinkelbach 1967).
        while !found.changes.is_empty() {
            let worth = (without - found.cost) / found.changes.len() as f64;
            if worth <= price * (1.0 + PRECISION) {
                break;
            }
            price = worth;
            found = self.model.best(price);
        }
        Some(price)
    }

    /// The changes at the price of a level, which is at most 5 %.
    pub fn changes(&self, level: f64) -> Vec<ChangePoint> {
        let fit = self.model.best(self.noise.price(level.min(LARGEST_P), self.versions()));
        let sums = self.model.sums(&fit);
        let freedom = match self.noise {
            Noise::Known => f64::INFINITY,
            Noise::Estimated => {
                let known = 1 + fit.changes.len() + self.model.machines;
                self.versions().saturating_sub(known).max(1) as f64
            }
        };
        let quantile = t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom);
        let bounds: Vec<usize> =
            [0].into_iter().chain(fit.changes.iter().copied()).chain([self.versions()]).collect();
        let change = |(index, bounds): (usize, &[usize])| {
            let &[start, at, end] = bounds else { unreachable!("windows of three") };
            let estimate = fit.levels[index + 1] - fit.levels[index];
            let error = self.model.variance_of_change(&fit.changes, index).max(0.0).sqrt();
            let half = quantile * error;
            let [first, last] = interval(&sums, [start, at, end], CONFIDENCE);
            let [at, earliest, latest] =
                [at, first, last].map(|at| [self.places[at - 1], self.places[at]]);
            ChangePoint {
                at,
                earliest,
                latest,
                estimate,
                low: estimate - half,
                high: estimate + half,
            }
        };
        bounds.windows(3).enumerate().map(change).collect()
    }
}

/// An index for each session that measured several versions.
fn effects(observations: &[Observation]) -> HashMap<usize, usize> {
    let mut places: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for one in observations {
        let (first, last) = places.entry(one.session).or_insert((one.place, one.place));
        (*first, *last) = ((*first).min(one.place), (*last).max(one.place));
    }
    let several = places.into_iter().filter(|(_, (first, last))| first != last);
    several.enumerate().map(|(index, (session, _))| (session, index)).collect()
}

/// Adds slow wandering to the variances, and removes single spikes from the values. Neither includes the effects of
/// sessions: their best estimates are subtracted first, beside the changes that cost this `penalty`. Without these
/// changes, the session that measured both sides of a large one would get half of it as its effect, and leave a spike
/// on each side.
fn tame(model: &mut Model, penalty: f64) {
    // Without ties nothing is subtracted, so that any fit will do.
    let fit = if model.has_ties() { model.best(penalty) } else { model.fit(Vec::new(), None) };
    let sums = model.sums(&fit);
    let versions = 0..model.versions;
    let values: Vec<f64> = versions.clone().map(|at| sums.mean(at, at + 1)).collect();
    let mut deviations: Vec<f64> =
        versions.map(|at| sums.weight(at, at + 1).sqrt().recip()).collect();
    let standardized: Vec<f64> =
        values.iter().zip(&deviations).map(|(value, deviation)| value / deviation).collect();
    let factor = wandering(&standardized);
    if factor > 1.0 {
        model.between *= factor;
        for datum in &mut model.data {
            datum.variance *= factor;
        }
        for deviation in &mut deviations {
            *deviation *= factor.sqrt();
        }
    }
    let corrections = without_spikes(&values, &deviations);
    for datum in &mut model.data {
        datum.y += corrections[datum.version];
    }
}

/// The smallest standard deviation of a value that is used: .01 %.
const LEAST_DEVIATION: f64 = 1e-4;

/// The share of squared differences that is used, the smallest ones: a change at every fifth place does no harm.
const KEPT: f64 = 0.8;

/// The mean of the smallest 80 % of squared standard normal numbers: `1 − 2 q φ(q) / .8` with `q` = 1.2816.
const MEAN_OF_KEPT: f64 = 0.437_70;

/// Differences of neighbours overlap and are trimmed, so each counts as less than a degree of freedom.
const WORTH: f64 = 0.4;

/// With fewer degrees of freedom, the variance between sessions counts as unknown.
const FEWEST_DEGREES: f64 = 2.0;

/// The standard deviation of a session's effect where it is unknown: large enough to allow any effect.
const UNKNOWN: f64 = 1.0;

/// The probability with which the variance between sessions is larger than assumed, where effects depend on it.
const DOUBT: f64 = 0.1;

/// Shorter series cannot show slow wandering.
const SHORTEST_WANDERING: usize = 40;

/// The least number of values in a block's mean, and the least number of blocks in a series.
const BLOCK: usize = 4;
const BLOCKS: usize = 7;

/// Blocks differ by more than chance if their variance is too large by the first number times the inverse square root
/// of the number of blocks (about three standard errors), plus the second number times its inverse, since few blocks
/// have a heavier tail.
const CLEARLY: [f64; 2] = [8.0, 40.0];

/// A difference of neighbouring blocks of this many usual differences is a change of level.
const JUMP: f64 = 4.0;

/// A value that exceeds both neighbours by this many standard deviations is a spike.
const SPIKE: f64 = 4.0;

/// The standard errors in use: one below the median may be luck, so it is raised to the median.
fn own_variances(observations: &[Observation]) -> Vec<f64> {
    let mut variances: Vec<f64> = observations.iter().map(|one| one.variance).collect();
    let usual = median(&mut variances).max(LEAST_DEVIATION * LEAST_DEVIATION);
    observations.iter().map(|one| one.variance.max(usual)).collect()
}

/// `s²`, the variance between sessions: from the differences of neighbouring values of different sessions beyond their
/// standard errors, and from repeated measurements. `cautious` where the effects of sessions must be distinguished from
/// changes.
fn between_sessions(
    observations: &[Observation],
    variances: &[f64],
    repeats: Option<&SessionVariance>,
    cautious: bool,
) -> f64 {
    let mut by_machine: Vec<(&Observation, f64)> =
        observations.iter().zip(variances.iter().copied()).collect();
    by_machine.sort_by_key(|(one, _)| one.machine);
    let pairs: Vec<(f64, f64)> = by_machine
        .windows(2)
        .map(|pair| [pair[0], pair[1]])
        .filter(|[(one, _), (next, _)]| one.machine == next.machine && one.session != next.session)
        .map(|[(one, own), (next, of_next)]| ((next.log - one.log).powi(2), own + of_next))
        .collect();
    let by_series = excess(&pairs);
    let mut freedom = WORTH * pairs.len() as f64;
    let mut variance = by_series;
    if let Some(repeats) = repeats.filter(|repeats| repeats.freedom > 0.0) {
        let by_repeats = (repeats.mean_square - repeats.noise).max(0.0);
        let both = freedom + repeats.freedom;
        variance = (freedom * by_series + repeats.freedom * by_repeats) / both;
        freedom = both;
    }
    if !cautious {
        return variance;
    }
    if freedom < FEWEST_DEGREES {
        return UNKNOWN * UNKNOWN;
    }
    let typical = median(&mut variances.to_vec());
    (variance.max(typical / 4.0)) * freedom / chi_squared_quantile(DOUBT, freedom)
}

/// The `s²` with which squared differences have their expected size `v + 2 s²`.
fn excess(pairs: &[(f64, f64)]) -> f64 {
    if pairs.is_empty() {
        return 0.0;
    }
    let mut scratch = vec![0.0; pairs.len()];
    let mut size = |excess: f64| {
        for (ratio, (square, variance)) in scratch.iter_mut().zip(pairs) {
            *ratio = square / (variance + 2.0 * excess);
        }
        mean_of_smallest(&mut scratch)
    };
    if size(0.0) <= MEAN_OF_KEPT {
        return 0.0;
    }
    // With equal variances the first guess is exact. Otherwise bisection.
    let usual = median(&mut pairs.iter().map(|(_, variance)| *variance).collect::<Vec<_>>());
    let guess = (size(0.0) / MEAN_OF_KEPT - 1.0) * usual / 2.0;
    let (mut low, mut high) = (0.0, guess.max(f64::MIN_POSITIVE));
    if (size(guess) / MEAN_OF_KEPT - 1.0).abs() < 1e-6 {
        return guess;
    }
    while size(high) > MEAN_OF_KEPT {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-4 * high {
        let middle = f64::midpoint(low, high);
        if size(middle) > MEAN_OF_KEPT { low = middle } else { high = middle }
    }
    high
}

/// The mean of the smallest 80 % of the values; the last of them counts in part, so that the mean is continuous in the
/// number of values.
fn mean_of_smallest(values: &mut [f64]) -> f64 {
    let kept = KEPT * values.len() as f64;
    let all = whole(kept);
    let mut sum = 0.0;
    if all < values.len() {
        let (_, next, _) = values.select_nth_unstable_by(all, f64::total_cmp);
        sum += (kept - all as f64) * *next;
    }
    (sum + values[..all].iter().sum::<f64>()) / kept
}

/// The factor by which slow wandering makes means of many values vary more than their standard errors imply; 1 if it is
/// not clear.
///
/// The values are in units of their standard deviation. Means of neighbouring blocks of 4, 8, 16, … values are
/// compared. A change of level spoils one or two of these differences, of which the median is used; and it is taken out
/// before the blocks become longer and fewer, where a few changes would spoil most of them.
fn wandering(standardized: &[f64]) -> f64 {
    if standardized.len() < SHORTEST_WANDERING {
        return 1.0;
    }
    let mut means = standardized.to_vec();
    let (mut block, mut factor) = (1, 1.0_f64);
    while means.len() / 2 >= BLOCKS {
        means = means.chunks_exact(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
        block *= 2;
        if block < BLOCK {
            continue;
        }
        let differences: Vec<f64> = means.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // The median of |N(0, 1)| is .6745, and a difference has twice the variance of a block.
        let mut sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
        let deviation = median(&mut sizes) / 0.674_490;
        let ratio = block as f64 * deviation * deviation / 2.0;
        let blocks = means.len() as f64;
        if ratio > 1.0 + CLEARLY[0] / blocks.sqrt() + CLEARLY[1] / blocks {
            factor = factor.max(ratio);
        }
        let mut jumps = 0.0;
        for (mean, difference) in means[1..].iter_mut().zip(differences) {
            if difference.abs() > JUMP * deviation {
                jumps += difference;
            }
            *mean -= jumps;
        }
    }
    factor
}

/// The correction for each single spike, which replaces it by the mean of its two neighbours: a single value, however
/// large, is no change. At the ends, the two nearest values are the neighbours.
fn without_spikes(values: &[f64], deviations: &[f64]) -> Vec<f64> {
    let count = values.len();
    if count < 3 {
        return vec![0.0; count];
    }
    let correction = |index: usize| {
        let beside = match index {
            0 => [1, 2],
            last if last + 1 == count => [count - 3, count - 2],
            _ => [index - 1, index + 1],
        };
        let [one, other] = beside.map(|beside| values[beside]);
        let slack = SPIKE * deviations[index];
        let value = values[index];
        let usual = one.min(other) - slack..=one.max(other) + slack;
        if usual.contains(&value) { 0.0 } else { f64::midpoint(one, other) - value }
    };
    (0..count).map(correction).collect()
}

/// The places `first ..= last` that contain a change with this probability, with a uniform prior between the adjacent
/// changes: `exp(−cost / 2)` of each place, with the best levels for it. They lie around `at`, the best.
fn interval(sums: &Sums, [start, at, end]: [usize; 3], confidence: f64) -> [usize; 2] {
    let cost = |place: usize| sums.cost(start, place) + sums.cost(place, end);
    let least = cost(at);
    let density = |place: usize| ((least - cost(place)) / 2.0).exp();
    let total: f64 = (start + 1..end).map(density).sum();
    let (mut first, mut last, mut covered) = (at, at, density(at));
    while covered < confidence * total {
        let before = if first > start + 1 { density(first - 1) } else { -1.0 };
        let after = if last + 1 < end { density(last + 1) } else { -1.0 };
        if before.max(after) < 0.0 {
            break;
        }
        if before > after {
            first -= 1;
            covered += before;
        } else {
            last += 1;
            covered += after;
        }
    }
    [first, last]
}

/// The possible places of a change, as places of versions: after the first, up to and including the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The most likely places.
    pub best: [usize; 2],
    pub possible: [usize; 2],
}

/// Changes that may have happened at the same version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The intersection of the most likely spans of all members.
    pub span: Span,
    pub members: Vec<usize>,
}

/// The weight of a change at a version that is possible, but not most likely for it; in halves.
const POSSIBLE: usize = 1;
const BEST: usize = 2;

/// Groups changes greedily: repeatedly takes the version that is possible for most of the remaining changes. The groups
/// are ordered by place.
pub fn groups(changes: &[Span]) -> Vec<Group> {
    let has = |[after, until]: [usize; 2], at: usize| after < at && at <= until;
    let mut left: Vec<usize> = (0..changes.len()).collect();
    let mut groups = Vec::new();
    while !left.is_empty() {
        let score = |at: usize| -> usize {
            let of = |index: &usize| match &changes[*index] {
                span if has(span.best, at) => BEST,
                span if has(span.possible, at) => POSSIBLE,
                _ => 0,
            };
            left.iter().map(of).sum()
        };
        // Some group ends at the end of a span, so only ends need to be tried.
        let ends =
            left.iter().flat_map(|index| [changes[*index].best[1], changes[*index].possible[1]]);
        let at = ends.max_by_key(|at| (score(*at), std::cmp::Reverse(*at))).unwrap_or_default();
        let (members, rest): (Vec<usize>, Vec<usize>) =
            left.iter().partition(|index| has(changes[**index].possible, at));
        if members.is_empty() {
            break;
        }
        let common = |spans: &mut dyn Iterator<Item = [usize; 2]>| {
            let spans = spans.filter(|span| has(*span, at));
            spans.reduce(|one, other| [one[0].max(other[0]), one[1].min(other[1])])
        };
        let possible = common(&mut members.iter().map(|index| changes[*index].possible));
        let best = common(&mut members.iter().map(|index| changes[*index].best)).or(possible);
        let span = best.zip(possible).map(|(best, possible)| Span {
            best: [best[0].max(possible[0]), best[1].min(possible[1])],
            possible,
        });
        groups.extend(span.map(|span| Group { span, members }));
        left = rest;
    }
    groups.sort_by_key(|group| (group.span.best[1], group.span.best[0]));
    groups
}

#[cfg(test)]
mod tests;
