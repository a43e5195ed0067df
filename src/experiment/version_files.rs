//! The files of a version that its benchmarks may read: its checkout, and what its compilation made.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::ListedVersion;
use crate::{build::files, code::Digest, reach::FileState};

/// Where the files of a version are.
#[derive(Clone, Debug)]
pub(super) struct VersionFiles {
    /// Each place, without symbolic links, with its name below the build path.
    places: [(PathBuf, &'static str); 2],
    build_path: PathBuf,
}

impl ListedVersion {
    /// Its files, for executions at this build path.
    pub(super) fn files(&self, build_path: PathBuf) -> VersionFiles {
        let source = (files::real(self.source().checkout), "src");
        VersionFiles { places: [source, (files::real(&self.compilation.home), "")], build_path }
    }
}

impl VersionFiles {
    /// A file by its path below the build path, and its state; by the path that was asked for and by the one
    /// that it leads to, as a symbolic link may lead elsewhere in another version. None if it is no file of the
    /// version.
    pub(super) fn find(&self, path: &Path, is_opened: bool) -> Vec<(PathBuf, FileState)> {
        let mut paths = vec![files::real(path)];
        if let Ok(below) = path.strip_prefix(&self.build_path) {
            paths.push(self.place(below));
        } else if path != paths[0] {
            paths.push(path.to_owned());
        }
        let found = paths.iter().filter_map(|path| {
            let below = self.places.iter().find_map(|(place, name)| {
                Some(Path::new(name).join(path.strip_prefix(place).ok()?))
            });
            Some((below?, state(path, is_opened)))
        });
        found.collect()
    }

    /// The paths that are not the same in two versions, or not known to be, of what was read in either. What was
    /// read in one alone is looked up in the other.
    pub(super) fn that_differ(
        versions: [&Self; 2],
        [base, head]: [&BTreeMap<PathBuf, FileState>; 2],
    ) -> BTreeSet<PathBuf> {
        let mut differ = BTreeSet::new();
        for (path, found) in base.iter().chain(head) {
            let is_opened = found.is_of_opened();
            let states = [(base, versions[0]), (head, versions[1])].map(|(own, version)| {
                own.get(path).copied().unwrap_or_else(|| version.state(path, is_opened))
            });
            if states[0] != states[1] || states.contains(&FileState::Other) {
                differ.insert(path.clone());
            }
        }
        differ
    }

    /// The states of the same paths now, each as it was looked at.
    pub(super) fn states(&self, of: &BTreeMap<PathBuf, FileState>) -> BTreeMap<PathBuf, FileState> {
        let now = |(path, state): (&PathBuf, &FileState)| {
            (path.clone(), self.state(path, state.is_of_opened()))
        };
        of.iter().map(now).collect()
    }

    /// The state of what is at a path below the build path.
    fn state(&self, path: &Path, is_opened: bool) -> FileState {
        state(&self.place(path), is_opened)
    }

    /// Where a path below the build path leads.
    fn place(&self, path: &Path) -> PathBuf {
        let [(source, name), (home, _)] = &self.places;
        match path.strip_prefix(name) {
            Ok(below) => source.join(below),
            Err(_) => home.join(path),
        }
    }
}

fn state(path: &Path, is_opened: bool) -> FileState {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return FileState::Absent;
        }
        Err(_) => return FileState::Other,
    };
    if found.is_dir() {
        return FileState::Directory(is_opened.then(|| names(path)).flatten());
    }
    if !found.is_file() {
        return FileState::Other;
    }
    fs::read(path).map_or(FileState::Other, |bytes| FileState::File(Digest::of(&bytes)))
}

/// A digest of the names in a directory.
fn names(directory: &Path) -> Option<Digest> {
    let mut names: Vec<Vec<u8>> = fs::read_dir(directory)
        .ok()?
        .map(|entry| Some(entry.ok()?.file_name().into_encoded_bytes()))
        .collect::<Option<_>>()?;
    names.sort();
    Some(Digest::of(&names.join(&0)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A version with two files, and a link to one of them.
    fn version(place: &Path, leads_to: &str) -> VersionFiles {
        let (source, home) = (place.join("checkout"), place.join("home"));
        fs::create_dir_all(&source).unwrap();
        fs::create_dir_all(&home).unwrap();
        for name in ["small", "large"] {
            fs::write(source.join(name), name).unwrap();
        }
        symlink(leads_to, source.join("current")).unwrap();
        symlink(&source, home.join("src")).unwrap();
        let build_path = place.join("at");
        symlink(&home, &build_path).unwrap();
        VersionFiles { places: [(source, "src"), (home, "")], build_path }
    }

    #[test]
    fn a_link_that_leads_elsewhere_in_another_version_differs_though_no_file_does() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let versions = ["small", "large"].map(|to| version(&place.join(to), to));
        for name in ["checkout/current", "at/src/current"] {
            let read = ["small", "large"].map(|to| place.join(to).join(name));
            let [base, head] =
                [0, 1].map(|index| BTreeMap::from_iter(versions[index].find(&read[index], true)));
            assert_eq!(base.len(), 2, "{base:?}");
            assert_eq!(base, versions[0].states(&base));
            let differ = VersionFiles::that_differ([&versions[0], &versions[1]], [&base, &head]);
            assert_eq!(differ, BTreeSet::from(["src/current".into()]), "{name}");
        }
    }

    #[test]
    fn files_elsewhere_are_none_of_the_version() {
        let place = tempfile::tempdir().unwrap();
        let version = version(&place.path().canonicalize().unwrap(), "small");
        assert_eq!(version.find(Path::new("/etc/passwd"), true), []);
        let missing = version.find(&version.places[0].0.join("missing"), false);
        assert_eq!(missing, [("src/missing".into(), FileState::Absent)]);
    }
}
