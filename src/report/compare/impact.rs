//! Words the impact of the differences between the versions on benchmarks.

use super::{ComparisonReport, notes::MOST_NAMES};
use crate::{
    impact::Impact,
    model::Benchmark,
    report::{
        document::Text,
        impact::{self, benchmarks_text},
    },
    verdict::{DecidedRow, VerdictKind},
};

/// A note on benchmarks with the same impact.
pub(super) struct ImpactNote {
    /// True if they changed; false if they are only not shown to cost the same.
    pub(super) is_changed: bool,
    /// The names of the benchmarks, and the impact on them.
    pub(super) text: Text,
}

impl ComparisonReport {
    /// The notes on the impact on measured benchmarks, unless they are shown to cost the same.
    /// Benchmarks with the same impact share a note.
    pub(super) fn impact_notes(&self) -> Vec<ImpactNote> {
        let names = self.names();
        let rows: Vec<&DecidedRow> =
            self.ordered().into_iter().filter(|row| is_shown(row)).collect();
        let mut notes: Vec<(bool, Text, Vec<&Benchmark>)> = Vec::new();
        for row in &rows {
            let Some(impact) = &row.impact else { continue };
            // A benchmark has one row for each metric.
            let mut own = rows.iter().filter(|other| other.benchmark == row.benchmark);
            let is_changed = own.any(|row| has_changed(row));
            let text = words(impact, is_changed);
            match notes.iter_mut().find(|(changed, of, _)| (*changed, of) == (is_changed, &text)) {
                Some((.., benchmarks)) if benchmarks.contains(&&row.benchmark) => {}
                Some((.., benchmarks)) => benchmarks.push(&row.benchmark),
                None => notes.push((is_changed, text, vec![&row.benchmark])),
            }
        }
        let note = |(is_changed, text, benchmarks): (bool, Text, Vec<&Benchmark>)| {
            let more = benchmarks.len().saturating_sub(MOST_NAMES);
            let shown = benchmarks.iter().take(MOST_NAMES);
            let shown = shown.map(|one| impact::name(&names.name(one)));
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let whom = Text::joined(shown, ", ").then(more);
            ImpactNote { is_changed, text: benchmarks_text(whom, benchmarks.len(), text) }
        };
        notes.into_iter().map(note).collect()
    }
}

/// The impact on a measured benchmark.
pub(super) fn words(impact: &Impact, is_changed: bool) -> Text {
    let nothing = "executes nothing that changed";
    match (impact.is_nothing(), is_changed) {
        (true, true) => Text::from(format!(
            "{nothing}, so memory, input, environment or a path not taken when it was traced must be the reason"
        )),
        (true, false) => nothing.into(),
        (false, _) => impact::words(impact, "measured because"),
    }
}

/// True if a reader will ask for the impact on the benchmark.
pub(super) fn is_shown(row: &DecidedRow) -> bool {
    has_changed(row) || VerdictKind::new(&row.verdict) == VerdictKind::Inconclusive
}

fn has_changed(row: &DecidedRow) -> bool {
    VerdictKind::new(&row.verdict).is_change()
}
