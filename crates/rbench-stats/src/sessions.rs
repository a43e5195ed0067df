//! Estimates how much a benchmark's value shifts between measuring sessions, from commits that were measured more than
//! once. Pure.
//!
//! All measurements of one experiment share the state of the machine that day: `x[e][v][k] = ln b[e][v][k]` of build
//! `k` of version `v` in experiment `e` contains `u[e]` of variance `s²`. Two versions of one experiment share it and
//! their difference has none of it; versions of two experiments differ by `u[e] − u[f]`, of variance `2 s²`, even if
//! the code is the same.
//!
//! # Estimate
//!
//! A *repeat* is one version that was measured in `r ≥ 2` experiments. Its means `x̄[e]` differ by `u` and by noise, so
//! `SS = Σ_e (x̄[e] − x̄)²` has the expectation `(r − 1) s² + N`. Where all experiments have the same seeds, these are
//! the same programs: the layouts cancel, and `N = (r − 1) σ² / l` with `σ²` the residual of the two-way table
//! experiments × seeds. Otherwise `N = (1 − 1/r) Σ_e Var(x[e]) / l_e`. Pooled over all repeats of the benchmark, `w = Σ
//! (r − 1)`:
//!
//! `M = Σ SS / w`, `n = Σ N / w`, `s² = M − n`.
//!
//! # Degrees of freedom
//!
//! Repeats that share experiments (compare A B, then B C, then C D: B and C are repeats, and both contain the second
//! experiment) do not count in full. `Σ SS` is a quadratic form `u' Q u` with `Q = Σ_v (I_v − J_v / r_v)`, so
//! Satterthwaite's `ν = tr(Q)² / tr(Q²)` has its first two moments right: `r − 1` for one repeat, and two thirds of the
//! number of repeats in a long chain.
//!
//! # Use
//!
//! The difference of two versions across sessions has the variance `2 s²` plus its own `SE_D²`, paired or Welch's,
//! since equal seeds still mean matched layouts. As `M` already contains the noise `n`, the sum is formed as `2 M +
//! max(0, SE_D² − 2 n)`: two positive mean squares, the first with `ν` degrees of freedom, and Satterthwaite's
//! approximation for the sum. That approximation treats the estimates as exact, which fails where `M` has few degrees
//! of freedom: at `ν = 2` it gave .7 % false verdicts instead of .2 %. So the sum never has more than `ν` (Mickey &
//! Brown 1966), which is conservative. One commit measured a second time thus allows a verdict, but with `t = 12.7`
//! only on gross changes; a third time lowers it to 4.3.

use std::collections::HashMap;

use super::{moments::Moments, summary::Summary};

/// One version in two experiments or more: the same files, toolchain, machine and settings.
#[derive(Clone, Debug)]
pub struct Repeat<'s> {
    /// The experiments, each with a unique number, and the results of the version in them.
    pub sessions: Vec<(usize, &'s Summary)>,
    /// True if builds of equal seeds are the same programs.
    pub same_programs: bool,
}

/// The variance between sessions of one benchmark, on the scale of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionVariance {
    /// `M`: the variance of the mean of a version between sessions, noise included.
    pub mean_square: f64,
    /// `n`: the part of `mean_square` that the builds' own variance explains.
    pub noise: f64,
    /// `ν`: the degrees of freedom of `M`.
    pub freedom: f64,
    /// The number of versions that were measured more than once.
    pub repeats: usize,
}

impl SessionVariance {
    /// The estimate from all repeats of a benchmark; `None` if there is no repeat with two builds in each
    /// of two experiments.
    pub fn estimate(repeats: &[Repeat<'_>]) -> Option<Self> {
        let (mut squares, mut noise, mut weight, mut count) = (0.0, 0.0, 0.0, 0);
        let mut form = HashMap::new();
        for repeat in repeats {
            let sessions = Logs::from_repeat(repeat);
            let r = sessions.len() as f64;
            if sessions.len() < 2 {
                continue;
            }
            let (ss, of_builds) = spread(&sessions, repeat.same_programs);
            squares += ss;
            noise += of_builds;
            weight += r - 1.0;
            count += 1;
            for one in &sessions {
                for other in &sessions {
                    let diagonal = f64::from(u8::from(one.session == other.session));
                    let key = (one.session, other.session);
                    *form.entry(key).or_insert(0.0) += diagonal - 1.0 / r;
                }
            }
        }
        let trace_of_square: f64 = form.values().map(|element| element * element).sum();
        (count > 0).then(|| Self {
            mean_square: squares / weight,
            noise: noise / weight,
            freedom: weight * weight / trace_of_square,
            repeats: count,
        })
    }

    /// `s`: the standard deviation of the shift of one session, as a difference of logarithms.
    pub fn standard_deviation(&self) -> f64 {
        (self.mean_square - self.noise).max(0.0).sqrt()
    }

    /// The standard error and degrees of freedom of a difference across sessions, from those of the builds alone.
    pub(super) fn added_to(&self, standard_error: f64, freedom: f64) -> (f64, f64) {
        let between = 2.0 * self.mean_square;
        let rest = (standard_error * standard_error - 2.0 * self.noise).max(0.0);
        let sum = between + rest;
        let share = if sum > 0.0 { between / sum } else { 1.0 };
        let satterthwaite =
            1.0 / (share * share / self.freedom + (1.0 - share) * (1.0 - share) / freedom);
        (sum.sqrt(), satterthwaite.min(self.freedom))
    }
}

/// `x[e][k]` of one experiment, with the seeds.
struct Logs {
    session: usize,
    seeds: Vec<u64>,
    values: Vec<f64>,
}

impl Logs {
    fn from_repeat(repeat: &Repeat<'_>) -> Vec<Self> {
        let logs = |(session, summary): &(usize, &Summary)| Self {
            session: *session,
            seeds: summary.builds().iter().map(|build| build.seed).collect(),
            values: summary.builds().iter().map(|build| build.value.ln()).collect(),
        };
        repeat.sessions.iter().map(logs).filter(|logs| logs.values.len() >= 2).collect()
    }
}

/// `SS` and `N` of one repeat.
fn spread(sessions: &[Logs], same_programs: bool) -> (f64, f64) {
    let r = sessions.len() as f64;
    let of_sessions: Vec<Moments> =
        sessions.iter().map(|logs| Moments::compute(&logs.values)).collect();
    let means: Vec<f64> = of_sessions.iter().map(|moments| moments.mean).collect();
    let between = Moments::compute(&means).squares;
    let crossed = same_programs && sessions.iter().all(|logs| logs.seeds == sessions[0].seeds);
    if !crossed {
        let error = |m: &Moments| m.squares / (m.count as f64 - 1.0) / m.count as f64;
        return (between, (1.0 - 1.0 / r) * of_sessions.iter().map(error).sum::<f64>());
    }
    // Σ over the table of (x − x̄[e] − x̄[k] + x̄)² = Σ within sessions − r Σ (x̄[k] − x̄)²
    let l = sessions[0].seeds.len();
    let of_seed = |k: usize| sessions.iter().map(|logs| logs.values[k]).sum::<f64>() / r;
    let seeds = Moments::compute(&(0..l).map(of_seed).collect::<Vec<_>>());
    let within: f64 = of_sessions.iter().map(|moments| moments.squares).sum();
    let residual = (within - r * seeds.squares).max(0.0);
    (between, residual / (l as f64 - 1.0) / l as f64)
}

#[cfg(test)]
mod tests;
