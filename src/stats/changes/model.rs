//! Levels between changes, with the effects of sessions that measured several versions.
//!
//! `y[i] = μ[segment of i] + u[session of i] + noise of variance r[i]`, and the effects `u` have the variance `s²`. The
//! model minimises
//!
//! `Σ (y − μ − u)² / r + Σ u² / s² + penalty · number of changes`
//!
//! over levels, effects and changes. The second sum is the ridge penalty from the prior variance of the effects.
//!
//! - *With the changes fixed*, it is quadratic. The effects are eliminated, since each has a closed form, and the
//!   levels found by conjugate gradients, each step of which lowers the sum.
//! - *With the effects fixed*, `y − u` is divided exactly.
//!
//! Both steps alternate until nothing moves, from two starts. One divides the series as if every value had its own
//! session, which finds changes larger than the variation between sessions. The other adds changes one by one, each
//! where it lowers the sum most with the effects free to follow, which finds changes that only ties show. (With the
//! effects fixed these cannot be found: the effects of the later sessions have absorbed them.) Then changes are removed
//! as long as that lowers the sum. The better result counts.

use crate::stats::segmentation::{self, Sums};

/// The minimum number of versions in a segment.
pub(super) const SHORTEST: usize = 2;

/// The limit of alternations; the changes repeat long before.
const TURNS: usize = 30;

/// Conjugate gradients end at this share of the first residual.
const TOLERANCE: f64 = 1e-10;
const STEPS: usize = 300;

/// A smaller decrease counts as none.
const SLACK: f64 = 1e-9;

/// One value, as the model knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datum {
    pub y: f64,
    /// `r`
    pub variance: f64,
    /// The index of its version, from 0 without gaps.
    pub version: usize,
    /// The index of the effect of its session, if that measured several versions.
    pub effect: Option<usize>,
}

/// The values of one series, in the order of their versions.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub data: Vec<Datum>,
    pub versions: usize,
    pub effects: usize,
    /// `s²`
    pub between: f64,
}

/// Changes with the levels and effects that fit best.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    /// The versions at which new levels begin, ascending.
    pub changes: Vec<usize>,
    /// The level of each segment.
    pub levels: Vec<f64>,
    /// The effect of each session that has one.
    pub effects: Vec<f64>,
    /// The minimised sum without the penalty.
    pub cost: f64,
}

impl Fit {
    fn total(&self, penalty: f64) -> f64 {
        self.cost + penalty * self.changes.len() as f64
    }
}

impl Model {
    /// The best fit found with this penalty for each change.
    pub fn best(&self, penalty: f64) -> Fit {
        let alone = self.alone();
        let first = self.fit(alone.divide(penalty, SHORTEST), None);
        if self.effects == 0 {
            return first;
        }
        let none = self.fit(Vec::new(), None);
        let starts = [first, self.added(none.clone(), penalty)];
        let ends = starts.map(|fit| self.shed(self.settle(fit, penalty, |_| ()), penalty));
        ends.into_iter().fold(none, |best, end| {
            if end.total(penalty) < best.total(penalty) - SLACK { end } else { best }
        })
    }

    /// Adds changes one by one, as long as that lowers the sum.
    fn added(&self, mut fit: Fit, penalty: f64) -> Fit {
        while let Some(at) = self.best_split(&fit) {
            let mut changes = fit.changes.clone();
            let place = changes.partition_point(|change| *change < at);
            changes.insert(place, at);
            let next = self.fit(changes, Some(&fit.effects));
            if next.total(penalty) >= fit.total(penalty) - SLACK {
                break;
            }
            fit = next;
        }
        fit
    }

    /// Removes changes one by one, as long as that lowers the sum.
    fn shed(&self, mut fit: Fit, penalty: f64) -> Fit {
        loop {
            let without = |index: usize| {
                let mut changes = fit.changes.clone();
                changes.remove(index);
                self.fit(changes, Some(&fit.effects))
            };
            let fits = (0..fit.changes.len()).map(without);
            let best = fits.min_by(|one, other| one.cost.total_cmp(&other.cost));
            match best {
                Some(next) if next.total(penalty) < fit.total(penalty) - SLACK => fit = next,
                _ => return fit,
            }
        }
    }

