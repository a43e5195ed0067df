//! The digest of a link: the contents of its inputs, independent of their names and directories.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::recipe::Recipe;
use crate::{
    code::Digest,
    failure::{Exit, OrFail, Result},
};

/// An input of a link, as it was when the compilation was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
    digest: Digest,
}

impl InputFile {
    /// The file as it is now. One of the toolchain's counts by its name.
    pub fn read(path: &Path, sysroot: &Path) -> Result<Self> {
        let what = || format!("cannot read the link input {}", path.display());
        let metadata = fs::metadata(path).or_fail(Exit::Build, what)?;
        let digest = if path.starts_with(sysroot) {
            Digest::of(path.as_os_str().as_encoded_bytes())
        } else {
            Digest::of(&fs::read(path).or_fail(Exit::Build, what)?)
        };
        let modified = metadata.modified().or_fail(Exit::Build, what)?;
        Ok(Self { path: path.to_owned(), size: metadata.len(), modified, digest })
    }

    /// Whether the file is still the same, as far as its size and time of modification show.
    pub fn is_whole(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| {
            now.len() == self.size && now.modified().is_ok_and(|time| time == self.modified)
        })
    }

    /// The name of the file, without its directory.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The names of the inputs that differ between two links of the same target.
pub fn differing(one: &[InputFile], other: &[InputFile]) -> Vec<String> {
    let differ = |(a, b): &(&InputFile, &InputFile)| a.digest != b.digest;
    let mut names: Vec<String> =
        one.iter().zip(other).filter(differ).map(|(a, _)| a.name()).collect();
    let longer = if one.len() > other.len() { one } else { other };
    names.extend(longer[one.len().min(other.len())..].iter().map(InputFile::name));
    names
}

/// The digest of a recipe, and its input files.
///
/// The toolchain's own libraries count by their names: the toolchain is part of every key.
pub fn digest(
    recipe: &Recipe,
    build_path: &Path,
    home: &Path,
    sysroot: &Path,
) -> Result<(Digest, Vec<InputFile>)> {
    let inputs: Vec<PathBuf> =
        recipe.inputs().map(|input| at_home(input, build_path, home)).collect();
    let files: Vec<InputFile> =
        inputs.par_iter().map(|path| InputFile::read(path, sysroot)).collect::<Result<_>>()?;

    let mut hasher = blake3::Hasher::new();
    let mut digests = files.iter().map(|file| file.digest);
    for argument in &recipe.arguments {
        if Recipe::is_input(argument) {
            if let Some(digest) = digests.next() {
                hasher.update(digest.as_bytes());
            }
        } else {
            hasher.update(neutral(argument, recipe, home).as_bytes());
        }
        hasher.update(&[0]);
    }
    hasher.update(recipe.linker.as_bytes());
    Ok((hasher.finalize().into(), files))
}

/// The path of a file below its compilation rather than at the path that leads to one compilation after another.
pub fn at_home(input: &Path, build_path: &Path, home: &Path) -> PathBuf {
    input.strip_prefix(build_path).map_or_else(|_| input.to_owned(), |rest| home.join(rest))
}

/// An argument without the paths that differ between compilations of the same thing.
fn neutral(argument: &str, recipe: &Recipe, home: &Path) -> String {
    let output = recipe.output.to_string_lossy();
    let name = recipe.output.file_name().unwrap_or_default().to_string_lossy();
    argument
        .replace(&*output, "$output")
        .replace(&*home.to_string_lossy(), "$home")
        .replace(&*name, "$name")
}
