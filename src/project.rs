//! The user's project: repository, workspace, target dir and configuration, found from the current
//! directory.

mod of_base;
mod pack;
mod packed;

use std::{
    cell::OnceCell,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cargo_metadata::{Metadata, MetadataCommand, Package, Target};

pub use of_base::BaseSettings;
pub use packed::{PackPlaces, PackedProject};

use crate::{
    builds::{
        BuildEnv, CacheDirs, CacheLock, ConfigFiles, Event, KnownMetadata, Observer, PARTS, Source,
        VersionFiles, cache_directory, files, is_default_member, run_confined_tool_or, run_tool_or,
    },
    config::{AcceptedToml, BenchToml},
    error::{Context, Error, Exit, Result},
    git::{Checkout, Checkouts, Repository, UNCOMMITTED},
    log,
    model::{BenchTarget, CompileSettings, Member, Members, TargetFilter, Version},
    process::{
        Permission, explained_by_refused, may_be_refused,
        sandbox::{self, Task},
    },
    secrets,
    shell::quoted,
    store::Store,
};

/// The project in which the user runs rbench.
pub struct Project {
    pub repository: Repository,
    /// The directory of the workspace's `Cargo.toml`.
    pub workspace: PathBuf,
    /// The configuration file beside it.
    pub file: BenchToml,
    /// The slowdowns that the base accepts, if its criteria decide.
    accepted: Option<AcceptedToml>,
    /// The manifest of the workspace or of one of its members, if it was given.
    pub manifest: Option<PathBuf>,
    /// The members of the workspace that cargo selects here.
    pub members: Members,
    /// The root source files of the bench targets in the working tree, by their paths in the
    /// repository.
    pub bench_roots: Vec<PathBuf>,
    bench_targets: Vec<BenchTarget>,
    /// The packages of the working tree by name, with true for those that cargo selects here.
    packages: Vec<(String, bool)>,
    /// The target dir, which contains the builds.
    target: PathBuf,
    /// The directories of rbench's files, found at the first use.
    cache_dirs: OnceCell<CacheDirs>,
    /// What its pack is about, if it comes from one.
    pub packed: Option<PackedProject>,
}

impl Project {
    /// Finds the project at `manifest`, or at the current directory.
    pub fn find(manifest: Option<&Path>, config: &[String]) -> Result<Self> {
        let here =
            std::env::current_dir().context(Exit::Usage, || "cannot find the current directory")?;
        let directory =
            manifest.and_then(Path::parent).map_or(here.clone(), |parent| here.join(parent));
        let repository = Repository::discover(&directory)?;
        repository.require_working_tree()?;
        secrets::add_passwords_in(&repository.access())?;
        let nearest = match manifest {
            Some(path) => here.join(path),
            None => nearest_manifest(&directory, &repository)?,
        };
        // In CI, a file of the working tree decides about nothing. Elsewhere, the workspace is at or above the package.
        let is_file = |above: &&Path| above.join(BenchToml::NAME).is_file();
        let mut above =
            directory.ancestors().take_while(|above| above.starts_with(repository.root()));
        let nearby = (!secrets::base_decides()).then(|| above.find(is_file)).flatten();
        let nearby = nearby.map_or_else(|| Ok(BenchToml::default()), BenchToml::read);
        let typed = nearby.unwrap_or_default().with(config)?;
        sandbox::add_places(|places, exceptions| {
            places.inspected = inspected(repository.root());
            *exceptions = typed.sandbox(places.home.as_deref());
        });
        let metadata = workspace_metadata(&directory, manifest)?;
        let workspace = canonical(metadata.workspace_root.as_std_path())?;
        if !workspace.starts_with(repository.root()) {
            return Err(Error::new(
                Exit::Usage,
                format!(
                    "the workspace {} is not in the repository {}",
                    workspace.display(),
                    repository.root().display()
                ),
            )
            .hint("run rbench in a workspace that is part of a git repository"));
        }
        let target = metadata.target_directory.as_std_path().to_owned();
        log::keep_in(&CacheDirs::run_logs(&target));
        let file = BenchToml::read(&workspace)?.with(config)?;
        if !secrets::base_decides() {
            secrets::pass(file.passed_names());
        }
        let repository = repository
            .leaving_out(own_files(&workspace, &file.store(&workspace)))
            .with_variants(file.variants());
        let bench_targets = bench_targets(&metadata);
        let bench_roots = bench_roots(&metadata, repository.root());
        let members = members(&metadata, &nearest);
        let packages = packages(&metadata);
        let manifest = manifest.map(Path::to_owned);
        let cache_dirs = OnceCell::new();
        Ok(Self {
            repository,
            workspace,
            file,
            accepted: None,
            manifest,
            members,
            bench_roots,
            bench_targets,
            packages,
            target,
            cache_dirs,
            packed: None,
        })
    }

    /// The directories of rbench's files. They are found at the first use, because their name
    /// requires the first commit of the repository, and commands that only read results do not need
    /// them.
    pub fn cache_dirs(&self) -> Result<&CacheDirs> {
        if let Some(known) = self.cache_dirs.get() {
            return Ok(known);
        }
        let cache = cache_directory(|name| std::env::var_os(name))?;
        let cache_dirs = self.cache_dirs_in(&cache, &self.target)?;
        Ok(self.cache_dirs.get_or_init(|| cache_dirs))
    }

    /// Uses this cache directory and this target dir for rbench's files from now on.
    pub fn keep_in(&mut self, cache: &Path, target: &Path) -> Result<()> {
        self.cache_dirs = self.cache_dirs_in(cache, target)?.into();
        Ok(())
    }

    fn cache_dirs_in(&self, cache: &Path, target: &Path) -> Result<CacheDirs> {
        Ok(CacheDirs::new(cache, &self.repository.identity()?, &self.workspace, target))
    }

    /// Checks that the configuration file names bench targets of the working tree. For a command on
    /// other revisions, an unknown target is only a warning: these versions may have had it.
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

    /// The selected packages, for settings: cargo unifies the features of dependencies over them. `None` if the working
    /// tree has the same packages without a selection.
    pub fn selected_packages(&self, targets: &TargetFilter) -> Result<Option<String>> {
        if let Some(packed) = &self.packed {
            return Ok(packed.packages.clone());
        }
        let TargetFilter { members, packages: named, excluded, programs, .. } = targets;
        if !programs.is_empty() {
            return Ok(None);
        }
        // At a member, cargo selects that member alone, and does not say what it selects in the workspace's directory.
        let of_workspace;
        let all = match self.members {
            Members::One(_) => {
                of_workspace = packages(&workspace_metadata(&self.workspace, None)?);
                &of_workspace
            }
            Members::Default | Members::All => &self.packages,
        };
        let is_selected = |(name, is_default): &(String, bool)| {
            let is_member = match members {
                Members::Default => *is_default,
                Members::All => true,
                Members::One(member) => *name == member.name,
            };
            is_member && (named.is_empty() || named.contains(name)) && !excluded.contains(name)
        };
        if all.iter().all(|one| is_selected(one) == one.1) {
            return Ok(None);
        }
        let sorted = |names: &[String]| {
            let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            names.into_iter().collect::<Vec<_>>().join(",")
        };
        let selected = match members {
            Members::One(member) => member.name.clone(),
            Members::Default => "default-members".to_owned(),
            Members::All if named.is_empty() => "workspace".to_owned(),
            Members::All => sorted(named),
        };
        Ok(Some(match excluded[..] {
            [] => selected,
            _ => format!("{selected} without {}", sorted(excluded)),
        }))
    }

    pub fn store(&self) -> PathBuf {
        match &self.packed {
            // The path in a pack's settings may lead anywhere.
            Some(packed) => packed.store(),
            None => self.file.store(&self.workspace),
        }
    }

    /// Checks a version out, and returns its files. Warns about submodules that are not
    /// initialised.
    pub fn checkout(&self, version: &Version, observer: &dyn Observer) -> Result<Checkout> {
        let checkouts = Checkouts::open(self.cache_dirs()?.outside())?;
        let checkout = match checkouts.checkout(&self.repository, version) {
            Err(error) => match self.repository.promisor() {
                Some(remote) => match self.fetch(version, &remote, observer) {
                    Ok(true) => checkouts.checkout(&self.repository, version)?,
                    // It failed for another reason, or offline.
                    Ok(false) | Err(_) => return Err(error),
                },
                None => return Err(error),
            },
            found => found?,
        };
        for submodule in &checkout.absent_submodules {
            observer.build_event(&Event::Warning(&format!(
                "the submodule {} is not initialised; {version} is built without its files",
                submodule.display()
            )));
        }
        Ok(checkout)
    }

    /// Fetches the files of a version that a partial clone lacks, as git itself does on demand: from the same remote,
    /// with the same arguments, but many in one request. False if it lacks none.
    fn fetch(&self, version: &Version, remote: &str, observer: &dyn Observer) -> Result<bool> {
        /// Enough for few requests, and few enough for a command line.
        const TOGETHER: usize = 2000;
        let what = || format!("cannot fetch the files of {version} from {remote}");
        let git = self.repository.git_program()?;
        let run = |mut command: Command| {
            run_tool_or(command.envs(secrets::withheld()), Exit::Build, what)
        };
        // Some partial clones lack directories too; git fetches them when it lists the files.
        run(git.command(&["ls-tree", "-r", "--name-only", &version.tree]))?;
        let missing = self.repository.missing_files(version)?;
        let count = missing.len();
        if count == 0 {
            return Ok(false);
        }
        let files = if count == 1 { "file" } else { "files" };
        observer.build_event(&Event::Note(&format!("fetching {count} {files} of {version}")));
        let setting = ["-c", "fetch.negotiationAlgorithm=noop"];
        for ids in missing.chunks(TOGETHER) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            run(git.fetch(&setting, &["--filter=blob:none"], remote, &ids))?;
        }
        Ok(true)
    }

    /// Waits for other rbench processes that build or measure here, and then keeps them from it.
    pub fn lock(&self, observer: &dyn Observer) -> Result<CacheLock> {
        self.cache_dirs()?.lock(|path| observer.build_event(&Event::Locked(path)))
    }

    /// The environment in which this project's versions are built. While it lives, no other rbench
    /// process builds or measures here.
    pub fn build_env<'a>(
        &'a self,
        settings: CompileSettings,
        observer: &'a dyn Observer,
    ) -> Result<BuildEnv<'a>> {
        let root = self.repository.root();
        let cache_dirs = self.cache_dirs()?;
        let lock = self.lock(observer)?;
        if let Some(packed) = &self.packed {
            packed.refuse_if_replaced()?;
        }
        let configs = ConfigFiles::find(root, cache_dirs.outside(), |name| std::env::var_os(name));
        sandbox::add_places(|places, exceptions| {
            root.clone_into(&mut places.working_tree);
            places.inspected.clear();
            places.objects = self.repository.object_directories();
            places.caches = vec![cache_dirs.outside().to_owned(), cache_dirs.storage().to_owned()];
            places.build_path = cache_dirs.build_path();
            places.written = PARTS.into_iter().chain(["src"]).collect();
            places.temporary = cache_dirs.temporary();
            places.cargo_configs.clone_from(&configs.above);
            let home = places.home.clone();
            *exceptions = self.file.sandbox(home.as_deref());
        });
        Ok(BuildEnv {
            cache_dirs: cache_dirs.clone(),
            lock,
            packed: self.packed.as_ref().map(|packed| packed.builds.clone()),
            workspace: self.workspace.strip_prefix(root).unwrap_or(Path::new("")).to_owned(),
            variants: self.file.variant_settings(&settings),
            settings,
            inherited: secrets::environment_of_cargo(),
            users_workspace: self.workspace.clone(),
            configs,
            progress_columns: observer.progress_columns(),
            files: self,
            observer,
            metadata: KnownMetadata::default(),
        })
    }
}

