//! The build environment of one repository: its paths, settings and observer, the environment and arguments for cargo,
//! and the libraries that are preloaded into benchmarks and compiled once per compiler.
//! Builds print nothing: an observer of their events decides about output.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use super::{
    cache_dirs::{CacheDirs, CacheLock},
    cargo::CargoContext,
    clean::{self, Pruned},
    compilation::PackedBuilds,
    config::{self, ConfigFiles},
    discovery::KnownMetadata,
    environment::{Environment, TOOLCHAIN},
    files::{self, UNFINISHED},
    key::KeyMaker,
    tool, wrapper,
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::{
        BenchTarget, CompileSettings, LayoutSeed, Variant, Version, variables::is_of_outer_build,
    },
    process::{
        self,
        counting::{COUNTING_LIBRARY_SOURCE, allocations},
        interleaving::{LIBRARY_FLAGS, LIBRARY_SOURCE},
        sandbox::Task,
    },
    shell,
};

/// Everything that stays the same while the versions of one repository are built.
pub struct BuildEnv<'a> {
    pub cache_dirs: CacheDirs,
    /// The lock that keeps other rbench processes out of these directories.
    pub lock: CacheLock,
    /// The workspace, relative to the top of the repository.
    pub workspace: PathBuf,
    pub settings: CompileSettings,
    pub variants: Vec<(Variant, CompileSettings)>,
    /// The environment variables of the user.
    pub inherited: Vec<(OsString, OsString)>,
    /// The directory of the user's own workspace.
    pub users_workspace: PathBuf,
    /// Cargo's config files outside of the repository.
    pub configs: ConfigFiles,
    /// The columns of the terminal that cargo's progress bar may use, if there is one.
    pub progress_columns: Option<u16>,
    pub files: &'a dyn VersionFiles,
    pub observer: &'a dyn Observer,
    /// The answers of cargo and rustc, if all compilations come from a pack.
    pub packed: Option<PackedBuilds>,
    /// The answers of cargo about the workspaces of versions so far.
    pub metadata: KnownMetadata,
}

pub trait VersionFiles {
    /// Writes the files of a version again unless its checkout is exactly as it was written. Returns the files that
    /// had been changed; `None` if nothing was written.
    fn restore(&self, version: &Version) -> Result<Option<Vec<String>>>;
}

#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub version: &'a Version,
    pub checkout: &'a Path,
    /// Submodules whose files are missing there.
    pub absent_submodules: &'a [PathBuf],
}

