//! What was removed from the cache for people.

use super::GcReport;
use crate::report::{
    document::{Block, Document, Item},
    quantity::bytes,
};

impl GcReport {
    pub(super) fn write_document(&self) -> Document {
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let (removed, all) = (self.removed_bytes(), self.all_bytes);
        let left = bytes(all.saturating_sub(removed));
        let head = format!("{verb} {} of {}; {left} left", bytes(removed), bytes(all));
        let kinds = self.kinds().into_iter().map(|(kind, total)| (kind.to_string(), total));
        let versions = self.versions().into_iter();
        let versions = versions.map(|(version, total)| (format!("of {version}"), total));
        let groups = kinds
            .chain(versions)
            .map(|(group, total)| format!("{group}: {}, {}", total.entries, bytes(total.bytes)));
        let mut document = Document::new("gc");
        document.add([Block::List(vec![Item::new(head, Block::list(groups))])]);
        document
    }
}
