//! Atomic operations on files: a file appears complete or not at all.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Context, Error, Exit, Result};

/// How the names of unfinished files begin: those of the crate tempfile.
pub const UNFINISHED: &str = ".tmp";

/// Writes a file in one step: a reader sees the old contents or the new, never a part.
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

/// Writes a value as JSON, in one step.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_vec_pretty(value)
        .context(Exit::Internal, || format!("cannot write {}", path.display()))?;
    write_whole(path, &json)
}

/// The same in one line, for what is large and read by nobody.
pub fn write_json_line(path: &Path, value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_vec(value)
        .context(Exit::Internal, || format!("cannot write {}", path.display()))?;
    write_whole(path, &json)
}

/// Reads a value that [`write_json`] or [`write_json_line`] wrote; `None` if the file is missing or damaged: a cache is
/// made again rather than complained about.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Makes `link` a symbolic link to `target` in one step, whatever link it was before.
pub fn point(link: &Path, target: &Path) -> Result<()> {
    if fs::read_link(link).is_ok_and(|old| old == target) {
        return Ok(());
    }
    let make = || -> io::Result<()> {
        fs::create_dir_all(parent(link))?;
        // Somebody may be using the old link at this moment: never leave a gap.
        let fresh = tempfile::Builder::new().make_in(parent(link), |path| symlink(target, path))?;
        fresh.persist(link)?;
        Ok(())
    };
    make().context(Exit::Build, || {
        format!("cannot make {} a link to {}", link.display(), target.display())
    })
}

/// Removes the files of a directory that [`write_whole`] and [`point`] were making when their process
/// was killed.
pub fn remove_leftovers(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(io::Result::ok);
    for entry in entries
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()))
    {
        // One that stays does no harm.
        let _ = fs::remove_file(entry.path());
    }
}

/// When a file was modified.
pub fn modified(path: &Path) -> Result<SystemTime> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .context(Exit::Build, || format!("cannot read {}", path.display()))
}

/// Removes a directory and all below it, if it is there.
pub fn remove_directory(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context(Exit::Build, || format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Creates a directory and those above it.
pub fn create_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path)
        .context(Exit::Build, || format!("cannot create the directory {}", path.display()))
}

/// Adds to the failure of a tool that the disk of `path` is full, if it is: tools report that in strange
/// ways (a linker that writes through a memory map dies of a bus error).
pub fn or_full_disk(failure: Error, path: &Path) -> Error {
    const LITTLE: u64 = 64 << 20;
    match free_space(path) {
        Some(free) if free < LITTLE => failure
            .cause(format!("the disk of {} has only {free} bytes left", path.display()))
            .hint("free some space, for example with: cargo rbench clean --max-size 1G"),
        _ => failure,
    }
}

/// Bytes that this user can still write to the disk of `path`, which need not exist yet.
fn free_space(path: &Path) -> Option<u64> {
    let disk = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes of all files below a directory, hard links counted once each time they appear.
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

/// A path without `..` and symbolic links, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|ancestor| {
        let real = ancestor.canonicalize().ok()?;
        let rest = path.strip_prefix(ancestor).ok()?;
        // To join nothing would add a slash, which only a directory can have.
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    resolved.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_can_be_pointed_elsewhere() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("bin").join("at");
        point(&link, Path::new("/first")).unwrap();
        point(&link, Path::new("/second")).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("/second"));
        assert_eq!(fs::read_dir(directory.path().join("bin")).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_file_reads_as_a_missing_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep").join("record.json");
        assert_eq!(read_json::<Vec<u32>>(&path), None);
        write_json(&path, &[1, 2]).unwrap();
        assert_eq!(read_json::<Vec<u32>>(&path), Some(vec![1, 2]));
        fs::write(&path, "[1, ").unwrap();
        assert_eq!(read_json::<Vec<u32>>(&path), None);
    }

    #[test]
    fn unfinished_files_of_a_killed_run_are_removed_and_nothing_else() {
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
    fn what_cannot_be_written_is_named() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        let failure = write_whole(&directory.path().join("file/x"), b"").unwrap_err();
        assert!(failure.to_string().starts_with("cannot write "), "{failure}");
    }
}
