//! How noisy a series is: beyond its standard errors, and in the long run.

use crate::stats::{distribution::chi_squared_quantile, median, sessions::SessionVariance};

use super::Observation;

/// Values are not told apart below this: .01 %.
pub(super) const LEAST_DEVIATION: f64 = 1e-4;

/// The share of squared differences that is used, the smallest ones: what changes at every fifth place spoils nothing.
const KEPT: f64 = 0.8;

/// The mean of the smallest 80 % of squared standard normal numbers: `1 − 2 q φ(q) / .8` with `q` = 1.2816.
const MEAN_OF_KEPT: f64 = 0.437_70;

/// Differences of neighbours overlap and are trimmed, so one is worth less than a degree of freedom.
const WORTH: f64 = 0.4;

/// With fewer degrees of freedom, the variance between sessions counts as unknown.
const FEWEST_DEGREES: f64 = 2.0;

/// The standard deviation of a session's effect where it is unknown: so large that it may be anything.
const UNKNOWN: f64 = 1.0;

/// The probability with which the variance between sessions is larger than assumed, where effects depend on it.
const DOUBT: f64 = 0.1;

/// Shorter series do not show slow wandering.
const SHORTEST_WANDERING: usize = 40;

/// A mean of a block is of so many values at least, and a series has so many blocks at least.
const BLOCK: usize = 4;
const BLOCKS: usize = 7;

/// Blocks differ more than by chance if their variance is too large by so many times the inverse square root of their
/// number, about three standard errors, and by so many times the inverse of it, since few blocks have a heavier tail.
const CLEARLY: [f64; 2] = [8.0, 40.0];

/// A difference of neighbouring blocks that exceeds their usual difference by so many times is a change of level.
const JUMP: f64 = 4.0;

/// A value that exceeds both values beside it by more standard deviations is a spike.
const SPIKE: f64 = 4.0;

/// Standard errors as they are used: a value that seems more precise than most may only be lucky.
pub(super) fn own_variances(observations: &[Observation]) -> Vec<f64> {
    let mut variances: Vec<f64> = observations.iter().map(|one| one.variance).collect();
    let usual = median(&mut variances).max(LEAST_DEVIATION * LEAST_DEVIATION);
    observations.iter().map(|one| one.variance.max(usual)).collect()
}

/// `s²`, the variance between sessions, by what neighbouring values of different sessions differ more than their standard
/// errors explain, and by what repeats say. `cautious` where effects of sessions are told from changes by it.
pub(super) fn between_sessions(
    observations: &[Observation],
    variances: &[f64],
    repeats: Option<&SessionVariance>,
    cautious: bool,
) -> f64 {
    let pairs: Vec<(f64, f64)> = observations
        .windows(2)
        .zip(variances.windows(2))
        .filter(|(pair, _)| pair[0].session != pair[1].session)
        .map(|(pair, variances)| ((pair[1].log - pair[0].log).powi(2), variances[0] + variances[1]))
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

/// The `s²` with which squared differences have the size that `v + 2 s²` promises.
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

/// The mean of the smallest 80 % of the values; the last of them counts in part, so that it is no jump from one number
/// of values to the next.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the whole part of a share of a count is a count"
)]
fn mean_of_smallest(values: &mut [f64]) -> f64 {
    let kept = KEPT * values.len() as f64;
    let whole = kept as usize;
    let mut sum = 0.0;
    if whole < values.len() {
        let (_, next, _) = values.select_nth_unstable_by(whole, f64::total_cmp);
        sum += (kept - whole as f64) * *next;
    }
    (sum + values[..whole].iter().sum::<f64>()) / kept
}

/// By how much slow wandering makes means of many values more variable than their standard errors say; 1 if it does not
/// clearly.
///
/// For values in units of their standard deviation. Means of neighbouring blocks of 4, 8, 16, … values are compared. A
/// change of level spoils one or two of these differences, of which the median is used; and it is taken out before the
/// blocks become longer and fewer, where a few changes would spoil most of them.
pub(super) fn wandering(standardized: &[f64]) -> f64 {
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

/// What is to be added to each value to replace each that stands out from both beside it by the mean of these: a single spike,
/// however large, is no change together with its neighbour. At the ends, the two nearest values are beside it.
pub(super) fn without_spikes(values: &[f64], deviations: &[f64]) -> Vec<f64> {
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
