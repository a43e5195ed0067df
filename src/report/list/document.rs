//! The report of `list` for people: an entry for each bench target, and one below it for each id.

use super::ListReport;
use crate::report::document::{Block, Document, Item, Text};

impl ListReport {
    pub(super) fn write_document(&self) -> Document {
        let mut document = Document::new("list");
        let targets = self.targets.iter().filter_map(|(harness, benchmarks)| {
            let target = benchmarks.first()?.bench_target().to_string();
            let ids = benchmarks.iter().map(|benchmark| Text::from_name(&*benchmark.name.id));
            Some(Item::new(Text::from_name(target).then(format!(" ({harness})")), Block::list(ids)))
        });
        document.add(Block::list(targets));
        document
    }
}
