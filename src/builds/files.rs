//! Atomic file operations: readers see a file complete or not at all.

use std::{
    collections::HashMap,
    fs,
    io::{self, Write},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::SystemTime,
};

use rbench_code::elf::Digest;
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Context, Error, Exit, Result};

/// The prefix of the names of unfinished files, from the crate tempfile.
pub const UNFINISHED: &str = ".tmp";

/// Writes a file atomically: readers see the old contents or the new, never a part.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(parent(path))?;
        file.write_all(contents)?;
        file.persist(path)?;
        Ok(())
    };
    fs::create_dir_all(parent(path))
        .and_then(|()| write())
        .context(Exit::Build, || format!("cannot write {}", path.display()))
}

/// Writes a value as JSON with its digest on the last line, atomically.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_with_digest(path, serde_json::to_vec_pretty(value))
}

/// The same, with the JSON on one line; for large data that nobody reads.
pub fn write_json_line(path: &Path, value: &impl Serialize) -> Result<()> {
    write_with_digest(path, serde_json::to_vec(value))
}

fn write_with_digest(path: &Path, json: serde_json::Result<Vec<u8>>) -> Result<()> {
    let mut json = json.context(Exit::Internal, || format!("cannot write {}", path.display()))?;
    let digest = Digest::compute(&json);
    json.extend_from_slice(format!("\n{digest}\n").as_bytes());
    write_whole(path, &json)
}

/// Reads a value that [`write_json`] or [`write_json_line`] wrote; `None` if the file is missing or damaged, because a
/// cache entry is made again without complaint. A damaged one could otherwise be valid JSON with another value.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = fs::read(path).ok()?;
    let lines = bytes.strip_suffix(b"\n")?;
    let end = lines.iter().rposition(|byte| *byte == b'\n')?;
    let (json, digest) = (&lines[..end], &lines[end + 1..]);
    let is_whole = Digest::compute(json).to_string().as_bytes() == digest;
    serde_json::from_slice(json).ok().filter(|_| is_whole)
}

/// Makes `link` a symbolic link to `target` atomically; it may exist as another link.
pub fn point(link: &Path, target: &Path) -> Result<()> {
    if fs::read_link(link).is_ok_and(|old| old == target) {
        return Ok(());
    }
    let make = || -> io::Result<()> {
        fs::create_dir_all(parent(link))?;
        // Another process may be using the old link: never leave a gap.
        let fresh = tempfile::Builder::new().make_in(parent(link), |path| symlink(target, path))?;
        fresh.persist(link)?;
        Ok(())
    };
    make().context(Exit::Build, || {
        format!("cannot make {} a link to {}", link.display(), target.display())
    })
}

/// Removes the unfinished files of killed processes that [`write_whole`] and [`point`] left in a directory.
pub fn remove_leftovers(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(io::Result::ok);
    for entry in entries
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()))
    {
        // A remaining one does no harm.
        let _ = fs::remove_file(entry.path());
    }
}

pub fn modified(path: &Path) -> Result<SystemTime> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .context(Exit::Build, || format!("cannot read {}", path.display()))
}

/// Removes a directory and its contents, if it exists.
pub fn remove_directory(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context(Exit::Build, || format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

pub fn create_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path)
        .context(Exit::Build, || format!("cannot create the directory {}", path.display()))
}

/// Adds to a tool's error that the disk of `path` is full, if it is: tools report that in strange ways (a linker that
/// writes through a memory map dies of a bus error).
pub fn or_full_disk(error: Error, path: &Path) -> Error {
    const LITTLE: u64 = 64 << 20;
    match free_space(path) {
        Some(free) if free < LITTLE => error
            .cause(format!("the disk of {} has only {free} bytes left", path.display()))
            .hint("free some space, for example with: cargo rbench clean --max-size 1G"),
        _ => error,
    }
}

