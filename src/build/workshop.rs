//! The workshop: one repository's paths, settings and watcher, and the place cargo runs at.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use super::{
    cargo::Place, environment::Environment, event::Watch, files, gc, role, shim, site::Site,
    vendored, wrapper,
};
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    model::{CompileSettings, LayoutSeed, Version},
};

/// The name of cargo's lock file.
const LOCK: &str = "Cargo.lock";

/// Everything that stays the same while the versions of one repository are built.
pub struct Workshop<'a> {
    /// Where things live.
    pub site: Site,
    /// The workspace, relative to the top of the repository.
    pub workspace: PathBuf,
    /// What the user asks of the compiler.
    pub settings: CompileSettings,
    /// The user's environment.
    pub inherited: Vec<(OsString, OsString)>,
    /// The directory of the user's own workspace.
    pub users_workspace: PathBuf,
    /// Cargo config files above the repository, farthest first.
    pub configs: Vec<PathBuf>,
    /// The columns of the terminal that cargo's progress bar may use, if there is one.
    pub progress_columns: Option<u16>,
    /// Who watches.
    pub watch: Watch<'a>,
}

/// The files of a version.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The version.
    pub version: &'a Version,
    /// The directory with its files.
    pub checkout: &'a Path,
}

impl Workshop<'_> {
    /// The place where `source` is built, once its compilation has been entered.
    pub fn place(&self, source: Source<'_>, salt: Option<LayoutSeed>) -> Result<Place> {
        let directory = source.checkout.join(&self.workspace);
        if !directory.join("Cargo.toml").is_file() {
            let what = format!(
                "{} has no {}",
                source.version,
                self.workspace.join("Cargo.toml").display()
            );
            return Err(Failure::new(Exit::Usage, what)
                .because("rbench builds the workspace of the current directory at every version")
                .hint("run rbench where that version had its workspace, or name a version that has this one"));
        }
        let mut environment = self.users_environment(source);
        self.stand_in(&mut environment, &directory)?;
        if let Some(salt) = salt {
            environment.set(wrapper::SALT_VARIABLE, salt.to_string());
        }
        Ok(Place {
            program: self.cargo(),
            directory,
            manifest: self.site.at_source().join(&self.workspace).join("Cargo.toml"),
            target_dir: self.site.at_target(),
            configs: self.configs.clone(),
            overrides: vendored::overrides(
                source.checkout,
                &self.workspace,
                &self.site.at_source(),
            ),
            environment,
        })
    }

    /// The user's environment for this version, with nothing of rbench in it yet.
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
        Environment::of_user(self.inherited.iter().cloned(), has_toolchain_file)
    }

    /// The user's variables that decide what cargo and rustc make, as `NAME=value`.
    pub fn identifying_environment(&self) -> Vec<String> {
        let environment = Environment::of_user(self.inherited.iter().cloned(), false);
        let text = |(name, value): (&OsStr, &OsStr)| {
            format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
        };
        environment.identifying().map(text).collect()
    }

    /// Makes cargo call rbench as the wrapper of rustc, and turns off what would make builds differ.
    fn stand_in(&self, environment: &mut Environment, directory: &Path) -> Result<()> {
        let bin = self.site.bin();
        role::install_wrapper(&bin)?;
        let path = environment.get("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(std::iter::once(bin.clone()).chain(std::env::split_paths(path)))
                .or_fail(Exit::Build, || format!("cannot put {} on the PATH", bin.display()))?;
        environment.set("PATH", path);
        if let Some(users) = users_wrapper(environment, directory) {
            environment.set(wrapper::USERS_WRAPPER_VARIABLE, users);
        }
        environment.set("RUSTC_WORKSPACE_WRAPPER", role::WRAPPER);
        environment.set(wrapper::BIN_VARIABLE, bin);
        environment.set(shim::RECIPES_VARIABLE, self.site.at().join("recipes"));
        environment.set("CARGO_INCREMENTAL", "0");
        if let Some(columns) = self.progress_columns {
            environment.set("CARGO_TERM_COLOR", "always");
            environment.set("CARGO_TERM_PROGRESS_WHEN", "always");
            environment.set("CARGO_TERM_PROGRESS_WIDTH", columns.to_string());
        }
        Ok(())
    }

    /// The cargo to run. Under rustup the name is enough: its proxy then chooses the toolchain for
    /// the version. Otherwise it is the cargo that this program was started by.
    fn cargo(&self) -> OsString {
        let variable = |wanted: &str| self.inherited.iter().find(|(name, _)| name == wanted);
        match (variable("CARGO"), variable("RUSTUP_TOOLCHAIN")) {
            (Some((_, cargo)), None) => cargo.clone(),
            _ => "cargo".into(),
        }
    }

    /// Gives a checkout whose version has no lock file one, the same for all versions: the user's
    /// own, which git ignores, else the one that was resolved here first. Returns whether it did.
    pub fn provide_lock(&self, source: Source<'_>) -> Result<bool> {
        let lock = source.checkout.join(&self.workspace).join(LOCK);
        let added = source.checkout.with_extension("lock-added");
        if lock.exists() && !added.exists() {
            return Ok(false);
        }
        let what = || format!("cannot give {} a {LOCK}", source.version);
        fs::write(&added, "").or_fail(Exit::Build, what)?;
        let remembered = self.site.resolved_lock();
        if remembered.is_file() {
            gc::mark_used(&remembered);
        }
        let known = [self.users_workspace.join(LOCK), remembered];
        match known.iter().find(|path| path.is_file()) {
            Some(known) => fs::copy(known, &lock).map(drop).or_fail(Exit::Build, what)?,
            None if lock.exists() => fs::remove_file(&lock).or_fail(Exit::Build, what)?,
            None => {}
        }
        Ok(true)
    }

    /// Remembers the lock file that cargo resolved for a version without one, for the next version.
    pub fn remember_lock(&self, source: Source<'_>) -> Result<()> {
        let remembered = self.site.resolved_lock();
        if remembered.exists() {
            return Ok(());
        }
        let lock = source.checkout.join(&self.workspace).join(LOCK);
        match fs::read(&lock) {
            Ok(contents) => files::write_whole(&remembered, &contents),
            Err(_) => Ok(()),
        }
    }
}

/// The workspace wrapper that cargo would run without us, from the environment or a config file.
fn users_wrapper(environment: &Environment, directory: &Path) -> Option<OsString> {
    let given = environment.get("RUSTC_WORKSPACE_WRAPPER").map(OsString::from);
    let configured = || {
        let config = cargo_config2::Config::load_with_cwd(directory).ok()?;
        config.build.rustc_workspace_wrapper.map(OsString::from)
    };
    given.or_else(configured).filter(|wrapper| !wrapper.is_empty())
}
