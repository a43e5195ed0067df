//! What two processes that take turns share, and what rbench reads and writes of it.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// How many readings of the clock are kept.
pub const READINGS: usize = 256;

/// The memory. Times are in ns, by the monotonic clock.
#[repr(C)]
pub struct Page {
    /// The CPUs on which a process may run that runs alone, a bit for each.
    pub cpus: [AtomicU64; 16],
    /// Whose turn it is: 0 or 1.
    pub turn: AtomicU32,
    /// Whether each process takes turns.
    pub joined: [AtomicU32; 2],
    /// Whether each process has ended, so that the other need not wait for it.
    pub gone: [AtomicU32; 2],
    /// Whether each process has ended in order, and so has said what its other threads took.
    pub told: [AtomicU32; 2],
    /// So that the numbers that follow are aligned.
    pub unused: u32,
    /// How long a turn lasts at least.
    pub quantum: AtomicI64,
    /// When the present turn began.
    pub began: AtomicI64,
    /// How long the turns of each process lasted that it has passed.
    pub held: [AtomicI64; 2],
    /// How often each process has passed the turn.
    pub passed: [AtomicU64; 2],
    /// How much CPU time the first thread of each process took.
    pub first_thread: [AtomicI64; 2],
    /// How much CPU time other threads of each process took, and the processes that it started.
    pub others: [AtomicI64; 2],
    /// How often the first thread of each process has read the monotonic clock.
    pub read: [AtomicU64; 2],
    /// What it read there, in the time of its process: reading `i` is at `i % READINGS`.
    pub readings: [[AtomicI64; READINGS]; 2],
}
