//! Finds the functions of an executable that allocate: those of Rust's global allocator, and those of known allocators
//! in other languages, which the compiler cannot have inlined.

use std::collections::BTreeSet;

use object::elf::{EM_X86_64, PF_X, PT_LOAD, SHN_UNDEF};
use object::read::elf::{ProgramHeader, Sym};
use object::{Object, RelocationTarget};

use super::{
    format::{Elf, LE, Unreadable, executable},
    forwards::Program,
    linked::{LinkedFunction, kept_functions},
    trampoline::{Trampoline, moved},
};

/// The allocators of an executable, where they are visible from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocators {
    /// The executable's entry point.
    pub begin: u64,
    /// The functions that allocate.
    pub functions: Vec<AllocatorFunction>,
    /// The symbols of functions whose entry cannot be replaced by a jump, so that their calls cannot be counted.
    pub unwatched: Vec<String>,
    /// True if Rust's global allocator is that of the C library and no other one is linked, so that no function needs
    /// to be watched. Unknown, and false, for executables that were optimised as a whole.
    pub is_of_c_library: bool,
    /// True if Rust's global allocator calls that of the C library for every allocation. It may be inlined then.
    pub forwards: bool,
    /// The address ranges (start, end) of functions that are not Rust's, in the order of addresses. Empty if no
    /// allocator in another language is linked.
    pub foreign: Vec<(u64, u64)>,
}

/// A function that allocates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatorFunction {
    /// Its address, relative to the load address of the executable, in bytes.
    pub address: u64,
    /// The kind of allocator that it belongs to.
    pub of: AllocatorKind,
    /// Which arguments hold the requested number of bytes.
    pub asked: RequestedBytes,
    /// The code that a jump would replace.
    pub code: Vec<u8>,
    /// Code that does the same elsewhere.
    pub moved: Trampoline,
}

/// The kind of allocator that a function belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocatorKind {
    /// Rust's global allocator, whichever it is.
    Rust,
    /// A function without effect that Rust's global allocator calls before each allocation, even if it was inlined.
    Announcement,
    /// A known allocator in another language.
    Known,
}

/// The arguments of a function that hold the requested number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedBytes {
    /// The index of the argument with the size, from 0.
    pub size: u8,
    /// The index of the argument by which the size is multiplied.
    pub times: Option<u8>,
    /// True if the function returns a status, 0 for success, instead of a pointer.
    pub has_status: bool,
}

const fn requested(size: u8) -> RequestedBytes {
    RequestedBytes { size, times: None, has_status: false }
}

const fn requested_product(times: u8, size: u8) -> RequestedBytes {
    RequestedBytes { size, times: Some(times), has_status: false }
}

const BY_STATUS: RequestedBytes = RequestedBytes { size: 2, times: None, has_status: true };

/// The functions of Rust's allocator, without the prefixes that compilers add.
const RUST: [(&str, RequestedBytes); 6] = [
    ("__rust_alloc", requested(0)),
    ("__rust_alloc_zeroed", requested(0)),
    ("__rust_realloc", requested(3)),
    ("__rg_alloc", requested(0)),
    ("__rg_alloc_zeroed", requested(0)),
    ("__rg_realloc", requested(3)),
];

/// The functions among them that take the size first: those that allocate anew.
const ANEW: RequestedBytes = requested(0);

const ANNOUNCEMENT: &str = "__rust_no_alloc_shim_is_unstable_v2";

/// The function that Rust's global allocator calls in programs without their own allocator.
const DEFAULT: &str = "__rdl_alloc";

/// The functions of C, each with any of the [`PREFIXES`].
const C: [(&str, RequestedBytes); 11] = [
    ("malloc", requested(0)),
    ("calloc", requested_product(0, 1)),
    ("realloc", requested(1)),
    ("reallocarray", requested_product(1, 2)),
    ("memalign", requested(1)),
    ("aligned_alloc", requested(1)),
    ("posix_memalign", BY_STATUS),
    ("valloc", requested(0)),
    ("pvalloc", requested(0)),
    ("mallocx", requested(0)),
    ("rallocx", requested(1)),
];

