//! The breakpoints of a traced program, in its own functions and in functions of the C library.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    ops::Range,
    os::unix::fs::FileExt as _,
    path::Path,
};

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, ReadCache, ReadRef};
use rbench_code::samples::{Mapped, mapped_files};

use super::{
    processor::{BREAKPOINT, INSTRUCTION, unsigned, watchable},
    ptrace::{Memory, Tid},
};

/// The smallest page of memory: each single write stays within one.
const PAGE: u64 = 4096;

/// The code of an executable as its file has it, by address from the load address.
pub(super) struct Code {
    file: File,
    /// The parts of the file that are loaded: address, offset, and size in bytes.
    segments: Vec<[u64; 3]>,
}

impl Code {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let cache = ReadCache::new(File::open(path)?);
        let parsed = object::File::parse(&cache).map_err(io::Error::other)?;
        let segments = segments(&parsed);
        drop(parsed);
        Ok(Self { file: cache.into_inner(), segments })
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let offset = offset_of(address, bytes.len(), &self.segments);
        self.file.read_exact_at(bytes, offset.ok_or(io::ErrorKind::InvalidInput)?)
    }
}

/// The loaded parts of an executable: address, offset in the file, and size in bytes.
fn segments<'d, R: ReadRef<'d>>(parsed: &object::File<'d, R>) -> Vec<[u64; 3]> {
    let segment = |segment: object::Segment<'d, '_, R>| {
        let (offset, size) = segment.file_range();
        [segment.address(), offset, size]
    };
    parsed.segments().map(segment).collect()
}

/// The offset in an executable's file of as many bytes at an address.
fn offset_of(address: u64, length: usize, segments: &[[u64; 3]]) -> Option<u64> {
    segments.iter().find_map(|[start, offset, size]| {
        let within = address.checked_sub(*start)?;
        (within.checked_add(length as u64)? <= *size).then(|| offset.checked_add(within))?
    })
}

/// An executable with breakpoints at these functions, by address. Its processes share them, so that they need not be set
/// in each. `None` if the functions are not all in the file.
pub fn with_breakpoints(mut executable: Vec<u8>, functions: &[u64]) -> Option<Vec<u8>> {
    let segments = segments(&object::File::parse(&*executable).ok()?);
    for function in functions {
        let offset = offset_of(*function, BREAKPOINT.len(), &segments)?;
        let start = usize::try_from(offset).ok()?;
        executable.get_mut(start..start + BREAKPOINT.len())?.copy_from_slice(&BREAKPOINT);
    }
    Some(executable)
}

/// The breakpoints, by address in the program's memory.
pub(super) struct Breakpoints {
    /// Entries of functions of the executable, in ascending order.
    functions: Vec<u64>,
    /// The code without breakpoints; none if there are no functions.
    code: Option<Code>,
    base: u64,
    /// The original code at the other breakpoints.
    elsewhere: BTreeMap<u64, Vec<u8>>,
}

impl Breakpoints {
    /// The breakpoints of a program without known functions.
    pub(super) const fn without_functions() -> Self {
        Self { functions: Vec::new(), code: None, base: 0, elsewhere: BTreeMap::new() }
    }

    /// The breakpoints of a program whose file has them at these functions.
    pub(super) const fn in_file(functions: Vec<u64>, code: Code, base: u64) -> Self {
        Self { functions, code: Some(code), base, elsewhere: BTreeMap::new() }
    }

    /// Sets breakpoints at these functions: a page at a time, since there may be many.
    pub(super) fn set(
        functions: Vec<u64>,
        code: Code,
        base: u64,
        memory: &Memory,
    ) -> io::Result<Self> {
        let length = BREAKPOINT.len();
        let set = Self::in_file(functions, code, base);
        for of_page in set.functions.chunk_by(|one, next| one / PAGE == next / PAGE) {
            let [first, .., last] = of_page else {
                memory.write(of_page[0], &BREAKPOINT)?;
                continue;
            };
            let at = |address: &u64| usize::try_from(address - first).unwrap_or_default();
            let mut bytes = vec![0; at(last) + length];
            memory.read(*first, &mut bytes)?;
            for address in of_page {
                let at = at(address);
                bytes[at..at + length].copy_from_slice(&BREAKPOINT);
            }
            memory.write(*first, &bytes)?;
        }
        Ok(set)
    }

