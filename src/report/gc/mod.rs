//! The report of `gc`: what was removed from the cache, by kind and by version.

mod document;
mod json;

use std::collections::BTreeMap;

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{
    build::gc::{Entry, EntryKind},
    failure::Result,
};

/// What was removed from the cache.
#[derive(Clone, Debug)]
pub struct GcReport {
    /// Whether it would only be removed.
    pub dry_run: bool,
    /// The entries that are superfluous, each with the version that it belongs to, if it belongs to one.
    pub removed: Vec<(Entry, Option<String>)>,
    /// The size of the whole cache before, in bytes.
    pub all_bytes: u64,
}

/// How many entries of a group there are, and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    entries: usize,
    bytes: u64,
}

impl GcReport {
    fn removed_bytes(&self) -> u64 {
        self.removed.iter().map(|(entry, _)| entry.size).sum()
    }

    /// The entries of each kind.
    fn kinds(&self) -> BTreeMap<EntryKind, Total> {
        self.totals(|(entry, _)| Some(entry.kind))
    }

    /// The entries of each version.
    fn versions(&self) -> BTreeMap<&str, Total> {
        self.totals(|(_, version)| version.as_deref())
    }

    fn totals<'r, G: Ord>(
        &'r self,
        group: impl Fn(&'r (Entry, Option<String>)) -> Option<G>,
    ) -> BTreeMap<G, Total> {
        let mut totals: BTreeMap<G, Total> = BTreeMap::new();
        for removed in &self.removed {
            if let Some(group) = group(removed) {
                let total = totals.entry(group).or_default();
                total.entries += 1;
                total.bytes += removed.0.size;
            }
        }
        totals
    }
}

impl Report for GcReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
    }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Duration};

    use super::*;
    use crate::report::{
        style,
        testing::{HOSTILE, assert_harmless, assert_keeps},
    };

    fn report(dry_run: bool, version: &str) -> GcReport {
        let entry = |kind, size| Entry {
            kind,
            path: PathBuf::from("/cache/x"),
            size,
            idle: Duration::from_secs(60),
        };
        let version = Some(version.to_owned());
        GcReport {
            dry_run,
            removed: vec![
                (entry(EntryKind::Checkout, 1024), version.clone()),
                (entry(EntryKind::Compilation, 3 << 20), version),
                (entry(EntryKind::Build, 1 << 20), None),
                (entry(EntryKind::Build, 1 << 20), None),
            ],
            all_bytes: 10 << 20,
        }
    }

    #[test]
    fn what_is_removed_is_counted_by_kind_and_by_version() {
        let text = style::plain(&report(true, "HEAD (1a2b3c4)").text(80));
        assert_eq!(
            text,
            "would remove 5.0 MiB of 10.0 MiB; 5.0 MiB left\n  checkout: 1, 1.0 KiB\n  compilation: 1, \
             3.0 MiB\n  build: 2, 2.0 MiB\n  of HEAD (1a2b3c4): 2, 3.0 MiB\n"
        );
        assert!(report(false, "x").text(80).starts_with("removed 5.0 MiB of"));
    }

    #[test]
    fn a_program_reads_what_the_schema_says() {
        assert_keeps(include_str!("../../../schemas/gc.json"), &report(true, "HEAD (1a2b3c4)"));
    }

    #[test]
    fn nothing_from_elsewhere_steers_the_terminal() {
        assert_harmless(&report(true, HOSTILE));
    }
}