    /// The place where another change would lower the cost most, with effects and the level of its own segment free to
    /// follow.
    ///
    /// With `P` the inverse of the covariance of noise and effects, and `x` one from the change to the end of its
    /// segment: `(x' P (y − μ))² / (x' P x − (x' P 1)² / 1' P 1)`, each term of which grows value by value.
    fn best_split(&self, fit: &Fit) -> Option<usize> {
        let totals = self.session_weights(0..self.versions, 1.0 / self.between);
        let mut best = (0.0, None);
        let segments = segmentation::segments(self.versions, &fit.changes);
        for ((start, end), level) in segments.zip(&fit.levels) {
            let own = self.session_weights(start..end, 0.0);
            let one = |datum: &Datum| {
                1.0 - datum.effect.map_or(0.0, |effect| own[effect] / totals[effect])
            };
            let of_segment =
                || self.data.iter().rev().filter(|datum| (start..end).contains(&datum.version));
            let whole: f64 = of_segment().map(|datum| one(datum) / datum.variance).sum();
            let (mut rest, mut square, mut cross) = (0.0, 0.0, 0.0);
            let mut weights = vec![0.0; self.effects];
            let mut at = end;
            for datum in of_segment() {
                if datum.version != at {
                    let divisor = square - cross * cross / whole;
                    let allowed = end - at >= SHORTEST && at - start >= SHORTEST;
                    if allowed && divisor > 0.0 && rest * rest / divisor > best.0 {
                        best = (rest * rest / divisor, Some(at));
                    }
                    at = datum.version;
                }
                let weight = 1.0 / datum.variance;
                let effect = datum.effect.map_or(0.0, |effect| fit.effects[effect]);
                rest += weight * (datum.y - level - effect);
                cross += weight * one(datum);
                square += weight;
                if let Some(effect) = datum.effect {
                    let before = weights[effect];
                    weights[effect] += weight;
                    square -= (weights[effect].powi(2) - before * before) / totals[effect];
                }
            }
        }
        best.1
    }

    /// The sum of the weights of each session's values of some versions, plus `first`.
    fn session_weights(&self, versions: std::ops::Range<usize>, first: f64) -> Vec<f64> {
        let mut sums = vec![first; self.effects];
        for datum in self.data.iter().filter(|datum| versions.contains(&datum.version)) {
            if let Some(effect) = datum.effect {
                sums[effect] += 1.0 / datum.variance;
            }
        }
        sums
    }

    /// Alternates both steps until nothing moves; reports the minimised sum after each of them.
    pub fn settle(&self, mut fit: Fit, penalty: f64, mut after: impl FnMut(f64)) -> Fit {
        after(fit.total(penalty));
        for _ in 0..TURNS {
            let changes = self.divided(&fit.effects, penalty);
            if changes == fit.changes {
                break;
            }
            let next = self.fit(changes, Some(&fit.effects));
            after(next.total(penalty));
            if next.total(penalty) >= fit.total(penalty) - SLACK {
                break;
            }
            fit = next;
        }
        fit
    }

    /// The best changes with the effects fixed.
    fn divided(&self, effects: &[f64], penalty: f64) -> Vec<usize> {
        self.sums(effects).divide(penalty, SHORTEST)
    }

    /// The values of the versions without the effects.
    pub fn sums(&self, effects: &[f64]) -> Sums {
        let less = |datum: &Datum| {
            (datum.y - datum.effect.map_or(0.0, |effect| effects[effect]), 1.0 / datum.variance)
        };
        self.by_version(less)
    }

    /// The values of the versions as if every value had its own session.
    fn alone(&self) -> Sums {
        let between = |datum: &Datum| if datum.effect.is_some() { self.between } else { 0.0 };
        self.by_version(|datum| (datum.y, 1.0 / (datum.variance + between(datum))))
    }

    fn by_version(&self, value: impl Fn(&Datum) -> (f64, f64)) -> Sums {
        let mut sums = vec![(0.0, 0.0); self.versions];
        for datum in &self.data {
            let (y, weight) = value(datum);
            let (sum, total) = &mut sums[datum.version];
            *sum += weight * y;
            *total += weight;
        }
        let (values, weights): (Vec<f64>, Vec<f64>) =
            sums.into_iter().map(|(sum, weight)| (sum / weight, weight)).unzip();
        Sums::new(&values, &weights)
    }