/// Refuses to write this number of bytes where the disk has less room.
pub fn refuse_if_disk_is_small(bytes: u64, path: &Path, what: impl Fn() -> String) -> Result<()> {
    match free_space(path) {
        Some(free) if free < bytes => Err(Error::new(Exit::Usage, what()).cause(format!(
            "it takes {bytes} bytes, and the disk of {} has {free} left",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// The number of bytes that this user can still write to the disk of `path`, which need not exist yet.
fn free_space(path: &Path) -> Option<u64> {
    let disk = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The size in bytes of all files below a directory; hard links count each time they appear.
pub fn size_of_directory(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries
        .filter_map(io::Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of_directory(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// The path without `..` and symbolic links; the part that does not exist stays as it is.
pub fn real(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|ancestor| {
        let real = ancestor.canonicalize().ok()?;
        let rest = path.strip_prefix(ancestor).ok()?;
        // Joining an empty path would add a slash, which only a directory can have.
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    resolved.unwrap_or_else(|| path.to_owned())
}

/// The results of [`real`] for many paths at one time: directories that they share are resolved once.
#[derive(Default)]
pub struct RealPaths(HashMap<PathBuf, PathBuf>);

impl RealPaths {
    /// The same as [`real`].
    pub fn resolve(&mut self, path: &Path) -> PathBuf {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !is_link && path.is_absolute() => {
                self.resolve(parent).join(name)
            }
            _ => real(path),
        };
        self.0.insert(path.to_owned(), real.clone());
        real
    }
}

/// The digest of what a file contains, and of who may execute it, which git keeps of the permissions.
pub fn digest_of_file(path: &Path, data: &fs::Metadata) -> io::Result<Digest> {
    let mut bytes = fs::read(path)?;
    bytes.extend((data.permissions().mode() & 0o111).to_ne_bytes());
    Ok(Digest::compute(&bytes))
}

/// The digest of a file, or of where a link leads; `None` if it is neither.
pub fn content_digest(path: &Path) -> Option<Digest> {
    let data = fs::symlink_metadata(path).ok()?;
    if data.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some(Digest::compute(&[b"->", target.as_os_str().as_encoded_bytes()].concat()));
    }
    // Reading a pipe would never end.
    data.is_file().then(|| digest_of_file(path, &data).ok()).flatten()
}

/// The paths of all files below a directory, sorted; `None` if some cannot be listed.
pub fn walk(directory: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(directory.join(&below)).ok()? {
            let entry = entry.ok()?;
            let path = below.join(entry.file_name());
            if entry.file_type().ok()?.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_bytes_than_the_disk_has_are_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let refuse = |bytes| refuse_if_disk_is_small(bytes, scratch.path(), || "cannot".to_owned());
        refuse(1).unwrap();
        let error = refuse(u64::MAX).unwrap_err().to_string();
        assert!(error.contains("and the disk of"), "{error}");
    }

    #[test]
    fn point_replaces_an_existing_link() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("bin").join("at");
        point(&link, Path::new("/first")).unwrap();
        point(&link, Path::new("/second")).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("/second"));
        assert_eq!(fs::read_dir(directory.path().join("bin")).unwrap().count(), 1);
    }

    #[test]
    fn read_json_treats_a_damaged_file_as_missing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep").join("record.json");
        assert_eq!(read_json::<Vec<u32>>(&path), None);
        write_json(&path, &[1, 2]).unwrap();
        assert_eq!(read_json::<Vec<u32>>(&path), Some(vec![1, 2]));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(read_json::<Vec<u32>>(&path), None, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(read_json::<Vec<u32>>(&path), None, "cut at {at}");
        }
    }

    #[test]
    fn real_paths_are_resolved_like_each_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/file"), "").unwrap();
        for (link, target) in [("to-a", "a"), ("a/up", ".."), ("dangling", "nowhere/x")] {
            symlink(target, at(link)).unwrap();
        }
        let mut all = RealPaths::default();
        for name in [
            "a/b",
            "to-a/b",
            "to-a/up/a/file",
            "to-a/missing/x",
            "a/file/x",
            "dangling",
            "dangling/x",
            "a/b/../file",
            "missing/../a",
            "to-a/..",
            "to-a/../to-a/b",
        ] {
            let path = at(name);
            assert_eq!(all.resolve(&path), real(&path), "{name}");
        }
        for path in ["/", "relative/x", ""].map(Path::new) {
            assert_eq!(all.resolve(path), real(path));
        }
        assert!(real(&at("to-a/up/a/file")).ends_with("a/file"));
    }

    #[test]
    fn remove_leftovers_removes_only_unfinished_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let unfinished = tempfile::NamedTempFile::new_in(path).unwrap().keep().unwrap().1;
        let made = |target: &Path| symlink("/nowhere", target);
        let link = tempfile::Builder::new().make_in(path, made).unwrap().keep().unwrap().1;
        fs::write(path.join("kept"), "").unwrap();
        remove_leftovers(path);
        assert_eq!(
            [unfinished, link, path.join("kept")].map(|path| path.symlink_metadata().is_ok()),
            [false, false, true]
        );
    }

    #[test]
    fn write_error_names_the_path() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        let error = write_whole(&directory.path().join("file/x"), b"").unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
    }

    #[test]
    fn pipe_has_no_contents_and_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(content_digest(&pipe), None);
        fs::write(directory.path().join("file"), "").unwrap();
        assert!(content_digest(&directory.path().join("file")).is_some());
    }
}
