//! What a checkout looked like when it was written, so that damage is noticed later.
//!
//! One line per file or link: kind and permissions, size, time of modification, path. A check
//! costs one `lstat` per file. It notices files that are missing, of another size, kind or mode, or
//! written to since; not an edit that keeps the size and sets the old time back. Files that were
//! added (a `Cargo.lock`, what a build script generates) are no damage, but must not be compiled.

use std::{
    collections::HashSet,
    fmt::Write as _,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::UNIX_EPOCH,
};

/// Describes every file below `directory`, in a fixed order.
pub(super) fn describe(directory: &Path) -> io::Result<String> {
    let mut text = String::new();
    describe_into(directory, Path::new(""), &mut text)?;
    Ok(text)
}

fn describe_into(root: &Path, directory: &Path, text: &mut String) -> io::Result<()> {
    let mut entries = fs::read_dir(root.join(directory))?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = directory.join(entry.file_name());
        let data = entry.metadata()?;
        if data.is_dir() {
            describe_into(root, &path, text)?;
        } else {
            text.push_str(&line(&data, &path));
        }
    }
    Ok(())
}

/// The path is written as hex where it is not plain text, so that every line is one file.
fn line(data: &Metadata, path: &Path) -> String {
    let path = path.to_str().filter(|path| !path.contains(['\n', '\r'])).map_or_else(
        || format!("x{}", hex(path.as_os_str().as_encoded_bytes())),
        |path| format!("p{path}"),
    );
    format!("{:o} {} {} {path}\n", data.mode(), data.len(), modified(data))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Nanoseconds since 1970, 0 where the file system knows no times.
fn modified(data: &Metadata) -> u128 {
    data.modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |t| t.as_nanos())
}

/// Whether everything that `manifest` describes is still so below `directory`.
pub(super) fn holds(manifest: &str, directory: &Path) -> bool {
    let Ok(now) = describe(directory) else { return false };
    // Both are in the same order, so one pass over what is there now finds all that was there.
    let mut now = now.lines();
    manifest.lines().all(|line| now.any(|present| present == line))
}

/// How the files below a directory differ from what its manifest describes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// The files that were changed or removed.
    pub(super) changed: Vec<String>,
    /// Whether there are others that cargo may see: lock files, which cargo makes itself, and target
    /// dirs do not count.
    pub(super) has_more: bool,
}

/// How the files below `directory` differ from what `manifest` describes.
pub(super) fn differences(manifest: &str, directory: &Path) -> Differences {
    // What cannot be read is missing.
    let now = describe(directory).unwrap_or_default();
    let present: HashSet<&str> = now.lines().collect();
    let known: HashSet<&str> = manifest.lines().filter_map(path_of).collect();
    let changed = manifest.lines().filter(|line| !present.contains(line)).filter_map(path_of);
    let more = |path: &&str| !known.contains(path) && !is_made_by_cargo(path);
    Differences {
        changed: changed.map(str::to_owned).collect(),
        has_more: now.lines().filter_map(path_of).any(|path| more(&path)),
    }
}

/// The path in a line, as it is written there without its first letter.
fn path_of(line: &str) -> Option<&str> {
    line.splitn(4, ' ').nth(3)?.get(1..)
}

fn is_made_by_cargo(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next_back() == Some("Cargo.lock") || parts.any(|part| part == "target")
}
