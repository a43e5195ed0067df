//! Whether a benchmark is measured further after an interim analysis that does not decide it, and with how many executions of each
//! build. Pure.

use super::{alpha_spending::AlphaSpending, analysis::Analysis, criteria::Criteria};

/// A benchmark is measured further if the next analysis decides it with at least this probability.
pub const WORTHWHILE: f64 = 0.395;

/// The most times as many executions of each build that later analyses may have.
pub const MOST_REPEATS: u32 = 5;

/// The probability with which more executions of each build should show that an unchanged benchmark is unchanged, or a large change.
const REPEATED_POWER: f64 = 0.80;

/// A large change, in smallest changes of interest.
const LARGE_CHANGE: f64 = 10.0;

/// What an interim analysis that does not decide a benchmark says about later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The probability that one of them decides the benchmark with as many executions of each build, the highest of all.
    chance: f64,
    /// How many times as many executions of each build the last analysis needs to show that the benchmark is unchanged, if it is;
    /// none if the most are not enough.
    repeats: Option<u32>,
    /// The same to show a large change, if there is one.
    for_large_change: Option<u32>,
}

/// The most times as many executions of each build that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostRepeats {
    /// To show that an unchanged benchmark is unchanged.
    pub to_decide: u32,
    /// To narrow the interval of a benchmark that is too noisy for that. It is given up if these are less than 2.
    pub to_narrow: u32,
}

impl MostRepeats {
    /// As many executions as before.
    pub const NONE: Self = Self::both(1);
    /// As many as any benchmark may have.
    pub const ALL: Self = Self::both(MOST_REPEATS);

    /// The same for either purpose.
    pub const fn both(most: u32) -> Self {
        Self { to_decide: most, to_narrow: most }
    }
}

/// How a benchmark is measured further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextStep {
    /// How many times as many executions of each build come next.
    pub repeats: u32,
    /// The probability that a later analysis decides the benchmark: with these executions if they are to decide it, and with as many as
    /// before if they are only to narrow its interval.
    pub chance: f64,
    /// True if more executions are to narrow its interval, though they may decide nothing.
    pub narrows: bool,
}

impl NextStep {
    /// That of a benchmark with two metrics: all that either needs.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        Self {
            repeats: self.repeats.max(other.repeats),
            chance: self.chance.max(other.chance),
            narrows: self.narrows || other.narrows,
        }
    }
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
        let own = &analysis.own;
        let needed = |power: &dyn Fn(usize, u32, AlphaSpending) -> f64| {
            let (builds, rates) = last?;
            (1..=MOST_REPEATS).find(|repeats| power(builds, *repeats, rates) >= REPEATED_POWER)
        };
        let repeats =
            needed(&|builds, repeats, rates| own.power_if_unchanged(builds, repeats, rates));
        let for_large_change = needed(&|builds, repeats, rates| {
            own.power_if_changed(LARGE_CHANGE, builds, repeats, rates)
        });
        Self { chance, repeats, for_large_change }
    }

    /// What comes next, if it is worth while.
    ///
    /// The number of executions depends on the variance alone, and not on the estimate, so that it favours neither verdict: as many as
    /// show an unchanged benchmark to be unchanged, or, if the most are not enough and would show a large change, the most. Without
    /// more executions, the benchmark goes on if its present estimate makes a decision likely.
    pub fn next(&self, most: MostRepeats) -> Option<NextStep> {
        let (chance, narrows) = (self.chance, false);
        match self.repeats {
            Some(repeats) if repeats > 1 && repeats <= most.to_decide => {
                return Some(NextStep { repeats, chance: REPEATED_POWER, narrows });
            }
            Some(1) => {}
            _ if most.to_narrow > 1
                && self.for_large_change.is_some_and(|least| least <= most.to_narrow) =>
            {
                return Some(NextStep { repeats: most.to_narrow, chance, narrows: true });
            }
            _ => {}
        }
        (chance >= WORTHWHILE).then_some(NextStep { repeats: 1, chance, narrows })
    }

    /// The probability that a later analysis decides the benchmark without more executions.
    pub const fn chance(&self) -> f64 {
        self.chance
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
            let most = MostRepeats { to_decide: most, to_narrow: 1 };
            outlook(percent, spread).next(most).map(|next| next.repeats)
        };
        assert_eq!(
            [0.5, 1.5, 2.0, 30.0].map(|spread| repeats(1, 0.0, spread)),
            [Some(1), None, None, None]
        );
        let with_more = [0.5, 1.5, 2.0, 30.0].map(|spread| repeats(5, 0.0, spread));
        assert!(with_more[0] == Some(1) && with_more[1] > Some(1), "{with_more:?}");
        assert!(with_more[2] > with_more[1] && with_more[3].is_none(), "{with_more:?}");
        assert_eq!(repeats(5, 1.0, 1.5), with_more[1], "whatever the estimate is");
        let next = |outlook: Outlook| outlook.next(MostRepeats::ALL);
        let combined = next(outlook(0.0, 0.5)).zip(next(outlook(0.0, 6.0)));
        let combined = combined.map(|(one, other)| one.combine(other)).unwrap();
        assert!(combined.narrows && combined.repeats == MOST_REPEATS && combined.chance > 0.8);
        let narrows = [0.5, 2.0, 6.0, 60.0]
            .map(|spread| next(outlook(0.0, spread)).map(|next| (next.narrows, next.repeats)));
        assert!(matches!(narrows[..2], [Some((false, 1)), Some((false, 2..))]), "{narrows:?}");
        assert_eq!(narrows[2..], [Some((true, MOST_REPEATS)), None]);
    }
}
