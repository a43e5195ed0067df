//! Links in the linker's default order, which show which functions and inputs a link keeps.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use rbench_code::elf::{
    self, Digest, FunctionSet, LinkMap, LinkedFunction, PrintedLocations, Unreadable,
};

use super::{
    files,
    inputs::{self, InputFile},
    linker::{Arrangement, Linker, LinkerOption},
    recipe::Recipe,
    tool,
};
use crate::{
    error::{Context, Error, Exit, Result},
    process::sandbox::Task,
};

/// The name of the executable by the recipe's own linker, in the recipe's directory.
const BY_OWN: &str = "default";
/// The name of the executable by another linker.
const BY_OTHER: &str = "default-by-other";

pub struct DefaultLink {
    pub executable: Vec<u8>,
    pub map: String,
}

impl DefaultLink {
    /// Links the recipe stored in `home`, or finds the earlier link there.
    pub fn find_or_link(recipe: &Recipe, linker: &Linker, home: &Path) -> Result<Self> {
        let executable = home.join(if linker.is_the_users() { BY_OWN } else { BY_OTHER });
        Self::known(&executable)
            .map_or_else(|| Self::from_executable(recipe, linker, &executable), Ok)
    }

    /// Links with the recipe's own linker, which is not run at all if an earlier link exists.
    fn link(recipe: &Recipe, home: &Path) -> Result<Self> {
        let executable = home.join(BY_OWN);
        let link = || Self::from_executable(recipe, &Linker::detect(recipe)?, &executable);
        Self::known(&executable).map_or_else(link, Ok)
    }

    /// The earlier link at this path, if it is complete and undamaged.
    fn known(executable: &Path) -> Option<Self> {
        let digest: Digest = files::read_json(&Self::digest_path(executable))?;
        Self::read(executable).ok().filter(|known| known.digest() == digest)
    }

    fn digest_path(executable: &Path) -> PathBuf {
        executable.with_extension("json")
    }

    fn digest(&self) -> Digest {
        blake3::Hasher::new().update(&self.executable).update(self.map.as_bytes()).finalize().into()
    }

    fn read(executable: &Path) -> std::io::Result<Self> {
        let map = fs::read(executable.with_extension("map"))?;
        let map = String::from_utf8_lossy(&map).into_owned();
        Ok(Self { executable: fs::read(executable)?, map })
    }

    /// Links to the given path.
    pub fn from_executable(recipe: &Recipe, linker: &Linker, executable: &Path) -> Result<Self> {
        let what = || format!("cannot list the functions of {}", recipe.output.display());
        let map = executable.with_extension("map");
        let unfinished = executable.with_extension("unfinished");
        let map_name = map.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let wanted = Arrangement {
            options: vec![LinkerOption::WithFile("-Map=".to_owned(), map_name)],
            files: Vec::new(),
        };
        let arguments = linker.arguments(&wanted, executable.parent().unwrap_or(Path::new("")));
        let directory = executable.parent().unwrap_or(Path::new(""));
        tool::run(&mut recipe.command(&arguments, &unfinished), Task::Link(directory), what)
            .map_err(|error| files::or_full_disk(error, executable))?;
        // Renamed last, so that an unfinished link of a killed process is not used.
        fs::rename(&unfinished, executable).context(Exit::Build, what)?;
        let link = Self::read(executable).context(Exit::Build, what)?;
        files::write_json(&Self::digest_path(executable), &link.digest())?;
        Ok(link)
    }

    pub fn kept(&self, recipe: &Recipe) -> Result<Vec<LinkedFunction>> {
        elf::kept_functions(&self.executable).map_err(|error| unreadable(recipe, &error))
    }

    /// The source locations that the executable only prints.
    pub fn printed(&self, recipe: &Recipe) -> Result<PrintedLocations> {
        PrintedLocations::read(&self.executable).map_err(|error| unreadable(recipe, &error))
    }
}

fn unreadable(recipe: &Recipe, error: &Unreadable) -> Error {
    Error::new(Exit::Build, format!("cannot list the functions of {}", recipe.output.display()))
        .cause(error.to_string())
        .hint("rbench supports executables for x86-64 and aarch64 Linux")
}

pub struct ListedExecutable {
    pub path: PathBuf,
    pub program: Digest,
    pub functions: Vec<LinkedFunction>,
    /// A directory for cached data about it.
    pub home: PathBuf,
    /// The options of the link, as `inputs::options` returns them.
    pub options: Vec<String>,
}

/// The executable whose functions [`function_set`] returns. `files` are the inputs of its link in the directory
/// `compilation`.
pub fn listed_executable(
    recipe: &Recipe,
    files: &[InputFile],
    compilation: &Path,
    home: &Path,
) -> Result<ListedExecutable> {
    let loaded_at_start = inputs::loaded_at_start(files);
    let default_link = DefaultLink::link(recipe, home)?;
    let what = || format!("cannot read {}", recipe.output.display());
    Ok(ListedExecutable {
        program: inputs::program_digest(&default_link.executable, loaded_at_start)
            .context(Exit::Build, what)?,
        functions: default_link.kept(recipe)?,
        path: home.join(BY_OWN),
        home: home.to_owned(),
        options: inputs::options(recipe, files, compilation),
    })
}

/// The machine code of each function that the link of `recipe` keeps, read from its inputs and cached in `home`.
pub fn function_set(recipe: &Recipe, home: &Path) -> Result<FunctionSet> {
    let remembered = home.join("functions.json");
    if let Some(set) = files::read_json(&remembered) {
        return Ok(set);
    }
    let default_link = DefaultLink::link(recipe, home)?;
    let kept = default_link.kept(recipe)?;
    let mut inputs = read_inputs(recipe)?;
    let others = other_inputs(&default_link.map, &inputs);
    inputs.extend(others);
    let inputs = inputs.iter().map(|(name, bytes)| (name, bytes.as_slice()));
    let set = FunctionSet::from_link_inputs(inputs, &kept, &default_link.printed(recipe)?);
    files::write_json_line(&remembered, &set)?;
    Ok(set)
}

/// The inputs that no argument names as a file: start-up code that the driver adds, and static libraries that the
/// linker looked up. They are only known from LLD's map; functions of other inputs are in the set as unseen.
fn other_inputs(map: &str, known: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let Ok(map) = LinkMap::parse(map) else { return Vec::new() };
    let mut others: Vec<&str> = Vec::new();
    let mut met: HashSet<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    for input in map.sections.iter().flat_map(|section| &section.inputs) {
        let origin = input.origin.as_str();
        let file = match origin.rsplit_once('(') {
            Some((file, _)) if origin.ends_with(')') => file,
            _ => origin,
        };
        if met.insert(file) && Path::new(file).is_absolute() {
            others.push(file);
        }
    }
    // The functions of a file that vanished, or is none, stay unseen.
    let read = |name: &str| Some((name.to_owned(), fs::read(name).ok()?));
    others.into_iter().filter_map(read).collect()
}

pub fn read_inputs(recipe: &Recipe) -> Result<Vec<(String, Vec<u8>)>> {
    let read = |path: &Path| {
        let what = || format!("cannot read the link input {}", path.display());
        Ok((path.display().to_string(), fs::read(path).context(Exit::Build, what)?))
    };
    recipe.inputs().map(read).collect()
}
