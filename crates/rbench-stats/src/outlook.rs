//! Whether a benchmark is measured further after an interim analysis that does not decide it, and with how many executions of each
//! build. Pure.

use super::{alpha_spending::AlphaSpending, analysis::Analysis, criteria::Criteria};

/// A benchmark is measured further if the next analysis decides it with at least this probability.
pub const WORTHWHILE: f64 = 0.395;

/// The most times as many executions of each build that later analyses may have.
pub const MOST_REPEATS: u32 = 5;

/// The probability with which more executions of each build should show that an unchanged benchmark is unchanged.
const REPEATED_POWER: f64 = 0.80;

/// What an interim analysis that does not decide a benchmark says about later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The probability that one of them decides the benchmark with as many executions of each build, the highest of all.
    chance: f64,
    /// How many times as many executions of each build the last analysis needs to show that the benchmark is unchanged, if it is;
    /// none if the most are not enough.
    repeats: Option<u32>,
}

impl Outlook {
    /// By the numbers of builds and the error rates of the analyses that are left.
    pub fn new(
        analysis: &Analysis,
        later: impl Iterator<Item = (usize, AlphaSpending)>,
        criteria: &Criteria,
    ) -> Self {
        let mut last = None;
        let chances = later.map(|(builds, rates)| {
            last = Some((builds, rates));
            analysis.chance_to_be_decided(builds, rates, criteria)
        });
        let chance = chances.fold(0.0, f64::max);
        let repeats = last.and_then(|(builds, rates)| {
            (1..=MOST_REPEATS).find(|repeats| {
                analysis.own.power_if_unchanged(builds, *repeats, rates) >= REPEATED_POWER
            })
        });
        Self { chance, repeats }
    }

    /// How many times as many executions of each build come next, at most `most`, and the probability that they decide the
    /// benchmark. None if that is not worth while.
    ///
    /// The number depends on the variance alone, and not on the estimate, so that it favours neither verdict. Without more
    /// executions, the benchmark goes on if its present estimate makes a decision likely.
    pub fn next(&self, most: u32) -> Option<(u32, f64)> {
        match self.repeats {
            Some(repeats) if repeats > 1 && repeats <= most => Some((repeats, REPEATED_POWER)),
            _ => (self.chance >= WORTHWHILE).then_some((1, self.chance)),
        }
    }

    /// The probability that a later analysis decides the benchmark without more executions.
    pub const fn chance(&self) -> f64 {
        self.chance
    }

    /// That of a benchmark with two metrics, of which either may need more.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        // None is the least.
        let repeats = self.repeats.max(other.repeats);
        Self { chance: self.chance.max(other.chance), repeats }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::tests::assessment;

    #[test]
    fn noisy_benchmarks_need_more_executions() {
        let criteria = Criteria::default();
        let outlook = |percent: f64, spread: f64| {
            let own = assessment(5, percent, spread);
            let later = [(10, 1), (20, 2)].into_iter();
            let later = later
                .map(|(builds, index)| (builds, AlphaSpending::at_analysis(&criteria, index, 3)));
            Outlook::new(&Analysis { own, mean: None }, later, &criteria)
        };
        let repeats = |most: u32, percent: f64, spread: f64| {
            outlook(percent, spread).next(most).map(|(repeats, _)| repeats)
        };
        assert_eq!(
            [0.5, 1.5, 2.0, 30.0].map(|spread| repeats(1, 0.0, spread)),
            [Some(1), None, None, None]
        );
        let with_more = [0.5, 1.5, 2.0, 30.0].map(|spread| repeats(5, 0.0, spread));
        assert!(with_more[0] == Some(1) && with_more[1] > Some(1), "{with_more:?}");
        assert!(with_more[2] > with_more[1] && with_more[3].is_none(), "{with_more:?}");
        assert_eq!(repeats(5, 1.0, 1.5), with_more[1], "whatever the estimate is");
        assert_eq!(
            outlook(0.0, 2.0).combine(outlook(0.0, 30.0)).next(5),
            outlook(0.0, 2.0).next(5)
        );
    }
}
