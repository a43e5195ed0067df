//! The functions that the linker kept, the address of each in a build, and the agreement between two builds.

use std::borrow::Cow;

use object::{
    elf::{SHF_EXECINSTR, STT_FUNC},
    read::elf::{SectionHeader, Sym},
};

use super::{
    digest::Digest,
    format::{Elf, LE, Unreadable, executable},
    name::{Name, stable_symbol},
    pairing::{Identified, pair},
};

/// The size of a cache line and of the blocks in which a processor fetches code, in bytes: two functions of equal
/// phase are divided at the same offsets.
const LINE: u64 = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFunction {
    /// Its exact symbol.
    pub symbol: String,
    /// Its name across versions.
    pub name: Name,
    /// Its symbol in an input of the link, without the numbers of link-time optimisation.
    pub instance: String,
    /// The digest of its machine code before any layout, if known.
    pub code: Option<Digest>,
    /// Its position among functions that nothing else distinguishes.
    pub order: usize,
    /// The number of functions with a smaller address.
    pub rank: usize,
    /// Its address, relative to the load address of the executable, in bytes.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
}

impl PlacedFunction {
    /// Its address modulo 64 bytes.
    pub const fn phase(&self) -> u64 {
        self.address % LINE
    }
}

impl Identified for PlacedFunction {
    fn name(&self) -> &Name {
        &self.name
    }

    /// Without the code's digest the size has to do, because the bytes themselves contain addresses.
    fn code(&self) -> impl Ord {
        (self.code, self.size)
    }

    fn instance(&self) -> impl Ord {
        &self.instance
    }

    fn size(&self) -> u64 {
        self.size
    }
}

/// The addresses of all functions of a build, in the order of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    functions: Vec<PlacedFunction>,
}

impl Placement {
    /// Reads the addresses from a linked executable.
    ///
    /// # Errors
    /// As [`kept_functions`].
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        Ok(Self::new(&kept_functions(bytes)?))
    }

    /// The placement of these functions, given in the order of addresses.
    ///
    /// Namesakes that link-time optimisation numbered are in the order of their numbers: a longer number is a larger
    /// one.
    pub fn new(kept: &[LinkedFunction]) -> Self {
        let mut by_number: Vec<usize> = (0..kept.len()).collect();
        by_number.sort_by_key(|&index| (kept[index].symbol.len(), &kept[index].symbol));
        let mut orders = vec![0; kept.len()];
        for (order, index) in by_number.into_iter().enumerate() {
            orders[index] = order;
        }
        let placed = |(rank, function): (usize, &LinkedFunction)| PlacedFunction {
            symbol: function.symbol.clone(),
            name: function.name.clone(),
            instance: stable_symbol(&function.symbol).into_owned(),
            code: None,
            order: orders[rank],
            rank,
            address: function.address,
            size: function.size,
        };
        Self { functions: kept.iter().enumerate().map(placed).collect() }
    }

    /// Completes the identification of functions: `known` changes the identifying fields of a function, which it
    /// finds by its symbol.
    #[must_use]
    pub fn identified(mut self, known: impl Fn(&mut PlacedFunction)) -> Self {
        self.functions.iter_mut().for_each(known);
        self
    }

    /// The functions, sorted so that those that nothing else distinguishes have the same order in every version.
    fn in_order(&self) -> Vec<&PlacedFunction> {
        let mut functions: Vec<&PlacedFunction> = self.functions.iter().collect();
        functions.sort_by_key(|placed| placed.order);
        functions
    }
}

/// The agreement between two builds about the addresses of their common functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Functions that both builds have.
    pub common: usize,
    /// The number of common functions with the same address.
    pub same_address: usize,
    /// The number of common functions with the same address modulo 64 bytes.
    pub same_phase: usize,
    /// The number of common functions in the same order: the length of the longest common subsequence of the two
    /// orders.
    pub same_order: usize,
}

impl Agreement {
    /// The share of common functions with the same address; 1 if there are none.
    pub fn same_address_share(&self) -> f64 {
        self.share(self.same_address)
    }

