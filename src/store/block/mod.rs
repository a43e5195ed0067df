//! Executions of one benchmark of one version as bytes: all their measurements and resources, without
//! any loss, in fewer bytes than the bare numbers.
//!
//! A block is a format number, the metrics, the columns, and a CRC-32 of all this, as SQLite does not
//! notice when a disk gives other bytes than it was given. A measurement is written as the total that
//! the clock gave, which is a whole number, if that total divided by the iterations gives exactly the
//! measurement for every value of the metric; else as its bits. What statistics need comes first, so
//! that reading a history stops there.

mod column;
mod decode;
mod encode;

use crate::model::{Execution, LayoutSeed, Series};

pub(super) use decode::{decode, first_metric, values};
pub(super) use encode::encode;

/// The format, raised when the columns change; then [`decode`](fn@decode) reads both. 1 was never
/// released.
const FORMAT: u8 = 2;

/// How many bytes of checksum there are.
const CHECKSUM: usize = 4;

/// One execution and where it belongs in its stage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) round: u32,
    pub(super) seed: LayoutSeed,
    pub(super) execution: Execution,
}

/// Why bytes are no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage(pub(super) &'static str);

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    crc32fast::hash(bytes).to_le_bytes()
}

/// The totals of all measurements of a series, if these are whole numbers from which exactly the
/// measurements come back.
fn totals(series: &Series) -> Option<Vec<u64>> {
    if series.iterations.len() != series.values.len() {
        return None;
    }
    let total = |(value, iterations): (&f64, &u64)| {
        let total = (value * *iterations as f64).round();
        // Whole numbers below 2^53 are the ones that a double holds exactly.
        let whole = (0.0..9_007_199_254_740_992.0).contains(&total).then(|| whole(total))?;
        (measurement(whole, *iterations).to_bits() == value.to_bits()).then_some(whole)
    };
    series.values.iter().zip(&series.iterations).map(total).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is a whole number between 0 and 2^53"
)]
fn whole(total: f64) -> u64 {
    total as u64
}

/// The measurement that a harness made of a total.
fn measurement(total: u64, iterations: u64) -> f64 {
    total as f64 / iterations as f64
}

#[cfg(test)]
mod tests;
