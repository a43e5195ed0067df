//! Levels between changes, with the effects of sessions that measured several versions.
//!
//! `y[i] = μ[segment of i] + m[machine of i] + u[session of i] + noise of variance r[i]`, and the effects `u` have the
//! variance `s²`. Machines differ by any amount: what ties them are versions that several of them measured. The model
//! minimises
//!
//! `Σ (y − μ − m − u)² / r + Σ u² / s² + Σ m² + penalty · number of changes`
//!
//! over levels, machines, effects and changes. The second sum is the ridge penalty from the prior variance of the
//! effects; the third, with a standard deviation of a factor of e, decides only where no version ties two machines.
//!
//! - *With the changes fixed*, it is quadratic. The effects are eliminated, since each has a closed form, and the
//!   levels and machines found by conjugate gradients, each step of which lowers the sum.
//! - *With machines and effects fixed*, `y − m − u` is divided exactly.
//!
//! Both steps alternate until nothing moves, from two starts. One divides the series as if every value had its own
//! session, which finds changes larger than the variation between sessions. The other adds changes one by one, each
//! where it lowers the sum most with the effects free to follow, which finds changes that only ties show. (With the
//! effects fixed these cannot be found: the effects of the later sessions have absorbed them.) Then changes are removed
//! as long as that lowers the sum. The better result counts.

use crate::segmentation::{self, Sums};

/// The minimum number of versions in a segment.
pub(super) const SHORTEST: usize = 2;

/// The limit of alternations; the changes repeat long before.
const ALTERNATIONS: usize = 30;

/// Conjugate gradients end at this share of the first residual.
const TOLERANCE: f64 = 1e-10;
const STEPS: usize = 300;

/// The ridge penalty of machines: the inverse of the variance of the logarithm by which they differ.
const RIDGE: f64 = 1.0;

/// A smaller decrease counts as none.
const SLACK: f64 = 1e-9;

#[derive(Clone, Copy, Debug)]
pub(super) struct Datum {
    pub y: f64,
    /// `r`
    pub variance: f64,
    /// The index of its version, from 0 without gaps.
    pub version: usize,
    /// The index of the effect of its session, if that measured several versions.
    pub effect: Option<usize>,
    /// The index of its machine among those beside the first, from which they differ.
    pub machine: Option<usize>,
}

/// The values of one series, in the order of their versions.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub data: Vec<Datum>,
    pub versions: usize,
    pub effects: usize,
    /// The number of machines beside the first.
    pub machines: usize,
    /// `s²`
    pub between: f64,
}

/// The segments between changes.
struct Segments {
    /// That of each version.
    of: Vec<usize>,
    count: usize,
}

impl Segments {
    /// What is expected of a value: the level of its segment, and the difference of its machine, which stand behind
    /// each other in `all`.
    fn expected(&self, all: &[f64], datum: &Datum) -> f64 {
        let machine = datum.machine.map_or(0.0, |machine| all[self.count + machine]);
        all[self.of[datum.version]] + machine
    }
}

/// Changes with the levels and effects that fit best.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    /// The versions at which new levels begin, ascending.
    pub changes: Vec<usize>,
    pub levels: Vec<f64>,
    /// The difference of each machine to the first.
    pub machines: Vec<f64>,
    /// The effect of each session that has one.
    pub effects: Vec<f64>,
    /// The minimised sum without the penalty.
    pub cost: f64,
}

impl Fit {
    fn total(&self, penalty: f64) -> f64 {
        self.cost + penalty * self.changes.len() as f64
    }

    /// What its session and its machine add to a value.
    fn shift(&self, datum: &Datum) -> f64 {
        datum.effect.map_or(0.0, |effect| self.effects[effect])
            + datum.machine.map_or(0.0, |machine| self.machines[machine])
    }
}

impl Model {
    /// True if anything but the level is common to several values.
    pub fn has_ties(&self) -> bool {
        self.effects > 0 || self.machines > 0
    }

    /// The best fit found with this penalty for each change.
    pub fn best(&self, penalty: f64) -> Fit {
        if !self.has_ties() {
            return self.fit(self.alone(&[]).divide(penalty, SHORTEST), None);
        }
        let none = self.fit(Vec::new(), None);
        let first = self.fit(self.alone(&none.machines).divide(penalty, SHORTEST), None);
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
            let next = self.fit(changes, Some(&fit));
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
                self.fit(changes, Some(&fit))
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
                rest += weight * (datum.y - level - fit.shift(datum));
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
        for _ in 0..ALTERNATIONS {
            let changes = self.sums(&fit).divide(penalty, SHORTEST);
            if changes == fit.changes {
                break;
            }
            let next = self.fit(changes, Some(&fit));
            after(next.total(penalty));
            if next.total(penalty) >= fit.total(penalty) - SLACK {
                break;
            }
            fit = next;
        }
        fit
    }

    /// The values of the versions without what sessions and machines add.
    pub fn sums(&self, fit: &Fit) -> Sums {
        self.by_version(|datum| (datum.y - fit.shift(datum), 1.0 / datum.variance))
    }

