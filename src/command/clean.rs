//! `cargo rbench clean`: prunes the cache of checkouts, compilations and builds.

use std::time::SystemTime;

use tracing::info;

use crate::{
    builds::clean::{self, CacheEntry, Limits},
    cli::CleanArgs,
    console::Console,
    error::{Exit, Result},
    project::Project,
    report::{clean::CleanReport, render},
};

/// Removes entries that are too old, then the least recently used ones until the rest fits. Reports them by kind and
/// by version.
pub fn run(args: &CleanArgs) -> Result<Exit> {
    let console = Console::attach();
    let project = Project::find(args.manifest_path.as_deref(), &[])?;
    // A dry run removes nothing, so it needs no lock.
    let _lock = (!args.dry_run).then(|| project.lock(&console)).transpose()?;
    let cache_dirs = project.cache_dirs()?;
    let entries = clean::entries(cache_dirs, SystemTime::now());
    let versions = clean::versions(cache_dirs);
    let all_bytes = entries.iter().map(|entry| entry.size).sum();
    let superfluous =
        clean::superfluous(entries, Limits { age: args.max_age, size: args.max_size });
    let verb = if args.dry_run { "would remove" } else { "removed" };
    for entry in &superfluous {
        if !args.dry_run {
            clean::remove(cache_dirs, entry)?;
        }
        info!("{verb} {} {}", entry.kind, entry.path.display());
    }
    let of_version = |entry: CacheEntry| {
        let version = versions.get(&entry.path).cloned();
        (entry, version)
    };
    let removed = superfluous.into_iter().map(of_version).collect();
    let report = CleanReport { dry_run: args.dry_run, removed, all_bytes };
    Console::result(&render::text(&report.document(), Console::result_columns()))?;
    Ok(Exit::Success)
}
