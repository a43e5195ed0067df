//! Fixtures as git repositories, built through the library.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use cargo_rbench::{
    builds::{
        BuildEnv, BuildRequest, CacheDirs, Compiled, ConfigFiles, KnownMetadata, Source,
        VersionBuilds, VersionFiles,
    },
    error,
    git::{Checkout, Checkouts, Repository},
    model::{CompileSettings, Layout, LayoutSeed, Strategy, TargetFilter, Version},
};

use crate::WorkingTree;

/// A copy of a fixture as a repository, beside everything that rbench stores about it.
pub struct Project {
    scratch: tempfile::TempDir,
    pub tree: WorkingTree,
}

impl Project {
    pub fn of_fixture(name: &str) -> Result<Self, Box<dyn Error>> {
        let scratch = tempfile::tempdir()?;
        let tree = WorkingTree::of_fixture(name, scratch.path().join("project"))?;
        Ok(Self { scratch, tree })
    }

    /// A directory for anything else.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Compiles each revision once and links all with the first `seeds` layouts of this kind.
    pub fn build(
        &self,
        revisions: &[&str],
        layout: Layout,
        seeds: u32,
    ) -> Result<Vec<VersionBuilds>, Box<dyn Error>> {
        let repository = Repository::discover(self.tree.path())?;
        let (cache, target) = (self.scratch().join("cache"), self.scratch().join("target"));
        let site = CacheDirs::new(&cache, &repository.identity()?, self.tree.path(), &target);
        let lock = site.lock(|_| ())?;
        let checkouts = Checkouts::open(site.outside())?;
        let workshop = BuildEnv {
            cache_dirs: site.clone(),
            lock,
            workspace: PathBuf::new(),
            settings: CompileSettings::default(),
            variants: Vec::new(),
            inherited: std::env::vars_os().collect(),
            users_workspace: self.tree.path().to_owned(),
            configs: ConfigFiles::find(self.tree.path(), site.outside(), |name| {
                std::env::var_os(name)
            }),
            progress_columns: None,
            files: &Files { repository: &repository, checkouts: &checkouts },
            observer: &(),
            packed: None,
            metadata: KnownMetadata::default(),
        };
        let request = BuildRequest {
            only: None,
            filter: TargetFilter::default(),
            layout,
            strategy: Strategy::Relink,
            seeds: LayoutSeed::list(1, seeds),
        };
        let mut compiled = Vec::new();
        for revision in revisions {
            let version = repository.resolve(revision)?;
            let checkout = checkouts.checkout(&repository, &version)?;
            let source = source(&version, &checkout);
            let compilation = workshop.compile(source, &request.filter)?;
            compiled.push((version, checkout, compilation));
        }
        let versions: Vec<Compiled<'_>> = compiled
            .iter()
            .map(|(version, checkout, compilation)| (source(version, checkout), compilation))
            .collect();
        Ok(workshop.link(&versions, &request)?)
    }

    /// The fixture `compared`, which depends on the harness of this repository, with a second
    /// commit in which one benchmark has thirty times the work.
    pub fn compared() -> Result<Self, Box<dyn Error>> {
        let project = Self::of_fixture("compared")?;
        let tree = &project.tree;
        std::fs::write(tree.path().join(".gitignore"), "target\n")?;
        tree.edit("src/lib.rs", |text| text.replace("u64 = 1_000", "u64 = 30_000"))?;
        tree.commit("Work more")?;
        Ok(project)
    }
}

fn source<'a>(version: &'a Version, checkout: &'a Checkout) -> Source<'a> {
    let (checkout, absent_submodules) = (checkout.path.as_path(), &*checkout.absent_submodules);
    Source { version, checkout, absent_submodules }
}

/// Restores versions' files from the repository of a study.
struct Files<'a> {
    repository: &'a Repository,
    checkouts: &'a Checkouts,
}

impl VersionFiles for Files<'_> {
    fn restore(&self, version: &Version) -> error::Result<Option<Vec<String>>> {
        self.checkouts.restore(self.repository, version)
    }
}
