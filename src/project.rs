//! The user's project: repository, workspace, target dir and configuration, found from where the
//! command was given.

use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

use crate::{
    build::{Site, Watch, Workshop, cache_directory, run_tool_or},
    console::Console,
    failure::{Exit, Failure, OrFail, Result},
    judge,
    model::{CompileSettings, Version},
    settings::BenchToml,
    source::{Checkouts, Repository},
    store::Store,
};

/// Where the user is.
pub struct Project {
    /// The git repository.
    pub repository: Repository,
    /// The directory of the workspace's `Cargo.toml`.
    pub workspace: PathBuf,
    /// The configuration file beside it.
    pub file: BenchToml,
    /// Where rbench keeps things.
    pub site: Site,
}

impl Project {
    /// What is said while another process writes to the store.
    pub const STORE_WAITS: &str = "waiting for another rbench that writes results";

    /// Finds the project at `manifest`, or at the current directory.
    pub fn find(manifest: Option<&Path>) -> Result<Self> {
        let here =
            std::env::current_dir().or_fail(Exit::Usage, || "cannot find the current directory")?;
        let directory =
            manifest.and_then(Path::parent).map_or(here.clone(), |parent| here.join(parent));
        let repository = Repository::discover(&directory)?;
        let (workspace, target) = workspace_and_target(&directory, manifest)?;
        let workspace = canonical(&workspace)?;
        if !workspace.starts_with(repository.root()) {
            return Err(Failure::new(
                Exit::Usage,
                format!(
                    "the workspace {} is not in the repository {}",
                    workspace.display(),
                    repository.root().display()
                ),
            )
            .hint("run rbench in a workspace that is part of a git repository"));
        }
        let cache = cache_directory(|name| std::env::var_os(name))?;
        let site = Site::new(&cache, &repository.identity()?, &target);
        let file = BenchToml::read(&workspace)?;
        Ok(Self { repository, workspace, file, site })
    }

    /// The file that keeps what was measured.
    pub fn store(&self) -> PathBuf {
        self.file.store(&self.workspace)
    }

    /// Works with what is stored. That there is no store is a failure that says how to fill it; none is
    /// made.
    pub fn with_stored<T>(
        &self,
        console: &Console,
        work: impl FnOnce(&Store<'_>) -> Result<T>,
    ) -> Result<T> {
        let path = self.store();
        if !path.exists() {
            return Err(judge::nothing_stored(&path, 0));
        }
        let waits = || console.line(Self::STORE_WAITS);
        work(&Store::open(&path, &waits)?)
    }

    /// The directory with the files of a version.
    pub fn checkout(&self, version: &Version, console: &Console) -> Result<PathBuf> {
        let checkouts = Checkouts::open(self.site.outside())?;
        let checkout = checkouts.checkout(&self.repository, version)?;
        for submodule in &checkout.absent_submodules {
            console.line(&format!(
                "warning: the submodule {} is not initialised; {version} is built without its files",
                submodule.display()
            ));
        }
        Ok(checkout.path)
    }

    /// The workshop in which this project's versions are built.
    pub fn workshop<'a>(
        &self,
        settings: CompileSettings,
        progress_columns: Option<u16>,
        watch: Watch<'a>,
    ) -> Workshop<'a> {
        let root = self.repository.root();
        Workshop {
            site: self.site.clone(),
            workspace: self.workspace.strip_prefix(root).unwrap_or(Path::new("")).to_owned(),
            settings,
            inherited: std::env::vars_os().collect(),
            users_workspace: self.workspace.clone(),
            configs: configs_above(root, self.site.outside()),
            progress_columns,
            watch,
        }
    }
}

/// Asks cargo for the workspace's directory and its target dir.
fn workspace_and_target(directory: &Path, manifest: Option<&Path>) -> Result<(PathBuf, PathBuf)> {
    let mut metadata = MetadataCommand::new();
    metadata.no_deps().current_dir(directory);
    if let Some(manifest) = manifest {
        metadata.current_dir(std::env::current_dir().unwrap_or_default()).manifest_path(manifest);
    }
    let what = || format!("cannot find a cargo workspace at {}", directory.display());
    let output = run_tool_or(&mut metadata.cargo_command(), Exit::Usage, what)?;
    let metadata = MetadataCommand::parse(String::from_utf8_lossy(&output.stdout))
        .or_fail(Exit::Usage, what)?;
    Ok((metadata.workspace_root.into(), metadata.target_directory.into()))
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().or_fail(Exit::Usage, || format!("cannot find {}", path.display()))
}

/// Cargo config files above the repository, farthest first. They belong to the user and hold for
/// every version, but cargo does not see them from a checkout elsewhere. The one in cargo's home
/// holds anywhere.
fn configs_above(root: &Path, outside: &Path) -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let default_home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let cargo_home = home.or(default_home);
    let mut configs: Vec<PathBuf> = root
        .ancestors()
        .skip(1)
        .filter(|directory| !outside.starts_with(directory))
        .map(|directory| directory.join(".cargo"))
        .filter(|directory| Some(directory) != cargo_home.as_ref())
        .filter_map(|directory| {
            ["config", "config.toml"]
                .iter()
                .map(|name| directory.join(name))
                .find(|path| path.is_file())
        })
        .collect();
    configs.reverse();
    configs
}