impl VersionFiles for Project {
    fn restore(&self, version: &Version) -> Result<Option<Vec<String>>> {
        Checkouts::open(self.cache_dirs()?.outside())?.restore(&self.repository, version)
    }
}

/// The source of a checked-out version, to be built.
pub fn source_of<'a>(version: &'a Version, checkout: &'a Checkout) -> Source<'a> {
    Source { version, checkout: &checkout.path, absent_submodules: &checkout.absent_submodules }
}

/// The manifest that cargo finds from this directory. Without one, the error suggests those that git tracks.
fn nearest_manifest(directory: &Path, repository: &Repository) -> Result<PathBuf> {
    /// As many as a user reads.
    const MOST: usize = 3;
    let mut all = directory.ancestors().map(|one| one.join("Cargo.toml"));
    if let Some(found) = all.find(|one| one.is_file()) {
        return Ok(found);
    }
    let what = format!("there is no Cargo.toml at or above {}", directory.display());
    let mut error = Error::new(Exit::Usage, what);
    let tracked = repository.tracked_files("Cargo.toml");
    for path in tracked.iter().take(MOST) {
        let (place, whole) = (path.parent().unwrap_or(path), repository.root().join(path));
        error = error.hint(if whole.is_file() {
            format!(
                "use --manifest-path {}",
                quoted(whole.strip_prefix(directory).unwrap_or(&whole))
            )
        } else {
            let place = if place.as_os_str().is_empty() { Path::new("/") } else { place };
            format!("the sparse working tree lacks it: git sparse-checkout add {}", quoted(place))
        });
    }
    Err(if tracked.is_empty() {
        error.hint("run rbench in a Rust project, or begin one with: cargo init")
    } else {
        error
    })
}

