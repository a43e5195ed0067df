//! The files of a version that its benchmarks may read: its checkout, and what its compilation made.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::ListedVersion;
use crate::{code::Digest, reach::FileState};

/// Where the files of a version are.
#[derive(Clone, Debug)]
pub(super) struct VersionFiles {
    /// Each place with its name below the build path.
    places: [(PathBuf, &'static str); 2],
}

impl ListedVersion {
    pub(super) fn files(&self) -> VersionFiles {
        let source = (self.source().checkout.to_owned(), "src");
        VersionFiles { places: [source, (self.compilation.home.clone(), "")] }
    }
}

impl VersionFiles {
    /// A file by its path below the build path, and its state; none if it is no file of the version.
    pub(super) fn find(&self, path: &Path, is_opened: bool) -> Option<(PathBuf, FileState)> {
        let real = real(path);
        let (place, below) = self.places.iter().find_map(|(place, name)| {
            let below = real.strip_prefix(place.canonicalize().ok()?).ok()?;
            Some((Path::new(name).join(below), real.as_path()))
        })?;
        Some((place, state(below, is_opened)))
    }

    /// The paths that are not the same in two versions, or not known to be, of what was read in either. What was
    /// read in one alone is looked up in the other.
    pub(super) fn that_differ(
        versions: [&Self; 2],
        [base, head]: [&BTreeMap<PathBuf, FileState>; 2],
    ) -> BTreeSet<PathBuf> {
        let mut differ = BTreeSet::new();
        for (path, found) in base.iter().chain(head) {
            let is_opened = !matches!(found, FileState::Directory(None));
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
            let is_opened = !matches!(state, FileState::Directory(None));
            (path.clone(), self.state(path, is_opened))
        };
        of.iter().map(now).collect()
    }

    /// The state of what is at a path below the build path.
    fn state(&self, path: &Path, is_opened: bool) -> FileState {
        let [(source, name), (home, _)] = &self.places;
        let place = match path.strip_prefix(name) {
            Ok(below) => source.join(below),
            Err(_) => home.join(path),
        };
        state(&place, is_opened)
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

/// A path without symbolic links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|ancestor| {
        let real = ancestor.canonicalize().ok()?;
        let rest = path.strip_prefix(ancestor).ok()?;
        // To join nothing would add a slash, which only a directory can have.
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    resolved.unwrap_or_else(|| path.to_owned())
}
