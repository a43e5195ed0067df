//! Counts the allocations of a process, and their bytes, without a change of its executable.
//!
//! A library is preloaded that stands in for the clock and the C library's allocator, and watches functions of the
//! executable that allocate: those of Rust's global allocator, and of known allocators that are linked to it. Its
//! clock shows what was counted, so that every harness reports it as the time of its measured stretches.

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

/// The source of the library: for rustc with these [flags](LIBRARY_FLAGS), without any dependency.
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

/// What rustc makes the library with: as that for turns, but with frames in which functions find their callers.
pub const LIBRARY_FLAGS: &str = "--edition 2021 --crate-type cdylib -O -C panic=abort -C lto -C strip=symbols \
     -C force-frame-pointers=yes";

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// How often memory was asked for.
    Allocations,
    /// How many bytes were asked for.
    Bytes,
}

/// What is known of the allocators of an executable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocator {
    /// Where the executable begins to run.
    pub begin: u64,
    /// Whether what Rust code asks for reaches the C library, or is known to be asked of another allocator: true of
    /// Rust's default.
    pub is_seen: bool,
    /// The functions that are watched.
    pub functions: Vec<Watched>,
    /// How many functions there are to watch.
    pub wanted: u32,
    /// The code of functions that are not Rust's, in the order of addresses: what reads the clock there is no harness.
    pub foreign: Vec<(u64, u64)>,
}

/// A function of the executable that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its address, in bytes from where the executable is loaded.
    pub address: u64,
    /// Whose it is.
    pub of: Of,
    /// The argument that tells how many bytes are asked for, from 0.
    pub size: u8,
    /// The argument by which it is multiplied.
    pub times: Option<u8>,
    /// Whether it returns 0 where memory was given, and not a pointer.
    pub has_status: bool,
    /// The code that a jump replaces.
    pub code: Vec<u8>,
    /// The code that does the same elsewhere.
    pub elsewhere: Vec<u8>,
    /// The distances in that code: where they are, where they count from, and the address where they lead.
    pub fixes: Vec<(usize, usize, u64)>,
}

/// Whose a function is that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Of Rust's global allocator.
    Rust,
    /// Called before each allocation by the global allocator, even where that was inlined.
    Announcement,
    /// Of another allocator, which is known.
    Known,
}

/// What a process counted from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Whether it loaded the library: what is linked statically does not.
    pub joined: bool,
    /// How many functions are watched.
    pub watched: u32,
    /// How often memory was asked for.
    pub allocations: u64,
    /// How many bytes were asked for.
    pub bytes: u64,
    /// How often it was announced that Rust's global allocator would be called to allocate.
    pub announced: u64,
    /// How often such a call came.
    pub anew: u64,
}

/// Why what was counted may not be all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UncertainCount {
    /// The process did not load the library.
    NotLoaded,
    /// A function that allocates could not be watched.
    Unwatched,
    /// The compiler has put the code of the global allocator into the functions that call it.
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

/// The counting of one process, before it is started.
#[derive(Clone, Debug)]
pub struct Counting {
    page: Arc<File>,
    library: Arc<OwnedFd>,
    counted: Counted,
    /// How many functions are to be watched.
    wanted: u32,
    is_seen: bool,
    is_announced: bool,
}

/// The same if they count in the same memory.
impl PartialEq for Counting {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.page, &other.page)
    }
}

impl Eq for Counting {}

impl Counting {
    /// Counts by this library; the clock shows `counted`. Random numbers follow from `seed`.
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

    /// Has `command` count.
    pub(in crate::process) fn apply(&self, command: &mut Command) {
        command.env("RBENCH_ALLOCATIONS", format!("{PAGE},{LIBRARY}"));
        preload(command);
        let files = [(self.page.as_raw_fd(), PAGE), (self.library.as_raw_fd(), LIBRARY)];
        inherit(command, self.clone(), files, |_| ());
    }

    /// What the process counted up to now.
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

    /// Why what the process counted, which has ended, may not be all.
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

    /// What was counted at the last readings of the clock by the first thread, at most `READINGS`, in the order in
    /// which it was read: allocations and bytes since the start.
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

    /// The last readings of the clock by the first thread as times, in ns, as if no other thread had read it.
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

/// What was counted in the stretches that a harness says to have lasted so long in all, in ns; none if it did not
/// read the clock for it, or more than a number can hold exactly.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are checked")]
pub fn counted_in(nanoseconds: f64) -> Option<u64> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let whole = nanoseconds.round();
    let is_exact = (0.0..EXACT).contains(&whole) && (whole - nanoseconds).abs() < 0.25;
    let whole = whole as u64;
    (is_exact && whole >= STEP).then_some(whole % STEP)
}

/// An entry as it stands in the page; none if there is no room for its code.
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
