//! The order of the document of a comparison, the same in every medium.

use crate::report::document::{Block, Item, Step, Text};

/// The parts of the document of a comparison. A part that a medium has no room for stays empty.
#[derive(Default)]
pub struct Parts {
    pub summary: Vec<Text>,
    /// The commits, files and settings by which the versions differ.
    pub changes: Vec<Text>,
    /// The warnings that a reader must know first.
    pub urgent: Vec<Block>,
    /// The rows that need attention.
    pub table: Vec<Block>,
    /// Evidence, failures and causes of these rows.
    pub notes: Vec<Text>,
    /// Where the time of changed rows went.
    pub times: Vec<Item>,
    pub reasons: Vec<Text>,
    /// The other rows.
    pub calm: Option<Block>,
    pub sizes: Vec<Text>,
    /// Notes on several benchmarks, and those that were not compared.
    pub remarks: Vec<Text>,
    /// The other warnings.
    pub warnings: Option<Block>,
    /// The origin of the values and the rules of the verdicts.
    pub how: Vec<Text>,
    pub steps: Vec<Step>,
}

impl Parts {
    pub fn blocks(self) -> Vec<Block> {
        self.around_table().concat()
    }

    /// The blocks before the table, the table, and the blocks after it.
    pub fn around_table(self) -> [Vec<Block>; 3] {
        let before = Block::paragraph(self.summary).into_iter().chain(Block::list(self.changes));
        let after = Block::list(self.notes)
            .into_iter()
            .chain(Block::list(self.times))
            .chain(Block::folded("the reasons", self.reasons))
            .chain(self.calm)
            .chain(Block::folded("where the bytes are", self.sizes))
            .chain(Block::list(self.remarks))
            .chain(self.warnings)
            .chain(Block::folded("how it was measured", self.how))
            .chain(Block::steps(self.steps));
        [before.chain(self.urgent).collect(), self.table, after.collect()]
    }
}