/// Asks cargo for the workspace's packages, directory and target dir.
fn workspace_metadata(directory: &Path, manifest: Option<&Path>) -> Result<Metadata> {
    let mut metadata = MetadataCommand::new();
    metadata.no_deps().current_dir(directory);
    if let Some(manifest) = manifest {
        metadata.current_dir(std::env::current_dir().unwrap_or_default()).manifest_path(manifest);
    }
    let what = || format!("cannot find a cargo workspace at {}", directory.display());
    let mut command = metadata.cargo_command();
    command.env_clear().envs(secrets::environment_of_cargo());
    // In CI, the working tree is that of a change, whose toolchain file chooses the cargo.
    let output =
        run_confined_tool_or(&mut command, Task::Run, Exit::Usage, what).map_err(|error| {
            let by_option = secrets::base_decides();
            let permission = if by_option { Permission::ByOption } else { Permission::InFile };
            if may_be_refused(&error.to_string()) {
                explained_by_refused(error, &command, permission)
            } else {
                error
            }
        })?;
    MetadataCommand::parse(String::from_utf8_lossy(&output.stdout)).context(Exit::Usage, what)
}

/// What cargo reads to find the workspace: the working tree without what is not part of a version, and the configurations
/// above it.
fn inspected(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_closed = |path: &PathBuf| [".git", ".rbench"].iter().any(|name| path.ends_with(name));
    let configs = root
        .ancestors()
        .flat_map(|above| ["config.toml", "config"].map(|name| above.join(".cargo").join(name)))
        .filter(|path| !sandbox::has_secret_of_cargo(path));
    entries.filter(|path| !is_closed(path)).chain(configs).collect()
}

