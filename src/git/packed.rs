//! The objects that a comparison needs, as one file for a machine without a clone: all commits of both versions'
//! histories, and the files of both versions alone.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use git2::{Oid, RepositoryInitOptions, Sort};

use super::{Repository, files, own_directory::SHALLOW};
use crate::{
    error::{Context, Error, Exit, Result},
    model::Version,
};

impl Repository {
    /// Writes the objects of these versions to `file`, in git's pack format.
    pub fn write_objects(&self, versions: &[Version], file: &Path) -> Result<()> {
        let what = || format!("cannot write the git objects to {}", file.display());
        let mut out = File::create_new(file).context(Exit::Build, what)?;
        self.pack_objects(versions, &mut out).context(Exit::Build, what)
    }

    fn pack_objects(&self, versions: &[Version], out: &mut File) -> Result<(), git2::Error> {
        let mut pack = self.git().packbuilder()?;
        let mut walk = self.git().revwalk()?;
        walk.set_sorting(Sort::NONE)?;
        for version in versions {
            if let Some(commit) = &version.commit {
                walk.push(Oid::from_str(commit)?)?;
            }
            pack.insert_tree(Oid::from_str(&version.tree)?)?;
        }
        // Without their files, commits are small. Their graph identifies the project, and decides which slowdowns are
        // accepted between the versions.
        for commit in walk {
            pack.insert_object(commit?, None)?;
        }
        let mut failure = None;
        pack.foreach(|bytes| {
            failure = out.write_all(bytes).err();
            failure.is_none()
        })
        .map_err(|error| failure.map_or(error, |io| git2::Error::from_str(&io.to_string())))
    }

    /// Refuses a version with files, in this checkout of it, that are no objects of this repository: those of Git LFS, and of
    /// submodules, unless these are not initialised.
    pub fn refuse_foreign_files(&self, version: &Version, checkout: &Path) -> Result<()> {
        let what = || format!("cannot pack the files of {version}");
        let (handle, index) = Oid::from_str(&version.tree)
            .and_then(|tree| self.bare_handle_with(tree))
            .context(Exit::Build, what)?;
        for entry in index.iter() {
            let path = files::path_of(&entry);
            let has_files =
                || fs::read_dir(checkout.join(&path)).is_ok_and(|mut found| found.next().is_some());
            let kind = if files::is_submodule(&entry) && has_files() {
                "a submodule"
            } else if files::is_submodule(&entry) {
                continue;
            } else if files::is_tracked_by_lfs(&handle, &path) {
                "a file of Git LFS"
            } else {
                continue;
            };
            return Err(Error::new(Exit::Build, what())
                .cause(format!("{} is {kind}, which a pack cannot have", path.display()))
                .hint("compare these versions in a clone: cargo rbench compare BASE HEAD"));
        }
        Ok(())
    }

    /// The commits whose parents this clone lacks, one a line; `None` in a complete clone.
    pub fn shallow_commits(&self) -> Option<String> {
        fs::read_to_string(self.common_directory().join(SHALLOW)).ok()
    }

    /// Makes a repository at the new directory `root` from the objects that [`write_objects`](Self::write_objects) wrote.
    /// It has the commit of `head` checked out as far as git knows, but no files, and no settings but git's defaults.
    pub fn from_objects(
        root: &Path,
        objects: impl Read,
        head: &Version,
        shallow: Option<&str>,
    ) -> Result<Self> {
        let what = || format!("cannot make a repository in {}", root.display());
        let mut options = RepositoryInitOptions::new();
        options.no_reinit(true).external_template(false).initial_head("main");
        let git = git2::Repository::init_opts(root, &options).context(Exit::Build, what)?;
        if let Some(shallow) = shallow {
            fs::write(git.path().join(SHALLOW), shallow).context(Exit::Build, what)?;
        }
        read_objects(&git, objects).context(Exit::Build, what)?;
        if let Some(commit) = &head.commit {
            let commit = Oid::from_str(commit).context(Exit::Build, what)?;
            git.set_head_detached(commit).context(Exit::Build, what)?;
        }
        Self::new(git).context(Exit::Build, what)
    }
}

/// Adds the objects of a pack; each is named by the hash of its contents, which libgit2 computes.
fn read_objects(git: &git2::Repository, mut objects: impl Read) -> io::Result<()> {
    let store = git.odb().map_err(io::Error::other)?;
    let mut writer = store.packwriter().map_err(io::Error::other)?;
    io::copy(&mut objects, &mut writer)?;
    writer.commit().map_err(io::Error::other)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Checkouts, NewRepository};

    #[test]
    fn objects_give_the_same_versions_and_identity_without_other_files() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("new");
        let mut new = NewRepository::create(&root).unwrap();
        for text in ["one", "two", "three", "four"] {
            new.commit(text, [("a/b.txt", text)]).unwrap();
        }
        let original = Repository::discover(&root).unwrap();
        let versions = ["HEAD~2", "HEAD"].map(|revision| original.resolve(revision).unwrap());
        let file = scratch.path().join("objects");
        original.write_objects(&versions, &file).unwrap();

        let copy = scratch.path().join("copy");
        let objects = File::open(&file).unwrap();
        let copy = Repository::from_objects(&copy, objects, &versions[1], None).unwrap();
        assert_eq!(copy.identity().unwrap(), original.identity().unwrap());
        assert_eq!(copy.changes(&versions[0], &versions[1]).unwrap().commit_count, 2);
        let checkouts = Checkouts::open(scratch.path()).unwrap();
        for (version, text) in versions.iter().zip(["two", "four"]) {
            let path = checkouts.checkout(&copy, version).unwrap().path;
            assert_eq!(fs::read_to_string(path.join("a/b.txt")).unwrap(), text);
        }
        let between = original.resolve("HEAD~1").unwrap();
        assert!(checkouts.checkout(&copy, &between).is_err(), "its files are not among them");
    }

    #[test]
    fn damaged_objects_are_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("new");
        NewRepository::create(&root).unwrap().commit("one", [("a", "one")]).unwrap();
        let original = Repository::discover(&root).unwrap();
        let head = original.resolve("HEAD").unwrap();
        let file = scratch.path().join("objects");
        original.write_objects(std::slice::from_ref(&head), &file).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let copy = scratch.path().join("copy");
        assert!(Repository::from_objects(&copy, bytes.as_slice(), &head, None).is_err());
    }
}
