//! Which files of its checkout a compilation has read, by the times at which the file system says that they were read.
//!
//! rustc and cargo say what they have read, but a procedural macro or a build script reads what it wants. A version that
//! differs in no file that was read, and in no name of a file, is compiled to the same programs.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rbench_code::elf::Digest;
use serde::{Deserialize, Serialize};

use super::files;

/// The files of a checkout that were read since it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFiles {
    /// Their contents and permissions, by paths in the checkout.
    read: BTreeMap<PathBuf, Digest>,
    /// The digest of the names of all files, since whoever lists a directory or looks for a file sees them, except those
    /// of [documents](is_document).
    names: Digest,
}

impl ReadFiles {
    /// Finds them after a compilation that is known to have read `known`. `None` if the file system does not tell, or if
    /// git was asked, whose answers are about the commit.
    pub fn find(checkout: &Path, known: &[PathBuf]) -> Option<Self> {
        let all = files::walk(checkout)?;
        let is_read = |path: &PathBuf| {
            let found = fs::symlink_metadata(checkout.join(path)).ok();
            // Nobody says when a link was followed.
            found.is_none_or(|found| found.is_symlink() || !is_marked_unread(&found))
        };
        let read: Vec<&PathBuf> = all.iter().filter(|path| is_read(path)).collect();
        let tells = known.iter().all(|path| read.contains(&path));
        if !tells || known.is_empty() || read.iter().any(|path| is_of_git(path)) {
            return None;
        }
        let digested = read
            .into_iter()
            .map(|path| Some((path.clone(), files::content_digest(&checkout.join(path))?)));
        Some(Self { read: digested.collect::<Option<_>>()?, names: names(&all) })
    }

    pub fn are_in(&self, checkout: &Path) -> bool {
        let is_same = |(path, known): (&PathBuf, &Digest)| {
            files::content_digest(&checkout.join(path)) == Some(*known)
        };
        files::walk(checkout).is_some_and(|all| names(&all) == self.names)
            && self.read.iter().all(is_same)
    }
}

/// True for a file that nobody has read since the checkout was written, which sets this time.
fn is_marked_unread(found: &fs::Metadata) -> bool {
    found.atime() == 0 && found.atime_nsec() == 0
}

fn is_of_git(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// True for files that only people and services read.
fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md") || path.starts_with(".github")
}

fn names(all: &[PathBuf]) -> Digest {
    let mut names: Vec<&Path> = all.iter().map(PathBuf::as_path).collect();
    names.retain(|path| !is_document(path) && !is_of_git(path));
    let bytes: Vec<&[u8]> = names.iter().map(|path| path.as_os_str().as_encoded_bytes()).collect();
    Digest::compute(&bytes.join(&0))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn checkout(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let times = fs::FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH);
            fs::File::open(&path).unwrap().set_times(times).unwrap();
        }
        directory
    }

    const FILES: [(&str, &str); 4] =
        [("src/lib.rs", "x"), ("README.md", "x"), ("ci.yml", "x"), ("data/a.sql", "x")];

    fn with(change: (&str, &str)) -> tempfile::TempDir {
        let others = FILES.into_iter().filter(|(path, _)| *path != change.0);
        checkout(&others.chain([change]).collect::<Vec<_>>())
    }

    #[test]
    fn only_what_was_read_has_to_be_the_same() {
        let base = checkout(&FILES);
        let [library, known] = ["src/lib.rs", "src/lib.rs"].map(PathBuf::from);
        let known = [known];
        assert_eq!(ReadFiles::find(base.path(), &known), None, "nothing says that it was read");
        for read in [&library, Path::new("data/a.sql")] {
            fs::read(base.path().join(read)).unwrap();
        }
        let found = ReadFiles::find(base.path(), &known).unwrap();
        assert_eq!(found.read.len(), 2);
        for same in [("ci.yml", "y"), ("README.md", "y"), ("NEWS.md", "y"), (".github/x", "y")] {
            assert!(found.are_in(with(same).path()), "{same:?}");
        }
        for other in
            [("src/lib.rs", "y"), ("data/a.sql", "y"), ("data/b.sql", "y"), ("build.rs", "")]
        {
            assert!(!found.are_in(with(other).path()), "{other:?}");
        }
        assert!(!found.are_in(checkout(&FILES[..3]).path()));
    }

    #[test]
    fn answers_of_git_are_about_one_commit() {
        let base = checkout(&[("src/lib.rs", "x"), (".git/HEAD", "one")]);
        let known = ["src/lib.rs".into()];
        fs::read(base.path().join("src/lib.rs")).unwrap();
        assert!(ReadFiles::find(base.path(), &known).is_some());
        fs::read(base.path().join(".git/HEAD")).unwrap();
        assert_eq!(ReadFiles::find(base.path(), &known), None);
    }
}
