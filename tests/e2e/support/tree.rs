//! Snapshots of a directory, to compare it at two times.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::{ffi::OsStringExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Kind and mode, content or link target, and time of modification (not of directories).
type Entry = (u32, Vec<u8>, Option<SystemTime>);

/// Everything below `directory` for which `admits` is true; refused directories are skipped
/// entirely.
pub fn everything(directory: &Path, admits: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    walk(directory, &admits, &mut |path, metadata| {
        let modified = || metadata.modified().ok();
        let entry = if metadata.is_symlink() {
            (metadata.mode(), fs::read_link(path).unwrap().into_os_string().into_vec(), modified())
        } else if metadata.is_dir() {
            (metadata.mode(), Vec::new(), None)
        } else {
            (metadata.mode(), fs::read(path).unwrap(), modified())
        };
        found.insert(path.to_owned(), entry);
    });
    found
}

/// The paths of everything below `directory`.
pub fn paths(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    walk(directory, &|_| true, &mut |path, _| {
        found.insert(path.to_owned());
    });
    found
}

fn walk(
    directory: &Path,
    admits: &impl Fn(&Path) -> bool,
    visit: &mut impl FnMut(&Path, &fs::Metadata),
) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.map(|entry| entry.unwrap().path()).filter(|path| admits(path)) {
        let metadata = fs::symlink_metadata(&path).unwrap();
        visit(&path, &metadata);
        if metadata.is_dir() {
            walk(&path, admits, visit);
        }
    }
}