    /// The best levels and effects with the changes fixed; `effects` are the starting point, if known.
    pub fn fit(&self, changes: Vec<usize>, effects: Option<&[f64]>) -> Fit {
        let segments = self.segments(&changes);
        let count = changes.len() + 1;
        let mut levels = vec![0.0; count];
        let sums = effects.map_or_else(|| self.alone(), |effects| self.sums(effects));
        let bounds = segmentation::segments(self.versions, &changes);
        for (level, (start, end)) in levels.iter_mut().zip(bounds) {
            *level = sums.mean(start, end);
        }
        let residual = |levels: &[f64]| {
            self.projected(&segments, count, |datum| datum.y - levels[segments[datum.version]])
        };
        if self.effects > 0 {
            let right = residual(&levels);
            let steps = self.solve(&segments, &right);
            for (level, step) in levels.iter_mut().zip(steps) {
                *level += step;
            }
        }
        let effects = self.effects_of(|datum| datum.y - levels[segments[datum.version]]);
        let cost = self.cost(&segments, &levels, &effects);
        Fit { changes, levels, effects, cost }
    }

    /// The variance of the difference of the levels before and after a change, with the changes fixed.
    pub fn variance_of_change(&self, changes: &[usize], index: usize) -> f64 {
        let mut contrast = vec![0.0; changes.len() + 1];
        (contrast[index], contrast[index + 1]) = (-1.0, 1.0);
        let solved = self.solve(&self.segments(changes), &contrast);
        solved[index + 1] - solved[index]
    }

    /// The segment of each version.
    fn segments(&self, changes: &[usize]) -> Vec<usize> {
        let mut segments = vec![0; self.versions];
        for change in changes {
            segments[*change] = 1;
        }
        let mut segment = 0;
        for of in &mut segments {
            segment += *of;
            *of = segment;
        }
        segments
    }

    /// The best effects for the residuals of the levels.
    fn effects_of(&self, rest: impl Fn(&Datum) -> f64) -> Vec<f64> {
        let mut sums = vec![(0.0, 1.0 / self.between); self.effects];
        for datum in &self.data {
            if let Some(effect) = datum.effect {
                let (sum, weight) = &mut sums[effect];
                *sum += rest(datum) / datum.variance;
                *weight += 1.0 / datum.variance;
            }
        }
        sums.into_iter().map(|(sum, weight)| sum / weight).collect()
    }

    /// For each segment `Σ (z − u(z)) / r`, where `u(z)` are the best effects for `z`: for `z = y` the right side of
    /// the normal equations without effects, and for the levels themselves the left.
    fn projected(&self, segments: &[usize], count: usize, z: impl Fn(&Datum) -> f64) -> Vec<f64> {
        let effects = self.effects_of(&z);
        let mut sums = vec![0.0; count];
        for datum in &self.data {
            let effect = datum.effect.map_or(0.0, |effect| effects[effect]);
            sums[segments[datum.version]] += (z(datum) - effect) / datum.variance;
        }
        sums
    }

    /// Solves the normal equations of the levels by conjugate gradients, preconditioned with the part of their diagonal
    /// without effects. Without effects that is the whole diagonal, and one step is exact.
    fn solve(&self, segments: &[usize], right: &[f64]) -> Vec<f64> {
        let count = right.len();
        let mut diagonal = vec![0.0; count];
        for datum in &self.data {
            diagonal[segments[datum.version]] += 1.0 / datum.variance;
        }
        let scaled = |residual: &[f64]| -> Vec<f64> {
            residual.iter().zip(&diagonal).map(|(residual, diagonal)| residual / diagonal).collect()
        };
        let mut solution = vec![0.0; count];
        let mut residual = right.to_vec();
        let mut direction = scaled(&residual);
        let mut size = dot(&residual, &direction);
        let enough = size * TOLERANCE * TOLERANCE;
        for _ in 0..STEPS {
            if size <= enough || size <= 0.0 {
                break;
            }
            let image = self.projected(segments, count, |datum| direction[segments[datum.version]]);
            let length = size / dot(&direction, &image);
            if !length.is_finite() {
                break;
            }
            for index in 0..count {
                solution[index] += length * direction[index];
                residual[index] -= length * image[index];
            }
            let next = scaled(&residual);
            let next_size = dot(&residual, &next);
            for (direction, next) in direction.iter_mut().zip(next) {
                *direction = next + next_size / size * *direction;
            }
            size = next_size;
        }
        solution
    }

    fn cost(&self, segments: &[usize], levels: &[f64], effects: &[f64]) -> f64 {
        let squares = self.data.iter().map(|datum| {
            let effect = datum.effect.map_or(0.0, |effect| effects[effect]);
            let rest = datum.y - levels[segments[datum.version]] - effect;
            rest * rest / datum.variance
        });
        let ridge: f64 = effects.iter().map(|effect| effect * effect).sum();
        squares.sum::<f64>() + if self.effects > 0 { ridge / self.between } else { 0.0 }
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
