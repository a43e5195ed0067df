//! Does what ran before matter? Gil et al. 2011, section 6.

use crate::stats::{Interval, Refusal};

use super::Options;

/// The same benchmark alone in a process and after others, paired by layout seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prologue {
    /// Pairs.
    pub pairs: usize,
    /// By how much it is slower after others, relative (.01 is 1 %), with its interval by Student's t of
    /// log ratios.
    pub change: Interval,
    /// Two-sided, of no change.
    pub p: f64,
}

impl Prologue {
    /// From pairs of values in the metric's unit, `[alone, after others]`, each of one seed. Refuses fewer than
    /// two pairs.
    pub fn of(pairs: &[[f64; 2]], options: &Options) -> Result<Self, Refusal> {
        todo!("{pairs:?} {options:?}")
    }
}
