//! Which functions of a link can be moved, each by a symbol of its own.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use object::{Architecture, Object, ObjectSymbol, SymbolKind};

use super::{
    files,
    layout::{self, Arrangement, Movable},
    linker::Linker,
    recipe::Recipe,
    tool,
};
use crate::{
    code::{self, FunctionSet},
    failure::{Exit, Failure, OrFail, Result},
};

/// The executable in the linker's own order, in the recipe's directory.
const NATURAL: &str = "natural";

/// The functions of an executable that the linker can put anywhere.
#[derive(Debug)]
pub struct Movables {
    /// The functions.
    pub functions: Vec<Movable>,
    /// The processor they are for.
    pub architecture: Architecture,
}

impl Default for Movables {
    fn default() -> Self {
        Self { functions: Vec::new(), architecture: Architecture::Unknown }
    }
}

/// Finds out which functions the link of `recipe` keeps. Where several have one symbol, the recipe
/// is made to link copies of its inputs, kept below `home`, in which each has another.
///
/// Only the linker knows which functions are kept: so it links once in its own order, and again if
/// symbols had to be renamed.
pub fn movables(recipe: &mut Recipe, linker: &Linker, home: &Path) -> Result<Movables> {
    let natural = link_naturally(recipe, linker, &home.join(NATURAL))?;
    let ambiguous = ambiguous_symbols(&natural);
    if ambiguous.is_empty() {
        return read(recipe, &natural);
    }
    rename_ambiguous(recipe, &ambiguous, &home.join("distinct"))?;
    let distinct = link_naturally(recipe, linker, &home.join("natural-distinct"))?;
    read(recipe, &distinct)
}

fn link_naturally(recipe: &Recipe, linker: &Linker, executable: &Path) -> Result<Vec<u8>> {
    let what = || format!("cannot list the functions of {}", recipe.output.display());
    let known = fs::read(executable);
    if let Ok(known) = known
        && object::File::parse(&*known).is_ok()
    {
        return Ok(known);
    }
    let unfinished = executable.with_extension("unfinished");
    let arguments = linker.arguments(&Arrangement::default(), executable);
    tool::run(&mut recipe.command(&arguments, &unfinished), what)
        .map_err(|failure| files::or_full_disk(failure, executable))?;
    fs::rename(&unfinished, executable).or_fail(Exit::Build, what)?;
    fs::read(executable).or_fail(Exit::Build, what)
}

/// The machine code of each function that the link of `recipe` keeps, read from its inputs and
/// remembered below `home`.
pub fn function_set(recipe: &Recipe, linker: &Linker, home: &Path) -> Result<FunctionSet> {
    let remembered = home.join("functions.json");
    if let Some(set) = files::read_json(&remembered) {
        return Ok(set);
    }
    let what = || format!("cannot read the functions of {}", recipe.output.display());
    let natural = link_naturally(recipe, linker, &home.join(NATURAL))?;
    let kept = code::kept_functions(&natural).or_fail(Exit::Build, what)?;
    let inputs = recipe
        .inputs()
        .map(|path| {
            let bytes = fs::read(path).or_fail(Exit::Build, what)?;
            Ok((path.display().to_string(), bytes))
        })
        .collect::<Result<Vec<_>>>()?;
    let inputs = inputs.iter().map(|(name, bytes)| (name, bytes.as_slice()));
    let set = FunctionSet::from_link_inputs(inputs, &kept);
    files::write_json(&remembered, &set)?;
    Ok(set)
}

/// The symbols that several functions of an executable share.
fn ambiguous_symbols(executable: &[u8]) -> HashSet<Vec<u8>> {
    let Ok(file) = object::File::parse(executable) else { return HashSet::new() };
    let mut count: HashMap<&[u8], usize> = HashMap::new();
    for symbol in file.symbols() {
        if symbol.kind() == SymbolKind::Text
            && symbol.is_definition()
            && let Ok(name) = symbol.name_bytes()
        {
            *count.entry(name).or_default() += 1;
        }
    }
    count.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name.to_vec()).collect()
}

/// Makes the recipe link copies of those inputs that have ambiguous symbols.
fn rename_ambiguous(
    recipe: &mut Recipe,
    ambiguous: &HashSet<Vec<u8>>,
    copies: &Path,
) -> Result<()> {
    files::create_directory(copies)?;
    let mut taken = HashSet::new();
    for (index, argument) in recipe.arguments.iter_mut().enumerate() {
        if !Recipe::is_input(argument) {
            continue;
        }
        let original = PathBuf::from(&*argument);
        let what = || format!("cannot read the link input {}", original.display());
        let mut bytes = fs::read(&original).or_fail(Exit::Build, what)?;
        let name = original.file_name().unwrap_or_default().to_string_lossy();
        if layout::distinguish(&name, &mut bytes, ambiguous, &mut taken) {
            let copy = copies.join(format!("{index}-{name}"));
            // The same inputs give the same copies: those from an earlier time are good.
            if fs::metadata(&copy).map(|metadata| metadata.len()).ok() != Some(bytes.len() as u64) {
                files::write_whole(&copy, &bytes)?;
            }
            *argument = copy.display().to_string();
        }
    }
    Ok(())
}

fn read(recipe: &Recipe, executable: &[u8]) -> Result<Movables> {
    let what = || format!("cannot list the functions of {}", recipe.output.display());
    let kept = code::kept_functions(executable).map_err(|error| {
        Failure::new(Exit::Build, what())
            .because(error.to_string())
            .hint("rbench supports executables for x86-64 and aarch64 Linux")
    })?;
    let architecture = object::File::parse(executable)
        .map(|file| file.architecture())
        .or_fail(Exit::Build, what)?;
    let functions = kept
        .into_iter()
        .map(|function| Movable { name: function.name.to_string(), symbol: function.symbol })
        .collect();
    Ok(Movables { functions, architecture })
}
