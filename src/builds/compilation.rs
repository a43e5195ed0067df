//! A compilation as a value: the results of one cargo run for a checkout, in its own target dir, with the link recipe
//! of each bench target.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rbench_code::elf::{CLibraryVersion, Digest};
use serde::{Deserialize, Serialize};

use super::{conditions::Conditions, files, inputs::InputFile, recipe::Recipe};
use crate::{
    error::{Context, Exit, Result},
    model::{BenchTarget, LayoutSeed},
};

/// The description of a complete compilation. It is written last, so its presence marks completeness.
pub(super) const RECORD: &str = "compilation.json";

/// The description of a compilation that was [discarded](Compilation::discard).
pub(super) const DISCARDED: &str = "discarded.json";

/// Distinguishes the compilations of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance {
    /// The compilation whose benchmarks are listed and from which builds are relinked.
    First,
    /// Another compilation of the packages in the repository, for the build with this seed; used if compiling is not
    /// reproducible.
    Again(LayoutSeed),
    /// Another compilation with salted symbol hashes; used if no linker can make builds differ.
    Salted(LayoutSeed),
    /// Another compilation of the packages in the repository, whose time is measured.
    Timed,
}

impl Instance {
    /// The salt for symbol hashes.
    pub const fn salt(self) -> Option<LayoutSeed> {
        match self {
            Self::Salted(seed) => Some(seed),
            Self::First | Self::Again(_) | Self::Timed => None,
        }
    }
}

/// A complete compilation.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// Its directory.
    pub home: PathBuf,
    /// The stored description.
    pub record: CompilationRecord,
    /// True if it was compiled by this process.
    pub fresh: bool,
}

/// The stored description of a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompilationRecord {
    /// The version that it was made for, as seven digits of its commit.
    pub version: String,
    /// The hash of toolchain, settings and lock file.
    pub reproducibility: String,
    /// The complete output of `rustc -vV`.
    pub rustc: String,
    /// The toolchain's directory.
    pub sysroot: PathBuf,
    /// The run time of cargo, in milliseconds.
    pub milliseconds: u64,
    /// The bench targets.
    pub targets: Vec<CompiledTarget>,
    /// The build scripts that were run.
    pub scripts: Vec<BuildScript>,
    /// Cargo's sentences about settings that it ignored.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// Cargo's hashes in the names of what it made of packages from elsewhere that have the name of one of the
    /// repository.
    #[serde(default)]
    pub namesakes: BTreeSet<String>,
    /// What else it depended on.
    pub conditions: Conditions,
    /// Equal for the compilations of one process, different for those of two. That of the process that ran its build
    /// scripts.
    pub session: String,
}

/// A bench target of a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledTarget {
    /// The target.
    pub target: BenchTarget,
    /// The id of its package in cargo's messages.
    pub package_id: String,
    /// The package's directory, at the path that all versions share.
    pub package_root: PathBuf,
    /// The executable that cargo made, at the path that all versions share.
    pub executable: PathBuf,
    /// The name of the recipe's directory.
    pub recipe: String,
    /// The digest of the link: its arguments and the contents of its inputs.
    pub inputs: Digest,
    /// The inputs, to detect damage.
    pub files: Vec<InputFile>,
    /// The recipe and the executable, to detect damage.
    pub made: Vec<InputFile>,
}

impl CompilationRecord {
    /// The run time of cargo.
    pub fn took(&self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }

    /// The description of the same compilation in another directory, which has the same files, for another version.
    pub(super) fn moved(mut self, places: [&Path; 2], version: String) -> Self {
        self.version = version;
        for target in &mut self.targets {
            for files in [&mut target.files, &mut target.made] {
                *files = std::mem::take(files).into_iter().map(|one| one.moved(places)).collect();
            }
        }
        self
    }

    /// What the build scripts of the repository have made, by their directories; `None` if that is unknown.
    pub(super) fn made_by_scripts(&self) -> Option<BTreeSet<(&str, Digest)>> {
        let own = self.scripts.iter().filter(|script| script.is_of_path_package());
        own.map(|script| Some((script.directory()?, script.made?))).collect()
    }

