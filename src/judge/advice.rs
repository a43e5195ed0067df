//! What to add to an experiment whose verdict is inconclusive.

use super::row::{Advice, JudgedStage, Repetition};
use crate::stats::{More, Outlook};

/// No more builds or executions than this are ever advised: beyond, another benchmark is needed.
const MOST_ADVISED: usize = 100;

impl Advice {
    /// What makes the smallest change of interest visible; where that is out of reach, what halves the
    /// smallest that is visible now; nothing where the experiment was large enough, or the rule does not tell.
    pub(super) fn of(stage: &JudgedStage, min_effect: f64) -> Option<Self> {
        let detectable_now = stage.assessment.smallest_detectable()?;
        if detectable_now <= min_effect {
            return None;
        }
        let outlook = Outlook::of(&stage.assessment, &stage.summaries);
        let more = outlook
            .more(min_effect, MOST_ADVISED)
            .or_else(|| outlook.more(detectable_now / 2.0, MOST_ADVISED))?;
        Some(match more {
            More::Builds(number) => Self {
                what: Repetition::Builds,
                number,
                smallest_detectable: outlook.with_builds(number),
            },
            More::Executions(number) => Self {
                what: Repetition::Executions,
                number,
                smallest_detectable: outlook.with_executions(number)?,
            },
        })
    }
}
