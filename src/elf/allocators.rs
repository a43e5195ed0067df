//! Decides whether each allocation of an executable calls the C library, so that a preloaded library can count it.
//!
//! A function of an allocator has to call one of a set of functions on every path before it returns. Only x86-64;
//! anything unknown counts as a path without such a call.

use std::{collections::BTreeSet, fmt};

use object::{
    Object, RelocationTarget,
    elf::{EM_X86_64, PF_X, PT_INTERP, PT_LOAD, SHN_UNDEF},
    read::elf::{ProgramHeader, Sym},
};

use super::{
    format::{Elf, LE, Unreadable, executable},
    instruction::{Kind, decode},
    placement::{LinkedFunction, kept_functions},
};

/// An allocator whose calls cannot be counted from outside. Its `Display` continues `its allocations cannot be counted:
/// …`, and names what the user can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UncountableAllocator {
    /// Any, in an executable that loads no shared libraries.
    Static,
    /// This allocator of another language, which is linked to the executable.
    Linked(&'static str),
    /// An unknown one that defines functions of C, such as `malloc`.
    Replacement,
    /// A `#[global_allocator]` that may have memory of its own; its type, unless the compiler inlined its functions.
    Custom(Option<String>),
    /// An unknown one: the executable has no function of Rust's allocator.
    Unknown,
}

impl fmt::Display for UncountableAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ONLY: &str = "only calls of the C library's allocator can be counted";
        match self {
            Self::Static => f.write_str(
                "it is linked statically, so it cannot load the library that counts them; build it for a target with \
                 shared libraries",
            ),
            Self::Linked(name) => {
                write!(f, "its allocator is {name}, and {ONLY}; build it without {name} to count them")
            }
            Self::Replacement => write!(
                f,
                "it has its own `malloc`, and {ONLY}; build it without that allocator to count them"
            ),
            Self::Custom(name) => {
                let name = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
                write!(
                    f,
                    "its global allocator{name} may not call the C library for each of them; build it without \
                     that allocator to count them"
                )
            }
            Self::Unknown => f.write_str(
                "it has no function of Rust's allocator, which link-time optimization may have inlined; build it \
                 without LTO to count them",
            ),
        }
    }
}

/// The functions of C's allocator that a preloaded library can replace.
const C: [&str; 9] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
];

/// Allocators in other languages, by the prefixes of their functions. jemalloc has one as built for Rust, and another
/// as built alone.
const LINKED: [(&str, &str); 6] = [
    ("mi_", "mimalloc"),
    ("_rjem_", "jemalloc"),
    ("je_", "jemalloc"),
    ("sn_", "snmalloc"),
    ("rp", "rpmalloc"),
    ("tc_", "tcmalloc"),
];

/// The functions of Rust's global allocator that return memory, without the prefixes that compilers add: each is
/// called by programs, or called by such a function.
const RUST: [[&str; 2]; 3] = [
    ["__rust_alloc", "__rg_alloc"],
    ["__rust_alloc_zeroed", "__rg_alloc_zeroed"],
    ["__rust_realloc", "__rg_realloc"],
];

/// The function that Rust's global allocator calls in programs without their own allocator.
const DEFAULT: &str = "__rdl_alloc";

/// The trait of global allocators, in the name of a function that implements it for a type.
const TRAIT: &str = " as core::alloc::global::GlobalAlloc>::";

/// The allocator of a linked executable if it is not certain that each allocation calls the C library.
///
/// It is certain with the C library's allocator, Rust's default. With another global allocator, it is taken as certain
/// if each path through each of its functions calls the C library: then so does each place where they are inlined. With
/// LTO, the function that returns zeros is inlined everywhere and cannot be examined. That it alone has memory of its
/// own is the one case that is not noticed.
///
/// # Errors
/// [`Unreadable`] if the bytes are no ELF executable for x86-64 or aarch64, or were stripped.
pub fn uncountable_allocator(bytes: &[u8]) -> Result<Option<UncountableAllocator>, Unreadable> {
    let elf = executable(bytes)?;
    if elf.elf_program_headers().iter().all(|segment| segment.p_type(LE) != PT_INTERP) {
        return Ok(Some(UncountableAllocator::Static));
    }
    let kept = kept_functions(bytes)?;
    let symbols = || kept.iter().flat_map(LinkedFunction::symbols);
    if let Some(name) = symbols().find_map(linked_allocator) {
        return Ok(Some(UncountableAllocator::Linked(name)));
    }
    if symbols().any(|symbol| C.contains(&symbol)) {
        return Ok(Some(UncountableAllocator::Replacement));
    }
    let addresses = |names: &[&str]| -> Vec<u64> {
        let is_meant = |function: &&LinkedFunction| {
            function.symbols().any(|symbol| names.contains(&rust_name(symbol)))
        };
        kept.iter().filter(is_meant).map(|function| function.address).collect()
    };
    let [allocating, others @ ..] = RUST.map(|names| addresses(&names));
    let custom = kept.iter().find_map(|function| {
        let (name, _) = function.name.as_str().strip_prefix('<')?.split_once(TRAIT)?;
        (name != "std::alloc::System").then(|| name.to_owned())
    });
    // The default allocator can also be dead code that the link kept.
    if custom.is_none() && !addresses(&[DEFAULT]).is_empty() && addresses(&RUST[0][1..]).is_empty()
    {
        return Ok(None);
    }
    if allocating.is_empty() {
        return Ok(Some(UncountableAllocator::Unknown));
    }
    let places = places_of_c_library(&elf)?;
    let code_from = |address| code_at(&elf, bytes, address);
    let program = Program { code_at: &code_from, places: &places };
    let is_known = elf.elf_header().e_machine.get(LE) == EM_X86_64;
    let mut functions = allocating.into_iter().chain(others.into_iter().flatten());
    if is_known && functions.all(|function| program.forwards(function)) {
        return Ok(None);
    }
    Ok(Some(UncountableAllocator::Custom(custom)))
}

