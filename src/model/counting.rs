//! What an experiment counts instead of timing it.

use super::{ExperimentPlan, Metric};

/// The key of the settings of an experiment that counts. Its value is the number of the rules by which it counts: with
/// others, counts are not comparable. It keeps counts apart from all that is timed.
pub const COUNTING_KEY: &str = "counting";

/// The present rules.
pub const COUNTING_RULES: u32 = 1;

/// The key of what it counts, where that is not instructions.
pub const COUNTED_KEY: &str = "counted";

impl ExperimentPlan {
    /// Whether it times as another experiment does, or counts the same.
    pub fn counts_like(&self, other: &Self) -> bool {
        let counted = |plan: &Self| {
            let settings: Option<serde_json::Value> = serde_json::from_str(&plan.settings).ok();
            plan.is_counting().then(|| settings?.get(COUNTED_KEY).cloned())
        };
        counted(self) == counted(other)
    }

    /// Whether it was made to measure this metric: to count instructions, to count what is allocated, or to time; to time if
    /// there is none.
    pub fn is_for(&self, metric: Option<&Metric>) -> bool {
        let counted = metric.filter(|metric| metric.is_counted());
        let allocates = counted.is_some_and(|metric| *metric != Metric::instructions());
        let of_allocations = || {
            serde_json::from_str(&self.settings)
                .is_ok_and(|settings: serde_json::Value| settings.get(COUNTED_KEY).is_some())
        };
        self.is_counting() == counted.is_some()
            && (counted.is_none() || of_allocations() == allocates)
    }

    /// Whether it counted, by this or a later version of rbench, and timed nothing.
    pub fn is_counting(&self) -> bool {
        // Most do not, and are told apart without being parsed.
        self.settings.contains("\"counting\"")
            && serde_json::from_str(&self.settings)
                .is_ok_and(|settings: serde_json::Value| settings.get(COUNTING_KEY).is_some())
    }
}
