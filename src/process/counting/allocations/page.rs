//! The memory that rbench shares with a process whose allocations are counted. Compiled into both rbench and the
//! preloaded library.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// Number of clock readings that are kept.
pub const READINGS: usize = 512;
/// Most functions of the executable that can be watched.
pub const ENTRIES: usize = 64;
/// Most functions in other languages that fit.
pub const FOREIGN: usize = 1 << 14;
/// Most bytes of code at an entry that a jump replaces.
pub const REPLACED: usize = 24;
/// Most bytes of a relocated copy, with the jump behind it.
pub const MOVED: usize = 64;
/// Most position-dependent places in a relocated copy.
pub const FIXES: usize = 4;

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
    /// Entries that the process watches: fewer than there are if their code differs.
    pub watched: AtomicU32,
    /// Number of entries.
    pub entries: AtomicU32,
    /// Seed of the random numbers.
    pub seed: AtomicU64,
    /// Entry point of the executable, as an address of its file.
    pub begin: AtomicU64,
    /// Number of allocations that returned memory.
    pub allocations: AtomicU64,
    /// Bytes requested.
    pub bytes: AtomicU64,
    /// Announced new allocations by the global allocator, without reallocations.
    pub announced: AtomicU64,
    /// New allocations that the global allocator then made.
    pub anew: AtomicU64,
    /// Clock readings by the first thread.
    pub read: AtomicU64,
    /// Counts at these readings, allocations and bytes: reading `i` is at `i % READINGS`.
    pub readings: [[AtomicU64; 2]; READINGS],
    /// The entries. They and the fields below are written before the process is started.
    pub entry: [Entry; ENTRIES],
    /// Number of functions of the executable that are not Rust's.
    pub foreign: AtomicU64,
    /// Begin and end of each of them, as addresses of the executable's file, in ascending order.
    pub code: [[u64; 2]; FOREIGN],
}

/// A function of the executable that allocates.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its address in the executable's file.
    pub address: u64,
    /// Its owner: [`OF_RUST`], [`ANNOUNCEMENT`] or [`KNOWN`].
    pub of: u8,
    /// Index of the argument that holds the requested bytes, from 0.
    pub size: u8,
    /// Index of the argument that multiplies the size, or [`NONE`].
    pub times: u8,
    /// 1 if it returns a status, 0 for success, instead of a pointer.
    pub has_status: u8,
    /// Bytes of code that the jump replaces.
    pub replaced: u32,
    /// Bytes of the relocated copy.
    pub moved: u32,
    /// Position-dependent places in the copy.
    pub fixes: u32,
    /// The replaced code.
    pub code: [u8; REPLACED],
    /// The relocated copy.
    pub elsewhere: [u8; MOVED],
    /// The position-dependent places in the copy.
    pub fix: [Fixup; FIXES],
}

/// A 32-bit distance in relocated code.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fixup {
    /// Its offset in the code.
    pub at: u32,
    /// The offset in the code that the distance counts from.
    pub from: u32,
    /// Its target, as an address of the executable's file.
    pub to: u64,
}

/// A function of Rust's global allocator.
pub const OF_RUST: u8 = 1;
/// The function that is called before each allocation by the global allocator, even where that was inlined.
pub const ANNOUNCEMENT: u8 = 2;
/// A function of another allocator.
pub const KNOWN: u8 = 3;
/// Stands for a missing argument.
pub const NONE: u8 = u8::MAX;