    fn is_undamaged(&self) -> bool {
        let mut files =
            self.targets.iter().flat_map(|target| target.files.iter().chain(&target.made));
        files.all(InputFile::is_whole)
    }
}

impl Compilation {
    /// Opens the compilation in `home` if it is complete and undamaged.
    pub(super) fn open(home: &Path) -> Option<Self> {
        let record: CompilationRecord = Self::record(home)?;
        let is_undamaged = record.is_undamaged();
        let found = Self { home: home.to_owned(), record, fresh: false };
        let has_recipe = |target| found.recipe(target).is_ok();
        (is_undamaged && found.record.targets.iter().all(has_recipe)).then_some(found)
    }

    pub(super) fn complete(home: &Path, record: CompilationRecord) -> Result<Self> {
        files::write_json(&home.join(RECORD), &record)?;
        Ok(Self { home: home.to_owned(), record, fresh: true })
    }

    /// Makes the compilation in `home` an incomplete one, of which only dependencies can be reused.
    pub(super) fn discard(home: &Path) -> Result<()> {
        let [record, discarded] = [RECORD, DISCARDED].map(|name| home.join(name));
        let discard = || match fs::rename(record, &discarded) {
            // It was interrupted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::write(&discarded, ""),
            renamed => renamed,
        };
        discard().context(Exit::Build, || format!("cannot discard {}", home.display()))
    }

    pub(super) fn record(home: &Path) -> Option<CompilationRecord> {
        files::read_json(&home.join(RECORD))
    }

    pub(super) fn made_at(home: &Path) -> Option<SystemTime> {
        fs::metadata(home.join(RECORD)).and_then(|metadata| metadata.modified()).ok()
    }

    /// The recipe of a target, without the arguments that strip symbols.
    pub(super) fn recipe(&self, target: &CompiledTarget) -> Result<Recipe> {
        let mut recipe = Recipe::load(&self.recipe_home(target))?;
        recipe.keep_symbols();
        Ok(recipe)
    }

    pub(super) fn recipe_home(&self, target: &CompiledTarget) -> PathBuf {
        self.home.join("recipes").join(&target.recipe)
    }
}

/// The output of a build script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildScript {
    /// The id of its package in cargo's messages.
    pub package_id: String,
    /// The variables that it sets for its package.
    pub variables: Vec<(String, String)>,
    /// The directories of native libraries in the script's notation, with or without a kind.
    pub libraries: Vec<String>,
    /// The digest of what it printed for cargo and of the files in its directory, if it is of a path package.
    #[serde(default)]
    pub made: Option<Digest>,
}

/// What the machine that compiled knows about the compilations of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackedBuilds {
    /// The compilation of each version, by the version's identity.
    pub compilations: Vec<(String, String)>,
    /// The variables that cargo and rustc read there: names, with hashes of the values.
    pub environment: Vec<String>,
    /// The hash of cargo's configuration there.
    pub configs: Option<String>,
    /// The version of the GNU C library that their programs and the linker need.
    pub c_library: Option<CLibraryVersion>,
}

impl BuildScript {
    /// True if it is a script of the repository, or of another package that is given by a path.
    pub fn is_of_path_package(&self) -> bool {
        self.package_id.contains("path+file:")
    }

    /// The directory for its files, at the path that all versions share.
    pub(super) fn directory(&self) -> Option<&str> {
        self.variables.first().map(|(_, directory)| directory.as_str())
    }

    /// The same with the digest of what it has made. Its compilation must be the active one.
    pub(super) fn with_what_it_made(mut self) -> Self {
        if self.is_of_path_package() {
            self.made = self.directory().and_then(|directory| made_in(Path::new(directory)));
        }
        self
    }
}

/// The digest of the files below the directory of a build script, and of what it printed, which cargo keeps beside it.
fn made_in(directory: &Path) -> Option<Digest> {
    let printed = files::content_digest(&directory.with_file_name("output"))?;
    let mut all = printed.as_bytes().to_vec();
    for path in files::walk(directory)? {
        all.extend(path.as_os_str().as_encoded_bytes());
        all.extend(files::content_digest(&directory.join(path))?.as_bytes());
    }
    Some(Digest::compute(&all))
}
