//! What a process whose allocations are counted shares with rbench.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// How many readings of the clock are kept.
pub const READINGS: usize = 512;
/// How many entries of functions of the executable can be watched.
pub const ENTRIES: usize = 64;
/// How many functions in other languages are known.
pub const FOREIGN: usize = 1 << 14;
/// How many bytes of code stand at an entry at most that a jump replaces.
pub const REPLACED: usize = 24;
/// How many bytes of code do the same elsewhere at most, with a jump behind them.
pub const MOVED: usize = 64;
/// How many places in this code depend on where it is.
pub const FIXES: usize = 4;

/// What a reading of the clock adds to the one before, whatever was counted, in ns. Warm-ups end at once, and a
/// time that is a sum of stretches is a multiple of it and a count. libtest divides by 5.
pub const STEP: u64 = 1_000_000_000_000;

/// The memory, zero at first.
#[repr(C)]
pub struct Page {
    /// What the clock shows: 0 for allocations, 1 for bytes.
    pub shown: AtomicU32,
    /// Whether the process has begun to count.
    pub joined: AtomicU32,
    /// How many entries are watched by it: less than there are where the code is another one.
    pub watched: AtomicU32,
    /// How many entries there are.
    pub entries: AtomicU32,
    /// What random numbers follow from.
    pub seed: AtomicU64,
    /// Where the executable begins to run, in its file's addresses.
    pub begin: AtomicU64,
    /// How often memory was asked for, and given.
    pub allocations: AtomicU64,
    /// How many bytes were asked for.
    pub bytes: AtomicU64,
    /// How often it was announced that the global allocator would be called to allocate, and not to allocate again.
    pub announced: AtomicU64,
    /// How often it was called for that.
    pub anew: AtomicU64,
    /// How often the first thread has read the clock.
    pub read: AtomicU64,
    /// What was counted when it did, allocations and bytes: of reading `i` at `i % READINGS`.
    pub readings: [[AtomicU64; 2]; READINGS],
    /// The entries. Written before the process is started, as is what follows.
    pub entry: [Entry; ENTRIES],
    /// How many functions of the executable are not Rust's.
    pub foreign: AtomicU64,
    /// Where each of them begins and ends, in the addresses of the executable's file, in their order.
    pub code: [[u64; 2]; FOREIGN],
}

/// A function of the executable that allocates.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    /// Where it is, in the addresses of the executable's file.
    pub address: u64,
    /// Whose it is: one of the numbers below.
    pub of: u8,
    /// The argument that tells how many bytes are asked for, from 0.
    pub size: u8,
    /// The argument by which it is multiplied, or [`NONE`].
    pub times: u8,
    /// 1 if it returns 0 where memory was given, and not a pointer.
    pub has_status: u8,
    /// How many bytes of code a jump replaces.
    pub replaced: u32,
    /// How many bytes of code do the same elsewhere.
    pub moved: u32,
    /// How many places in it depend on where it is.
    pub fixes: u32,
    /// The code that is replaced.
    pub code: [u8; REPLACED],
    /// The code that does the same elsewhere.
    pub elsewhere: [u8; MOVED],
    /// The places in it.
    pub fix: [Fixup; FIXES],
}

/// A distance of 32 bits in code that was moved.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fixup {
    /// Where it is in the code.
    pub at: u32,
    /// Where in the code the distance counts from.
    pub from: u32,
    /// Where it leads, in the addresses of the executable's file.
    pub to: u64,
}

/// A function of Rust's global allocator.
pub const OF_RUST: u8 = 1;
/// The function that is called before each allocation by the global allocator, wherever that was inlined.
pub const ANNOUNCEMENT: u8 = 2;
/// A function of another allocator.
pub const KNOWN: u8 = 3;
/// In the place of an argument: there is none.
pub const NONE: u8 = u8::MAX;
