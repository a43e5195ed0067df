//! The directory of a study: the repository with all versions, and the stored answers of the
//! programs.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use git2::{Repository, build::CheckoutBuilder};
use lab::WorkingTree;
use serde::{Serialize, de::DeserializeOwned};

use crate::trial::{BASE, Trial};

pub struct Place {
    root: PathBuf,
}

impl Place {
    /// Opens the directory of a study, or creates it.
    pub fn new(root: &Path) -> Result<Self, Box<dyn Error>> {
        fs::create_dir_all(root.join("said"))?;
        Ok(Self { root: root.canonicalize()? })
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    pub fn store(&self) -> PathBuf {
        self.project().join(".rbench/results.sqlite")
    }

    pub fn criterion(&self) -> PathBuf {
        self.root.join("criterion")
    }

    pub fn messages(&self, name: &str) -> PathBuf {
        self.root.join("said").join(format!("{name}.stderr"))
    }

    /// Makes the repository, or adds missing versions to it: a tag for each.
    pub fn make_versions(&self, trials: &[Trial]) -> Result<(), Box<dyn Error>> {
        let path = self.project();
        if !path.join(".git").exists() {
            let tree = WorkingTree::of_fixture("truth", path.clone())?;
            fs::write(path.join(".gitignore"), "/target\n")?;
            tree.commit("Ignore what cargo makes")?;
            tag(&Repository::open(&path)?, BASE)?;
        }
        let git = Repository::open(&path)?;
        for trial in trials {
            let name = trial.head();
            if git.find_reference(&format!("refs/tags/{name}")).is_ok() {
                continue;
            }
            self.check_out(BASE)?;
            for edit in trial.edits(&|file: &str| fs::read_to_string(path.join(file)))? {
                let file = path.join(&edit.file);
                if fs::read_to_string(&file)? == edit.text {
                    return Err(format!("{name} changes nothing in {}", edit.file).into());
                }
                fs::write(file, edit.text)?;
            }
            WorkingTree::new(path.clone()).commit(&name)?;
            tag(&git, &name)?;
        }
        Ok(())
    }

    pub fn check_out(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let git = Repository::open(self.project())?;
        let commit = git.revparse_single(&format!("refs/tags/{name}"))?.peel_to_commit()?;
        git.checkout_tree(commit.as_object(), Some(CheckoutBuilder::new().force()))?;
        Ok(git.set_head_detached(commit.id())?)
    }

    pub fn said<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Box<dyn Error>> {
        match fs::read(self.said_file(name)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The stored answer of this name, or the result of `ask`, which is then stored.
    pub fn ask_once<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        ask: impl FnOnce() -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        if let Some(said) = self.said(name)? {
            return Ok(said);
        }
        let answer = ask()?;
        // A study that is killed here has the whole answer or nothing.
        let unfinished = self.root.join("said").join("unfinished");
        fs::write(&unfinished, serde_json::to_vec_pretty(&answer)?)?;
        fs::rename(unfinished, self.said_file(name))?;
        Ok(answer)
    }

    fn said_file(&self, name: &str) -> PathBuf {
        self.root.join("said").join(format!("{name}.json"))
    }
}

fn tag(git: &Repository, name: &str) -> Result<(), Box<dyn Error>> {
    let head = git.head()?.peel_to_commit()?;
    git.tag_lightweight(name, head.as_object(), false)?;
    Ok(())
}
