//! Experiments that count events (instructions, allocations) and time nothing.

use super::{ExperimentPlan, Metric};

/// The key that marks an experiment's settings as counting. It keeps counts apart from timed results. The value is the
/// version of the counting rules: counts by different rules are not comparable.
pub const COUNTING_KEY: &str = "counting";

/// The current version of the counting rules.
pub const COUNTING_RULES: u32 = 1;

/// The key of the counted quantity, if that is not instructions.
pub const COUNTED_KEY: &str = "counted";

impl ExperimentPlan {
    /// True if both plans time, or both count the same quantity.
    pub fn counts_like(&self, other: &Self) -> bool {
        let counted = |plan: &Self| {
            let settings: Option<serde_json::Value> = serde_json::from_str(&plan.settings).ok();
            plan.is_counting().then(|| settings?.get(COUNTED_KEY).cloned())
        };
        counted(self) == counted(other)
    }

    /// True if the plan measures `metric`: it counts instructions, counts allocations, or times. `None` stands for a
    /// timed metric.
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

    /// True if the experiment counts and times nothing, also if a later version of rbench planned it.
    pub fn is_counting(&self) -> bool {
        // Most experiments do not count; the text search spares parsing their settings.
        self.settings.contains("\"counting\"")
            && serde_json::from_str(&self.settings)
                .is_ok_and(|settings: serde_json::Value| settings.get(COUNTING_KEY).is_some())
    }
}
