//! The report of `clean`: the entries removed from the cache, by kind and by version.

use std::collections::BTreeMap;

use super::{
    document::{Block, Document, Item},
    quantity::bytes,
};
use crate::builds::clean::CacheEntry;

#[derive(Clone, Debug)]
pub struct CleanReport {
    /// True if nothing was removed, only reported.
    pub dry_run: bool,
    /// The superfluous entries, each with the version that it belongs to, if there is one.
    pub removed: Vec<(CacheEntry, Option<String>)>,
    /// The size of the whole cache before, in bytes.
    pub all_bytes: u64,
}

/// The number of entries in a group, and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    entries: usize,
    bytes: u64,
}

impl CleanReport {
    pub fn document(&self) -> Document {
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let removed: u64 = self.removed.iter().map(|(entry, _)| entry.size).sum();
        let all = self.all_bytes;
        let left = bytes(all.saturating_sub(removed));
        let head = format!("{verb} {} of {}; {left} left", bytes(removed), bytes(all));
        let kinds = self.totals(|(entry, _)| Some(entry.kind)).into_iter();
        let kinds = kinds.map(|(kind, total)| (kind.to_string(), total));
        let versions = self.totals(|(_, version)| version.as_deref()).into_iter();
        let versions = versions.map(|(version, total)| (format!("of {version}"), total));
        let groups = kinds
            .chain(versions)
            .map(|(group, total)| format!("{group}: {}, {}", total.entries, bytes(total.bytes)));
        let mut document = Document::new("clean");
        document.add([Block::List(vec![Item::new(head, Block::list(groups))])]);
        document
    }

    fn totals<'r, G: Ord>(
        &'r self,
        group: impl Fn(&'r (CacheEntry, Option<String>)) -> Option<G>,
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

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Duration};

    use super::*;
    use crate::builds::clean::EntryKind;
    use crate::report::{render, style};

    fn report(dry_run: bool, version: &str) -> CleanReport {
        let entry = |kind, size| CacheEntry {
            kind,
            path: PathBuf::from("/cache/x"),
            size,
            idle: Duration::from_secs(60),
        };
        let version = Some(version.to_owned());
        CleanReport {
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
    fn clean_counts_by_kind_and_by_version() {
        let text = |report: CleanReport| style::plain(&render::text(&report.document(), 80));
        assert_eq!(
            text(report(true, "HEAD (1a2b3c4)")),
            "would remove 5.0 MiB of 10.0 MiB; 5.0 MiB left\n  checkout: 1, 1.0 KiB\n  compilation: 1, \
             3.0 MiB\n  build: 2, 2.0 MiB\n  of HEAD (1a2b3c4): 2, 3.0 MiB\n"
        );
        assert!(text(report(false, "x")).starts_with("removed 5.0 MiB of"));
    }
}
