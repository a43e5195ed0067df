//! A copy of a fixture as a git repository.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

pub struct WorkingTree {
    path: PathBuf,
}

impl WorkingTree {
    /// Copies a fixture to `path` and commits it.
    pub fn of_fixture(name: &str, path: PathBuf) -> Result<Self, Box<dyn Error>> {
        let root = crate::root();
        copy(&root.join("fixtures").join(name), &path)?;
        git2::Repository::init(&path)?;
        let tree = Self { path };
        // The copy is in another place, so the relative path to the harness must change.
        let harness = serde_json::Value::from(root.join("harness").to_string_lossy()).to_string();
        tree.edit("Cargo.toml", |manifest| manifest.replace("\"../../harness\"", &harness))?;
        tree.commit("Base")?;
        Ok(tree)
    }

    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces a text in a file and writes the file.
    pub fn edit(
        &self,
        file: &str,
        edit: impl FnOnce(String) -> String,
    ) -> Result<(), Box<dyn Error>> {
        let path = self.path.join(file);
        Ok(fs::write(&path, edit(fs::read_to_string(&path)?))?)
    }

    /// The hash of the last commit.
    pub fn head(&self) -> Result<String, Box<dyn Error>> {
        let git = git2::Repository::open(&self.path)?;
        Ok(git.head()?.peel_to_commit()?.id().to_string())
    }

    pub fn commit(&self, message: &str) -> Result<(), Box<dyn Error>> {
        let git = git2::Repository::open(&self.path)?;
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
