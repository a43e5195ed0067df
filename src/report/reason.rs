//! The reason for a verdict, in the JSON of several reports.

use schemars::JsonSchema;
use serde::Serialize;

use super::sentence;
use crate::model::OBJECT_ID;
use crate::{
    model,
    stats::{Change, Evidence, InconclusiveReason, Verdict},
    verdict::DecidedRow,
};

/// The reason for the verdict, as values and as a sentence. Changes are relative: 0.05 is 5 % more
/// than the base.
#[derive(Serialize, JsonSchema)]
pub struct Reason {
    #[serde(flatten)]
    ground: ChangeReason,
    text: String,
}

/// The reason as values.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ChangeReason {
    /// This 95 % CI of the change is within the smallest change to report.
    Equivalent {
        low: f64,
        high: f64,
        /// The smallest change to report.
        #[schemars(range(min = 0))]
        min_effect: f64,
        /// The evidence of a difference below the smallest change to report; null if there is none.
        difference: Option<Shown>,
    },
    /// The first stage does not flag it.
    NotFlagged,
    /// The counts of a version vary so much that the ranges of both versions overlap, or may lie
    /// apart by chance.
    Varies {
        /// The probability that ranges of that number of counts lie apart by chance; null if they
        /// overlap.
        #[schemars(range(min = 0, max = 1))]
        by_chance: Option<f64>,
    },
    /// The fastest measurements did not change, but the mean of all did, by more than the smallest
    /// change to report.
    SlowerChanged {
        /// The change of the mean of all measurements.
        change_by_mean: f64,
        /// The lower end of its 95 % CI.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// The fastest measurements changed, but the mean of all is shown to be unchanged, or to have
    /// changed in the other direction.
    MeanDisagrees {
        /// The change of the mean of all measurements.
        change_by_mean: f64,
        /// The lower end of its 95 % CI.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// Flagged, but below the smallest change to report.
    Small {
        /// The smallest change to report.
        #[schemars(range(min = 0))]
        min_effect: f64,
    },
    /// Flagged, but not measured again on fresh builds.
    Unconfirmed,
    /// Flagged by stored results of two experiments, which need fresh builds to confirm it.
    NeedsFreshBuilds {
        /// The one-sided p value.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The p value that was needed.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
    /// Fresh builds show the opposite direction, or none.
    Contradicted {
        /// The change in the first stage.
        first_change: f64,
    },
    /// The evidence of the fresh builds is too weak.
    Weak {
        /// The change in the first stage.
        first_change: f64,
        /// The one-sided p value.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The p value that was needed.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
    /// Confirmed by fresh builds, but below the smallest change to report.
    ConfirmedButSmall {
        /// The change in the first stage.
        first_change: f64,
        /// The smallest change to report.
        #[schemars(range(min = 0))]
        min_effect: f64,
    },
    /// Both versions have the same machine code.
    SameMachineCode,
    /// The benchmark neither executes nor reads anything that differs.
    NothingReached,
    /// The benchmark chose not to run.
    Skipped {
        /// The version where it was skipped; null: in both.
        #[schemars(extend("enum" = ["base", "head", null]))]
        version: Option<&'static str>,
    },
    /// The benchmark failed.
    Failed {
        /// The version where it failed; null: in both, or there is too little to decide.
        #[schemars(extend("enum" = ["base", "head", null]))]
        version: Option<&'static str>,
    },
    /// The measurements must not be compared.
    NotComparable,
    /// Slower, and accepted.
    Accepted {
        /// The largest accepted change; null if any change was accepted, from a base of 0.
        #[schemars(with = "Option<f64>", range(min = 0))]
        ceiling: f64,
        /// The evidence of the change.
        shown: Shown,
        /// The entries that accept it.
        #[schemars(length(min = 1))]
        accepted: Vec<AcceptedChange>,
    },
    #[serde(untagged)]
    Shown(Shown),
}

/// The evidence of a difference.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
// In place, because it is both a value and flattened.
#[schemars(inline)]
enum Shown {
    /// Confirmed by fresh builds.
    Confirmed {
        /// The one-sided p value.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The p value that was needed.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
    /// Flagged by one stage, without confirmation.
    OneStage,
    /// Counted: the ranges of both versions lie apart.
    Counted {
        /// The probability that ranges of that number of counts lie apart by chance, if the counts
        /// of a version vary with layout and initial state; else 0.
        #[schemars(range(min = 0, max = 1))]
        by_chance: f64,
    },
    /// Flagged by stored results of two experiments.
    TwoExperiments {
        /// The one-sided p value.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The p value that was needed.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
    /// More than accepted.
    BeyondAccepted {
        /// The largest accepted change.
        #[schemars(range(min = 0))]
        ceiling: f64,
        /// The one-sided p value of a change no larger than that.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The p value that was needed.
        #[schemars(range(min = 0, max = 1))]
        needed: f64,
    },
}

/// An entry that accepts a slowdown.
#[derive(Serialize, JsonSchema)]
struct AcceptedChange {
    #[schemars(regex(pattern = OBJECT_ID))]
    commit: String,
    reason: String,
}

impl From<&model::AcceptedChange> for AcceptedChange {
    fn from(model::AcceptedChange { commit, reason }: &model::AcceptedChange) -> Self {
        Self { commit: commit.clone(), reason: reason.clone() }
    }
}

impl From<Evidence> for Shown {
    fn from(basis: Evidence) -> Self {
        match basis {
            Evidence::Confirmed { p, needed } => Self::Confirmed { p, needed },
            Evidence::OneStage => Self::OneStage,
            Evidence::Counted { by_chance } => Self::Counted { by_chance },
            Evidence::Stored { p, needed } => Self::TwoExperiments { p, needed },
            Evidence::BeyondLimit { ceiling, p, needed } => {
                Self::BeyondAccepted { ceiling, p, needed }
            }
        }
    }
}

impl Reason {
    /// The reason for the verdict of a row.
    pub fn for_row(row: &DecidedRow) -> Self {
        let version = sentence::place(row);
        let ground = match &row.verdict {
            Verdict::Accepted { evidence: basis, acceptance, .. } => ChangeReason::Accepted {
                ceiling: acceptance.ceiling,
                shown: (*basis).into(),
                accepted: acceptance.changes.iter().map(AcceptedChange::from).collect(),
            },
            Verdict::Regressed { evidence: basis, .. }
            | Verdict::Improved { evidence: basis, .. } => ChangeReason::Shown((*basis).into()),
            Verdict::Unchanged { change, min_effect, difference } => ChangeReason::Equivalent {
                low: change.low,
                high: change.high,
                min_effect: *min_effect,
                difference: difference.map(Shown::from),
            },
            Verdict::Inconclusive { reason: doubt, .. } => match *doubt {
                InconclusiveReason::NotFlagged => ChangeReason::NotFlagged,
                InconclusiveReason::Varies { by_chance } => ChangeReason::Varies { by_chance },
                InconclusiveReason::Small { min_effect } => ChangeReason::Small { min_effect },
                InconclusiveReason::SlowerChanged { by_mean: Change { estimate, low, high } } => {
                    ChangeReason::SlowerChanged { change_by_mean: estimate, low, high }
                }
                InconclusiveReason::MeanDisagrees { by_mean: Change { estimate, low, high } } => {
                    ChangeReason::MeanDisagrees { change_by_mean: estimate, low, high }
                }
                InconclusiveReason::Unconfirmed => ChangeReason::Unconfirmed,
                InconclusiveReason::NeedsFresh { p, needed } => {
                    ChangeReason::NeedsFreshBuilds { p, needed }
                }
                InconclusiveReason::Contradicted { first } => {
                    ChangeReason::Contradicted { first_change: first }
                }
                InconclusiveReason::Weak { first, p, needed } => {
                    ChangeReason::Weak { first_change: first, p, needed }
                }
                InconclusiveReason::Shrunk { first, min_effect } => {
                    ChangeReason::ConfirmedButSmall { first_change: first, min_effect }
                }
            },
            Verdict::Identical => ChangeReason::SameMachineCode,
            Verdict::Unaffected => ChangeReason::NothingReached,
            Verdict::Skipped { .. } => ChangeReason::Skipped { version },
            Verdict::Failed { .. } => ChangeReason::Failed { version },
            Verdict::NotComparable { .. } => ChangeReason::NotComparable,
        };
        Self { ground, text: text(row) }
    }
}

/// The reason as a sentence. Not escaped: JSON keeps strings as they are.
fn text(row: &DecidedRow) -> String {
    match &row.verdict {
        Verdict::Skipped { reason }
        | Verdict::Failed { reason }
        | Verdict::NotComparable { reason } => reason.clone(),
        _ => sentence::row(row),
    }
}