/// The members that cargo selects for a command with this manifest.
fn members(metadata: &Metadata, manifest: &Path) -> Members {
    let [workspace, manifest] = [metadata.workspace_root.as_std_path(), manifest].map(files::real);
    let own = |package: &&Package| files::real(package.manifest_path.as_std_path()) == manifest;
    let directory = manifest.parent().and_then(|path| path.strip_prefix(&workspace).ok());
    match (metadata.workspace_packages().into_iter().find(own), directory) {
        (Some(package), Some(directory)) if !directory.as_os_str().is_empty() => {
            Members::One(Member { name: package.name.to_string(), directory: directory.to_owned() })
        }
        _ => Members::Default,
    }
}

/// The workspace's packages, with true for those that cargo selects by default.
fn packages(metadata: &Metadata) -> Vec<(String, bool)> {
    let packages = metadata.workspace_packages().into_iter();
    packages
        .map(|package| (package.name.to_string(), is_default_member(metadata, package)))
        .collect()
}

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

/// The root source files of the bench targets, except those outside of `root`.
fn bench_roots(metadata: &Metadata, root: &Path) -> Vec<PathBuf> {
    let targets = metadata.packages.iter().flat_map(|package| &package.targets);
    let benches = targets.filter(|target| target.is_bench());
    let below_root = |target: &Target| {
        let path = target.src_path.as_std_path().canonicalize().ok()?;
        path.strip_prefix(root).map(Path::to_owned).ok()
    };
    benches.filter_map(below_root).collect()
}

/// The files that only rbench reads: its settings, what is accepted, and the store, without symbolic links in the path
/// of their directory. Those of the store change with every run.
fn own_files(workspace: &Path, store: &Path) -> Vec<PathBuf> {
    let directory = store.parent().and_then(|parent| parent.canonicalize().ok());
    let store = match (directory, store.file_name()) {
        (Some(directory), Some(name)) => Store::files(&directory.join(name)),
        _ => Store::files(store),
    };
    let accepted = workspace.join(AcceptedToml::NAME);
    let settings =
        [workspace.join(BenchToml::NAME), accepted.with_file_name(".gitignore"), accepted];
    settings.into_iter().chain(store).collect()
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().context(Exit::Usage, || format!("cannot find {}", path.display()))
}
