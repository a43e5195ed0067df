//! Where the variance of a change comes from: the builds, or the executions of each build.
//!
//! With `e[k][j] = ln f[head][k][j] − ln f[base][k][j]` of the executions of one round, which ran next to
//! each other, the difference of a pair of builds is about `d[k] = mean_j e[k][j]`. In the manner of (15)
//! and (16) of Kalibera et al. 2006, but of differences and for any estimator, `S_e²` pools the variance of
//! `e` within pairs, and `E[S_d²] = T + W·h` with `W = E[S_e²]` and `h = mean_k(1 / m_k)`. So of `S_d²` the
//! executions (with their measurements) explain `S_e²·h`, and the builds the rest. Where versions are not
//! paired, the same holds of `ln f` of each version, and both add up.

use super::{
    matching::{Matched, Method},
    moments::Moments,
    summary::{BuildSummary, ExecutionEstimate},
};

/// What share of the variance of a change comes from which level; they add up to 1.
///
/// More executions of each build only reduce the share of the executions; more builds reduce both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferenceShares {
    /// Of the builds: how differently layouts act on the two versions.
    pub builds: f64,
    /// Of the executions, as many as there were of each build, with their measurements.
    pub executions: f64,
}

impl DifferenceShares {
    /// Of `squared_error`, the variance of the mean difference. None if no build has two executions, since
    /// nothing then tells the levels apart, and where there is no variance.
    pub(super) fn of(matched: &Matched<'_>, squared_error: f64) -> Option<Self> {
        let [base, head] = &matched.builds;
        let of_executions = match matched.method {
            Method::Paired { .. } => variance_of_mean(base.iter().zip(head).map(differences))?,
            Method::Welch(_) => {
                variance_of_mean(base.iter().copied().map(logs))?
                    + variance_of_mean(head.iter().copied().map(logs))?
            }
        };
        let executions = (of_executions / squared_error).min(1.0);
        (squared_error > 0.0).then_some(Self { builds: 1.0 - executions, executions })
    }
}

/// `e[j]` of a pair of builds. An execution whose round the other version lacks is left out.
fn differences((base, head): (&&BuildSummary, &&BuildSummary)) -> Vec<f64> {
    let difference = |head: &ExecutionEstimate| {
        let base = base.estimates.iter().find(|base| base.round == head.round)?;
        Some((head.compared / base.compared).ln())
    };
    head.estimates.iter().filter_map(difference).collect()
}

/// `ln f[j]` of a build.
fn logs(build: &BuildSummary) -> Vec<f64> {
    build.estimates.iter().map(|estimate| estimate.compared.ln()).collect()
}

/// What executions add to the variance of the mean over builds: `S_e² · mean_k(1 / m_k) / l`.
fn variance_of_mean(builds: impl Iterator<Item = Vec<f64>>) -> Option<f64> {
    let (mut squares, mut freedom, mut inverses, mut count) = (0.0, 0, 0.0, 0.0);
    for executions in builds {
        squares += Moments::of(&executions).squares;
        freedom += executions.len().saturating_sub(1);
        inverses += 1.0 / executions.len().max(1) as f64;
        count += 1.0;
    }
    (freedom > 0).then(|| squares / freedom as f64 * inverses / (count * count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Metric,
        stats::{Comparison, Estimator, Measurements, Pairing, Summary},
    };

    /// Builds with seeds 0, 1, … whose executions have these logarithms; an empty list has failed.
    fn version(builds: &[[&[f64]; 2]]) -> Summary {
        let executions = |build: &[&[f64]; 2]| {
            build.map(|logs| logs.iter().map(|log| log.exp()).collect::<Vec<f64>>())
        };
        let builds = (0..).zip(builds.iter().map(executions));
        Summary::of(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
    }

    fn shares(base: &Summary, head: &Summary, pairing: Pairing) -> Option<DifferenceShares> {
        let comparison = Comparison::new(base, head, pairing, 0.05).unwrap();
        comparison.shares(&[base.clone(), head.clone()])
    }

    const SMALL: f64 = 1e-4;

    #[test]
    fn what_executions_of_one_round_share_is_none_of_the_variance_of_the_difference() {
        // Rounds differ by 100, in both versions; e = ±1 about d = 2 and -2.
        let base = version(&[[&[0.0], &[100.0 * SMALL]], [&[0.0], &[100.0 * SMALL]]]);
        let head = version(&[[&[3.0 * SMALL], &[101.0 * SMALL]], [&[-SMALL], &[97.0 * SMALL]]]);
        // S_e² = (2 + 2) / (1 + 1) = 2, S_d² = 8: 2/2 of 8.
        let found = shares(&base, &head, Pairing::BySeed).unwrap();
        assert!((found.executions - 1.0 / 8.0).abs() < 0.01, "{found:?}");
        assert!((found.builds + found.executions - 1.0).abs() < 1e-12);
        // Unpaired each version alone counts, and its executions differ by 100.
        let unpaired = shares(&base, &head, Pairing::Unpaired).unwrap();
        assert_eq!(unpaired.executions, 1.0);
    }

    #[test]
    fn unpaired_the_executions_of_both_versions_add_up() {
        // Within each build ±1: S_e² = 2 in both; build means ±4, variance 32 in both.
        let base = version(&[[&[5.0 * SMALL], &[3.0 * SMALL]], [&[-5.0 * SMALL], &[-3.0 * SMALL]]]);
        let found = shares(&base, &base, Pairing::Unpaired).unwrap();
        assert!((found.executions - 1.0 / 32.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn with_one_execution_of_each_build_the_levels_cannot_be_told_apart() {
        let base = version(&[[&[1.0], &[]], [&[2.0], &[]]]);
        let head = version(&[[&[2.0], &[]], [&[1.0], &[]]]);
        assert_eq!(shares(&base, &head, Pairing::BySeed), None);
        // Nor where the two executions of a build are of different rounds.
        let later = version(&[[&[], &[2.0]], [&[], &[1.0]]]);
        assert_eq!(shares(&base, &later, Pairing::BySeed), None);
    }
}
