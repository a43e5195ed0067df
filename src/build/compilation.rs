//! A compilation: one run of cargo for a checkout, in a target dir of its own, with the link recipe
//! of each bench target.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{
    cargo::{self, Place},
    discovery::{Discovered, Workspace},
    donor,
    event::Event,
    files, gc,
    inputs::{self, InputFile},
    key::KeyMaker,
    recipe::Recipe,
    run_cargo::{self, Messages},
    toolchain::Toolchain,
    workshop::{Source, Workshop},
};
use crate::{
    code::Digest,
    failure::{Exit, Failure, Result},
    model::{BenchTarget, LayoutSeed, TargetFilter},
};

/// The description of a complete compilation; written last.
const RECORD: &str = "compilation.json";

/// Which of a version's compilations is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// 0 for the one that everything else relinks.
    pub index: u32,
    /// A salt for symbol hashes, where that is the only way to make builds differ.
    pub salt: Option<LayoutSeed>,
}

/// A complete compilation.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// Its directory.
    pub home: PathBuf,
    /// What is known of it.
    pub record: Record,
    /// Whether it was compiled just now.
    pub fresh: bool,
}

/// What is stored about a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The hash of everything but the version: compilations of one family can share dependencies.
    pub family: String,
    /// The hash of toolchain, lock file, profile and settings.
    pub reproducibility: String,
    /// All of `rustc -vV`.
    pub rustc: String,
    /// The toolchain's directory.
    pub sysroot: PathBuf,
    /// How long cargo ran, in milliseconds.
    pub milliseconds: u64,
    /// The bench targets.
    pub targets: Vec<CompiledTarget>,
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
}

impl Record {
    /// How long cargo ran.
    pub fn took(&self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }
}

impl Compilation {
    /// The compilation kept in `home`, if it is complete and undamaged.
    fn open(home: &Path) -> Option<Self> {
        let record: Record = files::read_json(&home.join(RECORD))?;
        let whole = record.targets.iter().flat_map(|target| &target.files).all(InputFile::is_whole);
        whole.then(|| Self { home: home.to_owned(), record, fresh: false })
    }

    /// The recipe of one of its targets.
    pub fn recipe(&self, target: &CompiledTarget) -> Result<Recipe> {
        Recipe::load(&self.recipe_home(target))
    }

    /// The directory of a recipe.
    pub fn recipe_home(&self, target: &CompiledTarget) -> PathBuf {
        self.home.join("recipes").join(&target.recipe)
    }
}

