//! Creates a new repository commit by commit: the only kind that rbench ever writes into.

use std::{
    fs,
    path::{Path, PathBuf},
};

use git2::{RepositoryInitOptions, Signature, Time};

use crate::error::{Context, Exit, Result};

/// Date of the first commit, in seconds since 1970; each further one is an hour later. Fixed, so that the same files
/// give the same commit ids.
const FIRST_COMMIT: i64 = 1_700_000_000;

pub struct NewRepository {
    git: git2::Repository,
    root: PathBuf,
    commits: i64,
}

impl NewRepository {
    /// Creates an empty repository in the new directory `root`, without anything from the user's git configuration or
    /// templates.
    pub fn create(root: &Path) -> Result<Self> {
        let mut options = RepositoryInitOptions::new();
        options.no_reinit(true).external_template(false).initial_head("main");
        let git = git2::Repository::init_opts(root, &options).context(Exit::Internal, || {
            format!("cannot make a repository in {}", root.display())
        })?;
        Ok(Self { git, root: root.to_owned(), commits: 0 })
    }

    /// Writes files, given by their paths in the repository, and commits them.
    pub fn commit<P: AsRef<Path>>(
        &mut self,
        message: &str,
        files: impl IntoIterator<Item = (P, &'static str)>,
    ) -> Result<()> {
        let mut index = self.git.index().context(Exit::Internal, || self.cannot_commit(message))?;
        for (path, content) in files {
            let file = self.root.join(&path);
            let directory = file.parent().unwrap_or(&self.root);
            fs::create_dir_all(directory)
                .and_then(|()| fs::write(&file, content))
                .context(Exit::Internal, || format!("cannot write {}", file.display()))?;
            index
                .add_path(path.as_ref())
                .context(Exit::Internal, || format!("cannot add {} to git", file.display()))?;
        }
        self.commit_index(&mut index, message)
            .context(Exit::Internal, || self.cannot_commit(message))?;
        self.commits += 1;
        Ok(())
    }

    fn commit_index(&self, index: &mut git2::Index, message: &str) -> Result<(), git2::Error> {
        index.write()?;
        let tree = self.git.find_tree(index.write_tree()?)?;
        let time = Time::new(FIRST_COMMIT + 3600 * self.commits, 0);
        let author = Signature::new("rbench", "rbench@example.com", &time)?;
        let parent = match self.commits {
            0 => None,
            _ => Some(self.git.head()?.peel_to_commit()?),
        };
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        self.git.commit(Some("HEAD"), &author, &author, message, &tree, &parents)?;
        Ok(())
    }

    fn cannot_commit(&self, message: &str) -> String {
        format!("cannot commit `{message}` in {}", self.root.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Repository;

    fn made() -> (tempfile::TempDir, Repository) {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("new");
        let mut repository = NewRepository::create(&root).unwrap();
        repository.commit("First", [("a/b.txt", "one\n"), ("c.txt", "two\n")]).unwrap();
        repository.commit("Second", [("a/b.txt", "three\n")]).unwrap();
        (scratch, Repository::discover(&root).unwrap())
    }

    #[test]
    fn same_files_give_the_same_clean_commits() {
        let (first, second) = (made(), made());
        for revision in ["HEAD", "main", "HEAD~1"] {
            let ids = [&first.1, &second.1].map(|made| made.resolve(revision).unwrap().commit);
            assert_eq!(ids[0], ids[1]);
        }
        let [head, uncommitted] = ["HEAD", "."].map(|rev| first.1.resolve(rev).unwrap().tree);
        assert_eq!(head, uncommitted);
        assert_eq!(fs::read_to_string(first.1.root().join("a/b.txt")).unwrap(), "three\n");
    }

    #[test]
    fn existing_repository_is_left_alone() {
        let (_scratch, repository) = made();
        assert!(NewRepository::create(repository.root()).is_err());
    }
}
