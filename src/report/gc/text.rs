//! What was removed from the cache for people.

use super::GcReport;
use crate::report::{quantity::bytes, visible::visible};

impl GcReport {
    pub(super) fn write_text(&self) -> String {
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let (removed, all) = (self.removed_bytes(), self.all_bytes);
        let left = bytes(all.saturating_sub(removed));
        let mut text = format!("{verb} {} of {}; {left} left\n", bytes(removed), bytes(all));
        let kinds = self.kinds().into_iter().map(|(kind, total)| (kind.to_string(), total));
        let versions = self.versions().into_iter();
        let versions = versions.map(|(version, total)| (format!("of {version}"), total));
        for (group, total) in kinds.chain(versions) {
            text += &format!("  {}: {}, {}\n", visible(&group), total.entries, bytes(total.bytes));
        }
        text
    }
}
