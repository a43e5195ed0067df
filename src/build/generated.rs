//! What a compilation wrote into its checkout: benchmarks may read it when they run, but the checkout is
//! written again without it before something else is compiled there.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::files;
use crate::{code::Digest, failure::Result};

/// Lies in the directory of a compilation that wrote something.
const LIST: &str = "generated.json";

/// The paths of all files below a checkout. Lock files and target dirs, which cargo makes itself, are left
/// out, and so are paths that are not Unicode.
pub fn files_of(checkout: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(directory) = open.pop() {
        // What cannot be read, no benchmark reads.
        let entries = fs::read_dir(checkout.join(&directory)).into_iter().flatten();
        for entry in entries.filter_map(io::Result::ok) {
            let path = directory.join(entry.file_name());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && entry.file_name() != "target" {
                open.push(path);
            } else if !is_directory && entry.file_name() != "Cargo.lock" {
                found.extend(path.to_str().map(str::to_owned));
            }
        }
    }
    found
}

/// Notes what the compilation in `home` added to the files that were in its checkout before.
pub fn note(home: &Path, checkout: &Path, before: &BTreeSet<String>) -> Result<()> {
    let added: Vec<(String, Digest)> = files_of(checkout)
        .into_iter()
        .filter(|path| !before.contains(path))
        .filter_map(|path| digest(&checkout.join(&path)).map(|digest| (path, digest)))
        .collect();
    if added.is_empty() { Ok(()) } else { files::write_json(&home.join(LIST), &added) }
}

/// Whether all that the compilation in `home` added to its checkout is still there, with the same contents.
pub fn is_there(home: &Path, checkout: &Path) -> bool {
    let added: Vec<(String, Digest)> = files::read_json(&home.join(LIST)).unwrap_or_default();
    added.iter().all(|(path, known)| digest(&checkout.join(path)) == Some(*known))
}

/// The digest of a file or of where a link leads; `None` if there is neither.
fn digest(path: &Path) -> Option<Digest> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_symlink() {
        return Some(Digest::of(fs::read_link(path).ok()?.as_os_str().as_bytes()));
    }
    // Reading a pipe would never end.
    kind.is_file().then(|| fs::read(path).ok()).flatten().map(|contents| Digest::of(&contents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compilation_added_to_its_checkout_must_be_there_with_the_same_contents() {
        let (home, checkout) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (home, checkout) = (home.path(), checkout.path());
        let write = |path: &str, contents: &str| {
            fs::create_dir_all(checkout.join(path).parent().unwrap()).unwrap();
            fs::write(checkout.join(path), contents).unwrap();
        };
        write("src/lib.rs", "");
        let before = files_of(checkout);
        write("assets/data.bin", "one");
        write("target/x", "");
        write("Cargo.lock", "");
        std::os::unix::fs::symlink("nowhere", checkout.join("link")).unwrap();
        note(home, checkout, &before).unwrap();

        write("src/lib.rs", "changed by a benchmark");
        write("results.csv", "added by a benchmark");
        fs::remove_file(checkout.join("Cargo.lock")).unwrap();
        fs::remove_dir_all(checkout.join("target")).unwrap();
        assert!(is_there(home, checkout));
        write("assets/data.bin", "two");
        assert!(!is_there(home, checkout), "of another compilation");
        write("assets/data.bin", "one");
        assert!(is_there(home, checkout), "generated again");
        fs::remove_dir_all(checkout.join("assets")).unwrap();
        assert!(!is_there(home, checkout), "gone");
    }

    #[test]
    fn a_compilation_that_added_nothing_has_no_list() {
        let (home, checkout) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(checkout.path().join("file"), "").unwrap();
        note(home.path(), checkout.path(), &files_of(checkout.path())).unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        assert!(is_there(home.path(), checkout.path()));
    }
}