/// The known allocator in another language that has this function, if it returns memory.
fn linked_allocator(symbol: &str) -> Option<&'static str> {
    LINKED.iter().find_map(|(prefix, name)| {
        let rest = symbol.strip_prefix(prefix)?;
        let rest =
            ["heap_", "rust_"].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
        let mut allocating = C.iter().chain(&["zalloc", "alloc"]);
        allocating.any(|function| rest.starts_with(function)).then_some(*name)
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

/// The code from `address` on.
fn code_at<'b>(elf: &Elf<'_>, bytes: &'b [u8], address: u64) -> Option<&'b [u8]> {
    let segment = elf.elf_program_headers().iter().find(|segment| {
        let start = segment.p_vaddr(LE);
        let is_inside = (start..start.saturating_add(segment.p_filesz(LE))).contains(&address);
        segment.p_type(LE) == PT_LOAD && segment.p_flags(LE).contains(PF_X) && is_inside
    })?;
    let within = address - segment.p_vaddr(LE);
    let first = usize::try_from(segment.p_offset(LE) + within).ok()?;
    let length = usize::try_from(segment.p_filesz(LE) - within).ok()?;
    bytes.get(first..first.checked_add(length)?)
}

/// The addresses of the pointers through which the program calls the C library's allocating functions.
fn places_of_c_library(elf: &Elf<'_>) -> Result<BTreeSet<u64>, Unreadable> {
    let table = elf.elf_dynamic_symbol_table();
    let mut places = BTreeSet::new();
    for (place, relocation) in elf.dynamic_relocations().into_iter().flatten() {
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let symbol = table.symbol(index)?;
        let name = table.symbol_name(LE, symbol)?;
        let is_meant = C.iter().any(|known| known.as_bytes() == name);
        if symbol.st_shndx(LE) == SHN_UNDEF && is_meant {
            places.insert(place);
        }
    }
    Ok(places)
}

/// The number of instructions to follow: allocators with more code have their own memory.
const MOST: usize = 2000;
/// The depth of nested calls to follow.
const DEEPEST: usize = 4;

/// A program, and the functions that must be called.
pub(super) struct Program<'p> {
    /// Returns the code from an address on.
    pub(super) code_at: &'p dyn Fn(u64) -> Option<&'p [u8]>,
    /// The addresses of the pointers through which the functions are called.
    pub(super) places: &'p BTreeSet<u64>,
}

impl Program<'_> {
    /// True if the function at this address always calls one of them.
    pub(super) fn forwards(&self, function: u64) -> bool {
        self.always_calls(function, 0).unwrap_or(false)
    }

    /// `None` if the answer is unknown.
    fn always_calls(&self, function: u64, depth: usize) -> Option<bool> {
        let (mut visited, mut pending) = (BTreeSet::new(), vec![function]);
        let mut left = MOST;
        while let Some(mut address) = pending.pop() {
            if !visited.insert(address) {
                continue;
            }
            loop {
                left = left.checked_sub(1)?;
                let instruction = decode((self.code_at)(address)?)?;
                let behind = address + instruction.length as u64;
                let target = |distance: i64| behind.wrapping_add_signed(distance);
                match instruction.kind {
                    Kind::CallThrough(place) | Kind::JumpThrough(place)
                        if self.places.contains(&target(place)) =>
                    {
                        break;
                    }
                    Kind::Plain | Kind::CallThrough(_) => {}
                    Kind::Ends | Kind::JumpThrough(_) => return Some(false),
                    Kind::Traps => break,
                    Kind::Jump(distance) => {
                        pending.push(target(distance));
                        break;
                    }
                    Kind::Branch(distance) => pending.push(target(distance)),
                    Kind::Call(distance) => {
                        let function = target(distance);
                        if depth < DEEPEST && self.always_calls(function, depth + 1) == Some(true) {
                            break;
                        }
                    }
                }
                address = behind;
            }
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::Scratch, *};

    #[test]
    fn rust_name_handles_old_and_new_compilers() {
        for symbol in ["__rust_alloc", "_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc"] {
            assert_eq!(rust_name(symbol), "__rust_alloc");
        }
        assert_eq!(rust_name("_RNvCsabc_7___rustc11___rdl_alloc"), "__rdl_alloc");
    }

    #[test]
    fn linked_allocators_are_known_by_their_functions() {
        for (symbol, name) in [
            ("_rjem_calloc", Some("jemalloc")),
            ("_rjem_mallocx", Some("jemalloc")),
            ("mi_malloc_aligned", Some("mimalloc")),
            ("mi_heap_zalloc", Some("mimalloc")),
            ("sn_rust_realloc", Some("snmalloc")),
            ("rpmalloc", Some("rpmalloc")),
            ("mi_stats_print", None),
            ("malloc", None),
            ("__rust_alloc", None),
        ] {
            assert_eq!(linked_allocator(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn allocators_in_c_are_refused_by_name() {
        let scratch = Scratch::new();
        let allocator_of = |function: &str, options: &[&str]| {
            let program = format!(
                "static char memory[8]; void *{function}(unsigned long size) {{ return memory; }}\n\
                 int main(int argc, char **argv) {{ return {function}(argc) == 0; }}\n"
            );
            let program = scratch.c_program("program", &program, options);
            uncountable_allocator(&program).unwrap().unwrap()
        };
        let mimalloc = allocator_of("mi_malloc", &["-O0"]);
        assert_eq!(mimalloc, UncountableAllocator::Linked("mimalloc"));
        assert!(mimalloc.to_string().ends_with("build it without mimalloc to count them"));
        assert_eq!(allocator_of("malloc", &["-O0"]), UncountableAllocator::Replacement);
        assert_eq!(allocator_of("give", &["-O0"]), UncountableAllocator::Unknown);
        assert_eq!(allocator_of("give", &["-static"]), UncountableAllocator::Static);
    }
}

#[cfg(test)]
mod forwards_tests {
    use super::*;

    const START: u64 = 0x1000;
    /// The address of the pointer to the function that must be called.
    const PLACE: u64 = 0x2000;

    fn forwards(code: &[u8]) -> bool {
        let code_at = |address: u64| code.get(usize::try_from(address.checked_sub(START)?).ok()?..);
        let places = BTreeSet::from([PLACE]);
        Program { code_at: &code_at, places: &places }.forwards(START)
    }

    /// An indirect call or jump through the pointer at [`PLACE`]; `offset` is its position in the code.
    fn indirect_jump(opcode: u8, offset: usize) -> Vec<u8> {
        let distance = i32::try_from(PLACE - START).unwrap() - i32::try_from(offset + 6).unwrap();
        [&[0xff, opcode][..], &distance.to_le_bytes()].concat()
    }

    #[test]
    fn function_forwards_if_every_path_calls() {
        // cmp rsi, 16; ja over; jump; over: push rax; call; ret
        let mut code = vec![0x48, 0x83, 0xfe, 0x10, 0x77, 6];
        code.extend(indirect_jump(0x25, code.len()));
        code.push(0x50);
        code.extend(indirect_jump(0x15, code.len()));
        code.push(0xc3);
        assert!(forwards(&code));
    }

    #[test]
    fn function_with_another_path_does_not_forward() {
        // cmp rsi, 16; ja over; xor eax, eax; ret; over: jump
        let mut code = vec![0x48, 0x83, 0xfe, 0x10, 0x77, 3, 0x31, 0xc0, 0xc3];
        code.extend(indirect_jump(0x25, code.len()));
        assert!(!forwards(&code));
        assert!(!forwards(&[0xff, 0x25, 0, 0, 0, 0]), "another function");
        assert!(!forwards(&[0xc5, 0xf8, 0x28, 0xc1]), "not known");
        assert!(!forwards(&[]));
    }

    #[test]
    fn calls_and_jumps_to_forwarding_functions_count() {
        // jmp over; over: call next; ret; next: jump
        let mut code = vec![0xeb, 0, 0xe8, 1, 0, 0, 0, 0xc3];
        code.extend(indirect_jump(0x25, code.len()));
        assert!(forwards(&code));
    }

    #[test]
    fn forwards_handles_loops_and_recursion() {
        assert!(forwards(&[0xeb, 0xfe]), "it never returns");
        assert!(!forwards(&[0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3]), "it calls itself");
    }
}
