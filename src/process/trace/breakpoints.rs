//! The breakpoints of a traced program, in its own functions and in functions of the C library.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use object::{Object as _, ObjectSymbol as _};

use super::{
    processor::BREAKPOINT,
    ptrace::{Memory, Tid},
};

/// The smallest page of memory: each single write stays within one.
const PAGE: u64 = 4096;

/// The breakpoints, by address in the program's memory.
pub(super) struct Breakpoints {
    /// Entries of functions of the executable, in ascending order.
    functions: Vec<u64>,
    /// The original code from the first entry to the end of the last entry's first instruction.
    code: Vec<u8>,
    /// The original code at the other breakpoints.
    elsewhere: BTreeMap<u64, Vec<u8>>,
}

impl Breakpoints {
    /// Sets breakpoints at these functions: a page at a time, since there may be many.
    pub(super) fn set(functions: Vec<u64>, memory: &Memory) -> io::Result<Self> {
        let length = BREAKPOINT.len();
        let code = match (functions.first(), functions.last()) {
            (Some(first), Some(last)) => {
                let size = usize::try_from(last - first).map_err(io::Error::other)?;
                let mut code = vec![0; size + length];
                memory.read(*first, &mut code)?;
                code
            }
            _ => Vec::new(),
        };
        let set = Self { functions, code, elsewhere: BTreeMap::new() };
        for of_page in set.functions.chunk_by(|one, next| one / PAGE == next / PAGE) {
            let [first, .., last] = of_page else {
                memory.write(of_page[0], &BREAKPOINT)?;
                continue;
            };
            let mut bytes = set.code_at(*first, *last).to_vec();
            for address in of_page {
                let at = usize::try_from(address - first).unwrap_or_default();
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

    /// Sets a breakpoint at any address.
    pub(super) fn set_at(&mut self, memory: &Memory, address: u64) -> io::Result<()> {
        if self.function_at(address).is_none() && !self.elsewhere.contains_key(&address) {
            let mut before = vec![0; BREAKPOINT.len()];
            memory.read(address, &mut before)?;
            self.elsewhere.insert(address, before);
        }
        memory.write(address, &BREAKPOINT)
    }

    /// Removes a breakpoint.
    pub(super) fn remove(&self, memory: &Memory, address: u64) -> io::Result<()> {
        match self.elsewhere.get(&address) {
            Some(before) => memory.write(address, before),
            None => memory.write(address, self.code_at(address, address)),
        }
    }

    /// Replaces the first of these bytes, read at `address`, by the original code.
    pub(super) fn restore(&self, address: u64, bytes: &mut [u8]) {
        let before = self.elsewhere.get(&address).map(Vec::as_slice);
        let before = before.unwrap_or_else(|| self.code_at(address, address));
        if let Some(first) = bytes.get_mut(..before.len()) {
            first.copy_from_slice(before);
        }
    }

    /// True if there is or was a breakpoint at this address.
    pub(super) fn is_at(&self, address: u64) -> bool {
        self.function_at(address).is_some() || self.elsewhere.contains_key(&address)
    }

    /// The function with this entry.
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
            let address = u64::from_ne_bytes(*word).wrapping_sub(1);
            // The length of the last function is unknown.
            if (*first..=last.saturating_add(PAGE)).contains(&address) {
                let behind = self.functions.partition_point(|entry| *entry <= address);
                found.extend(behind.checked_sub(1));
            }
        }
        found
    }

    /// The code from one entry to the end of another one's first instruction.
    fn code_at(&self, first: u64, last: u64) -> &[u8] {
        let start = self.functions.first().copied().unwrap_or_default();
        let index =
            |address: u64| usize::try_from(address.wrapping_sub(start)).unwrap_or(usize::MAX);
        self.code
            .get(index(first)..index(last).saturating_add(BREAKPOINT.len()))
            .unwrap_or_default()
    }
}

/// The addresses of these functions of the C library in a process that has loaded it.
pub(super) fn functions_of_c_library(tid: Tid, wanted: &[&str]) -> Vec<u64> {
    let maps = fs::read_to_string(format!("/proc/{tid}/maps")).unwrap_or_default();
    let mut found = Vec::new();
    for line in maps.lines() {
        let mut fields = line.splitn(6, ' ').map(str::trim);
        let (Some(range), _, Some(offset)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let path = Path::new(fields.nth(2).unwrap_or_default());
        if u64::from_str_radix(offset, 16) != Ok(0) || !is_c_library(path) {
            continue;
        }
        let start = range.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
        if let (Some(start), Ok(bytes)) = (start, fs::read(path)) {
            found.extend(defined(&bytes, wanted).into_iter().map(|at| start.wrapping_add(at)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn is_c_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["libc.", "libc-", "ld-musl-"].iter().any(|prefix| name.starts_with(prefix))
}

/// The addresses at which a library defines these functions, relative to its start.
fn defined(library: &[u8], wanted: &[&str]) -> Vec<u64> {
    let Ok(file) = object::File::parse(library) else { return Vec::new() };
    let is_wanted = |symbol: &object::Symbol<'_, '_>| {
        symbol.is_definition() && symbol.name().is_ok_and(|name| wanted.contains(&name))
    };
    file.dynamic_symbols().filter(is_wanted).map(|symbol| symbol.address()).collect()
}
