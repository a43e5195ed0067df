//! Decides whether the allocator of an executable is the C library's, whose calls a preloaded library can count.

use std::{collections::BTreeSet, fmt};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Register};
use object::{
    Object as _, ObjectSegment as _, RelocationTarget,
    elf::{EM_X86_64, ET_DYN, PT_INTERP},
    read::elf::{ProgramHeader as _, Sym as _},
};

use super::{
    format::{Elf, LE, Unreadable, executable},
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
    /// A `#[global_allocator]`; its type, unless the compiler inlined its functions. Without a type it may also be the C
    /// library's, if link-time optimization hides that.
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
            Self::Custom(Some(name)) => write!(
                f,
                "its global allocator is {name}, and {ONLY}; build it without that allocator to count them"
            ),
            Self::Custom(None) => write!(
                f,
                "its global allocator is not known to be the C library's, and {ONLY}; build it without a custom \
                 allocator, and without LTO, to count them"
            ),
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

/// The functions of Rust's global allocator that return memory, without the prefixes that compilers add. Reallocation is
/// not among them: it gets memory of these.
const RUST: [&str; 2] = ["__rust_alloc", "__rust_alloc_zeroed"];

/// The function that they call in programs with a `#[global_allocator]`, unless it is inlined.
const CUSTOM: &str = "__rg_alloc";

/// The same in programs without one, whose allocator is the C library's.
const DEFAULT: &str = "__rdl_alloc";

/// The trait of global allocators, in the name of a function that implements it for a type.
const TRAIT: &str = " as core::alloc::global::GlobalAlloc>::";

/// The allocator of a linked executable, unless it is the C library's, which is Rust's default.
///
/// Link-time optimization inlines the functions whose names show which it is. Then their callers show it: the C library's
/// is called by code that uses no variables. A custom allocator that only counts requests before it passes them on has a
/// variable, so it is refused too.
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
    let custom = kept.iter().find_map(|function| {
        let (name, _) = function.name.as_str().strip_prefix('<')?.split_once(TRAIT)?;
        (name != "std::alloc::System").then(|| name.to_owned())
    });
    let named = |name: &str| -> Vec<&LinkedFunction> {
        let is_meant =
            |one: &&LinkedFunction| one.symbols().any(|symbol| rust_name(symbol) == name);
        kept.iter().filter(is_meant).collect()
    };
    // The default allocator can also be dead code that the link kept.
    if custom.is_none() && !named(DEFAULT).is_empty() && named(CUSTOM).is_empty() {
        return Ok(None);
    }
    let [allocating, zeroing] = RUST.map(named);
    if allocating.is_empty() {
        return Ok(Some(UncountableAllocator::Unknown));
    }
    let places = places_of_c_library(&elf)?;
    let is_stateless = |function: &LinkedFunction| {
        let mut segments = elf.segments();
        let code = segments
            .find_map(|segment| segment.data_range(function.address, function.size).ok().flatten());
        code.is_some_and(|code| is_stateless(code, function.address, &places))
    };
    let header = elf.elf_header();
    let is_c_library = header.e_machine.get(LE) == EM_X86_64
        && header.e_type.get(LE) == ET_DYN
        && allocating.into_iter().chain(zeroing).all(is_stateless);
    Ok((!is_c_library).then_some(UncountableAllocator::Custom(custom)))
}

/// The addresses of the pointers through which the program calls functions that return memory of the C library, or fill it.
fn places_of_c_library(elf: &Elf<'_>) -> Result<BTreeSet<u64>, Unreadable> {
    let table = elf.elf_dynamic_symbol_table();
    let mut places = BTreeSet::new();
    for (place, relocation) in elf.dynamic_relocations().into_iter().flatten() {
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let symbol = table.symbol(index)?;
        let name = table.symbol_name(LE, symbol)?;
        let is_meant = C.iter().chain(&["memset"]).any(|known| known.as_bytes() == name);
        if symbol.is_undefined(LE) && is_meant {
            places.insert(place);
        }
    }
    Ok(places)
}

/// True if a function for x86-64 knows no address but those of its stack and of what functions return whose pointers are at
/// these places. Its parameters must be no pointers, and its executable must be position-independent: in others, an address
/// is a number like any other.
fn is_stateless(code: &[u8], address: u64, places: &BTreeSet<u64>) -> bool {
    let inside = address..address + code.len() as u64;
    let mut instructions = Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter();
    !code.is_empty()
        && instructions.all(|one| match one.flow_control() {
            FlowControl::Next | FlowControl::Return | FlowControl::Exception => {
                let of_thread = matches!(one.segment_prefix(), Register::FS | Register::GS);
                !one.is_invalid() && !one.is_ip_rel_memory_operand() && !of_thread
            }
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                inside.contains(&one.near_branch_target())
            }
            FlowControl::IndirectBranch | FlowControl::IndirectCall => {
                one.is_ip_rel_memory_operand() && places.contains(&one.ip_rel_memory_address())
            }
            FlowControl::Call | FlowControl::Interrupt | FlowControl::XbeginXabortXend => false,
        })
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

    #[test]
    fn function_with_memory_or_another_callee_is_not_stateless() {
        const START: u64 = 0x1000;
        const PLACE: u64 = 0x2000;
        let is_stateless = |code: &[u8]| is_stateless(code, START, &BTreeSet::from([PLACE]));
        let through = |opcode: u8, offset: u64| {
            let distance = u32::try_from(PLACE - START - offset - 6).unwrap();
            [&[0xff, opcode][..], &distance.to_le_bytes()].concat()
        };
        // cmp rsi, 16; ja over; jump; over: push rax; mov [rsp], 0; call; ret
        let mut code = vec![0x48, 0x83, 0xfe, 0x10, 0x77, 6];
        code.extend(through(0x25, 6));
        code.extend([0x50, 0x48, 0xc7, 0x04, 0x24, 0, 0, 0, 0]);
        code.extend(through(0x15, 21));
        code.push(0xc3);
        assert!(is_stateless(&code));
        for (other, meaning) in [
            (&[0xff, 0x25, 0, 0, 0, 0][..], "a jump to another function"),
            (&[0xe8, 0, 0, 0, 0], "a call within the program"),
            (&[0xeb, 0x10], "a jump out of the function"),
            (&[0xff, 0xe0], "a jump to an unknown place"),
            (&[0xf0, 0x48, 0xff, 0x05, 0, 1, 0, 0], "a counter"),
            (&[0x48, 0x8d, 0x05, 0, 1, 0, 0], "the address of a variable"),
            (&[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], "memory of the thread"),
            (&[0x06], "no instruction"),
            (&[], "nothing"),
        ] {
            assert!(!is_stateless(other), "{meaning}");
        }
    }
}
