//! A compilation as a value: the results of one run of cargo for a checkout, in its own target dir,
//! with the link recipe of each bench target.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{files, inputs::InputFile, recipe::Recipe};
use crate::{
    elf::Digest,
    error::Result,
    model::{BenchTarget, LayoutSeed},
};

/// The description of a complete compilation; written last.
const RECORD: &str = "compilation.json";

/// Which of a version's compilations is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance {
    /// The one that is listed, and that builds are relinked from.
    First,
    /// One more of the packages in the repository, for the build with this seed: where compiling them is not
    /// reproducible.
    Again(LayoutSeed),
    /// The same with a salt in their symbol hashes: where no linker can make builds differ.
    Salted(LayoutSeed),
}

impl Instance {
    /// The salt for the hashes of symbols.
    pub const fn salt(self) -> Option<LayoutSeed> {
        match self {
            Self::Salted(seed) => Some(seed),
            Self::First | Self::Again(_) => None,
        }
    }
}

/// A complete compilation.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// Its directory.
    pub home: PathBuf,
    /// What is known of it.
    pub record: CompilationRecord,
    /// Whether it was compiled just now.
    pub fresh: bool,
}

/// What is stored about a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompilationRecord {
    /// The version that it was made for: seven digits of its commit.
    pub version: String,
    /// The hash of toolchain, settings and lock file.
    pub reproducibility: String,
    /// All of `rustc -vV`.
    pub rustc: String,
    /// The toolchain's directory.
    pub sysroot: PathBuf,
    /// How long cargo ran, in milliseconds.
    pub milliseconds: u64,
    /// The bench targets.
    pub targets: Vec<CompiledTarget>,
    /// The build scripts that were run.
    pub scripts: Vec<BuildScript>,
}

/// A bench target of a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledTarget {
    /// The target.
    pub target: BenchTarget,
    /// The id of its package, as cargo's messages have it.
    pub package_id: String,
    /// The package's directory, at the path all versions share.
    pub package_root: PathBuf,
    /// The executable that cargo made, at the path all versions share.
    pub executable: PathBuf,
    /// The name of the recipe's directory.
    pub recipe: String,
    /// The digest of the link: its arguments and the contents of its inputs.
    pub inputs: Digest,
    /// The inputs, to notice damage.
    pub files: Vec<InputFile>,
    /// The recipe and the executable, to notice damage.
    pub made: Vec<InputFile>,
}

impl CompilationRecord {
    /// How long cargo ran.
    pub fn took(&self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }

    fn is_undamaged(&self) -> bool {
        let mut files =
            self.targets.iter().flat_map(|target| target.files.iter().chain(&target.made));
        files.all(InputFile::is_whole)
    }
}

impl Compilation {
    /// The compilation in `home`, if it is complete and undamaged.
    pub(super) fn open(home: &Path) -> Option<Self> {
        let record: CompilationRecord = Self::record(home)?;
        record.is_undamaged().then(|| Self { home: home.to_owned(), record, fresh: false })
    }

    /// Makes a compilation complete.
    pub(super) fn complete(home: &Path, record: CompilationRecord) -> Result<Self> {
        files::write_json(&home.join(RECORD), &record)?;
        Ok(Self { home: home.to_owned(), record, fresh: true })
    }

    /// What is stored about the compilation in `home`, if it is complete.
    pub(super) fn record(home: &Path) -> Option<CompilationRecord> {
        files::read_json(&home.join(RECORD))
    }

    /// When the compilation in `home` was made, if it is complete.
    pub(super) fn made_at(home: &Path) -> Option<SystemTime> {
        fs::metadata(home.join(RECORD)).and_then(|metadata| metadata.modified()).ok()
    }

    /// The recipe of one of its targets.
    pub(super) fn recipe(&self, target: &CompiledTarget) -> Result<Recipe> {
        Recipe::load(&self.recipe_home(target))
    }

    /// The directory of a recipe.
    pub(super) fn recipe_home(&self, target: &CompiledTarget) -> PathBuf {
        self.home.join("recipes").join(&target.recipe)
    }
}

/// What a build script says that matters when something is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildScript {
    /// The id of its package, as cargo's messages have it.
    pub package_id: String,
    /// The variables that it sets for its package.
    pub variables: Vec<(String, String)>,
    /// The directories of native libraries, as it names them: with or without a kind.
    pub libraries: Vec<String>,
}
