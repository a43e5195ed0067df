//! `cargo rbench gc`: prunes the cache of checkouts, compilations and builds.

use std::time::{Duration, SystemTime};

use crate::project::Project;
use crate::{
    build::gc::{self, Entry, Limits},
    cli::GcArgs,
    console::Console,
    failure::{Exit, Result},
    report::quantity,
};

/// Removes what is too old or too much, and says what.
pub fn run(args: &GcArgs) -> Result<Exit> {
    let console = Console::new(false);
    let project = Project::find(args.manifest_path.as_deref())?;
    let _lock = console.lock(&project.site)?;
    let age = Duration::from_secs(u64::from(args.max_age) * 24 * 3600);
    let entries = gc::entries(&project.site, SystemTime::now());
    let all = total(&entries);
    let superfluous = gc::superfluous(entries, Limits { age, size: args.max_size });
    let verb = if args.dry_run { "would remove" } else { "removed" };
    for entry in &superfluous {
        if !args.dry_run {
            gc::remove(&project.site, entry)?;
        }
        console.line(&format!("{verb} {} {}", entry.kind, entry.path.display()));
    }
    let gone = total(&superfluous);
    Console::result(&format!(
        "{verb} {} of {}; {} left\n",
        quantity::bytes(gone),
        quantity::bytes(all),
        quantity::bytes(all - gone)
    ))?;
    Ok(Exit::Success)
}

fn total(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| entry.size).sum()
}