/// The prefixes of jemalloc as built for Rust and by itself, of mimalloc, and of allocators that replace the C
/// library's.
const PREFIXES: [&str; 5] = ["", "_rjem_", "je_", "mi_", "rp"];

/// The functions that only some allocators have.
const OTHERS: [(&str, RequestedBytes); 28] = [
    ("mi_zalloc", requested(0)),
    ("mi_malloc_small", requested(0)),
    ("mi_zalloc_small", requested(0)),
    ("mi_malloc_aligned", requested(0)),
    ("mi_zalloc_aligned", requested(0)),
    ("mi_malloc_aligned_at", requested(0)),
    ("mi_zalloc_aligned_at", requested(0)),
    ("mi_calloc_aligned", requested_product(0, 1)),
    ("mi_mallocn", requested_product(0, 1)),
    ("mi_reallocn", requested_product(1, 2)),
    ("mi_reallocf", requested(1)),
    ("mi_rezalloc", requested(1)),
    ("mi_recalloc", requested_product(1, 2)),
    ("mi_realloc_aligned", requested(1)),
    ("mi_rezalloc_aligned", requested(1)),
    ("mi_realloc_aligned_at", requested(1)),
    ("mi_heap_malloc", requested(1)),
    ("mi_heap_zalloc", requested(1)),
    ("mi_heap_malloc_small", requested(1)),
    ("mi_heap_malloc_aligned", requested(1)),
    ("mi_heap_zalloc_aligned", requested(1)),
    ("mi_heap_calloc", requested_product(1, 2)),
    ("mi_heap_mallocn", requested_product(1, 2)),
    ("mi_heap_realloc", requested(2)),
    ("mi_heap_realloc_aligned", requested(2)),
    ("sn_rust_alloc", requested(1)),
    ("sn_rust_alloc_zeroed", requested(1)),
    ("sn_rust_realloc", requested(3)),
];

impl Allocators {
    /// Reads the allocators of a linked executable.
    ///
    /// # Errors
    /// [`Unreadable`] if the bytes are no ELF executable for x86-64 or aarch64, or were stripped.
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let elf = executable(bytes)?;
        let header = elf.elf_header();
        let mut found = Self { begin: header.e_entry.get(LE), ..Self::default() };
        let places = places_of_c_library(&elf)?;
        let code_from = |address| code_at(&elf, bytes, address, u64::MAX);
        let program = Program { code_at: &code_from, places: &places };
        // Only x86-64 code can be moved.
        let is_movable = header.e_machine.get(LE) == EM_X86_64;
        let kept = kept_functions(bytes)?;
        let is_default = |function: &LinkedFunction| {
            function.symbols().any(|symbol| rust_name(symbol) == DEFAULT)
        };
        let is_known =
            |function: &LinkedFunction| matches!(role(function), Some((AllocatorKind::Known, _)));
        if kept.iter().any(is_default) && !kept.iter().any(is_known) {
            found.is_of_c_library = true;
            return Ok(found);
        }
        for (index, function) in kept.iter().enumerate() {
            let Some((of, asked)) = role(function) else { continue };
            let end = kept.get(index + 1).map_or(u64::MAX, |next| next.address);
            let code = code_at(&elf, bytes, function.address, end).filter(|_| is_movable);
            if is_movable && of == AllocatorKind::Rust && asked == ANEW {
                found.forwards |= program.forwards(function.address);
            }
            match code.and_then(|code| Some((code, moved(code, function.address)?))) {
                Some((code, moved)) => found.functions.push(AllocatorFunction {
                    address: function.address,
                    of,
                    asked,
                    code: code[..moved.replaced].to_vec(),
                    moved,
                }),
                None => found.unwatched.push(function.symbol.clone()),
            }
        }
        if kept.iter().any(is_known) {
            let foreign = kept.iter().filter(|function| !is_rust_allocator(&function.symbol));
            found.foreign = foreign
                .map(|function| (function.address, function.address + function.size))
                .collect();
        }
        Ok(found)
    }
}

/// True for symbols that rustc mangles.
fn is_rust_allocator(symbol: &str) -> bool {
    symbol.starts_with("_R") || (symbol.starts_with("_ZN") && symbol.contains("17h"))
}

