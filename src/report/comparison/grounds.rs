//! The grounds of a verdict as values, for programs; people read the sentence.

use serde::Serialize;

use crate::stats::{Basis, Doubt, Verdict};

/// Why a verdict is what it is. Changes are relative: 0.05 is 5 % more than the base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Grounds {
    /// Fresh builds agree, with this one-sided p value.
    Confirmed { p: f64, needed: f64 },
    /// Flagged by one stage; no confirmation was wanted.
    OneStage,
    /// Flagged by stored results of two sessions, with this one-sided p value.
    TwoSessions { p: f64, needed: f64 },
    /// This 90 % interval of the change lies inside the smallest change of interest.
    Equivalent { low: f64, high: f64, min_effect: f64 },
    /// The rule does not flag the change.
    NotFlagged,
    /// It is flagged, but too small.
    Small { min_effect: f64 },
    /// It is flagged, but there are no fresh builds.
    Unconfirmed,
    /// It is flagged by stored results of two sessions, but not surely enough without fresh builds.
    NeedsFresh { p: f64, needed: f64 },
    /// Fresh builds point elsewhere.
    Contradicted { first_change: f64 },
    /// Fresh builds do not show it surely enough.
    Weak { first_change: f64, p: f64, needed: f64 },
    /// By fresh builds it is too small.
    Shrunk { first_change: f64, min_effect: f64 },
}

impl Grounds {
    /// The grounds of a verdict that was reached by judging.
    pub fn of(verdict: &Verdict) -> Option<Self> {
        Some(match *verdict {
            Verdict::Regressed { basis, .. } | Verdict::Improved { basis, .. } => match basis {
                Basis::Confirmed { p, needed } => Self::Confirmed { p, needed },
                Basis::OneStage => Self::OneStage,
                Basis::Stored { p, needed } => Self::TwoSessions { p, needed },
            },
            Verdict::Unchanged { change, min_effect } => {
                Self::Equivalent { low: change.low, high: change.high, min_effect }
            }
            Verdict::Inconclusive { doubt, .. } => match doubt {
                Doubt::NotFlagged => Self::NotFlagged,
                Doubt::Small { min_effect } => Self::Small { min_effect },
                Doubt::Unconfirmed => Self::Unconfirmed,
                Doubt::NeedsFresh { p, needed } => Self::NeedsFresh { p, needed },
                Doubt::Contradicted { first } => Self::Contradicted { first_change: first },
                Doubt::Weak { first, p, needed } => Self::Weak { first_change: first, p, needed },
                Doubt::Shrunk { first, min_effect } => {
                    Self::Shrunk { first_change: first, min_effect }
                }
            },
            Verdict::Identical | Verdict::Failed { .. } | Verdict::NotComparable { .. } => {
                return None;
            }
        })
    }
}
