//! `cargo rbench gc`: prunes the cache of checkouts, compilations and builds.

use std::time::SystemTime;

use tracing::info;

use crate::{
    build::gc::{self, Entry, Limits},
    cli::GcArgs,
    console::Console,
    failure::{Exit, Result},
    project::Project,
    report::{gc::GcReport, render},
};

/// Removes what is too old or too much, and reports it by kind and by version.
pub fn run(args: &GcArgs) -> Result<Exit> {
    let console = Console::attach();
    let project = Project::find(args.manifest_path.as_deref())?;
    // Only looking disturbs nobody.
    let _lock = (!args.dry_run).then(|| project.lock(&console)).transpose()?;
    let site = project.site()?;
    let entries = gc::entries(site, SystemTime::now());
    let versions = gc::versions(site);
    let all_bytes = entries.iter().map(|entry| entry.size).sum();
    let superfluous = gc::superfluous(entries, Limits { age: args.max_age, size: args.max_size });
    let verb = if args.dry_run { "would remove" } else { "removed" };
    for entry in &superfluous {
        if !args.dry_run {
            gc::remove(site, entry)?;
        }
        info!("{verb} {} {}", entry.kind, entry.path.display());
    }
    let of_version = |entry: Entry| {
        let version = versions.get(&entry.path).cloned();
        (entry, version)
    };
    let removed = superfluous.into_iter().map(of_version).collect();
    let report = GcReport { dry_run: args.dry_run, removed, all_bytes };
    Console::result(&render::text(&report.document(), Console::result_columns()))?;
    Ok(Exit::Success)
}
