//! The functions of an executable that allocate: those of Rust's global allocator, and those of known allocators in
//! other languages, which the compiler cannot have inlined.

use std::collections::BTreeSet;

use object::elf::{EM_X86_64, PF_X, PT_LOAD, SHN_UNDEF};
use object::read::elf::{ProgramHeader, Sym};
use object::{Object, RelocationTarget};

use super::{
    elf::{Elf, LE, Unreadable, executable},
    forwards::Program,
    linked::{LinkedFunction, kept_functions},
    trampoline::{Trampoline, moved},
};

/// What of an executable's allocators can be seen from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocators {
    /// Where the executable begins to run.
    pub begin: u64,
    /// The functions.
    pub functions: Vec<AllocatorFunction>,
    /// The symbols of functions whose entry cannot be watched.
    pub unwatched: Vec<String>,
    /// Whether Rust's global allocator is that of the C library, and no other one is linked: no function needs to be
    /// watched. Not known of executables that were optimised as a whole.
    pub is_of_c_library: bool,
    /// Whether Rust's global allocator asks that of the C library whenever it is asked to allocate. It may have been
    /// inlined then.
    pub forwards: bool,
    /// The code of functions that are not Rust's, in the order of addresses: where each begins and ends. None where no
    /// allocator in another language is linked.
    pub foreign: Vec<(u64, u64)>,
}

/// A function that allocates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatorFunction {
    /// Its address, in bytes from where the executable is loaded.
    pub address: u64,
    /// Whose it is.
    pub of: AllocatorKind,
    /// How it says how many bytes it is asked for.
    pub asked: RequestedBytes,
    /// The code that a jump would replace.
    pub code: Vec<u8>,
    /// What does the same elsewhere.
    pub moved: Trampoline,
}

/// Whose a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocatorKind {
    /// Of Rust's global allocator, whatever that is.
    Rust,
    /// Called before each allocation by Rust's global allocator, even if that was inlined, and does nothing.
    Announcement,
    /// Of an allocator in another language.
    Known,
}

/// Where the arguments of a function tell how many bytes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedBytes {
    /// The argument with the size, from 0.
    pub size: u8,
    /// The argument by which it is multiplied.
    pub times: Option<u8>,
    /// Whether it returns 0 if memory was given, and not a pointer.
    pub has_status: bool,
}

const fn requested(size: u8) -> RequestedBytes {
    RequestedBytes { size, times: None, has_status: false }
}

const fn requested_product(times: u8, size: u8) -> RequestedBytes {
    RequestedBytes { size, times: Some(times), has_status: false }
}

const BY_STATUS: RequestedBytes = RequestedBytes { size: 2, times: None, has_status: true };

/// Of Rust, without what compilers put around the names.
const RUST: [(&str, RequestedBytes); 6] = [
    ("__rust_alloc", requested(0)),
    ("__rust_alloc_zeroed", requested(0)),
    ("__rust_realloc", requested(3)),
    ("__rg_alloc", requested(0)),
    ("__rg_alloc_zeroed", requested(0)),
    ("__rg_realloc", requested(3)),
];

/// By the functions among them that are told the size first.
const ANEW: RequestedBytes = requested(0);

const ANNOUNCEMENT: &str = "__rust_no_alloc_shim_is_unstable_v2";

/// What Rust's global allocator calls where a program has none of its own.
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

/// Of jemalloc as it is built for Rust and by itself, of mimalloc, and of allocators that take the C library's place.
const PREFIXES: [&str; 5] = ["", "_rjem_", "je_", "mi_", "rp"];

/// What only some have.
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
    /// Those of a linked executable.
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
        // Other machines' code is not moved.
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

/// Whether a symbol is one that rustc makes.
fn is_rust_allocator(symbol: &str) -> bool {
    symbol.starts_with("_R") || (symbol.starts_with("_ZN") && symbol.contains("17h"))
}

/// What a function does, if it allocates.
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

/// The name of a function of Rust's global allocator, which compilers since 1.87 put into a crate that does not exist.
fn rust_name(symbol: &str) -> &str {
    const CRATE: &str = "7___rustc";
    let Some(at) = symbol.find(CRATE).filter(|_| symbol.starts_with("_R")) else { return symbol };
    // The length of the name, and an underscore if it begins with one.
    let name = symbol[at + CRATE.len()..].trim_start_matches(|digit: char| digit.is_ascii_digit());
    name.strip_prefix('_').unwrap_or(name)
}

/// The code from an address on, to `end` at most.
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

/// Where the addresses of the C library's functions that allocate are kept by which they are called.
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
    fn names_of_old_and_new_compilers_are_those_of_the_global_allocator() {
        for symbol in ["__rust_alloc", "_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc"] {
            assert_eq!(rust_name(symbol), "__rust_alloc");
        }
        let longer = "_RNvCsfLfy6EI15iL_7___rustc35___rust_no_alloc_shim_is_unstable_v2";
        assert_eq!(rust_name(longer), ANNOUNCEMENT);
        assert_eq!(rust_name("_RNvCsabc_7___rustc11___rdl_alloc"), "__rdl_alloc");
    }

    #[test]
    fn the_size_is_the_argument_that_each_function_has_it_in() {
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
