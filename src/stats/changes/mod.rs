//! Where a benchmark's value changed in the course of many versions.
//!
//! Logarithms of values are divided into segments of constant level, exactly (see
//! [`segmentation`](super::segmentation)). A segment has at least two versions, so that one odd value is no change. Each value counts by its variance: its
//! squared standard error, and the variance between sessions, since values of two experiments differ by more than
//! their standard errors. Values of one experiment are tied together: what shifted all of them is no change (`model.rs`).
//!
//! The price of a change is calibrated by simulation, so that a series without one is flagged in at most 5 % of all cases
//! (`calibration.rs`). The highest price at which a series still has a change gives its p value.

mod calibration;
mod events;
mod model;
mod noise;
mod place;

use std::collections::{BTreeMap, HashMap, HashSet};

pub use calibration::{LARGEST_P, Noise};
pub use events::{Group, Span, groups};
use model::{Datum, Fit, Model};

use super::{
    distribution::t_quantile, moments::Moments, sessions::SessionVariance, summary::Summary,
};

/// A segment has at least so many versions.
pub const SHORTEST: usize = 2;

/// Series of fewer versions are not judged: at each side of a change there must be one to be compared with.
pub const FEWEST: usize = 5;

/// Highest prices are known to this share.
const PRECISION: f64 = 1e-6;

/// One version in one session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The place of its version in the order of versions; several observations may have one, and gaps do no harm.
    pub place: usize,
    /// The logarithm of its value.
    pub log: f64,
    /// The squared standard error of that, by its builds.
    pub variance: f64,
    /// The session that measured it, by any number that it alone has.
    pub session: usize,
}

impl Observation {
    /// What a session measured of a version; `None` with fewer than two builds, whose spread says nothing.
    pub fn of(place: usize, session: usize, summary: &Summary) -> Option<Self> {
        let logs: Vec<f64> = summary.builds().iter().map(|build| build.value.ln()).collect();
        let moments = Moments::of(&logs);
        let variance = moments.variance()? / moments.count as f64;
        let is_usable = moments.mean.is_finite() && variance.is_finite();
        is_usable.then_some(Self { place, log: moments.mean, variance, session })
    }
}

/// A series of at least [`FEWEST`] versions, ready to be judged.
#[derive(Clone, Debug)]
pub struct Series {
    model: Model,
    /// The place of each version.
    places: Vec<usize>,
    noise: Noise,
}

/// A change of the level, with 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The place of the first version of the new level, and of the version before it.
    pub at: [usize; 2],
    /// The same for the earliest place that the change may have.
    pub earliest: [usize; 2],
    /// The same for the latest place that the change may have.
    pub latest: [usize; 2],
    /// The difference of the logarithms of the levels.
    pub estimate: f64,
    /// Its lower limit.
    pub low: f64,
    /// Its upper limit.
    pub high: f64,
}

/// The confidence of the intervals of a change.
const CONFIDENCE: f64 = 0.95;

impl Series {
    /// A series in the order of places; what repeats say of the variance between sessions is used beside what the series
    /// itself says. `None` if it has too few versions.
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
        let own = noise::own_variances(&observations);
        let (noise, between, effects) = if sessions.len() == 1 {
            // What shifts all of them shifts nothing.
            (Noise::Known, 0.0, HashMap::new())
        } else {
            let cautious = !effects.is_empty();
            let between = noise::between_sessions(&observations, &own, repeats, cautious);
            (Noise::Estimated, between, effects)
        };
        let mut version = 0;
        let mut data = Vec::with_capacity(observations.len());
        for (one, own) in observations.iter().zip(&own) {
            if places[version] != one.place {
                version += 1;
            }
            let effect = effects.get(&one.session).copied();
            let variance = if effect.is_some() { *own } else { own + between };
            data.push(Datum { y: one.log, variance, version, effect });
        }
        let mut model = Model { data, versions: places.len(), effects: effects.len(), between };
        tame(&mut model);
        Some(Self { model, places, noise })
    }

    /// How many versions it has.
    pub fn versions(&self) -> usize {
        self.places.len()
    }

    /// How its noise is known.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// The probability that a series without a change looks as much as if it had one; 1 if that is more than 5 %.
    pub fn p(&self) -> f64 {
        let least = self.noise.price(LARGEST_P, self.versions());
        self.highest_price(least).map_or(1.0, |price| self.noise.p(price, self.versions()))
    }

    /// The highest price for each change at which it still has one; `None` if it has none at the least price.
    pub fn highest_price(&self, least: f64) -> Option<f64> {
        let mut price = least;
        let mut found = self.model.best(price);
        if found.changes.is_empty() {
            return None;
        }
        let without = self.model.fit(Vec::new(), None).cost;
        // It is the largest gain for each change: ever fewer changes are worth ever more (Dinkelbach 1967).
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

    /// The changes at the price that belongs to a level, which is at most 5 %.
    pub fn changes(&self, level: f64) -> Vec<ChangePoint> {
        let fit = self.model.best(self.noise.price(level.min(LARGEST_P), self.versions()));
        let sums = self.model.sums(&fit.effects);
        let freedom = match self.noise {
            Noise::Known => f64::INFINITY,
            Noise::Estimated => (self.versions() - fit.changes.len() - 1).max(1) as f64,
        };
        let quantile = t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom);
        let bounds: Vec<usize> =
            [0].into_iter().chain(fit.changes.iter().copied()).chain([self.versions()]).collect();
        let change = |(index, bounds): (usize, &[usize])| {
            let &[start, at, end] = bounds else { unreachable!("windows of three") };
            let estimate = fit.levels[index + 1] - fit.levels[index];
            let error = self.model.variance_of_change(&fit.changes, index).max(0.0).sqrt();
            let half = quantile * error;
            let [first, last] = place::interval(&sums, [start, at, end], CONFIDENCE);
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

/// Takes slow wandering into the variances, and single spikes out of the values. Effects of sessions are neither: the
/// best ones without a change are left out of account.
fn tame(model: &mut Model) {
    let Fit { effects, .. } = model.fit(Vec::new(), None);
    let sums = model.sums(&effects);
    let versions = 0..model.versions;
    let values: Vec<f64> = versions.clone().map(|at| sums.mean(at, at + 1)).collect();
    let mut deviations: Vec<f64> =
        versions.map(|at| sums.weight(at, at + 1).sqrt().recip()).collect();
    let standardized: Vec<f64> =
        values.iter().zip(&deviations).map(|(value, deviation)| value / deviation).collect();
    let factor = noise::wandering(&standardized);
    if factor > 1.0 {
        model.between *= factor;
        for datum in &mut model.data {
            datum.variance *= factor;
        }
        for deviation in &mut deviations {
            *deviation *= factor.sqrt();
        }
    }
    let corrections = noise::without_spikes(&values, &deviations);
    for datum in &mut model.data {
        datum.y += corrections[datum.version];
    }
}

#[cfg(test)]
mod tests;