impl BuildEnv<'_> {
    pub fn settings_of(&self, version: &Version) -> &CompileSettings {
        let wanted = version.variant.as_ref();
        let of_variant = self.variants.iter().find(|(variant, _)| Some(variant) == wanted);
        of_variant.map_or(&self.settings, |(_, settings)| settings)
    }

    /// Makes the set-ups of benchmarks hold the lock until they have ended, even if this process is killed.
    pub fn share_lock_with_setups(&self) -> Result<()> {
        let lock = self.lock.share();
        let lock = lock.context(Exit::Build, || "cannot share the lock of the cache")?;
        process::share_lock_with_setups(Some(lock));
        Ok(())
    }

    /// Refuses a variant that cannot be built here.
    fn check_variant(&self, version: &Version) -> Result<()> {
        let Some(variant) = &version.variant else { return Ok(()) };
        let what = || format!("cannot build {version}");
        if self.variants.iter().all(|(known, _)| known != variant) {
            return Err(Error::new(Exit::Usage, what())
                .cause(format!("bench.toml does not have its settings: {}", variant.settings)));
        }
        let CompileSettings { toolchain, environment, .. } = self.settings_of(version);
        if let Some(name) = environment.keys().find(|name| is_of_outer_build(name)) {
            return Err(Error::new(Exit::Usage, what())
                .cause(format!("rbench sets the variable {name} itself"))
                .hint(format!("remove it from [variant.{}] in bench.toml", variant.name)));
        }
        match toolchain.as_deref().map(Toolchain::new) {
            // Without rustup, nothing would read the variable that selects the toolchain.
            Some(Toolchain::Named(name)) => {
                let mut rustup = Command::new("rustup");
                rustup.args(["which", "--toolchain", name, "rustc"]);
                rustup.env("RUSTUP_AUTO_INSTALL", "0").env_remove("RUST_BACKTRACE");
                tool::run_or(&mut rustup, Exit::Usage, what).map(drop)
            }
            Some(Toolchain::Directory(directory)) if !directory.join("bin/rustc").is_file() => {
                Err(Error::new(Exit::Usage, what())
                    .cause(format!("{} has no bin/rustc", directory.display())))
            }
            _ => Ok(()),
        }
    }

    /// The context in which cargo runs for `source`, whose compilation must be the active one.
    pub fn cargo_context(
        &self,
        source: Source<'_>,
        salt: Option<LayoutSeed>,
    ) -> Result<CargoContext> {
        if self.packed.is_some() {
            return Err(tool::cannot_compile(&source.version.to_string()));
        }
        self.check_variant(source.version)?;
        let directory = source.checkout.join(&self.workspace);
        if !directory.join("Cargo.toml").is_file() {
            let what = format!(
                "{} has no {}",
                source.version,
                self.workspace.join("Cargo.toml").display()
            );
            return Err(Error::new(Exit::Usage, what)
                .cause("rbench builds the workspace of the current directory at every version")
                .hint("run rbench where that version had its workspace, or name a version that has this one"));
        }
        let mut environment = self.users_environment(source);
        let rustc = self.configs.program("rustc", &environment, &directory);
        self.use_wrapper(&mut environment, &directory)?;
        if let Some(salt) = salt {
            environment.set(wrapper::SALT_VARIABLE, salt.to_string());
        }
        let (checkout, workspace) = (source.checkout, &self.workspace);
        let mut overrides = self.configs.own_settings(checkout, workspace);
        overrides.extend(config::relative_paths(
            checkout,
            workspace,
            &self.cache_dirs.source_path(),
        ));
        overrides.extend(self.configs.own_build_dir(&self.cache_dirs.target_path()));
        let CompileSettings { toolchain, rustflags, cargo_args, .. } =
            self.settings_of(source.version);
        overrides.extend(self.configs.add_rustflags(
            rustflags,
            &mut environment,
            &directory,
            cargo_args,
        ));
        Ok(CargoContext {
            program: match toolchain.as_deref().map(Toolchain::new) {
                None => self.cargo(),
                Some(Toolchain::Named(_)) => "cargo".into(),
                Some(Toolchain::Directory(directory)) => directory.join("bin/cargo").into(),
            },
            rustc: rustc.unwrap_or("rustc".into()),
            directory,
            manifest: self.cache_dirs.source_path().join(&self.workspace).join("Cargo.toml"),
            target_dir: self.cache_dirs.target_path(),
            configs: self.configs.above.clone(),
            overrides,
            environment,
        })
    }

    /// Removes cache entries beyond the [default limits](clean::Limits), except those used after `since`.
    pub fn prune(&self, since: SystemTime) {
        if self.packed.is_some() {
            // The next pack replaces all of it.
            return;
        }
        let limits = clean::Limits::default();
        match clean::prune(&self.cache_dirs, limits, since) {
            Ok(Pruned { entries: 0, left, .. }) => self.tell_size(left, limits),
            Ok(Pruned { entries, size, .. }) => self.note(&format!(
                "removed {entries} {} of the cache ({} MiB), the least recently used",
                if entries == 1 { "entry" } else { "entries" },
                size >> 20
            )),
            Err(failure) => self.warn(&failure.to_string()),
        }
    }

    /// Says once how large the cache of this project has become, if it is large.
    fn tell_size(&self, size: u64, limits: clean::Limits) {
        /// Of a project with a few dependencies, two compiled versions have less.
        const LARGE: u64 = 1 << 30;
        let told = self.cache_dirs.storage().join("size-told");
        if size < LARGE || told.exists() || fs::write(&told, "").is_err() {
            return;
        }
        let gib = |size: u64| format!("{:.1} GiB", size as f64 / f64::from(1 << 30));
        self.note(&format!(
            "what rbench has compiled takes {} in {}, and at most {}; `{} rbench clean` removes it",
            gib(size),
            self.cache_dirs.storage().display(),
            gib(limits.size),
            shell::cargo()
        ));
    }

    pub(super) fn note(&self, text: &str) {
        self.observer.build_event(&Event::Note(text));
    }

    pub(super) fn warn(&self, text: &str) {
        self.observer.build_event(&Event::Warning(text));
    }

    /// The user's environment for this version, before rbench adds anything to it.
    pub fn users_environment(&self, source: Source<'_>) -> Environment {
        let has_toolchain_file = source
            .checkout
            .join(&self.workspace)
            .ancestors()
            .take_while(|directory| directory.starts_with(source.checkout))
            .any(|directory| {
                ["rust-toolchain.toml", "rust-toolchain"]
                    .iter()
                    .any(|name| directory.join(name).is_file())
            });
        let mut environment =
            Environment::from_user(self.inherited.iter().cloned(), has_toolchain_file);
        let settings = self.settings_of(source.version);
        match settings.toolchain.as_deref().map(Toolchain::new) {
            None => {}
            Some(Toolchain::Named(name)) => {
                environment.remove("RUSTC");
                environment.set(TOOLCHAIN, name);
            }
            Some(Toolchain::Directory(directory)) => {
                environment.set("RUSTC", directory.join("bin/rustc"));
            }
        }
        for (name, value) in &settings.environment {
            environment.set(name, value);
        }
        environment
    }

    /// The names and hashes of the user's variables that change the output of cargo and rustc.
    pub(super) fn users_identifying_environment(&self) -> Vec<String> {
        Environment::from_user(self.inherited.iter().cloned(), false).identity()
    }

    /// Makes cargo run rbench as the wrapper of rustc, and turns off settings that would make builds differ.
    fn use_wrapper(&self, environment: &mut Environment, directory: &Path) -> Result<()> {
        let bin = self.cache_dirs.bin();
        wrapper::install_wrapper(&bin)?;
        let path = environment.get("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(std::iter::once(bin.clone()).chain(std::env::split_paths(path)))
                .context(Exit::Build, || format!("cannot put {} on the PATH", bin.display()))?;
        environment.set("PATH", path);
        let users = self.configs.program("rustc-workspace-wrapper", environment, directory);
        if let Some(users) = users {
            environment.set(wrapper::USERS_WRAPPER_VARIABLE, users);
        }
        environment.set("RUSTC_WORKSPACE_WRAPPER", wrapper::WRAPPER);
        environment.set(wrapper::HOME_VARIABLE, self.cache_dirs.build_path());
        environment.set(wrapper::RECIPES_VARIABLE, self.cache_dirs.build_path().join("recipes"));
        environment.set("TMPDIR", self.cache_dirs.temporary());
        environment.set("CARGO_INCREMENTAL", "0");
        // A configured directory would be shared by all versions, whose sources are at one path.
        environment.set("CARGO_BUILD_BUILD_DIR", self.cache_dirs.target_path());
        if let Some(columns) = self.progress_columns {
            let plain = anstream::ColorChoice::global() == anstream::ColorChoice::Never;
            environment.set("CARGO_TERM_COLOR", if plain { "never" } else { "always" });
            environment.set("CARGO_TERM_PROGRESS_WHEN", "always");
            environment.set("CARGO_TERM_PROGRESS_WIDTH", columns.to_string());
        }
        Ok(())
    }

    /// The cargo to run. Under rustup this is the bare name: its proxy then chooses the toolchain of the version.
    /// Otherwise it is the cargo that started this program.
    fn cargo(&self) -> OsString {
        let variable = |name: &str| self.inherited.iter().find(|(other, _)| other == name);
        match (variable("CARGO"), variable("RUSTUP_TOOLCHAIN")) {
            (Some((_, cargo)), None) => cargo.clone(),
            _ => "cargo".into(),
        }
    }
}