/// The kind and arguments of a function, if it allocates.
fn role(function: &LinkedFunction) -> Option<(AllocatorKind, RequestedBytes)> {
    function.symbols().find_map(|symbol| {
        let of_rust = rust_name(symbol);
        if of_rust == ANNOUNCEMENT {
            return Some((AllocatorKind::Announcement, requested(0)));
        }
        let known = |names: &[(&str, RequestedBytes)], name: &str| {
            names.iter().find(|(known, _)| *known == name).map(|(_, asked)| *asked)
        };
        if let Some(asked) = known(&RUST, of_rust) {
            return Some((AllocatorKind::Rust, asked));
        }
        let of_c = || PREFIXES.iter().find_map(|prefix| known(&C, symbol.strip_prefix(prefix)?));
        let asked = known(&OTHERS, symbol).or_else(of_c)?;
        Some((AllocatorKind::Known, asked))
    })
}

/// The name of a function of Rust's global allocator without its crate: compilers since 1.87 put it into a crate that
/// does not exist.
fn rust_name(symbol: &str) -> &str {
    const CRATE: &str = "7___rustc";
    let Some(at) = symbol.find(CRATE).filter(|_| symbol.starts_with("_R")) else { return symbol };
    // Skip the length of the name, and the underscore before names that begin with one.
    let name = symbol[at + CRATE.len()..].trim_start_matches(|digit: char| digit.is_ascii_digit());
    name.strip_prefix('_').unwrap_or(name)
}

/// The code from `address` on, at most to `end`.
fn code_at<'b>(elf: &Elf<'_>, bytes: &'b [u8], address: u64, end: u64) -> Option<&'b [u8]> {
    let segment = elf.elf_program_headers().iter().find(|segment| {
        let start = segment.p_vaddr(LE);
        let is_inside = (start..start.saturating_add(segment.p_filesz(LE))).contains(&address);
        segment.p_type(LE) == PT_LOAD && segment.p_flags(LE).contains(PF_X) && is_inside
    })?;
    let within = address - segment.p_vaddr(LE);
    let length = (segment.p_filesz(LE) - within).min(end.saturating_sub(address));
    let first = usize::try_from(segment.p_offset(LE) + within).ok()?;
    bytes.get(first..first.checked_add(usize::try_from(length).ok()?)?)
}

/// The addresses of the pointers through which the program calls the C library's allocating functions.
fn places_of_c_library(elf: &Elf<'_>) -> Result<BTreeSet<u64>, Unreadable> {
    let table = elf.elf_dynamic_symbol_table();
    let mut places = BTreeSet::new();
    for (place, relocation) in elf.dynamic_relocations().into_iter().flatten() {
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let symbol = table.symbol(index)?;
        let name = table.symbol_name(LE, symbol)?;
        let is_meant = C.iter().any(|(known, _)| known.as_bytes() == name);
        if symbol.st_shndx(LE) == SHN_UNDEF && is_meant {
            places.insert(place);
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_name_handles_old_and_new_compilers() {
        for symbol in ["__rust_alloc", "_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc"] {
            assert_eq!(rust_name(symbol), "__rust_alloc");
        }
        let longer = "_RNvCsfLfy6EI15iL_7___rustc35___rust_no_alloc_shim_is_unstable_v2";
        assert_eq!(rust_name(longer), ANNOUNCEMENT);
        assert_eq!(rust_name("_RNvCsabc_7___rustc11___rdl_alloc"), "__rdl_alloc");
    }

    #[test]
    fn requested_size_is_the_right_argument_of_each_function() {
        let of = |symbol: &str| {
            let function = LinkedFunction {
                symbol: symbol.to_owned(),
                name: crate::elf::Name::demangle(symbol),
                address: 0,
                size: 0,
                aliases: Vec::new(),
            };
            role(&function)
        };
        assert_eq!(of("__rust_realloc"), Some((AllocatorKind::Rust, requested(3))));
        assert_eq!(of("_rjem_calloc"), Some((AllocatorKind::Known, requested_product(0, 1))));
        assert_eq!(of("mi_malloc_aligned"), Some((AllocatorKind::Known, requested(0))));
        assert_eq!(of("malloc"), Some((AllocatorKind::Known, requested(0))));
        assert_eq!(of("__rdl_alloc"), None);
        assert_eq!(of("premalloc"), None);
    }
}
