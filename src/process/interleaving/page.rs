//! The memory that two interleaved processes share with each other and with rbench. Compiled into
//! both rbench and the preloaded library.

use core::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

/// Number of clock readings that are kept: enough for programs that measure a thousand times or more with several readings
/// each, for all rounds in which libtest doubles its iterations, and for some hundred measurements of an async runtime that
/// reads the clock in each iteration.
pub const READINGS: usize = 1 << 16;

/// The signal at which a thread takes a sample: programs hardly use one of this number.
pub const SAMPLE: i32 = 60;

/// Most bytes of the list of a process's mapped files.
pub const MAPS: usize = 1 << 16;

/// Number of words for the samples of a process.
pub const SAMPLE_WORDS: usize = 1 << 22;

/// What is known of a thread when it is sampled, as bits.
pub mod state {
    /// It executes code of the process.
    pub const WORKING: u32 = 0;
    /// The kernel works for it.
    pub const IN_KERNEL: u32 = 1;
    /// It waits in the kernel.
    pub const WAITING: u32 = 2;
    /// It is the thread whose clock readings are measurements.
    pub const MEASURES: u32 = 4;
    /// Its stack may be longer than what was copied.
    pub const MAY_BE_CUT: u32 = 8;
}

#[repr(C)]
pub struct Samples {
    /// Number of words that were needed: more than there are if some were dropped.
    pub used: AtomicUsize,
    /// Number of samples for which there was no place.
    pub dropped: AtomicU64,
    /// The samples and the beginnings of slices, one after the other. 0 follows the last one.
    ///
    /// A slice has two words: 1 if it is not sampled and 2 if it is, and the number of clock readings before it.
    ///
    /// A sample begins with six words: the number of words of its stack and, in the second 16 bits, how many of these were
    /// copied, and in the upper half the [`state`] plus one; the number of clock readings before it; the registers:
    /// instruction, stack and frame pointer, link register. The words of the stack follow, from the stack pointer on.
    pub words: [AtomicU64; SAMPLE_WORDS],
}

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
    /// Seed of the random numbers that both draw.
    pub seed: AtomicU64,
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
    /// 1 if the processes are sampled.
    pub is_sampled: AtomicU32,
    /// 1 for each process in a time slice in which samples are taken.
    pub takes_samples: [AtomicU32; 2],
    pub process: [AtomicU32; 2],
    /// Length of the list of mapped files of each process, in bytes.
    pub maps_length: [AtomicU32; 2],
    /// The lists of mapped files.
    pub maps: [[AtomicU8; MAPS]; 2],
    pub samples: [Samples; 2],
}
