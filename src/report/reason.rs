//! Why a verdict is what it is, in the JSON of several reports.

use serde::Serialize;

use super::sentence;
use crate::{
    judge::JudgedRow,
    model,
    stats::{Basis, Change, Doubt, Verdict},
};

/// Why a verdict is what it is: as a sentence, and as values.
#[derive(Serialize)]
pub struct Reason {
    #[serde(flatten)]
    ground: Ground,
    text: String,
}

/// The reason as values. Changes are relative: 0.05 is 5 % more than the base.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Ground {
    Equivalent {
        low: f64,
        high: f64,
        min_effect: f64,
        difference: Option<Shown>,
    },
    NotFlagged,
    Varies {
        /// How often ranges of that number of counts lie apart by chance; none where they overlap.
        by_chance: Option<f64>,
    },
    SlowerChanged {
        change_by_mean: f64,
        low: f64,
        high: f64,
    },
    MeanDisagrees {
        change_by_mean: f64,
        low: f64,
        high: f64,
    },
    Small {
        min_effect: f64,
    },
    Unconfirmed,
    NeedsFreshBuilds {
        p: f64,
        needed: f64,
    },
    Contradicted {
        first_change: f64,
    },
    Weak {
        first_change: f64,
        p: f64,
        needed: f64,
    },
    ConfirmedButSmall {
        first_change: f64,
        min_effect: f64,
    },
    SameMachineCode,
    NothingReached,
    Skipped {
        version: Option<&'static str>,
    },
    Failed {
        version: Option<&'static str>,
    },
    NotComparable,
    Accepted {
        /// By how much it may be slower.
        ceiling: f64,
        shown: Shown,
        accepted: Vec<AcceptedChange>,
    },
    #[serde(untagged)]
    Shown(Shown),
}

/// What shows a difference.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shown {
    Confirmed { p: f64, needed: f64 },
    OneStage,
    Counted { by_chance: f64 },
    TwoExperiments { p: f64, needed: f64 },
    BeyondAccepted { ceiling: f64, p: f64, needed: f64 },
}

/// A slowdown that was accepted.
#[derive(Serialize)]
struct AcceptedChange {
    commit: String,
    reason: String,
}

impl From<&model::AcceptedChange> for AcceptedChange {
    fn from(model::AcceptedChange { commit, reason }: &model::AcceptedChange) -> Self {
        Self { commit: commit.clone(), reason: reason.clone() }
    }
}

impl From<Basis> for Shown {
    fn from(basis: Basis) -> Self {
        match basis {
            Basis::Confirmed { p, needed } => Self::Confirmed { p, needed },
            Basis::OneStage => Self::OneStage,
            Basis::Counted { by_chance } => Self::Counted { by_chance },
            Basis::Stored { p, needed } => Self::TwoExperiments { p, needed },
            Basis::Beyond { ceiling, p, needed } => Self::BeyondAccepted { ceiling, p, needed },
        }
    }
}

impl Reason {
    /// The reason of a row's verdict.
    pub fn of(row: &JudgedRow) -> Self {
        let version = sentence::place(row);
        let ground = match &row.verdict {
            Verdict::Accepted { basis, acceptance, .. } => Ground::Accepted {
                ceiling: acceptance.ceiling,
                shown: (*basis).into(),
                accepted: acceptance.changes.iter().map(AcceptedChange::from).collect(),
            },
            Verdict::Regressed { basis, .. } | Verdict::Improved { basis, .. } => {
                Ground::Shown((*basis).into())
            }
            Verdict::Unchanged { change, min_effect, difference } => Ground::Equivalent {
                low: change.low,
                high: change.high,
                min_effect: *min_effect,
                difference: difference.map(Shown::from),
            },
            Verdict::Inconclusive { doubt, .. } => match *doubt {
                Doubt::NotFlagged => Ground::NotFlagged,
                Doubt::Varies { by_chance } => Ground::Varies { by_chance },
                Doubt::Small { min_effect } => Ground::Small { min_effect },
                Doubt::SlowerChanged { by_mean: Change { estimate, low, high } } => {
                    Ground::SlowerChanged { change_by_mean: estimate, low, high }
                }
                Doubt::MeanDisagrees { by_mean: Change { estimate, low, high } } => {
                    Ground::MeanDisagrees { change_by_mean: estimate, low, high }
                }
                Doubt::Unconfirmed => Ground::Unconfirmed,
                Doubt::NeedsFresh { p, needed } => Ground::NeedsFreshBuilds { p, needed },
                Doubt::Contradicted { first } => Ground::Contradicted { first_change: first },
                Doubt::Weak { first, p, needed } => Ground::Weak { first_change: first, p, needed },
                Doubt::Shrunk { first, min_effect } => {
                    Ground::ConfirmedButSmall { first_change: first, min_effect }
                }
            },
            Verdict::Identical => Ground::SameMachineCode,
            Verdict::Unaffected => Ground::NothingReached,
            Verdict::Skipped { .. } => Ground::Skipped { version },
            Verdict::Failed { .. } => Ground::Failed { version },
            Verdict::NotComparable { .. } => Ground::NotComparable,
        };
        Self { ground, text: text(row) }
    }
}

/// The sentence, in which nothing of a reason from elsewhere is escaped: JSON has strings as they are.
fn text(row: &JudgedRow) -> String {
    match &row.verdict {
        Verdict::Skipped { reason }
        | Verdict::Failed { reason }
        | Verdict::NotComparable { reason } => reason.clone(),
        _ => sentence::row(row),
    }
}