    /// Sets the breakpoint of a function again.
    pub(super) fn set_again(&self, memory: &Memory, function: usize) -> io::Result<()> {
        memory.write(self.functions[function], &BREAKPOINT)
    }

    pub(super) fn set_at(&mut self, memory: &Memory, address: u64) -> io::Result<()> {
        if self.function_at(address).is_none() && !self.elsewhere.contains_key(&address) {
            let mut before = vec![0; BREAKPOINT.len()];
            memory.read(address, &mut before)?;
            self.elsewhere.insert(address, before);
        }
        memory.write(address, &BREAKPOINT)
    }

    pub(super) fn remove(&self, memory: &Memory, address: u64) -> io::Result<()> {
        match self.elsewhere.get(&address) {
            Some(before) => memory.write(address, before),
            None => memory.write(address, &self.original(address)?),
        }
    }

    /// Replaces the first of these bytes, read at `address`, by the original code.
    pub(super) fn restore(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let before = match self.elsewhere.get(&address) {
            Some(before) => before.clone(),
            None => self.original(address)?.to_vec(),
        };
        if let Some(first) = bytes.get_mut(..before.len()) {
            first.copy_from_slice(&before);
        }
        Ok(())
    }

    pub(super) fn is_at(&self, address: u64) -> bool {
        self.function_at(address).is_some() || self.elsewhere.contains_key(&address)
    }

    pub(super) fn function_at(&self, address: u64) -> Option<usize> {
        self.functions.binary_search(&address).ok()
    }

    /// Functions that have return addresses in these bytes of a stack.
    pub(super) fn functions_on(&self, stack: &[u8]) -> BTreeSet<usize> {
        let (Some(first), Some(last)) = (self.functions.first(), self.functions.last()) else {
            return BTreeSet::new();
        };
        let mut found = BTreeSet::new();
        for word in stack.as_chunks().0 {
            // A return address is behind its call.
            let address = unsigned(u64::from_ne_bytes(*word)).wrapping_sub(1);
            // The length of the last function is unknown.
            if (*first..=last.saturating_add(PAGE)).contains(&address) {
                let behind = self.functions.partition_point(|entry| *entry <= address);
                found.extend(behind.checked_sub(1));
            }
        }
        found
    }

    /// The original code at a function's entry.
    fn original(&self, address: u64) -> io::Result<[u8; BREAKPOINT.len()]> {
        let mut bytes = [0; BREAKPOINT.len()];
        let code = self.code.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
        code.read(address.wrapping_sub(self.base), &mut bytes)?;
        Ok(bytes)
    }
}

const C_LIBRARY: [&str; 3] = ["libc.", "libc-", "ld-musl-"];

/// The addresses at which breakpoints tell of these functions of the C library, in a process that has loaded it.
pub(super) fn functions_of_c_library(tid: Tid, wanted: &[&str]) -> Vec<u64> {
    functions_of(tid, &C_LIBRARY, wanted)
}

/// The addresses of the C library in a process; none if it is part of the executable.
pub(super) fn code_of_c_library(tid: Tid) -> Vec<Range<u64>> {
    mappings(tid)
        .filter(|mapping| is_of(mapping, &C_LIBRARY))
        .map(|mapping| mapping.addresses)
        .collect()
}

pub(super) fn extents_in_c_library(tid: Tid, wanted: &[&str]) -> Vec<Range<u64>> {
    let extents = |(start, library): (u64, Vec<u8>)| -> Vec<Range<u64>> {
        let Ok(file) = object::File::parse(&*library) else { return Vec::new() };
        let extent = |symbol: object::Symbol<'_, '_>| {
            let start = start.wrapping_add(symbol.address());
            start..start.wrapping_add(symbol.size())
        };
        symbols(&file, wanted).map(extent).collect()
    };
    loaded(tid, &C_LIBRARY).flat_map(extents).collect()
}

