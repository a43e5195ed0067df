//! Prunes the cache: by age, then by size, least recently used first.
//!
//! The modification time of an entry's directory or file records when it was last used. Pruning only
//! costs time: all entries can be made again.

use std::{
    cmp::Reverse,
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{cache_dirs::CacheDirs, compilation::Compilation, files};
use crate::error::{Context, Exit, Result};

/// What an entry of the cache is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A version's files.
    Checkout,
    /// A compilation with its target dir.
    Compilation,
    /// One build.
    Build,
    /// What was found out about the reproducibility of compiling.
    Reproducibility,
    /// The lock file that versions without one are compiled with.
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

/// An entry of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEntry {
    /// What it is.
    pub kind: EntryKind,
    /// Its directory, or file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// How long it has not been used.
    pub idle: Duration,
}

/// What is kept at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Entries idle for longer go.
    pub age: Duration,
    /// Then the longest idle go, until all together have at most this many bytes.
    pub size: u64,
}

impl Default for Limits {
    /// 30 days and 10 GiB.
    fn default() -> Self {
        Self { age: Duration::from_secs(30 * 24 * 3600), size: 10 << 30 }
    }
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many entries.
    pub entries: usize,
    /// Their size in bytes.
    pub size: u64,
}

/// Notes that the entry at `path` is used now. A cache that cannot be written to is still a cache.
pub fn mark_used(path: &Path) {
    let _ = fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes what is beyond the limits, but nothing that was used after `since`.
pub fn prune(site: &CacheDirs, limits: Limits, since: SystemTime) -> Result<Pruned> {
    /// File systems keep times that may lie before those of the clock by so much.
    const SLACK: Duration = Duration::from_secs(1);
    let now = SystemTime::now();
    let in_use = now.duration_since(since).unwrap_or_default() + SLACK;
    let mut pruned = Pruned::default();
    for entry in superfluous(entries(site, now), limits) {
        if entry.idle > in_use {
            remove(site, &entry)?;
            pruned.entries += 1;
            pruned.size += entry.size;
        }
    }
    Ok(pruned)
}

/// For checkouts and compilations, the version that they were made for, by their directories.
pub fn versions(site: &CacheDirs) -> HashMap<PathBuf, String> {
    let mut versions = HashMap::new();
    let homes = fs::read_dir(site.compilations()).into_iter().flatten().filter_map(io::Result::ok);
    for home in homes.map(|entry| entry.path()) {
        let Some(record) = Compilation::record(&home) else { continue };
        if let Ok(checkout) = fs::read_link(home.join("src")) {
            versions.insert(checkout, record.version.clone());
        }
        versions.insert(home, record.version);
    }
    versions
}

/// All entries of a site, at the time `now`.
pub fn entries(site: &CacheDirs, now: SystemTime) -> Vec<CacheEntry> {
    let kinds = [
        (EntryKind::Checkout, site.checkouts()),
        (EntryKind::Compilation, site.compilations()),
        (EntryKind::Build, site.builds()),
        (EntryKind::Reproducibility, site.reproducibilities()),
        (EntryKind::Lock, site.resolved()),
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

/// Which of the entries go.
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

/// Removes an entry of a site, with what lies beside it.
pub fn remove(site: &CacheDirs, entry: &CacheEntry) -> Result<()> {
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
        EntryKind::Compilation => vec![site.log(&key)],
        EntryKind::Build | EntryKind::Reproducibility | EntryKind::Lock => Vec::new(),
    };
    for file in beside {
        // A leftover is never read without its entry.
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
    fn old_entries_go_whatever_their_size() {
        let entries = [entry("new", 10, 1), entry("old", 1, 31)];
        assert_eq!(remaining_files(&entries, 30, 1000), ["old"]);
    }

    #[test]
    fn the_longest_idle_go_until_the_rest_fits() {
        let entries = [entry("a", 50, 1), entry("b", 50, 3), entry("c", 50, 2)];
        assert_eq!(remaining_files(&entries, 30, 100), ["b"]);
        assert_eq!(remaining_files(&entries, 30, 99), ["b", "c"]);
        assert_eq!(remaining_files(&entries, 30, 0), ["b", "c", "a"]);
    }

    #[test]
    fn a_compilation_goes_with_its_log_and_a_checkout_with_its_manifest() {
        let directory = tempfile::tempdir().unwrap();
        let site = CacheDirs::new(directory.path(), "id", directory.path(), directory.path());
        let (compilation, checkout) = (site.compilation("key"), site.checkouts().join("tree"));
        let files = [site.log("key"), checkout.with_extension("manifest")];
        for file in &files {
            files::write_whole(file, b"").unwrap();
        }
        for directory in [&compilation, &checkout] {
            fs::create_dir_all(directory).unwrap();
        }
        for entry in entries(&site, SystemTime::now()) {
            remove(&site, &entry).unwrap();
        }
        assert!(files.iter().chain([&compilation, &checkout]).all(|path| !path.exists()));
    }

    #[test]
    fn what_is_remembered_goes_when_it_was_not_used_for_long() {
        let directory = tempfile::tempdir().unwrap();
        let site = CacheDirs::new(directory.path(), "id", directory.path(), directory.path());
        let month = Duration::from_secs(30 * 24 * 3600);
        let remembered = [
            site.reproducibility("old"),
            site.reproducibility("new"),
            site.resolved_lock(Path::new("")),
        ];
        for path in &remembered {
            files::write_whole(path, b"{}").unwrap();
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - 2 * month).unwrap();
        }
        mark_used(&remembered[1]);
        let all = entries(&site, SystemTime::now());
        assert_eq!(all.iter().map(|entry| entry.size).sum::<u64>(), 6);
        for entry in superfluous(all, Limits { age: month, size: 1000 }) {
            remove(&site, &entry).unwrap();
        }
        assert_eq!(remembered.map(|path| path.exists()), [false, true, false]);
    }

    #[test]
    fn an_entry_in_use_is_not_idle() {
        let directory = tempfile::tempdir().unwrap();
        let site = CacheDirs::new(directory.path(), "id", directory.path(), directory.path());
        let home = site.compilation("key");
        fs::create_dir_all(&home).unwrap();
        fs::File::open(&home).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        mark_used(&home);
        let found = entries(&site, SystemTime::now() + Duration::from_secs(10));
        assert_eq!(found.len(), 1);
        assert!((9..60).contains(&found[0].idle.as_secs()), "{:?}", found[0].idle);
    }

    #[test]
    fn pruning_keeps_what_was_used_in_this_run_whatever_its_size() {
        let directory = tempfile::tempdir().unwrap();
        let site = CacheDirs::new(directory.path(), "id", directory.path(), directory.path());
        let hour = Duration::from_secs(3600);
        let homes = ["before", "now"].map(|key| site.compilation(key));
        for (home, age) in homes.iter().zip([2, 0]) {
            files::write_whole(&home.join("target/x"), &[0; 1000]).unwrap();
            let used = SystemTime::now() - age * hour;
            fs::File::open(home).unwrap().set_modified(used).unwrap();
        }
        let none = Limits { age: hour * 1000, size: 0 };
        let pruned = prune(&site, none, SystemTime::now() - hour).unwrap();
        assert_eq!(pruned, Pruned { entries: 1, size: 1000 });
        assert_eq!(homes.map(|home| home.exists()), [false, true]);
    }
}
