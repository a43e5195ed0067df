//! What the examples share: fixtures as git repositories, built through the library.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use cargo_rbench::{
    build::{Order, Site, Source, VersionBuilds, Workshop},
    model::{CompileSettings, Layout, LayoutSeed, Strategy, TargetFilter},
    source::{Checkouts, Repository},
};

/// A copy of a fixture as a repository, with everything rbench keeps about it beside.
pub struct Project {
    scratch: tempfile::TempDir,
}

impl Project {
    /// Copies a fixture and commits it.
    pub fn of_fixture(name: &str) -> Result<Self, Box<dyn Error>> {
        let project = Self { scratch: tempfile::tempdir()? };
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
        copy(&fixture, &project.path())?;
        git2::Repository::init(project.path())?;
        project.commit("Base")?;
        Ok(project)
    }

    /// The working tree.
    pub fn path(&self) -> PathBuf {
        self.scratch.path().join("project")
    }

    /// A directory for anything else.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Changes a file of the working tree.
    #[allow(dead_code, reason = "not every example changes something")]
    pub fn edit(
        &self,
        file: &str,
        edit: impl FnOnce(String) -> String,
    ) -> Result<(), Box<dyn Error>> {
        let path = self.path().join(file);
        Ok(fs::write(&path, edit(fs::read_to_string(&path)?))?)
    }

    /// Commits the working tree.
    pub fn commit(&self, message: &str) -> Result<(), Box<dyn Error>> {
        let git = git2::Repository::open(self.path())?;
        let mut index = git.index()?;
        index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
        index.write()?;
        let tree = git.find_tree(index.write_tree()?)?;
        let author = git2::Signature::now("rbench", "rbench@example.invalid")?;
        let parent = git.head().ok().and_then(|head| head.peel_to_commit().ok());
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        git.commit(Some("HEAD"), &author, &author, message, &tree, &parents)?;
        Ok(())
    }

    /// Compiles each revision once and links it with the first `seeds` matched layouts.
    #[allow(dead_code, reason = "not every example builds through the library")]
    pub fn build(
        &self,
        revisions: &[&str],
        seeds: u32,
    ) -> Result<Vec<VersionBuilds>, Box<dyn Error>> {
        self.build_and(revisions, seeds, |_, built| Ok(built))
    }

    /// The same, and does something with what was built, while the site is locked.
    #[allow(dead_code, reason = "not every example builds through the library")]
    pub fn build_and<T>(
        &self,
        revisions: &[&str],
        seeds: u32,
        work: impl FnOnce(&Workshop<'_>, Vec<VersionBuilds>) -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        let repository = Repository::discover(&self.path())?;
        let (cache, target) = (self.scratch().join("cache"), self.scratch().join("target"));
        let site = Site::new(&cache, &repository.identity()?, &target);
        let _lock = site.lock(|_| ())?;
        let workshop = Workshop {
            site: site.clone(),
            workspace: PathBuf::new(),
            settings: CompileSettings::default(),
            inherited: std::env::vars_os().collect(),
            users_workspace: self.path(),
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
        work(&workshop, built)
    }

    /// The fixture `compared`, which depends on the harness of this repository, with a second commit
    /// in which one benchmark has thirty times the work.
    #[allow(dead_code, reason = "not every example compares")]
    pub fn compared() -> Result<Self, Box<dyn Error>> {
        let project = Self::of_fixture("compared")?;
        let harness = concat!(env!("CARGO_MANIFEST_DIR"), "/harness");
        project.edit("Cargo.toml", |text| text.replace("../../harness", harness))?;
        fs::write(project.path().join(".gitignore"), "target\n")?;
        project.commit("Name the harness where it is")?;
        project.edit("src/lib.rs", |text| text.replace("u64 = 1_000", "u64 = 30_000"))?;
        project.commit("Work more")?;
        Ok(project)
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()? {
            kind if kind.is_dir() && entry.file_name() == "target" => {}
            kind if kind.is_dir() => copy(&entry.path(), &to)?,
            _ => fs::copy(entry.path(), to).map(drop)?,
        }
    }
    Ok(())
}