    /// The share of common functions with the same address modulo 64 bytes; 1 if there are none.
    pub fn same_phase_share(&self) -> f64 {
        self.share(self.same_phase)
    }

    /// The share of common functions in the same order; 1 if there are none.
    pub fn same_order_share(&self) -> f64 {
        self.share(self.same_order)
    }

    fn share(&self, part: usize) -> f64 {
        if self.common == 0 { 1.0 } else { part as f64 / self.common as f64 }
    }
}

/// Compares the addresses in two builds, function by function, [paired](pair) by name.
pub fn agreement(a: &Placement, b: &Placement) -> Agreement {
    let mut pairs = pair(a.in_order(), b.in_order()).pairs;
    pairs.sort_by_key(|(in_a, _)| in_a.rank);
    let order_in_b: Vec<usize> = pairs.iter().map(|(_, in_b)| in_b.rank).collect();
    let count = |is_same: fn(&PlacedFunction, &PlacedFunction) -> bool| {
        pairs.iter().filter(|(in_a, in_b)| is_same(in_a, in_b)).count()
    };
    Agreement {
        common: pairs.len(),
        same_address: count(|in_a, in_b| in_a.address == in_b.address),
        same_phase: count(|in_a, in_b| in_a.phase() == in_b.phase()),
        same_order: longest_increasing(&order_in_b),
    }
}

/// The length of the longest increasing subsequence, by patience sorting: `tops[i]` is the smallest
/// value that ends an increasing subsequence of length `i + 1`.
fn longest_increasing(values: &[usize]) -> usize {
    let mut tops: Vec<usize> = Vec::new();
    for &value in values {
        let pile = tops.partition_point(|&top| top < value);
        match tops.get_mut(pile) {
            Some(top) => *top = value,
            None => tops.push(value),
        }
    }
    tops.len()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFunction {
    /// Its symbol, exactly as in the symbol table. Of several symbols at one address this is the first by name, so
    /// that two versions choose the same one.
    pub symbol: String,
    /// Its name across versions.
    pub name: Name,
    /// Its address, relative to the load address of the executable, in bytes.
    pub address: u64,
    /// Its size in bytes; 0 if the symbol has none (assembler).
    pub size: u64,
    /// The other symbols at this address, sorted: aliases, or functions folded into one.
    pub aliases: Vec<String>,
}

impl LinkedFunction {
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.symbol).chain(&self.aliases).map(String::as_str)
    }
}

/// The functions of a linked executable, including local ones, one entry per address, in the order of addresses. Code that
/// the linker itself adds is none of them: it depends on addresses, and no input of the link has it.
///
/// # Errors
/// [`Unreadable`] if the bytes are no ELF executable for x86-64 or aarch64, or were stripped.
pub fn kept_functions(bytes: &[u8]) -> Result<Vec<LinkedFunction>, Unreadable> {
    let elf = executable(bytes)?;
    if elf.elf_symbol_table().is_empty() {
        return Err(Unreadable::Stripped);
    }
    let mut symbols = function_symbols(&elf)?;
    symbols.sort_by(|a, b| (a.address, &a.name, &a.symbol).cmp(&(b.address, &b.name, &b.symbol)));

    let mut kept: Vec<LinkedFunction> = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        match kept.last_mut().filter(|last| last.address == symbol.address) {
            Some(function) => {
                function.size = function.size.max(symbol.size);
                if function.symbols().all(|known| known != symbol.symbol) {
                    function.aliases.push(symbol.symbol);
                }
            }
            None => kept.push(symbol),
        }
    }
    Ok(kept)
}

