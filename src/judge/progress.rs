//! What follows from the first stage for a benchmark that is being measured.

use super::looks::TakenLooks;
use crate::stats::{Analysis, Criteria, Rates};

/// What follows from the first stage for a benchmark in one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Progress {
    /// Nothing: it is decided, or no look is left.
    #[default]
    Ended,
    /// Another look.
    Open {
        /// The probability that one of the looks that are left decides it: of the one that most likely does.
        chance: f64,
    },
    /// A second stage, on fresh builds.
    Flagged {
        /// On so many.
        builds: usize,
    },
}

impl Progress {
    /// What is to be done with a benchmark of which this is said in one metric and that in another: all that
    /// either needs, a look before a second stage.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ended, one) | (one, Self::Ended) => one,
            (Self::Open { chance: one }, Self::Open { chance: other }) => {
                Self::Open { chance: one.max(other) }
            }
            (Self::Open { chance }, _) | (_, Self::Open { chance }) => Self::Open { chance },
            (Self::Flagged { builds: one }, Self::Flagged { builds: other }) => {
                Self::Flagged { builds: one.max(other) }
            }
        }
    }

    /// What follows from the last look of the first stage, whatever was measured after it, at one of `judged`
    /// benchmarks.
    pub(super) fn after(
        looks: &TakenLooks,
        last: &Analysis,
        judged: usize,
        criteria: &Criteria,
    ) -> Self {
        let all = looks.planned.count();
        let is_last = looks.count() == all;
        if last.ends_first_stage(is_last, criteria) {
            let nominated_by = last.nominated_by(criteria).filter(|_| criteria.confirm);
            return nominated_by.map_or(Self::Ended, |decider| {
                let builds = if looks.planned.is_fixed() {
                    looks.planned.most as usize
                } else {
                    last.by(decider).confirmation_builds(judged, criteria)
                };
                Self::Flagged { builds }
            });
        }
        let left = looks.planned.builds().enumerate().skip(looks.count());
        let chances = left.map(|(look, builds)| {
            let rates = Rates::of_look(criteria, look, all);
            last.chance_to_be_decided(builds as usize, rates, criteria)
        });
        chances.reduce(f64::max).map_or(Self::Ended, |chance| Self::Open { chance })
    }
}
