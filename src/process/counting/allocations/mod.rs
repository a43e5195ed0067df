//! Counts the allocations of a process, and their bytes, without a change of its executable.
//!
//! A preloaded library replaces the clock and the C library's allocator, and watches functions of the executable that
//! allocate: those of Rust's global allocator, and of known allocators that are linked to it. Its clock shows the
//! counts, so that every harness reports them as the time of its measured stretches.

mod page;

use std::{
    fmt,
    fs::File,
    mem::{offset_of, size_of},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::Path,
    process::Command,
    sync::Arc,
};

use rustix::fs::{MemfdFlags, memfd_create};

pub use self::page::STEP;
use self::page::{
    ANNOUNCEMENT, ENTRIES, Entry, FIXES, FOREIGN, Fixup, KNOWN, MOVED, NONE, OF_RUST, Page,
    READINGS, REPLACED,
};
use crate::{
    error::{Context, Exit, Result},
    process::preload::{LIBRARY, PAGE, inherit, moved, preload},
};

/// The source of the library, for rustc with [these flags](LIBRARY_FLAGS). It has no dependencies.
pub const LIBRARY_SOURCE: &str = concat!(
    include_str!("interpose.rs"),
    "mod allocator {\n",
    include_str!("allocator.rs"),
    "}\nmod entries {\n",
    include_str!("entries.rs"),
    "}\nmod page {\n",
    include_str!("page.rs"),
    "}\nmod random {\n",
    include_str!("../random.rs"),
    "}\nmod system {\n",
    include_str!("../../interleaving/system.rs"),
    "}\n"
);

/// The flags for rustc: those of the interleaving library, but with frame pointers, by which functions find their
/// callers.
pub const LIBRARY_FLAGS: &str = "--edition 2021 --crate-type cdylib -O -C panic=abort -C lto -C strip=symbols \
     -C force-frame-pointers=yes";

/// The quantity that the clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The number of allocations.
    Allocations,
    /// The bytes requested.
    Bytes,
}

/// The allocators of an executable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocator {
    /// The address of the executable's entry point.
    pub begin: u64,
    /// True if Rust code's requests go to the C library or to another known allocator, as with Rust's default.
    pub is_seen: bool,
    /// The functions to watch.
    pub functions: Vec<Watched>,
    /// The number of functions that need watching, including those that cannot be watched.
    pub wanted: u32,
    /// Address ranges of functions that are not Rust's, in ascending order: clock readings there are not a harness's.
    pub foreign: Vec<(u64, u64)>,
}

/// A function of the executable that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its address relative to the load address, in bytes.
    pub address: u64,
    /// Its owner.
    pub of: Of,
    /// Index of the argument that holds the requested bytes, from 0.
    pub size: u8,
    /// Index of the argument that multiplies the size.
    pub times: Option<u8>,
    /// True if it returns a status, 0 for success, instead of a pointer.
    pub has_status: bool,
    /// The code that the jump replaces.
    pub code: Vec<u8>,
    /// Its relocated copy.
    pub elsewhere: Vec<u8>,
    /// The distances in the copy: their offset, the offset they count from, and the target address.
    pub fixes: Vec<(usize, usize, u64)>,
}

/// The owner of a watched function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Rust's global allocator.
    Rust,
    /// Called before each allocation by the global allocator, even where that was inlined.
    Announcement,
    /// Another known allocator.
    Known,
}

/// The counts of a process from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// False if it did not load the library: a statically linked program does not.
    pub joined: bool,
    /// The number of watched functions.
    pub watched: u32,
    /// The number of allocations.
    pub allocations: u64,
    /// The bytes requested.
    pub bytes: u64,
    /// Calls that announce a new allocation by Rust's global allocator.
    pub announced: u64,
    /// New allocations that Rust's global allocator then made; fewer than announced if it was inlined.
    pub anew: u64,
}

/// A reason for which the counts may be incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UncertainCount {
    /// The process did not load the library.
    NotLoaded,
    /// A function that allocates could not be watched.
    Unwatched,
    /// The compiler inlined the global allocator into its callers.
    Inlined,
}