fn function_symbols(elf: &Elf<'_>) -> Result<Vec<LinkedFunction>, Unreadable> {
    let table = elf.elf_symbol_table();
    let mut functions = Vec::new();
    for (index, symbol) in table.enumerate() {
        if symbol.st_type() != STT_FUNC {
            continue;
        }
        let Some(section) = table.symbol_section(LE, symbol, index)? else { continue };
        let section = elf.elf_section_table().section(section)?;
        if !section.sh_flags(LE).contains(SHF_EXECINSTR) {
            continue;
        }
        let symbol_name = String::from_utf8_lossy(table.symbol_name(LE, symbol)?);
        if is_of_linker(&symbol_name) {
            continue;
        }
        functions.push(LinkedFunction {
            name: Name::demangle(&symbol_name),
            symbol: Cow::into_owned(symbol_name),
            address: symbol.st_value(LE),
            size: symbol.st_size(LE),
            aliases: Vec::new(),
        });
    }
    Ok(functions)
}

/// True for the symbols of LLD's own code on aarch64: detours around an erratum of Cortex-A53, and to distant functions.
fn is_of_linker(symbol: &str) -> bool {
    symbol.starts_with("__CortexA53843419_")
        || symbol.strip_prefix("__AArch64").is_some_and(|rest| rest.contains("Thunk_"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Functions `symbol` at `address`, in the order of addresses; the name is the text before a `#`.
    fn placement(functions: &[(&str, u64)]) -> Placement {
        let kept = |&(symbol, address): &(&str, u64)| LinkedFunction {
            symbol: symbol.to_owned(),
            name: Name::demangle(symbol.split('#').next().unwrap()),
            address,
            size: 1,
            aliases: Vec::new(),
        };
        Placement::new(&functions.iter().map(kept).collect::<Vec<_>>())
    }

    #[test]
    fn agreement_of_a_build_with_itself_is_complete() {
        let build = placement(&[("a", 0), ("b", 16), ("c#1", 70), ("c#2", 80)]);
        let all = Agreement { common: 4, same_address: 4, same_phase: 4, same_order: 4 };
        assert_eq!(agreement(&build, &build), all);
    }

    #[test]
    fn agreement_keeps_order_and_phase_with_an_added_function() {
        let base = placement(&[("a", 0), ("b", 16), ("c", 64)]);
        let head = placement(&[("a", 0), ("new", 16), ("b", 32), ("c", 128)]);
        let expected = Agreement { common: 3, same_address: 1, same_phase: 2, same_order: 3 };
        assert_eq!(agreement(&base, &head), expected);
    }

    #[test]
    fn agreement_in_order_drops_by_one_for_one_moved_function() {
        let base = placement(&[("a", 0), ("b", 1), ("c", 2), ("d", 3)]);
        let head = placement(&[("b", 0), ("c", 1), ("d", 2), ("a", 3)]);
        assert_eq!(agreement(&base, &head).same_order, 3);
    }

    #[test]
    fn agreement_pairs_namesakes_by_symbol_first() {
        let base = placement(&[("f#2", 0), ("f#3", 16)]);
        let head = placement(&[("f#1", 5), ("f#2", 64), ("f#3", 80)]);
        let expected = Agreement { common: 2, same_address: 0, same_phase: 2, same_order: 2 };
        assert_eq!(agreement(&base, &head), expected);
    }

    #[test]
    fn agreement_pairs_lto_namesakes_by_number() {
        let base = placement(&[("f.9", 0), ("f.10", 16)]);
        let head = placement(&[("f.99", 64), ("f.100", 80)]);
        let expected = Agreement { common: 2, same_address: 0, same_phase: 2, same_order: 2 };
        assert_eq!(agreement(&base, &head), expected);
    }

    #[test]
    fn agreement_pairs_foreign_namesakes_in_symbol_order() {
        let base = placement(&[("f#a", 0), ("f#b", 16)]);
        let head = placement(&[("f#y", 64), ("f#z", 80)]);
        let expected = Agreement { common: 2, same_address: 0, same_phase: 2, same_order: 2 };
        assert_eq!(agreement(&base, &head), expected);
    }

    fn longest_by_definition(values: &[usize]) -> usize {
        let mut best = vec![1; values.len()];
        for end in 0..values.len() {
            for start in 0..end {
                if values[start] < values[end] {
                    best[end] = best[end].max(best[start] + 1);
                }
            }
        }
        best.into_iter().max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn longest_increasing_agrees_with_its_definition(order in Just((0..24).collect::<Vec<usize>>()).prop_shuffle()) {
            prop_assert_eq!(longest_increasing(&order), longest_by_definition(&order));
        }

        #[test]
        fn agreement_is_symmetric(
            x in prop::collection::vec((0..6_u8, 0..4_u8), 0..12),
            y in prop::collection::vec((0..6_u8, 0..4_u8), 0..12),
        ) {
            let build = |functions: &[(u8, u8)]| {
                let symbols: Vec<String> =
                    functions.iter().map(|(name, hash)| format!("f{name}#{hash}")).collect();
                let places: Vec<_> = symbols.iter().map(String::as_str).zip((0..).step_by(16)).collect();
                placement(&places)
            };
            let (x, y) = (build(&x), build(&y));
            prop_assert_eq!(agreement(&x, &y), agreement(&y, &x));
        }
    }
}

#[cfg(test)]
mod linked_tests {
    use super::*;
    use crate::elf::testing::Scratch;

    const PROGRAM: &str = "int twice(int x) { return 2 * x; }\n\
        int zwei(int x) __attribute__((alias(\"twice\")));\n\
        int doppelt(int x) __attribute__((alias(\"twice\")));\n\
        __attribute__((noinline)) static int thrice(int x) { return 3 * x; }\n\
        int data[4] = {1, 2, 3, 4};\n\
        int main(int argc, char **argv) { return thrice(argc) + twice(data[argc]); }\n";

    #[test]
    fn kept_functions_include_local_ones_but_no_data() {
        let kept = kept_functions(&Scratch::new().c_program("program", PROGRAM, &["-O1"])).unwrap();
        let find = |name: &str| kept.iter().find(|f| f.symbols().any(|symbol| symbol == name));
        assert!(find("main").is_some_and(|f| f.size > 0));
        assert!(find("thrice").is_some());
        assert!(find("data").is_none());
        assert!(kept.is_sorted_by(|a, b| a.address < b.address));
    }

    #[test]
    fn code_of_the_linker_is_no_function() {
        let names = ["__CortexA53843419_2B008", "__AArch64ADRPThunk_far", "__aarch64_cas4_relax"];
        let functions = names.map(|name| format!("int {name}(void) {{ return 1; }}\n")).concat();
        let program = Scratch::new().c_program("program", &(functions + PROGRAM), &[]);
        let kept = kept_functions(&program).unwrap();
        let is_kept = |name| kept.iter().any(|function| function.symbol == name);
        assert_eq!(names.map(is_kept), [false, false, true]);
    }

    #[test]
    fn aliases_are_one_function_under_the_first_name() {
        let kept = kept_functions(&Scratch::new().c_program("program", PROGRAM, &[])).unwrap();
        let function = kept.iter().find(|f| f.symbols().any(|symbol| symbol == "twice")).unwrap();
        assert_eq!(function.symbol, "doppelt");
        assert_eq!(function.aliases, ["twice", "zwei"]);
    }

    #[test]
    fn rust_function_has_its_exact_symbol_and_its_name() {
        let source = "#[inline(never)] fn twice(x: usize) -> usize { 2 * x }\n\
            fn main() { std::process::exit(twice(std::env::args().count()) as i32) }";
        let bytes = Scratch::new().rust_program("program", source, &["-Copt-level=1"]);
        let kept = kept_functions(&bytes).unwrap();
        let function = kept.iter().find(|f| f.name.as_str() == "program::twice").unwrap();
        assert!(
            function.symbol.contains("twice") && function.symbol.len() > "program::twice".len()
        );
    }

    #[test]
    fn stripped_executable_is_reported_as_such() {
        let stripped = Scratch::new().c_program("program", PROGRAM, &["-s"]);
        assert_eq!(kept_functions(&stripped), Err(Unreadable::Stripped));
    }
}
