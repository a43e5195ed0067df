//! What to add to an experiment whose verdict is inconclusive.

use super::row::{Advice, Repetition};
use crate::stats::{ABOVE_MIN_EFFECT, More, Outlook};

/// No more builds or executions than this are ever advised: beyond, another benchmark is needed.
const MOST_ADVISED: usize = 100;

impl Advice {
    /// Whether what is advised shows as small a change as should be seen in a benchmark with this smallest change
    /// of interest.
    pub fn reaches(&self, min_effect: f64) -> bool {
        self.smallest_reported <= ABOVE_MIN_EFFECT * min_effect
    }

    /// What makes one and a half times the smallest change of interest be reported; where that is out of reach,
    /// what halves the smallest that is reported now; nothing where the experiment was large enough.
    pub(super) fn of(outlook: &Outlook, min_effect: f64) -> Option<Self> {
        let now = outlook.smallest_reported();
        let wanted = ABOVE_MIN_EFFECT * min_effect;
        if now <= wanted {
            return None;
        }
        let more =
            outlook.more(wanted, MOST_ADVISED).or_else(|| outlook.more(now / 2.0, MOST_ADVISED))?;
        Some(match more {
            More::Builds(number) => Self {
                what: Repetition::Builds,
                number,
                smallest_reported: outlook.with_builds(number),
            },
            More::Executions(number) => Self {
                what: Repetition::Executions,
                number,
                smallest_reported: outlook.with_executions(number)?,
            },
        })
    }
}