impl Workshop<'_> {
    /// Compiles the bench targets of a version, or finds them compiled from before.
    pub fn compile(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
        instance: Instance,
    ) -> Result<Compilation> {
        let place = self.place(source, instance.salt)?;
        let toolchain = Toolchain::at(&place)?;
        let lock_provided = self.provide_lock(source)?;
        let family = self.family(source, &toolchain);
        let key = compilation_key(&family, source, filter, instance);
        let home = self.site.compilation(&key);
        if let Some(found) = Compilation::open(&home) {
            self.enter(&found.home)?;
            gc::mark_used(&found.home);
            (self.watch)(Event::Compiled { version: &source.version.to_string(), took: None });
            return Ok(found);
        }
        files::remove_directory(&home)?;
        files::create_directory(&home.join("target"))?;
        files::point(&home.join("src"), source.checkout)?;
        self.enter(&home)?;
        let job = Job { source, place: &place, home: &home, log: self.site.log(&key) };
        let found = self.discover_and_compile(&job, filter, instance, family, toolchain)?;
        if lock_provided {
            self.remember_lock(source)?;
        }
        Ok(found)
    }

    /// As [`compile`](Self::compile), for executables that are run as cargo made them, with what
    /// cargo knows of their packages.
    pub fn compile_for_running(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
    ) -> Result<(Compilation, Workspace)> {
        let compilation = self.compile(source, filter, Instance::default())?;
        let place = self.place(source, None)?;
        let workspace = Workspace::at(&place, &self.settings, &source.version.to_string())?;
        Ok((compilation, workspace))
    }

    /// Makes the one path lead to this compilation. What is linked or executed is always of the
    /// compilation entered last.
    pub fn enter(&self, home: &Path) -> Result<()> {
        files::point(&self.site.at(), home)
    }

    fn discover_and_compile(
        &self,
        job: &Job<'_>,
        filter: &TargetFilter,
        instance: Instance,
        family: String,
        toolchain: Toolchain,
    ) -> Result<Compilation> {
        let version = job.source.version.to_string();
        let workspace = Workspace::at(job.place, &self.settings, &version)?;
        // Now there is a lock file, also where the version has none.
        let reproducibility = reproducibility_key(&family, job.place);
        let discovered = workspace.bench_targets(filter, &version)?;
        (self.watch)(Event::Compiling { version: &version, purpose: instance.purpose() });
        if instance == Instance::default() {
            donor::seed(self, job.place, job.home, &family, &workspace)?;
        }
        let start = Instant::now();
        let messages = self.run_cargo(job, &discovered)?;
        let took = start.elapsed();
        (self.watch)(Event::Compiled { version: &version, took: Some(took) });

        let targets = discovered
            .into_iter()
            .map(|found| self.compiled(job, found, &messages, &toolchain))
            .collect::<Result<_>>()?;
        let record = Record {
            family,
            reproducibility,
            rustc: toolchain.version,
            sysroot: toolchain.sysroot,
            milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            targets,
        };
        files::write_json(&job.home.join(RECORD), &record)?;
        Ok(Compilation { home: job.home.to_owned(), record, fresh: true })
    }

    fn run_cargo(&self, job: &Job<'_>, discovered: &[Discovered]) -> Result<Messages> {
        let targets: Vec<BenchTarget> =
            discovered.iter().map(|found| found.target.clone()).collect();
        let version = job.source.version;
        let what = |failed: &[String]| match failed {
            [] => format!("cannot compile the bench targets of {version}"),
            failed => format!("cannot compile {} of {version}", failed.join(", ")),
        };
        let commit = version.commit.as_deref().filter(|_| !version.dirty);
        let hint = match commit {
            Some(commit) => format!(
                "reproduce with: {}",
                cargo::reproduction(
                    &commit[..commit.len().min(12)],
                    &self.workspace,
                    &self.settings,
                    &targets
                )
            ),
            None => "reproduce with `cargo bench --no-run` in the working tree".to_owned(),
        };
        let command = job.place.command(&cargo::bench(job.place, &self.settings, &targets));
        run_cargo::compile(command, &job.log, self.watch, what, &hint)
    }

    /// What one bench target came to.
    fn compiled(
        &self,
        job: &Job<'_>,
        found: Discovered,
        messages: &Messages,
        toolchain: &Toolchain,
    ) -> Result<CompiledTarget> {
        let version = job.source.version;
        let what = || format!("cannot use bench target `{}` of {version}", found.target);
        let made = messages
            .executables
            .iter()
            .find(|made| made.package == found.package_id && made.target == found.target.target)
            .ok_or_else(|| {
                Failure::new(Exit::Build, what())
                    .because("cargo compiled without an error, yet made no executable for it")
                    .hint("look whether its required-features are on")
            })?;
        let recipe_name = made.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let recipe_home = job.home.join("recipes").join(&recipe_name);
        let recipe = Recipe::load(&recipe_home).map_err(|failure| {
            Failure::new(Exit::Build, what())
                .because("rustc linked it without asking the linker that rbench gave it")
                .because(failure.to_string())
        })?;
        let (inputs, input_files) =
            inputs::digest(&recipe, &self.site.at(), job.home, &toolchain.sysroot)?;
        Ok(CompiledTarget {
            target: found.target,
            package_id: found.package_id,
            package_root: found.package_root,
            executable: made.path.clone(),
            recipe: recipe_name,
            inputs,
            files: input_files,
        })
    }

    fn family(&self, source: Source<'_>, toolchain: &Toolchain) -> String {
        let mut maker = KeyMaker::new("compilation v1");
        maker.add("rustc", toolchain.version.as_bytes());
        maker.add("settings", format!("{:?}", self.settings).as_bytes());
        maker.add_path("workspace", &self.workspace);
        maker.add_path("at", &self.site.at());
        for (name, value) in self.users_environment(source).identifying() {
            maker.add(&name.to_string_lossy(), value.as_encoded_bytes());
        }
        for config in &self.configs {
            maker.add_file("config", config);
        }
        maker.key()
    }
}

/// One compilation while it is made.
struct Job<'a> {
    source: Source<'a>,
    place: &'a Place,
    home: &'a Path,
    log: PathBuf,
}

impl Instance {
    const fn purpose(self) -> &'static str {
        match self {
            Self { index: 0, salt: None } => "for all its builds",
            Self { salt: None, .. } => "once more",
            Self { salt: Some(_), .. } => "with salted symbol hashes",
        }
    }
}

fn compilation_key(
    family: &str,
    source: Source<'_>,
    filter: &TargetFilter,
    instance: Instance,
) -> String {
    let mut maker = KeyMaker::new("version v1");
    maker.add("family", family.as_bytes());
    maker.add("tree", source.version.tree.as_bytes());
    maker.add("filter", format!("{filter:?}").as_bytes());
    maker.add("instance", format!("{instance:?}").as_bytes());
    maker.key()
}

fn reproducibility_key(family: &str, place: &Place) -> String {
    let mut maker = KeyMaker::new("reproducibility v1");
    maker.add("family", family.as_bytes());
    maker.add_file("lock", &place.directory.join("Cargo.lock"));
    maker.key()
}

/// When a compilation was made, for the choice of a donor and for pruning.
pub fn made_at(home: &Path) -> Option<SystemTime> {
    fs::metadata(home.join(RECORD)).and_then(|metadata| metadata.modified()).ok()
}

/// The family of the complete compilation in `home`.
pub fn family_of(home: &Path) -> Option<String> {
    files::read_json::<Record>(&home.join(RECORD)).map(|record| record.family)
}
