//! Proportions as tables show them.

pub use rbench_stats::Proportion;

/// The statistics of a proportion.
pub trait Shown {
    /// True if there is at least one case and at least this share has the property.
    fn is_at_least(&self, share: f64) -> bool;

    /// The share; 0 without cases.
    fn rate(self) -> f64;

    /// The interval of Clopper and Pearson at 95 %, for independent rows.
    fn at_95(self) -> [f64; 2];
}

impl Shown for Proportion {
    fn is_at_least(&self, share: f64) -> bool {
        self.share().is_some_and(|own| own >= share)
    }

    fn rate(self) -> f64 {
        self.share().unwrap_or_default()
    }

    fn at_95(self) -> [f64; 2] {
        self.interval(0.95)
    }
}