impl fmt::Display for UncertainCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotLoaded => {
                "its process loads no library that counts: it may be linked statically"
            }
            Self::Unwatched => "a function of its global allocator cannot be watched",
            Self::Inlined => {
                "its global allocator has memory of its own and was inlined, so that its calls cannot be seen"
            }
        })
    }
}

/// Counts the allocations of one process; created before the process is started.
#[derive(Clone, Debug)]
pub struct Counting {
    page: Arc<File>,
    library: Arc<OwnedFd>,
    counted: Counted,
    /// The number of functions that need watching.
    wanted: u32,
    is_seen: bool,
    is_announced: bool,
}

/// Equal if both count in the same memory.
impl PartialEq for Counting {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.page, &other.page)
    }
}

impl Eq for Counting {}

impl Counting {
    /// Prepares counting with this library; the clock shows `counted`. Random numbers are derived from `seed`.
    pub fn new(library: &Path, counted: Counted, allocator: &Allocator, seed: u64) -> Result<Self> {
        let Allocator { begin, functions, foreign, .. } = allocator;
        let what = || "cannot create memory for what a process counts";
        let page = memfd_create("counts", MemfdFlags::CLOEXEC).context(Exit::Internal, what)?;
        let library = File::open(library)
            .context(Exit::Internal, || format!("cannot open {}", library.display()))?;
        let page: File = moved(page)?.into();
        page.set_len(size_of::<Page>() as u64).context(Exit::Internal, what)?;
        let entries: Vec<_> = functions.iter().filter_map(bytes_of).take(ENTRIES).collect();
        let shown = u32::from(counted == Counted::Bytes);
        let count = u32::try_from(entries.len()).unwrap_or_default();
        let foreign = &foreign[..foreign.len().min(FOREIGN)];
        let code: Vec<_> = foreign.iter().flat_map(|(start, end)| [*start, *end]).collect();
        for (at, bytes) in [
            (offset_of!(Page, shown), &shown.to_ne_bytes()[..]),
            (offset_of!(Page, entries), &count.to_ne_bytes()),
            (offset_of!(Page, seed), &seed.to_ne_bytes()),
            (offset_of!(Page, begin), &begin.to_ne_bytes()),
            (offset_of!(Page, entry), &entries.concat()),
            (offset_of!(Page, foreign), &(foreign.len() as u64).to_ne_bytes()),
            (
                offset_of!(Page, code),
                code.iter().map(|at| at.to_ne_bytes()).collect::<Vec<_>>().as_flattened(),
            ),
        ] {
            page.write_all_at(bytes, at as u64).context(Exit::Internal, what)?;
        }
        let has = |of: Of| functions.iter().any(|function| function.of == of);
        Ok(Self {
            page: Arc::new(page),
            library: Arc::new(moved(library)?),
            counted,
            wanted: allocator.wanted,
            is_seen: allocator.is_seen || has(Of::Known),
            is_announced: has(Of::Announcement),
        })
    }

    /// Makes `command` count.
    pub(in crate::process) fn apply(&self, command: &mut Command) {
        command.env("RBENCH_ALLOCATIONS", format!("{PAGE},{LIBRARY}"));
        preload(command);
        let files = [(self.page.as_raw_fd(), PAGE), (self.library.as_raw_fd(), LIBRARY)];
        inherit(command, self.clone(), files, |_| ());
    }

    /// The counts up to now.
    pub fn tally(&self) -> Result<Tally> {
        let small = |at: usize| Ok(u32::from_ne_bytes(self.read(at)?));
        let number = |at: usize| Ok(u64::from_ne_bytes(self.read(at)?));
        Ok(Tally {
            joined: small(offset_of!(Page, joined))? != 0,
            watched: small(offset_of!(Page, watched))?,
            allocations: number(offset_of!(Page, allocations))?,
            bytes: number(offset_of!(Page, bytes))?,
            announced: number(offset_of!(Page, announced))?,
            anew: number(offset_of!(Page, anew))?,
        })
    }

