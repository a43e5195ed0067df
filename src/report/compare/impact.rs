//! What of the differences between the versions benchmarks execute and read, in words.

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

/// What is said of benchmarks that execute and read the same of what differs.
pub(super) struct ImpactNote {
    /// Whether they got faster or slower, or are only not known to cost the same.
    pub(super) is_changed: bool,
    /// The names of the benchmarks, the first of them, and what they execute and read.
    pub(super) text: Text,
}

impl ComparisonReport {
    /// What the measured benchmarks execute and read that differs, unless they are shown to cost the same: those
    /// of which the same is to be said together.
    pub(super) fn impact_notes(&self) -> Vec<ImpactNote> {
        let names = self.names();
        let rows: Vec<&DecidedRow> =
            self.ordered().into_iter().filter(|row| is_shown(row)).collect();
        let mut notes: Vec<(bool, Text, Vec<&Benchmark>)> = Vec::new();
        for row in &rows {
            let Some(reach) = &row.impact else { continue };
            // Each metric has a row.
            let mut own = rows.iter().filter(|other| other.benchmark == row.benchmark);
            let is_changed = own.any(|row| has_changed(row));
            let text = words(reach, is_changed);
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

/// What a measured benchmark executes and reads of what differs.
pub(super) fn words(reach: &Impact, is_changed: bool) -> Text {
    let nothing = "executes nothing that changed";
    match (reach.is_nothing(), is_changed) {
        (true, true) => Text::from(format!(
            "{nothing}, so memory, input, environment or a path not taken when it was traced must be the reason"
        )),
        (true, false) => nothing.into(),
        (false, _) => impact::words(reach, "measured because"),
    }
}

/// Whether a reader asks what of the differences a benchmark reaches.
pub(super) fn is_shown(row: &DecidedRow) -> bool {
    has_changed(row) || VerdictKind::new(&row.verdict) == VerdictKind::Inconclusive
}

fn has_changed(row: &DecidedRow) -> bool {
    VerdictKind::new(&row.verdict).is_change()
}
