//! So many of so many, as tables show it.

pub use cargo_rbench::stats::Proportion;

/// What tables say of a proportion.
pub trait Shown {
    /// Whether at least this share of something has it.
    fn is_at_least(&self, share: f64) -> bool;

    /// The share, 0 of nothing.
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
