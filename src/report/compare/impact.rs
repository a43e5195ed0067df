//! Words the impact of the differences between the versions on benchmarks.

use std::collections::{HashMap, HashSet};

use super::{ComparisonReport, notes::MOST_NAMES};
use crate::{
    impact::Impact,
    model::Benchmark,
    report::{
        document::Text,
        impact::{self, benchmarks_text},
        names::Names,
        quantity::and_more,
    },
    verdict::VerdictKind,
};

/// A note on benchmarks with the same impact.
pub struct ImpactNote {
    /// True if they changed; false if they are only not shown to cost the same.
    pub is_changed: bool,
    /// The names of the benchmarks, and the impact on them.
    pub text: Text,
}

/// A row with an impact: its benchmark, its verdict, and the impact on it.
pub type ImpactRow<'r> = (&'r Benchmark, VerdictKind, &'r Impact);

/// The notes on the impact on measured benchmarks, unless they are shown to cost the same.
/// Benchmarks with the same impact share a note, which names at most `most` functions, files or
/// variables.
pub fn impact_notes(names: &Names<'_>, rows: &[ImpactRow<'_>], most: usize) -> Vec<ImpactNote> {
    let changed = rows.iter().filter(|(_, kind, _)| kind.is_change());
    let changed: HashSet<&Benchmark> = changed.map(|(benchmark, ..)| *benchmark).collect();
    let mut notes: Vec<(bool, Text, Vec<&Benchmark>)> = Vec::new();
    let (mut places, mut met) = (HashMap::new(), HashSet::new());
    for (benchmark, _, impact) in rows.iter().filter(|(_, kind, _)| is_shown(*kind)) {
        // A benchmark has one row for each metric.
        if !met.insert(*benchmark) {
            continue;
        }
        let is_changed = changed.contains(benchmark);
        let text = words(&own_first(impact, benchmark), is_changed, most);
        let place = *places.entry((is_changed, text.plain())).or_insert(notes.len());
        match notes.get_mut(place) {
            Some((.., benchmarks)) => benchmarks.push(benchmark),
            None => notes.push((is_changed, text, vec![benchmark])),
        }
    }
    let note = |(is_changed, text, benchmarks): (bool, Text, Vec<&Benchmark>)| {
        let shown = benchmarks.iter().take(MOST_NAMES);
        let shown = shown.map(|one| impact::name(&names.name(one)));
        let whom = Text::joined(shown, ", ").then(and_more(benchmarks.len(), MOST_NAMES));
        ImpactNote { is_changed, text: benchmarks_text(whom, benchmarks.len(), text) }
    };
    notes.into_iter().map(note).collect()
}

impl ComparisonReport {
    /// The notes on the impact on the rows of the table.
    pub(super) fn impact_notes(&self, most: usize) -> Vec<ImpactNote> {
        let rows = self.ordered().into_iter().filter_map(|row| {
            Some((&row.benchmark, VerdictKind::new(&row.verdict), row.impact.as_ref()?))
        });
        impact_notes(&self.names(), &rows.collect::<Vec<_>>(), most)
    }
}

/// The impact with the functions of the benchmark's package first: a reader knows them.
fn own_first(impact: &Impact, benchmark: &Benchmark) -> Impact {
    let own = benchmark.package.replace('-', "_");
    let mut impact = impact.clone();
    impact.functions.sort_by_key(|function| !function.name.as_str().contains(&own));
    impact
}

/// The impact on a measured benchmark, with at most this many functions, files or variables.
pub(super) fn words(impact: &Impact, is_changed: bool, most: usize) -> Text {
    let nothing = "executes nothing that changed";
    match (impact.is_nothing(), is_changed) {
        (true, true) => Text::from(format!(
            "{nothing}, so memory, input, environment or a path not taken when it was traced must be the reason"
        )),
        (true, false) => nothing.into(),
        (false, _) => impact::words(impact, "measured because", most),
    }
}

/// True if a reader will ask for the impact on a benchmark with this verdict.
pub(super) const fn is_shown(kind: VerdictKind) -> bool {
    kind.is_change() || matches!(kind, VerdictKind::Inconclusive)
}