enum Toolchain<'s> {
    /// A name that rustup knows.
    Named(&'s str),
    /// A directory with `bin/cargo` and `bin/rustc`.
    Directory(&'s Path),
}

impl<'s> Toolchain<'s> {
    fn new(text: &'s str) -> Self {
        if text.contains('/') { Self::Directory(Path::new(text)) } else { Self::Named(text) }
    }
}

impl BuildEnv<'_> {
    /// The library that lets two processes run interleaved, compiled by the compiler of a version; `rustc` is the
    /// output of `rustc -vV`.
    pub fn interleaving_library(&self, source: Source<'_>, rustc: &str) -> Result<PathBuf> {
        self.library(source, rustc, "interleaving", LIBRARY_SOURCE)
    }

    /// The library that counts events instead of measuring time.
    pub fn counting_library(&self, source: Source<'_>, rustc: &str) -> Result<PathBuf> {
        self.library(source, rustc, "counting", COUNTING_LIBRARY_SOURCE)
    }

    pub fn allocations_library(&self, source: Source<'_>, rustc: &str) -> Result<PathBuf> {
        self.library(source, rustc, "allocations", allocations::LIBRARY_SOURCE)
    }

    fn library(
        &self,
        source: Source<'_>,
        rustc: &str,
        purpose: &str,
        text: &str,
    ) -> Result<PathBuf> {
        let key = KeyMaker::new(&format!("{purpose} v1"))
            .add("rustc", rustc.as_bytes())
            .add("flags", LIBRARY_FLAGS.as_bytes())
            .add("source", text.as_bytes())
            .key();
        let libraries = self.cache_dirs.preloaded_libraries();
        let library = libraries.join(format!("{key}.so"));
        if library.exists() {
            return Ok(library);
        }
        let what = || format!("cannot compile the library for {purpose}");
        files::create_directory(&libraries)?;
        let source_file = library.with_extension("rs");
        files::write_whole(&source_file, text.as_bytes())?;
        // Where the compiler of a version may write.
        let unfinished = self.cache_dirs.temporary().join(format!("{UNFINISHED}{key}"));
        let context = self.cargo_context(source, None)?;
        let mut command = Command::new(&context.rustc);
        command
            .current_dir(&context.directory)
            .env_clear()
            .envs(context.environment.variables())
            .args(LIBRARY_FLAGS.split(' '))
            .arg("-o")
            .args([&unfinished, &source_file]);
        tool::run(&mut command, Task::Run, what)?;
        fs::rename(&unfinished, &library).context(Exit::Build, what)?;
        Ok(library)
    }
}

