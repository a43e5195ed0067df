//! Lists the changes that comparisons of two versions within one experiment showed.

use super::{BenchmarkHistory, HistoryReport, HistoryRow, ReferenceVersion, Relation};
use crate::{
    model::Version,
    report::{
        document::{Block, Text},
        names::metric_name,
        quantity::{changed, range_in_brackets},
        style::Role,
        table::{Cell, Column, Table},
    },
    verdict::{DecidedRow, VerdictKind},
};

/// A change of a benchmark between two versions that were measured in one experiment.
pub(super) struct Shown<'r> {
    pub(super) history: &'r BenchmarkHistory,
    pub(super) base: &'r Version,
    pub(super) head: &'r Version,
    pub(super) row: &'r DecidedRow,
}

impl HistoryReport {
    /// A table for each pair of versions between which benchmarks changed, the oldest first; empty
    /// if there are none.
    pub(super) fn compared(&self) -> Vec<Block> {
        let mut shown: Vec<Shown<'_>> = self.shown().collect();
        let mut blocks = Vec::new();
        // All benchmarks have the versions in one order; versions that a benchmark lacks are not in
        // its rows.
        while let Some(first) = shown.iter().min_by_key(|one| self.place(one.head)) {
            let (base, head) = (first.base, first.head);
            let is_meant = |one: &Shown<'_>| one.base == base && one.head == head;
            let (meant, rest): (Vec<_>, Vec<_>) = shown.into_iter().partition(is_meant);
            blocks.push(Block::Table(self.table_of([base, head], &meant)));
            blocks.extend(subject(head));
            shown = rest;
        }
        blocks
    }

    fn shown(&self) -> impl Iterator<Item = Shown<'_>> {
        self.benchmarks.iter().flat_map(BenchmarkHistory::shown)
    }

    /// The position of a version in the order of all.
    fn place(&self, version: &Version) -> Option<usize> {
        let longest = self.benchmarks.iter().max_by_key(|history| history.versions.len())?;
        longest.versions.iter().position(|row| row.version == *version)
    }

    fn table_of(&self, versions: [&Version; 2], shown: &[Shown<'_>]) -> Table {
        let names = self.names();
        let [base, head] = versions.map(Version::short);
        let title = format!("changed in {base}..{head}");
        let mut table = Table::new([
            Column::left(title).names(),
            Column::left("metric"),
            Column::right("change"),
            Column::left("").joined(),
            Column::left("verdict"),
        ]);
        for Shown { history, row, .. } in shown {
            let kind = VerdictKind::new(&row.verdict);
            let change = row.decisive().map(|stage| &stage.assessment.change);
            let estimate = change.map_or_else(String::new, |change| changed(change.estimate));
            let interval = change
                .map_or_else(String::new, |change| range_in_brackets(change.low, change.high));
            table.row([
                Cell::name(names.name(&history.benchmark)),
                Cell::from(metric_name(Some(&history.metric))),
                Cell::styled(kind.role(), estimate),
                Cell::from(interval),
                Cell::styled(kind.role(), kind.name()),
            ]);
        }
        table
    }
}

/// The subject of the commit with the change.
pub(super) fn subject(version: &Version) -> Option<Block> {
    let hash = Text::new().styled_name(Role::Quiet, version.short());
    let subject = hash.styled(Role::Quiet, format!(": {}", version.summary));
    (!version.summary.is_empty()).then(|| Block::Paragraph(vec![subject]))
}

impl BenchmarkHistory {
    /// The changes that comparisons within one experiment showed.
    pub(super) fn shown(&self) -> impl Iterator<Item = Shown<'_>> {
        self.versions.iter().filter_map(|HistoryRow { version: head, against, .. }| {
            let ReferenceVersion { version: base, relation, row } = against.as_ref()?;
            let has_changed = VerdictKind::new(&row.verdict).is_change();
            let is_shown = has_changed && *relation == Relation::SameExperiment;
            is_shown.then_some(Shown { history: self, base, head, row })
        })
    }
}
