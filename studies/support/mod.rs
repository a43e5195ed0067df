//! What the studies share: fixtures as git repositories, built through the library.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use cargo_rbench::{
    build::{BuildRequest, Site, Source, VersionBuilds, Workshop},
    model::{CompileSettings, Layout, LayoutSeed, Strategy, TargetFilter},
    source::{Checkouts, Repository},
};

pub use working_tree::WorkingTree;

mod working_tree;

/// A copy of a fixture as a repository, with everything rbench keeps about it beside.
pub struct Project {
    scratch: tempfile::TempDir,
    /// Its files.
    pub tree: WorkingTree,
}

impl Project {
    /// Copies a fixture and commits it.
    pub fn of_fixture(name: &str) -> Result<Self, Box<dyn Error>> {
        let scratch = tempfile::tempdir()?;
        let tree = WorkingTree::of_fixture(name, scratch.path().join("project"))?;
        Ok(Self { scratch, tree })
    }

    /// A directory for anything else.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Compiles each revision once and links it with the first `seeds` matched layouts.
    #[allow(dead_code, reason = "not every study builds through the library")]
    pub fn build(
        &self,
        revisions: &[&str],
        seeds: u32,
    ) -> Result<Vec<VersionBuilds>, Box<dyn Error>> {
        let repository = Repository::discover(self.tree.path())?;
        let (cache, target) = (self.scratch().join("cache"), self.scratch().join("target"));
        let site = Site::new(&cache, &repository.identity()?, &target);
        let lock = site.lock(|_| ())?;
        let workshop = Workshop {
            site: site.clone(),
            lock,
            workspace: PathBuf::new(),
            settings: CompileSettings::default(),
            inherited: std::env::vars_os().collect(),
            users_workspace: self.tree.path().to_owned(),
            configs: Vec::new(),
            progress_columns: None,
            observer: &(),
        };
        let request = BuildRequest {
            filter: TargetFilter::default(),
            layout: Layout::Matched,
            strategy: Strategy::Relink,
            seeds: LayoutSeed::list(1, seeds),
        };
        let checkouts = Checkouts::open(site.outside())?;
        let mut built = Vec::new();
        for revision in revisions {
            let version = repository.resolve(revision)?;
            let checkout = checkouts.checkout(&repository, &version)?;
            let source = Source { version: &version, checkout: &checkout.path };
            let compilation = workshop.compile(source, &request.filter)?;
            built.push(workshop.link(source, &compilation, &request)?);
        }
        Ok(built)
    }

    /// The fixture `compared`, which depends on the harness of this repository, with a second commit
    /// in which one benchmark has thirty times the work.
    #[allow(dead_code, reason = "not every study compares")]
    pub fn compared() -> Result<Self, Box<dyn Error>> {
        let project = Self::of_fixture("compared")?;
        let tree = &project.tree;
        std::fs::write(tree.path().join(".gitignore"), "target\n")?;
        tree.edit("src/lib.rs", |text| text.replace("u64 = 1_000", "u64 = 30_000"))?;
        tree.commit("Work more")?;
        Ok(project)
    }
}
