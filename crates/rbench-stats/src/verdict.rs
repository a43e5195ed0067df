//! The verdict on a benchmark, with its reason as a value. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    achieved_power::Power,
    assessment::Assessment,
    comparison::{Change, Direction},
    criteria::Criteria,
};

/// The verdict on the measurements of one benchmark of two versions.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The head costs more, by at least the smallest change of interest.
    Regressed { change: Change, evidence: Evidence },
    /// The head costs less, by at least the smallest change of interest.
    Improved { change: Change, evidence: Evidence },
    /// The 95 % interval of the change lies inside ± the smallest change of interest.
    Unchanged {
        change: Change,
        /// The smallest change of interest.
        min_effect: f64,
        /// The evidence for a difference smaller than the smallest of interest: many such commits add up.
        /// [`Evidence::OneStage`] here means flagged, and too small to be measured again.
        difference: Option<Evidence>,
    },
    /// Neither a change nor equivalence is shown.
    Inconclusive {
        change: Change,
        /// The smallest increase that such an experiment reports with a power of 80 %, if [known](Verdict::with_power).
        detectable: Option<f64>,
        /// The reason why no change is reported.
        reason: InconclusiveReason,
    },
}

/// The evidence for a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
// In place, because reports have it as a value and flattened.
#[schemars(inline)]
pub enum Evidence {
    /// It was flagged, and fresh builds alone agree.
    Confirmed {
        /// The one-sided p value of the fresh builds.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The largest p value that counts as confirmation.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
    /// It was flagged, and not measured again.
    OneStage,
    /// It was flagged in stored results of two sessions, with a false-alarm probability no larger than that of two
    /// stages.
    #[serde(rename = "two_experiments")]
    Stored {
        /// The one-sided p value.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The largest p value that counts.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
    /// It was counted, and the ranges of both versions lie apart.
    Counted {
        /// The probability that ranges of this number of counts lie apart by chance, if the counts of a version vary;
        /// else 0.
        #[schemars(range(min = 0, max = 1))]
        by_chance: f64,
    },
    /// A slowdown was accepted, and this one is shown to be larger.
    #[serde(rename = "beyond_accepted")]
    BeyondLimit {
        /// The largest accepted relative change: 0.05 is 5 % more than the base.
        #[schemars(range(min = 0))]
        ceiling: f64,
        /// The one-sided p value of "not larger than that".
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The largest p value that counts.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
}

/// The reason why a change is not reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(inline)]
pub enum InconclusiveReason {
    /// The rule does not flag it.
    NotFlagged,
    /// It was counted, and the counts of a version vary so much that both ranges overlap, or may lie apart by chance.
    Varies {
        /// The probability that ranges of this number of counts lie apart by chance; null if they overlap.
        #[schemars(range(min = 0, max = 1))]
        by_chance: Option<f64>,
    },
    /// It is flagged, but its estimate is below the smallest change of interest.
    Small {
        /// The smallest change of interest.
        #[schemars(range(min = 0))]
        min_effect: f64,
    },
    /// The estimator shows no change, but the mean of all measurements changed by more than the smallest change of
    /// interest.
    MeanChanged {
        /// The change of the mean, with its 95 % confidence interval.
        by_mean: Change,
    },
    /// The estimator shows a change, but the mean of all measurements is shown to be unchanged, or to have changed in the
    /// other direction.
    MeanDisagrees {
        /// The change of the mean, with its 95 % confidence interval.
        by_mean: Change,
    },
    /// It is flagged, but fresh builds were not measured.
    Unconfirmed,
    /// It is flagged in stored results of two sessions, but too weakly to count without fresh builds.
    #[serde(rename = "needs_fresh_builds")]
    NeedsFresh {
        /// The one-sided p value.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The largest p value that counts.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
    /// It is flagged, but fresh builds show the other direction or none.
    Contradicted {
        /// The change by the first stage.
        #[serde(rename = "first_change")]
        first: f64,
    },
    /// It is flagged, but fresh builds do not show it with enough certainty.
    Weak {
        /// The change by the first stage.
        #[serde(rename = "first_change")]
        first: f64,
        /// The one-sided p value of the fresh builds.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The largest p value that counts as confirmation.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
    /// It is flagged and fresh builds confirm it, but they estimate it below the smallest change of interest.
    #[serde(rename = "confirmed_but_small")]
    Shrunk {
        /// The change by the first stage.
        #[serde(rename = "first_change")]
        first: f64,
        /// The smallest change of interest.
        #[schemars(range(min = 0))]
        min_effect: f64,
    },
}

impl Evidence {
    /// The evidence that a regression exceeds an accepted relative change, if `stage`, which decided by this evidence, shows
    /// that as certainly as two stages must show any change: with a one-sided p value of at most `α₁/2 · α₂`.
    ///
    /// The first stage cannot share the risk, since it flags benchmarks that are really slower. So a benchmark that is
    /// slower by no more than the accepted change is called regressed with a probability of at most `α/G`, like any
    /// unchanged one. Without confirmation, the rate is that of the analysis that flagged it.
    pub fn beyond_limit(
        self,
        ceiling: f64,
        stage: &Assessment,
        criteria: &Criteria,
    ) -> Option<Self> {
        let needed = match self {
            Self::Confirmed { needed, .. } => criteria.flag_rate() / 2.0 * needed,
            Self::OneStage => stage.alpha.flag / 2.0,
            Self::Counted { .. } => 0.0,
            Self::Stored { needed, .. } | Self::BeyondLimit { needed, .. } => needed,
        };
        let p = stage.comparison.p_above(ceiling.ln_1p());
        (p <= needed).then_some(Self::BeyondLimit { ceiling, p, needed })
    }
}

impl Verdict {
    /// Decides a measured benchmark; `benchmarks` is the number of benchmarks in this experiment.
    ///
    /// `second` is the stage of fresh builds, if any. It counts only if the first stage [needs
    /// confirmation](Assessment::needs_confirmation); the change reported is then that of the fresh builds alone,
    /// because flagged changes tend to be overestimated.
    pub fn decide(
        first: &Assessment,
        second: Option<&Assessment>,
        decided: usize,
        criteria: &Criteria,
    ) -> Self {
        if first.equivalent {
            return Self::unchanged(first, first.flag.map(|_| Evidence::OneStage), criteria);
        }
        let Some(direction) = first.flag else {
            return Self::inconclusive(first, InconclusiveReason::NotFlagged);
        };
        let min_effect = criteria.min_effect;
        if !criteria.confirm {
            return if is_small(first, criteria) {
                Self::inconclusive(first, InconclusiveReason::Small { min_effect })
            } else {
                Self::changed(direction, first, Evidence::OneStage)
            };
        }
        let Some(second) = second else {
            return Self::inconclusive(first, InconclusiveReason::Unconfirmed);
        };
        let first = first.change.estimate;
        let p = second.comparison.p_one_sided(direction);
        let needed = criteria.confirmation_rate(decided);
        let agrees = second.comparison.direction() == Some(direction);
        let confirmed = (agrees && p <= needed).then_some(Evidence::Confirmed { p, needed });
        match confirmed {
            _ if second.equivalent => Self::unchanged(second, confirmed, criteria),
            Some(_) if is_small(second, criteria) => {
                Self::inconclusive(second, InconclusiveReason::Shrunk { first, min_effect })
            }
            Some(evidence) => Self::changed(direction, second, evidence),
            None if agrees => {
                Self::inconclusive(second, InconclusiveReason::Weak { first, p, needed })
            }
            None => Self::inconclusive(second, InconclusiveReason::Contradicted { first }),
        }
    }

    /// Decides a benchmark, one of this number, from stored results of two sessions.
    ///
    /// Nothing can be measured again, so a change that two stages would have to confirm must be as certain here as by
    /// both together: one-sided p at most `α₁/2 · α₂`, the rate at which the two stages report a false change.
    pub fn decide_stored(stage: &Assessment, benchmarks: usize, criteria: &Criteria) -> Self {
        if stage.equivalent {
            return Self::unchanged(stage, stage.flag.map(|_| Evidence::OneStage), criteria);
        }
        let Some(direction) = stage.flag else {
            return Self::inconclusive(stage, InconclusiveReason::NotFlagged);
        };
        if is_small(stage, criteria) {
            return Self::inconclusive(
                stage,
                InconclusiveReason::Small { min_effect: criteria.min_effect },
            );
        }
        if !criteria.confirm {
            return Self::changed(direction, stage, Evidence::OneStage);
        }
        let p = stage.comparison.p_one_sided(direction);
        let needed = criteria.flag_rate() / 2.0 * criteria.confirmation_rate(benchmarks);
        if p <= needed {
            Self::changed(direction, stage, Evidence::Stored { p, needed })
        } else {
            Self::inconclusive(stage, InconclusiveReason::NeedsFresh { p, needed })
        }
    }

    fn changed(direction: Direction, stage: &Assessment, evidence: Evidence) -> Self {
        let change = stage.change;
        // The last of several interim analyses flags at a lower confidence than that of its interval, and the rule `overlap`
        // compares other intervals.
        if change.low <= 0.0 && change.high >= 0.0 {
            return Self::inconclusive(stage, InconclusiveReason::NotFlagged);
        }
        match direction {
            Direction::Worse => Self::Regressed { change, evidence },
            Direction::Better => Self::Improved { change, evidence },
        }
    }

    pub(super) fn unchanged(
        stage: &Assessment,
        difference: Option<Evidence>,
        criteria: &Criteria,
    ) -> Self {
        let change = stage.change;
        Self::Unchanged { change, min_effect: criteria.min_effect, difference }
    }

    fn inconclusive(stage: &Assessment, reason: InconclusiveReason) -> Self {
        Self::Inconclusive { change: stage.change, detectable: None, reason }
    }

    /// Adds the smallest reportable change to an inconclusive verdict.
    #[must_use]
    pub fn with_power(self, power: Option<&Power>) -> Self {
        match self {
            Self::Inconclusive { change, reason, .. } => {
                let detectable = power.map(Power::smallest_reported);
                Self::Inconclusive { change, detectable, reason }
            }
            other => other,
        }
    }

    pub const fn is_change(&self) -> bool {
        matches!(self, Self::Regressed { .. } | Self::Improved { .. })
    }

    /// The verdict in one word, as reports print it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Regressed { .. } => "regressed",
            Self::Improved { .. } => "improved",
            Self::Unchanged { .. } => "unchanged",
            Self::Inconclusive { .. } => "inconclusive",
        }
    }
}

/// True if the estimate is below the smallest change of interest.
fn is_small(stage: &Assessment, criteria: &Criteria) -> bool {
    stage.comparison.log_change.abs() < criteria.min_log_change()
}

#[cfg(test)]
mod tests;