    /// The values of the versions as if every value had its own session, on machines that differ by this much.
    fn alone(&self, machines: &[f64]) -> Sums {
        let between = |datum: &Datum| if datum.effect.is_some() { self.between } else { 0.0 };
        self.by_version(|datum| {
            let machine = datum.machine.map_or(0.0, |machine| machines[machine]);
            (datum.y - machine, 1.0 / (datum.variance + between(datum)))
        })
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

    /// The best levels, machines and effects with the changes fixed; `start` is where the search for them starts, if
    /// something near is known.
    pub fn fit(&self, changes: Vec<usize>, start: Option<&Fit>) -> Fit {
        let segments = self.segments(&changes);
        let machines = start.map_or_else(|| vec![0.0; self.machines], |fit| fit.machines.clone());
        let sums = start.map_or_else(|| self.alone(&machines), |fit| self.sums(fit));
        let bounds = segmentation::segments(self.versions, &changes);
        let levels = bounds.map(|(start, end)| sums.mean(start, end));
        let mut found: Vec<f64> = levels.chain(machines).collect();
        let count = segments.count;
        if self.has_ties() {
            let mut right =
                self.projected(&segments, |datum| datum.y - segments.expected(&found, datum));
            for (right, machine) in right[count..].iter_mut().zip(&found[count..]) {
                *right -= machine * RIDGE;
            }
            let steps = self.solve(&segments, &right);
            for (one, step) in found.iter_mut().zip(steps) {
                *one += step;
            }
        }
        let rest = |datum: &Datum| datum.y - segments.expected(&found, datum);
        let effects = self.effects_of(rest);
        let cost = self.cost(rest, &found[count..], &effects);
        let machines = found.split_off(count);
        Fit { changes, levels: found, machines, effects, cost }
    }

    /// The variance of the difference of the levels before and after a change, with the changes fixed.
    pub fn variance_of_change(&self, changes: &[usize], index: usize) -> f64 {
        let mut contrast = vec![0.0; changes.len() + 1 + self.machines];
        (contrast[index], contrast[index + 1]) = (-1.0, 1.0);
        let solved = self.solve(&self.segments(changes), &contrast);
        solved[index + 1] - solved[index]
    }

    fn segments(&self, changes: &[usize]) -> Segments {
        let mut of = vec![0; self.versions];
        for change in changes {
            of[*change] = 1;
        }
        let mut segment = 0;
        for of in &mut of {
            segment += *of;
            *of = segment;
        }
        Segments { of, count: changes.len() + 1 }
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

    /// For each segment, and each machine, `Σ (z − u(z)) / r`, where `u(z)` are the best effects for `z`: for `z = y`
    /// the right side of the normal equations without effects, and for what is expected the left.
    fn projected(&self, segments: &Segments, z: impl Fn(&Datum) -> f64) -> Vec<f64> {
        let effects = self.effects_of(&z);
        let mut sums = vec![0.0; segments.count + self.machines];
        for datum in &self.data {
            let effect = datum.effect.map_or(0.0, |effect| effects[effect]);
            let rest = (z(datum) - effect) / datum.variance;
            sums[segments.of[datum.version]] += rest;
            if let Some(machine) = datum.machine {
                sums[segments.count + machine] += rest;
            }
        }
        sums
    }

    /// Solves the normal equations of the levels and machines by conjugate gradients, preconditioned with the part of
    /// their diagonal without effects. With neither effects nor machines that is the whole diagonal, and one step is
    /// exact.
    fn solve(&self, segments: &Segments, right: &[f64]) -> Vec<f64> {
        let mut diagonal = vec![0.0; segments.count];
        diagonal.resize(right.len(), RIDGE);
        for datum in &self.data {
            diagonal[segments.of[datum.version]] += 1.0 / datum.variance;
            if let Some(machine) = datum.machine {
                diagonal[segments.count + machine] += 1.0 / datum.variance;
            }
        }
        let scaled = |residual: &[f64]| -> Vec<f64> {
            residual.iter().zip(&diagonal).map(|(residual, diagonal)| residual / diagonal).collect()
        };
        let mut solution = vec![0.0; right.len()];
        let mut residual = right.to_vec();
        let mut direction = scaled(&residual);
        let mut size = dot(&residual, &direction);
        let enough = size * TOLERANCE * TOLERANCE;
        for _ in 0..STEPS {
            if size <= enough || size <= 0.0 {
                break;
            }
            let mut image = self.projected(segments, |datum| segments.expected(&direction, datum));
            for (image, machine) in
                image[segments.count..].iter_mut().zip(&direction[segments.count..])
            {
                *image += machine * RIDGE;
            }
            let length = size / dot(&direction, &image);
            if !length.is_finite() {
                break;
            }
            for index in 0..right.len() {
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

    fn cost(&self, rest: impl Fn(&Datum) -> f64, machines: &[f64], effects: &[f64]) -> f64 {
        let squares = self.data.iter().map(|datum| {
            let rest = rest(datum) - datum.effect.map_or(0.0, |effect| effects[effect]);
            rest * rest / datum.variance
        });
        let ridge: f64 = effects.iter().map(|effect| effect * effect).sum();
        let ridge = if self.effects > 0 { ridge / self.between } else { 0.0 };
        squares.sum::<f64>() + ridge + RIDGE * dot(machines, machines)
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
