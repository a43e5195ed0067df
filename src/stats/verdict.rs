//! What is said about a benchmark in the end, with the reason as a value.

mod sentence;

use super::{
    assessment::Assessment,
    comparison::{Change, Direction},
    criteria::Criteria,
    refusal::Refusal,
};

/// The verdict on one benchmark of two versions. Its `Display` is a sentence that gives the reason.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The head costs more, by at least the smallest change of interest.
    Regressed {
        /// The change, by the stage that decides.
        change: Change,
        /// What makes it sure.
        basis: Basis,
    },
    /// The head costs less, by at least the smallest change of interest.
    Improved {
        /// The change, by the stage that decides.
        change: Change,
        /// What makes it sure.
        basis: Basis,
    },
    /// The 90 % interval of the change lies inside ± the smallest change of interest.
    Unchanged {
        /// The change with that interval.
        change: Change,
        /// The smallest change of interest.
        min_effect: f64,
    },
    /// Neither a change nor its absence is shown.
    Inconclusive {
        /// The change, by the stage that decides.
        change: Change,
        /// The smallest increase that this stage would have flagged with a power of 80 %.
        detectable: f64,
        /// Why no change is reported.
        doubt: Doubt,
    },
    /// Both versions have the same machine code in every layout: nothing was measured.
    Identical,
    /// There are no measurements to judge.
    Failed {
        /// What happened.
        reason: String,
    },
    /// The measurements must not be compared: another machine, other settings.
    NotComparable {
        /// What differs.
        reason: String,
    },
}

/// What makes a change sure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// It was flagged, and fresh builds alone agree.
    Confirmed {
        /// The one-sided p value of the fresh builds.
        p: f64,
        /// The p value that they had to reach.
        needed: f64,
    },
    /// It was flagged; the user wants no confirmation.
    OneStage,
    /// It was flagged in stored results of two sessions, so surely that two stages would be wrong as
    /// often.
    Stored {
        /// The one-sided p value.
        p: f64,
        /// The p value that it had to reach.
        needed: f64,
    },
}

/// Why a change is not reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// The rule does not flag it.
    NotFlagged,
    /// It is flagged, but its estimate is below the smallest change of interest.
    Small {
        /// The smallest change of interest.
        min_effect: f64,
    },
    /// It is flagged, but fresh builds were not measured.
    Unconfirmed,
    /// It is flagged in stored results of two sessions, but not surely enough without fresh builds.
    NeedsFresh {
        /// The one-sided p value.
        p: f64,
        /// The p value that it had to reach.
        needed: f64,
    },
    /// It is flagged, but fresh builds point the other way or nowhere.
    Contradicted {
        /// The change by the first stage.
        first: f64,
    },
    /// It is flagged, but fresh builds do not show it surely enough.
    Weak {
        /// The change by the first stage.
        first: f64,
        /// The one-sided p value of the fresh builds.
        p: f64,
        /// The p value that they had to reach.
        needed: f64,
    },
    /// It is flagged, but by fresh builds it is below the smallest change of interest.
    Shrunk {
        /// The change by the first stage.
        first: f64,
        /// The smallest change of interest.
        min_effect: f64,
    },
}

impl Verdict {
    /// Judges a measured benchmark, one of `judged` in this experiment.
    ///
    /// `second` is the stage of fresh builds, where there is one. It counts only if the first stage
    /// [needs confirmation](Assessment::needs_confirmation); the change reported is then that of the fresh
    /// builds alone, since what is flagged tends to be overestimated.
    pub fn of(
        first: &Assessment,
        second: Option<&Assessment>,
        judged: usize,
        criteria: &Criteria,
    ) -> Self {
        let Some(direction) = first.flag.filter(|_| !first.equivalent) else {
            return Self::without_change(first, Doubt::NotFlagged, criteria);
        };
        let small =
            |stage: &Assessment| stage.comparison.log_change.abs() < criteria.min_log_change();
        let min_effect = criteria.min_effect;
        if !criteria.confirm {
            return if small(first) {
                Self::without_change(first, Doubt::Small { min_effect }, criteria)
            } else {
                Self::changed(direction, first, Basis::OneStage)
            };
        }
        let Some(second) = second else {
            return Self::without_change(first, Doubt::Unconfirmed, criteria);
        };
        let first = first.comparison.change.estimate;
        let p = second.comparison.p_one_sided(direction);
        let needed = criteria.confirmation_rate(judged);
        let doubt = if Direction::of(second.comparison.log_change) != Some(direction) {
            Doubt::Contradicted { first }
        } else if p > needed {
            Doubt::Weak { first, p, needed }
        } else if small(second) {
            Doubt::Shrunk { first, min_effect }
        } else {
            return Self::changed(direction, second, Basis::Confirmed { p, needed });
        };
        Self::without_change(second, doubt, criteria)
    }

    /// Judges a benchmark, one of `judged`, by stored results of two sessions.
    ///
    /// Nothing can be measured again, so a change that two stages would have to confirm must be as sure
    /// here as both together: one-sided p at most `α/2 · min(α, 2 / judged)`, the rate at which the two
    /// stages report a change where there is none.
    pub fn of_stored(stage: &Assessment, judged: usize, criteria: &Criteria) -> Self {
        let Some(direction) = stage.flag.filter(|_| !stage.equivalent) else {
            return Self::without_change(stage, Doubt::NotFlagged, criteria);
        };
        let min_effect = criteria.min_effect;
        if stage.comparison.log_change.abs() < criteria.min_log_change() {
            return Self::without_change(stage, Doubt::Small { min_effect }, criteria);
        }
        if !criteria.confirm {
            return Self::changed(direction, stage, Basis::OneStage);
        }
        let p = stage.comparison.p_one_sided(direction);
        let needed = criteria.false_alarm_rate / 2.0 * criteria.confirmation_rate(judged);
        if p <= needed {
            Self::changed(direction, stage, Basis::Stored { p, needed })
        } else {
            Self::without_change(stage, Doubt::NeedsFresh { p, needed }, criteria)
        }
    }

    /// The verdict where a [`Assessment`] was refused: without two builds of each version there is nothing to
    /// judge, and all else must not be compared.
    pub fn refused(refusal: &Refusal) -> Self {
        let reason = refusal.to_string();
        match refusal {
            Refusal::TooFewBuilds { .. } => Self::Failed { reason },
            _ => Self::NotComparable { reason },
        }
    }

    fn changed(direction: Direction, stage: &Assessment, basis: Basis) -> Self {
        let change = stage.comparison.change;
        match direction {
            Direction::Worse => Self::Regressed { change, basis },
            Direction::Better => Self::Improved { change, basis },
        }
    }

    fn without_change(stage: &Assessment, doubt: Doubt, criteria: &Criteria) -> Self {
        if stage.equivalent {
            let change = stage.equivalence_change();
            return Self::Unchanged { change, min_effect: criteria.min_effect };
        }
        let (change, detectable) = (stage.comparison.change, stage.smallest_detectable());
        Self::Inconclusive { change, detectable, doubt }
    }

    /// The one word for the verdict, as reports and stored results write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Regressed { .. } => "regressed",
            Self::Improved { .. } => "improved",
            Self::Unchanged { .. } => "unchanged",
            Self::Inconclusive { .. } => "inconclusive",
            Self::Identical => "identical",
            Self::Failed { .. } => "failed",
            Self::NotComparable { .. } => "not-comparable",
        }
    }
}

#[cfg(test)]
mod tests;
