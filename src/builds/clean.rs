//! Prunes the cache: first by age, then by size, least recently used first.
//!
//! The modification time of an entry's directory or file records its last use. Pruning only costs time: all entries
//! can be made again.

use std::{
    cmp::Reverse,
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{cache_dirs::CacheDirs, compilation::Compilation, files};
use crate::error::{Context, Exit, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A version's files.
    Checkout,
    Compilation,
    Build,
    Reproducibility,
    /// A lock file for versions without one.
    Lock,
}

impl EntryKind {
    const fn is_directory(self) -> bool {
        matches!(self, Self::Checkout | Self::Compilation | Self::Build)
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checkout => "checkout",
            Self::Compilation => "compilation",
            Self::Build => "build",
            Self::Reproducibility => "record of reproducibility",
            Self::Lock => "lock file",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEntry {
    pub kind: EntryKind,
    /// Its directory or file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The time since its last use.
    pub idle: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Entries that are idle for longer are removed.
    pub age: Duration,
    /// Then the longest idle ones are removed until the total size in bytes is at most this.
    pub size: u64,
}

impl Default for Limits {
    /// 30 days and 10 GiB.
    fn default() -> Self {
        Self { age: Duration::from_secs(30 * 24 * 3600), size: 10 << 30 }
    }
}

/// The removed entries, and what is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub entries: usize,
    /// Their total size in bytes.
    pub size: u64,
    /// The total size in bytes of the entries that are left.
    pub left: u64,
}

/// Marks the entry at `path` as used now. Ignores errors, since a read-only cache is still useful.
pub fn mark_used(path: &Path) {
    let _ = fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes entries beyond the limits, except those used after `since`.
pub fn prune(dirs: &CacheDirs, limits: Limits, since: SystemTime) -> Result<Pruned> {
    /// File systems may round times down, by less than this.
    const SLACK: Duration = Duration::from_secs(1);
    let now = SystemTime::now();
    let in_use = now.duration_since(since).unwrap_or_default() + SLACK;
    let entries = entries(dirs, now);
    let left = entries.iter().map(|entry| entry.size).sum();
    let mut pruned = Pruned { left, ..Pruned::default() };
    for entry in superfluous(entries, limits) {
        if entry.idle > in_use {
            remove(dirs, &entry)?;
            pruned.entries += 1;
            pruned.size += entry.size;
            pruned.left -= entry.size;
        }
    }
    Ok(pruned)
}

/// The version of each checkout and compilation, by directory.
pub fn versions(dirs: &CacheDirs) -> HashMap<PathBuf, String> {
    let mut versions = HashMap::new();
    let homes = fs::read_dir(dirs.compilations()).into_iter().flatten().filter_map(io::Result::ok);
    for home in homes.map(|entry| entry.path()) {
        let Some(record) = Compilation::record(&home) else { continue };
        if let Ok(checkout) = fs::read_link(home.join("src")) {
            versions.insert(checkout, record.version.clone());
        }
        versions.insert(home, record.version);
    }
    versions
}

/// All entries of the cache, with idle times at the time `now`.
pub fn entries(dirs: &CacheDirs, now: SystemTime) -> Vec<CacheEntry> {
    let kinds = [
        (EntryKind::Checkout, dirs.checkouts()),
        (EntryKind::Compilation, dirs.compilations()),
        (EntryKind::Build, dirs.builds()),
        (EntryKind::Reproducibility, dirs.reproducibilities()),
        (EntryKind::Lock, dirs.resolved()),
    ];
    let mut entries = Vec::new();
    for (kind, directory) in kinds {
        let Ok(found) = fs::read_dir(directory) else { continue };
        let paths = found.filter_map(io::Result::ok).map(|entry| entry.path());
        let of_kind = paths.filter(|path| path.is_dir() == kind.is_directory());
        entries.extend(of_kind.map(|path| CacheEntry {
            kind,
            size: size(&path),
            idle: idle(&path, now),
            path,
        }));
    }
    entries
}

fn size(path: &Path) -> u64 {
    if path.is_dir() {
        return files::size_of_directory(path);
    }
    fs::symlink_metadata(path).map_or(0, |metadata| metadata.len())
}

fn idle(path: &Path, now: SystemTime) -> Duration {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|used| now.duration_since(used).ok())
        .unwrap_or_default()
}

pub fn superfluous(mut entries: Vec<CacheEntry>, limits: Limits) -> Vec<CacheEntry> {
    entries.sort_by_key(|entry| Reverse(entry.idle));
    let mut left: u64 = entries.iter().map(|entry| entry.size).sum();
    entries.retain(|entry| {
        let goes = entry.idle > limits.age || left > limits.size;
        if goes {
            left -= entry.size;
        }
        goes
    });
    entries
}

/// Removes an entry and the files beside it that belong to it.
pub fn remove(dirs: &CacheDirs, entry: &CacheEntry) -> Result<()> {
    if !entry.kind.is_directory() {
        let what = || format!("cannot remove {}", entry.path.display());
        return fs::remove_file(&entry.path).context(Exit::Build, what);
    }
    files::remove_directory(&entry.path)?;
    let key = entry.path.file_name().unwrap_or_default().to_string_lossy();
    let beside = match entry.kind {
        EntryKind::Checkout => {
            ["manifest", "lock-added"].map(|extension| entry.path.with_extension(extension)).into()
        }
        EntryKind::Compilation => vec![dirs.log(&key)],
        EntryKind::Build | EntryKind::Reproducibility | EntryKind::Lock => Vec::new(),
    };
    for file in beside {
        // Leftovers are harmless: they are never read without their entry.
        let _ = fs::remove_file(file);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, size: u64, days: u64) -> CacheEntry {
        CacheEntry {
            kind: EntryKind::Build,
            path: name.into(),
            size,
            idle: Duration::from_secs(days * 24 * 3600),
        }
    }

    fn remaining_files(entries: &[CacheEntry], days: u64, size: u64) -> Vec<String> {
        let limits = Limits { age: Duration::from_secs(days * 24 * 3600), size };
        let gone = superfluous(entries.to_vec(), limits);
        gone.iter().map(|entry| entry.path.display().to_string()).collect()
    }

    #[test]
    fn old_entries_are_removed_whatever_their_size() {
        let entries = [entry("new", 10, 1), entry("old", 1, 31)];
        assert_eq!(remaining_files(&entries, 30, 1000), ["old"]);
    }

    #[test]
    fn longest_idle_entries_are_removed_until_the_rest_fits() {
        let entries = [entry("a", 50, 1), entry("b", 50, 3), entry("c", 50, 2)];
        assert_eq!(remaining_files(&entries, 30, 100), ["b"]);
        assert_eq!(remaining_files(&entries, 30, 99), ["b", "c"]);
        assert_eq!(remaining_files(&entries, 30, 0), ["b", "c", "a"]);
    }

    #[test]
    fn remove_deletes_the_log_and_the_manifest_too() {
        let directory = tempfile::tempdir().unwrap();
        let dirs = CacheDirs::new(directory.path(), "id", directory.path(), directory.path());
        let (compilation, checkout) = (dirs.compilation("key"), dirs.checkouts().join("tree"));
        let files = [dirs.log("key"), checkout.with_extension("manifest")];
        for file in &files {
            files::write_whole(file, b"").unwrap();
        }
        for directory in [&compilation, &checkout] {
            fs::create_dir_all(directory).unwrap();
        }
        for entry in entries(&dirs, SystemTime::now()) {
            remove(&dirs, &entry).unwrap();
        }
        assert!(files.iter().chain([&compilation, &checkout]).all(|path| !path.exists()));
    }

    #[test]
    fn cached_results_are_removed_after_long_disuse() {
        let directory = tempfile::tempdir().unwrap();
        let dirs = CacheDirs::new(directory.path(), "id", directory.path(), directory.path());
        let month = Duration::from_secs(30 * 24 * 3600);
        let remembered = [
            dirs.reproducibility("old"),
            dirs.reproducibility("new"),
            dirs.resolved_lock(Path::new("")),
        ];
        for path in &remembered {
            files::write_whole(path, b"{}").unwrap();
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - 2 * month).unwrap();
        }
        mark_used(&remembered[1]);
        let all = entries(&dirs, SystemTime::now());
        assert_eq!(all.iter().map(|entry| entry.size).sum::<u64>(), 6);
        for entry in superfluous(all, Limits { age: month, size: 1000 }) {
            remove(&dirs, &entry).unwrap();
        }
        assert_eq!(remembered.map(|path| path.exists()), [false, true, false]);
    }

    #[test]
    fn entry_in_use_is_not_idle() {
        let directory = tempfile::tempdir().unwrap();
        let dirs = CacheDirs::new(directory.path(), "id", directory.path(), directory.path());
        let home = dirs.compilation("key");
        fs::create_dir_all(&home).unwrap();
        fs::File::open(&home).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        mark_used(&home);
        let found = entries(&dirs, SystemTime::now() + Duration::from_secs(10));
        assert_eq!(found.len(), 1);
        assert!((9..60).contains(&found[0].idle.as_secs()), "{:?}", found[0].idle);
    }

    #[test]
    fn prune_keeps_entries_used_in_this_run() {
        let directory = tempfile::tempdir().unwrap();
        let dirs = CacheDirs::new(directory.path(), "id", directory.path(), directory.path());
        let hour = Duration::from_secs(3600);
        let homes = ["before", "now"].map(|key| dirs.compilation(key));
        for (home, age) in homes.iter().zip([2, 0]) {
            files::write_whole(&home.join("target/x"), &[0; 1000]).unwrap();
            let used = SystemTime::now() - age * hour;
            fs::File::open(home).unwrap().set_modified(used).unwrap();
        }
        let none = Limits { age: hour * 1000, size: 0 };
        let pruned = prune(&dirs, none, SystemTime::now() - hour).unwrap();
        assert_eq!(pruned, Pruned { entries: 1, size: 1000, left: 1000 });
        assert_eq!(homes.map(|home| home.exists()), [false, true]);
    }
}
