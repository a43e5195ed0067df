//! The memory that two interleaved processes share with each other and with rbench. Compiled into
//! both rbench and the preloaded library.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// Number of clock readings that are kept: enough for programs that measure a thousand times or more with several readings
/// each, and for all rounds in which libtest doubles its iterations.
pub const READINGS: usize = 1 << 14;

/// The layout of the memory. Times are in ns, by the monotonic clock.
#[repr(C)]
pub struct Page {
    /// The CPUs available to a process that runs alone, one bit for each.
    pub cpus: [AtomicU64; 16],
    /// The process that may run now: 0 or 1.
    pub turn: AtomicU32,
    /// 1 for each process that interleaves.
    pub joined: [AtomicU32; 2],
    /// 1 for each process that has ended, so that the other need not wait for it.
    pub gone: [AtomicU32; 2],
    /// 1 for each process that has exited in order, and so has reported the CPU time of its other
    /// threads.
    pub time_read: [AtomicU32; 2],
    /// 1 if other threads are to be stopped while the partner runs.
    pub stops_threads: AtomicU32,
    /// 1 if each thread is to have one CPU, in turn.
    pub places_threads: AtomicU32,
    /// 1 for each process that has stopped interleaving, because one of its threads cannot be stopped.
    pub given_up: [AtomicU32; 2],
    /// 1 if nobody but other programs takes time: no host.
    pub has_no_host: AtomicU32,
    /// Least length of a time slice.
    pub quantum: AtomicI64,
    /// Start of the current time slice.
    pub began: AtomicI64,
    /// Total length of each process's past time slices, and the time in which its other threads worked beside them.
    pub held: [AtomicI64; 2],
    /// Number of times that each process has handed over.
    pub passed: [AtomicU64; 2],
    /// CPU time of the first thread of each process.
    pub first_thread: [AtomicI64; 2],
    /// CPU time of the other threads of each process.
    pub others: [AtomicI64; 2],
    /// CPU time of the child processes of each process.
    pub children: [AtomicI64; 2],
    /// The factor by which the clock of each process runs faster while Criterion.rs warms up. 0 and 1 mean no
    /// faster.
    pub warm_up_speed: [AtomicI64; 2],
    /// The factor by which the clock of each process runs faster: for its first readings if it jumps, else always. 0 means
    /// that it neither does nor jumps.
    pub speed: [AtomicI64; 2],
    /// The time of each process after which its clock jumps ahead; 0 if it does not.
    pub jumps_after: [AtomicI64; 2],
    /// Number of readings of the monotonic clock by the first thread of each process.
    pub read: [AtomicU64; 2],
    /// These readings, in the process's own time without what a faster clock has gained: reading `i` is at `i % READINGS`.
    pub readings: [[AtomicI64; READINGS]; 2],
}