    /// A reason for which the counts of the ended process may be incomplete.
    pub fn doubt_about_counts(&self) -> Result<Option<UncertainCount>> {
        let tally = self.tally()?;
        let is_seen = self.is_seen || (self.is_announced && tally.announced == tally.anew);
        Ok(if !tally.joined {
            Some(UncertainCount::NotLoaded)
        } else if tally.watched < self.wanted {
            Some(UncertainCount::Unwatched)
        } else if !is_seen {
            Some(UncertainCount::Inlined)
        } else {
            None
        })
    }

    /// The counts at the last clock readings of the first thread, at most `READINGS`, in the order of reading:
    /// allocations and bytes since the start.
    pub fn readings(&self) -> Result<Vec<[u64; 2]>> {
        let read = u64::from_ne_bytes(self.read(offset_of!(Page, read))?);
        let read = usize::try_from(read).unwrap_or(usize::MAX);
        let all: [u8; size_of::<[u64; 2]>() * READINGS] = self.read(offset_of!(Page, readings))?;
        let numbers = all.as_chunks::<8>().0;
        let number = |index: usize| u64::from_ne_bytes(numbers[index]);
        let kept = read.saturating_sub(READINGS)..read;
        let kept = kept.map(|index| index % READINGS);
        Ok(kept.map(|index| [number(2 * index), number(2 * index + 1)]).collect())
    }

    /// The last clock readings of the first thread as times, in ns, as if no other thread had read it.
    pub fn times(&self) -> Result<Vec<f64>> {
        let shown = usize::from(self.counted == Counted::Bytes);
        let readings = self.readings()?;
        let times = readings.iter().zip(1_u64..);
        Ok(times.map(|(counted, step)| (step * STEP + counted[shown]) as f64).collect())
    }

    fn read<const LENGTH: usize>(&self, at: usize) -> Result<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.page
            .read_exact_at(&mut bytes, at as u64)
            .context(Exit::Internal, || "cannot read what a process counted")?;
        Ok(bytes)
    }
}

/// The amount counted in stretches whose total duration a harness reports as `nanoseconds`. None if the harness did not
/// read the clock for it, or if the duration exceeds the exact range of a float.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are checked")]
pub fn counted_in(nanoseconds: f64) -> Option<u64> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let whole = nanoseconds.round();
    let is_exact = (0.0..EXACT).contains(&whole) && (whole - nanoseconds).abs() < 0.25;
    let whole = whole as u64;
    (is_exact && whole >= STEP).then_some(whole % STEP)
}

/// An entry in the layout of the page; none if its code does not fit.
fn bytes_of(function: &Watched) -> Option<Vec<u8>> {
    let Watched { code, elsewhere, fixes, .. } = function;
    if code.len() > REPLACED || elsewhere.len() > MOVED || fixes.len() > FIXES {
        return None;
    }
    let of = match function.of {
        Of::Rust => OF_RUST,
        Of::Announcement => ANNOUNCEMENT,
        Of::Known => KNOWN,
    };
    let mut bytes = vec![0; size_of::<Entry>()];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let small = |number: usize| u32::try_from(number).unwrap_or_default().to_ne_bytes();
    put(offset_of!(Entry, address), &function.address.to_ne_bytes());
    put(offset_of!(Entry, of), &[of]);
    put(offset_of!(Entry, size), &[function.size]);
    put(offset_of!(Entry, times), &[function.times.unwrap_or(NONE)]);
    put(offset_of!(Entry, has_status), &[u8::from(function.has_status)]);
    put(offset_of!(Entry, replaced), &small(code.len()));
    put(offset_of!(Entry, moved), &small(elsewhere.len()));
    put(offset_of!(Entry, fixes), &small(fixes.len()));
    put(offset_of!(Entry, code), code);
    put(offset_of!(Entry, elsewhere), elsewhere);
    for (index, (at, from, to)) in fixes.iter().enumerate() {
        let fix = offset_of!(Entry, fix) + index * size_of::<Fixup>();
        put(fix + offset_of!(Fixup, at), &small(*at));
        put(fix + offset_of!(Fixup, from), &small(*from));
        put(fix + offset_of!(Fixup, to), &to.to_ne_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
