//! Verdicts as sentences for a person. Programs read the values.

use std::fmt;

use super::{Basis, Doubt, Verdict};
use crate::stats::Change;

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name())?;
        match self {
            Self::Regressed { change, basis } | Self::Improved { change, basis } => {
                write!(f, "{change}, {basis}")
            }
            Self::Unchanged { change, min_effect } => write!(
                f,
                "{change}: with 90 % confidence less than {} either way",
                Percent::size(*min_effect)
            ),
            Self::Inconclusive { change, detectable, doubt } => {
                let detectable = Percent::size(*detectable);
                write!(f, "{change}, {doubt}; a change of {detectable} would show with 80 % power")
            }
            Self::Identical => f.write_str("both versions have the same machine code"),
            Self::Failed { reason } | Self::NotComparable { reason } => f.write_str(reason),
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confirmed { p, needed } => {
                write!(f, "confirmed by fresh builds ({})", Reached { p: *p, needed: *needed })
            }
            Self::OneStage => f.write_str("by one stage alone"),
            Self::Stored { p, needed } => {
                write!(f, "by results of two sessions ({})", Reached { p: *p, needed: *needed })
            }
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFlagged => f.write_str("not flagged: chance can explain it"),
            Self::Small { min_effect } => {
                write!(f, "flagged, but less than {}", Percent::size(*min_effect))
            }
            Self::Unconfirmed => f.write_str("flagged, but not yet confirmed by fresh builds"),
            Self::NeedsFresh { p, needed } => write!(
                f,
                "flagged, but results of two sessions need fresh builds to be sure ({})",
                Reached { p: *p, needed: *needed }
            ),
            Self::Contradicted { first } => {
                write!(f, "which contradicts the {} of the first stage", Percent::signed(*first))
            }
            Self::Weak { first, p, needed } => write!(
                f,
                "which does not confirm the {} of the first stage ({})",
                Percent::signed(*first),
                Reached { p: *p, needed: *needed }
            ),
            Self::Shrunk { first, min_effect } => write!(
                f,
                "less than {}, after {} in the first stage",
                Percent::size(*min_effect),
                Percent::signed(*first)
            ),
        }
    }
}

/// A p value beside the one that it had to reach.
struct Reached {
    p: f64,
    needed: f64,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p, needed } = self;
        f.write_str("one-sided p ")?;
        let number = |p: f64| if p < 0.001 { format!("{p:.0e}") } else { format!("{p:.3}") };
        write!(f, "{}, needed {}", number(*p), number(*needed))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [estimate, low, high] = [self.estimate, self.low, self.high].map(Percent::signed);
        write!(f, "{estimate} ({low} to {high})")
    }
}

/// Beyond this a size is only called large: very few builds see next to nothing.
const LARGE: f64 = 10.0;

/// Beyond this, so is a change; from [`LARGE`] on it has no decimals.
const HUGE: f64 = 100.0;

/// A share as a person reads it.
struct Percent {
    share: f64,
    signed: bool,
}

impl Percent {
    fn signed(share: f64) -> Self {
        Self { share, signed: true }
    }

    fn size(share: f64) -> Self {
        Self { share, signed: false }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = if self.signed { HUGE } else { LARGE };
        if self.share > limit {
            return write!(f, "more than {:.0} %", 100.0 * limit);
        }
        // Adding 0.0 turns a negative zero into a positive one.
        let percent = 100.0 * self.share + 0.0;
        let decimals = if self.share > LARGE { 0 } else { 2 };
        if self.signed {
            write!(f, "{percent:+.decimals$} %")
        } else {
            write!(f, "{percent:.decimals$} %")
        }
    }
}
