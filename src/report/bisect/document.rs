//! The report of `bisect` for people: an entry for each benchmark, and below it the places where it
//! changed.

use super::{
    BisectReport, Commit, CommitPlace, Merged, Outcome, SearchedBenchmark, SearchedLine,
    words::{self, change, day},
};
use crate::report::{
    compare::warning_sentence,
    document::{Block, Document, Item, Text},
    impact,
    quantity::count,
    style::Role,
};

impl BisectReport {
    pub(super) fn write_document(&self) -> Document {
        let title = Text::new().name(&*self.range).then(format!(": {}", self.line.subject()));
        let mut document = Document::new("bisect").titled(title);
        let warnings = self.warnings.iter();
        document.add(warnings.map(|one| Block::Warning(warning_sentence(one).into(), None)));
        document.add(self.blocks(&self.line));
        let summary = format!("{}; {}", self.line.counts(), self.cost());
        document.add(Block::paragraph(std::iter::once(summary).chain(self.remarks())));
        document
    }

    /// The results on a line: each benchmark that changed stands apart.
    fn blocks(&self, line: &SearchedLine) -> Vec<Block> {
        let names = line.names();
        let is_changed = |one: &&SearchedBenchmark| matches!(one.outcome, Outcome::Changed { .. });
        let item = |one: &SearchedBenchmark| self.item(one, &one.name(&names));
        let changed = line.benchmarks.iter().filter(is_changed);
        let mut blocks: Vec<Block> = changed.map(|one| Block::List(vec![item(one)])).collect();
        let others = line.benchmarks.iter().filter(|one| !is_changed(one));
        blocks.extend(Block::list(others.map(item)));
        blocks.extend(Block::list(line.notes()));
        blocks
    }

    fn item(&self, one: &SearchedBenchmark, name: &str) -> Item {
        let (role, places): (_, &[CommitPlace]) = match &one.outcome {
            Outcome::Changed { places, .. } => (Role::Head, places),
            _ => (Role::Plain, &[]),
        };
        let places = places.iter().map(|place| self.place(place, one));
        let remarks = one.remarks(self.criteria.min_effect).into_iter().map(Item::from);
        let text = Text::new().styled_name(role, name).then(format!(": {}", one.outcome()));
        Item::new(text, Block::list(places.chain(remarks)))
    }

    /// A place: the commits that changed the benchmark, and below them the size of the change.
    fn place(&self, place: &CommitPlace, one: &SearchedBenchmark) -> Item {
        let (first, between, last) = words::shown(&place.commits);
        let more = (between > 0).then(|| Text::from(format!("… {} …", count(between, "commit"))));
        let mut lines: Vec<Text> = place
            .caution()
            .map(|caution| Text::new().styled(Role::Doubtful, caution))
            .into_iter()
            .collect();
        lines.extend(first.iter().map(commit).chain(more).chain(last.iter().map(commit)));
        let role = if place.change.estimate > 0.0 { Role::Bad } else { Role::Good };
        let mut size = Text::new().styled(role, change(&place.change));
        if let Some(impact) = &place.impact {
            size = size.then(": ").append(impact::words(impact, "measured because"));
        }
        let mut below = vec![Item::from(size)];
        below.extend(
            place
                .check(self, &one.benchmark)
                .map(|command| Item::from(Text::from("check it with: ").command(command))),
        );
        below.extend(place.merged.as_ref().map(|merged| match merged {
            Merged::NotSearched(reason) => {
                Item::from(format!("what it merged was not searched: {reason}"))
            }
            Merged::Searched(line) => {
                let head = format!("of what it merged, {}:", line.subject());
                Item::new(head, self.blocks(line))
            }
        }));
        Item::new(Text::joined(lines, "; "), [Block::List(below)])
    }
}

/// `1a2b3c4 2026-11-02 Parse names without a table`.
fn commit(commit: &Commit) -> Text {
    let hash = Text::new().styled_name(Role::Head, commit.version.short());
    hash.then(format!(" {} {}", day(commit), commit.version.summary))
}
