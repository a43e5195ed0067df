//! Lists the functions that the linker kept, with their addresses.

use std::borrow::Cow;

use object::elf::{SHF_EXECINSTR, STT_FUNC};
use object::read::elf::{SectionHeader, Sym};

use super::format::{Elf, LE, Unreadable, executable};
use super::name::Name;

/// A function in a linked executable.
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
    /// All symbols of this function.
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
    use super::super::testing::Scratch;
    use super::*;

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
