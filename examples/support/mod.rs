//! What the examples share: fixtures as git repositories, built through the library.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use cargo_rbench::{
    build::{Order, Site, Source, VersionBuilds, Workshop},
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
    pub fn build(
        &self,
        revisions: &[&str],
        seeds: u32,
    ) -> Result<Vec<VersionBuilds>, Box<dyn Error>> {
        let repository = Repository::discover(self.tree.path())?;
        let (cache, target) = (self.scratch().join("cache"), self.scratch().join("target"));
        let site = Site::new(&cache, &repository.identity()?, &target);
        let _lock = site.lock(|_| ())?;
        let workshop = Workshop {
            site: site.clone(),
            workspace: PathBuf::new(),
            settings: CompileSettings::default(),
            inherited: std::env::vars_os().collect(),
            users_workspace: self.tree.path().to_owned(),
            configs: Vec::new(),
            progress_columns: None,
            watch: &|_| (),
        };
        let order = Order {
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
            built.push(
                workshop.build(Source { version: &version, checkout: &checkout.path }, &order)?,
            );
        }
        Ok(built)
    }
}
