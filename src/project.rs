//! The user's project: repository, workspace, target dir and configuration, found from the current
//! directory.

use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand, Package, Target};

use crate::{
    build::{Event, Observer, Site, SiteLock, Workshop, cache_directory, run_tool_or},
    failure::{Exit, Failure, OrFail, Result},
    judge,
    model::{BenchTarget, CompileSettings, Version},
    settings::BenchToml,
    source::{Checkouts, Repository, UNCOMMITTED},
    store::{self, Store},
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
    /// The manifest of the workspace, if it was given.
    pub manifest: Option<PathBuf>,
    /// The bench targets of the working tree.
    bench_targets: Vec<BenchTarget>,
}

impl Project {
    /// Finds the project at `manifest`, or at the current directory.
    pub fn find(manifest: Option<&Path>) -> Result<Self> {
        let here =
            std::env::current_dir().or_fail(Exit::Usage, || "cannot find the current directory")?;
        let directory =
            manifest.and_then(Path::parent).map_or(here.clone(), |parent| here.join(parent));
        let repository = Repository::discover(&directory)?;
        repository.require_working_tree()?;
        let metadata = workspace_metadata(&directory, manifest)?;
        let workspace = canonical(metadata.workspace_root.as_std_path())?;
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
        let site =
            Site::new(&cache, &repository.identity()?, metadata.target_directory.as_std_path());
        let file = BenchToml::read(&workspace)?;
        let bench_targets = bench_targets(&metadata);
        let manifest = manifest.map(Path::to_owned);
        Ok(Self { repository, workspace, file, site, manifest, bench_targets })
    }

    /// Checks that the configuration file is about bench targets of the working tree, for a command about
    /// these revisions: other versions may have had others, so for them what is unknown is only a warning.
    pub fn check_tables<R: AsRef<str>>(
        &self,
        revisions: &[R],
        observer: &dyn Observer,
    ) -> Result<()> {
        let Some(unknown) = self.file.unknown_target(&self.bench_targets) else { return Ok(()) };
        if revisions.iter().all(|revision| revision.as_ref() == UNCOMMITTED) {
            return Err(unknown);
        }
        observer.build_event(&Event::Warning(unknown.what()));
        Ok(())
    }

    /// The file that keeps what was measured.
    pub fn store(&self) -> PathBuf {
        self.file.store(&self.workspace)
    }

    /// What is stored. That there is no store is a failure that says how to fill it; none is made.
    pub fn stored<'a>(&self, observer: &'a dyn store::Observer) -> Result<Store<'a>> {
        let path = self.store();
        if !path.exists() {
            return Err(judge::nothing_stored(&path, 0));
        }
        Store::open(&path, observer)
    }

    /// The directory with the files of a version.
    pub fn checkout(&self, version: &Version, observer: &dyn Observer) -> Result<PathBuf> {
        let checkouts = Checkouts::open(self.site.outside())?;
        let checkout = checkouts.checkout(&self.repository, version)?;
        for submodule in &checkout.absent_submodules {
            observer.build_event(&Event::Warning(&format!(
                "the submodule {} is not initialised; {version} is built without its files",
                submodule.display()
            )));
        }
        Ok(checkout.path)
    }

    /// Keeps other rbench processes from building and measuring here, after waiting for them.
    pub fn lock(&self, observer: &dyn Observer) -> Result<SiteLock> {
        self.site.lock(|path| observer.build_event(&Event::Locked(path)))
    }

    /// The workshop in which this project's versions are built. While it lives, no other rbench process
    /// builds or measures here.
    pub fn workshop<'a>(
        &self,
        settings: CompileSettings,
        observer: &'a dyn Observer,
    ) -> Result<Workshop<'a>> {
        let root = self.repository.root();
        Ok(Workshop {
            site: self.site.clone(),
            lock: self.lock(observer)?,
            workspace: self.workspace.strip_prefix(root).unwrap_or(Path::new("")).to_owned(),
            settings,
            inherited: std::env::vars_os().collect(),
            users_workspace: self.workspace.clone(),
            configs: configs_above(root, self.site.outside()),
            progress_columns: observer.progress_columns(),
            observer,
        })
    }
}

/// Asks cargo for the workspace's packages, directory and target dir.
fn workspace_metadata(directory: &Path, manifest: Option<&Path>) -> Result<Metadata> {
    let mut metadata = MetadataCommand::new();
    metadata.no_deps().current_dir(directory);
    if let Some(manifest) = manifest {
        metadata.current_dir(std::env::current_dir().unwrap_or_default()).manifest_path(manifest);
    }
    let what = || format!("cannot find a cargo workspace at {}", directory.display());
    let output = run_tool_or(&mut metadata.cargo_command(), Exit::Usage, what)?;
    MetadataCommand::parse(String::from_utf8_lossy(&output.stdout)).or_fail(Exit::Usage, what)
}

/// The bench targets of the working tree.
fn bench_targets(metadata: &Metadata) -> Vec<BenchTarget> {
    let of_package = |package: &Package| {
        let benches = package.targets.iter().filter(|target| target.is_bench());
        let package = package.name.to_string();
        let named =
            |target: &Target| BenchTarget { package: package.clone(), target: target.name.clone() };
        benches.map(named).collect::<Vec<_>>()
    };
    metadata.packages.iter().flat_map(of_package).collect()
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
