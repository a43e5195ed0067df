//! Counts the allocations of a process, and their bytes, without a change of its executable.
//!
//! A preloaded library replaces the clock and the C library's allocator. Its clock shows the counts, so that every
//! harness reports them as the time of its measured stretches. Other allocators are linked to an executable, which
//! calls them directly, so that no library can replace them: `crates/rbench-code/src/elf/allocators.rs` finds these.

mod page;

use std::{mem::offset_of, path::Path, process::Command, sync::Arc};

pub use self::page::STEP;
use self::page::{Page, READINGS};
use crate::{
    error::Result,
    process::preload::{SharedMemory, inherit, library_source, preload},
};

/// The source of the library. It has no dependencies.
pub const LIBRARY_SOURCE: &str = library_source!(
    "interpose.rs",
    "allocator": "allocator.rs",
    "page": "page.rs",
    "random": "../../preload/random.rs",
    "system": "../../preload/system.rs",
    "waits": "../../preload/waits.rs"
);

/// The quantity that the clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Allocations,
    /// The bytes requested.
    Bytes,
}

/// The counts of a process from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// False if it did not load the library: a statically linked program does not.
    pub joined: bool,
    pub allocations: u64,
    /// The bytes requested.
    pub bytes: u64,
}

/// Counts the allocations of one process; created before the process is started.
#[derive(Clone, Debug)]
pub struct Counting {
    memory: Arc<SharedMemory>,
    counted: Counted,
}

/// Equal if both count in the same memory.
impl PartialEq for Counting {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }
}

impl Eq for Counting {}

impl Counting {
    /// Prepares counting with this library; the clock shows `counted`. Random numbers are derived from `seed`.
    pub fn new(library: &Path, counted: Counted, seed: u64) -> Result<Self> {
        let memory = SharedMemory::new::<Page>(library)?;
        let shown = u32::from(counted == Counted::Bytes);
        memory.write(offset_of!(Page, shown), &shown.to_ne_bytes())?;
        memory.write(offset_of!(Page, seed), &seed.to_ne_bytes())?;
        Ok(Self { memory: Arc::new(memory), counted })
    }

    /// Makes `command` count.
    pub(in crate::process) fn apply(&self, command: &mut Command) {
        preload(command, "RBENCH_ALLOCATIONS", 0);
        inherit(command, self.clone(), self.memory.files(), |_| ());
    }

    /// The counts up to now.
    pub fn tally(&self) -> Result<Tally> {
        Ok(Tally {
            joined: self.memory.read(offset_of!(Page, joined))? != [0; 4],
            allocations: self.memory.number(offset_of!(Page, allocations))?,
            bytes: self.memory.number(offset_of!(Page, bytes))?,
        })
    }

    /// The counts at the last clock readings of the first thread, at most `READINGS`, in the order of reading:
    /// allocations and bytes since the start.
    pub fn readings(&self) -> Result<Vec<[u64; 2]>> {
        let read = self.memory.number(offset_of!(Page, read))?;
        let read = usize::try_from(read).unwrap_or(usize::MAX);
        let all: [u8; size_of::<[u64; 2]>() * READINGS] =
            self.memory.read(offset_of!(Page, readings))?;
        let numbers = all.as_chunks::<8>().0;
        let number = |index: usize| u64::from_ne_bytes(numbers[index]);
        let kept = read.saturating_sub(READINGS)..read;
        let kept = kept.map(|index| index % READINGS);
        Ok(kept.map(|index| [number(2 * index), number(2 * index + 1)]).collect())
    }

    /// The last clock readings of the first thread as times, in ns, as if no other thread had read it.
    pub fn times(&self) -> Result<Vec<i64>> {
        let shown = usize::from(self.counted == Counted::Bytes);
        let readings = self.readings()?;
        let times = readings.iter().zip(1_u64..);
        Ok(times.map(|(counted, step)| (step * STEP + counted[shown]).cast_signed()).collect())
    }
}

/// The amount counted in stretches whose total duration a harness reports as `nanoseconds`. None if the harness did not
/// read the clock for it, or if the duration exceeds the exact range of a float.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are checked")]
pub fn counted_in(nanoseconds: f64) -> Option<u64> {
    // Above that, each float is whole, so that rounding would not show.
    const EXACT: f64 = (1_u64 << 51) as f64;
    let whole = nanoseconds.round();
    let is_exact = (0.0..EXACT).contains(&whole) && (whole - nanoseconds).abs() < 0.25;
    let whole = whole as u64;
    (is_exact && whole >= STEP).then_some(whole % STEP)
}

#[cfg(test)]
mod tests;
