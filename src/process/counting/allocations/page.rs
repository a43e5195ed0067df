//! The memory that rbench shares with a process whose allocations are counted. Compiled into both rbench and the
//! preloaded library.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Number of clock readings that are kept.
pub const READINGS: usize = 512;

/// Added by each clock reading, in ns, besides the counts. It is so large that warm-ups end at once and that a sum of
/// stretches is a multiple of it plus a count. libtest divides by 5.
pub const STEP: u64 = 1_000_000_000_000;

/// The layout of the memory; all zeros at first.
#[repr(C)]
pub struct Page {
    /// The quantity that the clock shows: 0 for allocations, 1 for bytes.
    pub shown: AtomicU32,
    /// 1 once the process has begun to count.
    pub joined: AtomicU32,
    pub seed: AtomicU64,
    /// Number of allocations that returned memory.
    pub allocations: AtomicU64,
    pub bytes: AtomicU64,
    /// Number of clock readings by the first thread.
    pub read: AtomicU64,
    /// Counts at these readings, allocations and bytes: reading `i` is at `i % READINGS`.
    pub readings: [[AtomicU64; 2]; READINGS],
}