/// An event. Only the observer prints.
#[derive(Debug)]
pub enum Event<'a> {
    Compiling {
        /// The version, as the user named it, with the bench targets if they are named.
        version: &'a str,
        /// The purpose of the compilation; empty for the first of a version.
        purpose: &'a str,
    },
    /// The compilation is still running after a while.
    StillCompiling {
        version: &'a str,
        since: Duration,
    },
    /// Raw output of cargo for the user, with colours and progress bar.
    CargoOutput(&'a [u8]),
    /// The compilation is finished, or was cached.
    Compiled {
        /// The same as when it started.
        version: &'a str,
        purpose: &'a str,
        /// Its duration; `None` if it was cached.
        took: Option<Duration>,
    },
    /// Both versions were compiled again, to measure the time of it.
    CompiledAgain {
        /// The number of finished pairs of compilations.
        done: usize,
        /// The number of pairs until the next analysis.
        of: usize,
    },
    /// The links of a bench target start, or another one is finished.
    Linked {
        target: &'a BenchTarget,
        version: &'a str,
        /// The number of finished links.
        done: usize,
        of: usize,
    },
    /// Another rbench process of this repository holds the lock at this path; this one waits for it.
    Locked(&'a Path),
    Note(&'a str),
    /// A problem because of which the result differs from the request.
    Warning(&'a str),
}

/// Receives the events of builds. Called from several threads.
pub trait Observer: Sync {
    fn build_event(&self, event: &Event<'_>);

    /// The columns of a terminal that cargo's progress bar may use, if there is one.
    fn progress_columns(&self) -> Option<u16> {
        None
    }
}

impl Observer for () {
    fn build_event(&self, _: &Event<'_>) {}
}
