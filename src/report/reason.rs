//! The reason for a verdict, in the JSON of several reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sentence;
use crate::{
    model::AcceptedChange,
    stats::{Evidence, InconclusiveReason, Verdict, or_infinite},
    verdict::DecidedRow,
};

/// The reason for the verdict, as values and as a sentence. Changes are relative: 0.05 is 5 % more
/// than the base.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    #[serde(flatten)]
    ground: Ground,
    /// The sentence; of a benchmark that failed, was skipped or is not comparable, the message.
    pub text: String,
}

/// The reason as values.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Ground {
    /// This 95 % CI of the change is within the smallest change to report.
    Equivalent {
        low: f64,
        high: f64,
        /// The smallest change to report.
        #[schemars(range(min = 0))]
        min_effect: f64,
        /// The evidence of a difference below the smallest change to report; null if there is none.
        difference: Option<Evidence>,
    },
    /// Both versions have the same machine code.
    SameMachineCode,
    /// The benchmark neither executes nor reads anything that differs.
    NothingReached,
    /// The benchmark chose not to run.
    Skipped {
        /// The version where it was skipped; null: in both.
        #[schemars(extend("enum" = ["base", "head", null]))]
        version: Option<String>,
    },
    /// The benchmark failed.
    Failed {
        /// The version where it failed; null: in both, or there is too little to decide.
        #[schemars(extend("enum" = ["base", "head", null]))]
        version: Option<String>,
    },
    /// The measurements must not be compared.
    NotComparable,
    /// Slower, and accepted.
    Accepted {
        /// The largest accepted change; null if any change was accepted, from a base of 0.
        #[serde(deserialize_with = "or_infinite")]
        #[schemars(with = "Option<f64>", range(min = 0))]
        ceiling: f64,
        /// The evidence of the change.
        shown: Evidence,
        /// The entries that accept it.
        #[schemars(length(min = 1))]
        accepted: Vec<AcceptedChange>,
    },
    #[serde(untagged)]
    Shown(Evidence),
    #[serde(untagged)]
    Inconclusive(InconclusiveReason),
}

impl Reason {
    /// True if fresh builds confirmed a change.
    pub const fn is_confirmed(&self) -> bool {
        matches!(self.ground, Ground::Shown(Evidence::Confirmed { .. }))
    }

    /// True if the benchmark was skipped in the head and not in the base.
    pub fn is_skipped_in_head(&self) -> bool {
        matches!(&self.ground, Ground::Skipped { version: Some(version) } if version == "head")
    }

    /// The reason for the verdict of a row.
    pub fn for_row(row: &DecidedRow) -> Self {
        let version = sentence::place(row).map(str::to_owned);
        let ground = match &row.verdict {
            Verdict::Accepted { evidence, acceptance, .. } => Ground::Accepted {
                ceiling: acceptance.ceiling,
                shown: *evidence,
                accepted: acceptance.changes.clone(),
            },
            Verdict::Regressed { evidence, .. } | Verdict::Improved { evidence, .. } => {
                Ground::Shown(*evidence)
            }
            Verdict::Unchanged { change, min_effect, difference } => Ground::Equivalent {
                low: change.low,
                high: change.high,
                min_effect: *min_effect,
                difference: *difference,
            },
            Verdict::Inconclusive { reason, .. } => Ground::Inconclusive(*reason),
            Verdict::Identical => Ground::SameMachineCode,
            Verdict::Unaffected => Ground::NothingReached,
            Verdict::Skipped { .. } => Ground::Skipped { version },
            Verdict::Failed { .. } => Ground::Failed { version },
            Verdict::NotComparable { .. } => Ground::NotComparable,
        };
        let text = match &row.verdict {
            // Not escaped: JSON keeps strings as they are.
            Verdict::Skipped { reason }
            | Verdict::Failed { reason }
            | Verdict::NotComparable { reason } => reason.clone(),
            _ => sentence::row(row),
        };
        Self { ground, text }
    }
}
