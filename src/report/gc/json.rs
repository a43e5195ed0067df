//! What was removed from the cache for programs.

use serde::Serialize;

use super::{GcReport, Total};
use crate::{build::gc::EntryKind, failure::Result, report::json::document};

#[derive(Serialize)]
struct Gc<'r> {
    /// Whether it would only be removed.
    dry_run: bool,
    all_bytes: u64,
    removed_bytes: u64,
    kinds: Vec<OfKind>,
    versions: Vec<OfVersion<'r>>,
}

#[derive(Serialize)]
struct OfKind {
    kind: &'static str,
    entries: usize,
    bytes: u64,
}

#[derive(Serialize)]
struct OfVersion<'r> {
    version: &'r str,
    entries: usize,
    bytes: u64,
}

impl GcReport {
    pub(super) fn write_json(&self) -> Result<String> {
        let kinds = self.kinds().into_iter();
        let versions = self.versions().into_iter();
        document(&Gc {
            dry_run: self.dry_run,
            all_bytes: self.all_bytes,
            removed_bytes: self.removed_bytes(),
            kinds: kinds
                .map(|(kind, Total { entries, bytes })| OfKind { kind: name(kind), entries, bytes })
                .collect(),
            versions: versions
                .map(|(version, Total { entries, bytes })| OfVersion { version, entries, bytes })
                .collect(),
        })
    }
}

const fn name(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Checkout => "checkout",
        EntryKind::Compilation => "compilation",
        EntryKind::Build => "build",
        EntryKind::Reproducibility => "reproducibility",
        EntryKind::Lock => "lock_file",
    }
}