/// The code that the kernel has loaded into a process, and the addresses of breakpoints for functions in it.
pub(super) fn functions_of_kernel(
    tid: Tid,
    memory: &Memory,
    wanted: &[&str],
) -> (Vec<Range<u64>>, BTreeSet<u64>) {
    let mut all = mappings(tid);
    let Some(Mapped { addresses: range, .. }) = all.find(|mapping| mapping.path == "[vdso]") else {
        return Default::default();
    };
    let size = usize::try_from(range.end - range.start).unwrap_or_default();
    let bytes = memory.read_at_most(range.start, size);
    let found = defined(&bytes, wanted).into_iter().map(|at| range.start.wrapping_add(at));
    (vec![range.clone()], found.collect())
}

/// The address at which a breakpoint tells that the dynamic linker has loaded libraries, before their constructors run.
/// Empty for a static executable.
pub(super) fn after_loading(tid: Tid) -> Vec<u64> {
    functions_of(tid, &["ld-", "ld.", "ld64."], &["_dl_debug_state"])
}

/// The same for functions of the loaded libraries whose names begin so.
fn functions_of(tid: Tid, libraries: &[&str], wanted: &[&str]) -> Vec<u64> {
    let found = loaded(tid, libraries);
    let found = found.flat_map(|(start, library)| {
        defined(&library, wanted).into_iter().map(move |at| start.wrapping_add(at))
    });
    let found: BTreeSet<u64> = found.collect();
    found.into_iter().collect()
}

/// The loaded libraries whose names begin so: where each starts, and its file.
fn loaded(tid: Tid, libraries: &[&str]) -> impl Iterator<Item = (u64, Vec<u8>)> {
    let is_start = |mapping: &Mapped| mapping.offset == 0 && is_of(mapping, libraries);
    mappings(tid)
        .filter(is_start)
        .filter_map(|Mapped { addresses, path, .. }| Some((addresses.start, fs::read(path).ok()?)))
}

/// True for a file whose name begins so.
fn is_of(mapping: &Mapped, libraries: &[&str]) -> bool {
    let name = Path::new(&mapping.path).file_name().unwrap_or_default().to_string_lossy();
    libraries.iter().any(|prefix| name.starts_with(prefix))
}

fn mappings(tid: Tid) -> impl Iterator<Item = Mapped> {
    let maps = fs::read_to_string(format!("/proc/{tid}/maps")).unwrap_or_default();
    mapped_files(&maps).into_iter()
}

/// The addresses of breakpoints for these functions of a library, relative to its start.
fn defined(library: &[u8], wanted: &[&str]) -> Vec<u64> {
    let Ok(file) = object::File::parse(library) else { return Vec::new() };
    let segments = segments(&file);
    let place = |address: u64| {
        let start = usize::try_from(offset_of(address, INSTRUCTION, &segments)?).ok()?;
        let first = library.get(start..)?.first_chunk()?;
        Some(address + watchable(*first))
    };
    symbols(&file, wanted).filter_map(|symbol| place(symbol.address())).collect()
}

/// The symbols of a library with these names.
fn symbols<'f>(
    file: &'f object::File<'f>,
    wanted: &'f [&str],
) -> impl Iterator<Item = object::Symbol<'f, 'f>> {
    let is_wanted = |symbol: &object::Symbol<'_, '_>| {
        symbol.is_definition() && symbol.name().is_ok_and(|name| wanted.contains(&name))
    };
    file.dynamic_symbols().filter(is_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breakpoints_in_a_file_replace_only_the_entries() {
        let original = fs::read("/proc/self/exe").unwrap();
        let parsed = object::File::parse(&*original).unwrap();
        let functions = [parsed.entry(), parsed.entry() + 16];
        let changed = with_breakpoints(original.clone(), &functions).unwrap();
        let code = Code::open(Path::new("/proc/self/exe")).unwrap();
        let mut differ = 0;
        for function in functions {
            let mut before = [0; BREAKPOINT.len()];
            code.read(function, &mut before).unwrap();
            let at = offset_of(function, before.len(), &code.segments).unwrap();
            assert_eq!(changed[usize::try_from(at).unwrap()..][..before.len()], BREAKPOINT);
            differ += before.iter().zip(BREAKPOINT).filter(|(before, new)| *before != new).count();
        }
        assert_eq!(
            original.iter().zip(&changed).filter(|(one, other)| one != other).count(),
            differ
        );
        assert_eq!(with_breakpoints(original, &[u64::MAX]), None);
    }
}
