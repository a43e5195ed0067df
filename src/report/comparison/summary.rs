//! What a comparison comes to: counts, the mean change, and the order in which benchmarks are told.

use serde::Serialize;

use super::{ComparisonReport, NamedRow};
use crate::report::quantity;

/// How many benchmarks have each verdict, and how many were not compared at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub regressed: usize,
    pub improved: usize,
    pub failed: usize,
    #[serde(rename = "not-comparable")]
    pub not_comparable: usize,
    pub inconclusive: usize,
    pub unchanged: usize,
    pub identical: usize,
    pub added: usize,
    pub removed: usize,
    pub failed_targets: usize,
}

/// The geometric mean of the changes of all benchmarks that were judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GeometricMean {
    /// 0.05 is 5 % more than the base.
    pub change: f64,
    /// How many benchmarks.
    pub benchmarks: usize,
}

/// The verdicts in the order in which they are told: what must be looked at first.
const ORDER: [&str; 7] =
    ["regressed", "failed", "not-comparable", "improved", "inconclusive", "unchanged", "identical"];

impl ComparisonReport {
    pub(super) fn counts(&self) -> Counts {
        let of = |verdict: &str| {
            self.benchmarks.iter().filter(|named| named.row.verdict == verdict).count()
        };
        Counts {
            regressed: of("regressed"),
            improved: of("improved"),
            failed: of("failed"),
            not_comparable: of("not-comparable"),
            inconclusive: of("inconclusive"),
            unchanged: of("unchanged"),
            identical: of("identical"),
            added: self.added.len(),
            removed: self.removed.len(),
            failed_targets: self.failed_targets.len(),
        }
    }

    /// Of all that was judged; none if nothing was.
    pub(super) fn geometric_mean(&self) -> Option<GeometricMean> {
        let logs: Vec<f64> =
            self.benchmarks.iter().filter_map(NamedRow::change).map(f64::ln_1p).collect();
        let benchmarks = logs.len();
        (benchmarks > 0).then(|| GeometricMean {
            change: (logs.iter().sum::<f64>() / benchmarks as f64).exp_m1(),
            benchmarks,
        })
    }

    /// What came of it in a word: the most important verdict that there is.
    pub(super) fn headline(&self) -> &'static str {
        let counts = self.counts();
        let order = [
            (counts.regressed, "regressed"),
            (counts.failed + counts.failed_targets, "failed"),
            (counts.improved, "improved"),
            (counts.not_comparable, "not comparable"),
            (counts.inconclusive, "inconclusive"),
            (counts.unchanged, "unchanged"),
            (counts.identical, "identical"),
        ];
        order.iter().find(|(count, _)| *count > 0).map_or("nothing to compare", |(_, word)| word)
    }

    /// `2 regressed, 7 unchanged`.
    pub(super) fn verdicts(&self) -> String {
        let counts = self.counts();
        let all = [
            (counts.regressed, "regressed"),
            (counts.improved, "improved"),
            (counts.failed, "failed"),
            (counts.not_comparable, "not comparable"),
            (counts.inconclusive, "inconclusive"),
            (counts.unchanged, "unchanged"),
            (counts.identical, "identical"),
        ];
        let mut told: Vec<String> = all
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        if counts.failed_targets > 0 {
            told.push(quantity::count(counts.failed_targets, "failed bench target"));
        }
        if told.is_empty() { "no benchmark in both versions".to_owned() } else { told.join(", ") }
    }

    /// The benchmarks with this verdict, the largest change first; without changes, in the head's order.
    pub(super) fn with_verdict(&self, verdict: &str) -> Vec<&NamedRow> {
        let mut rows: Vec<&NamedRow> =
            self.benchmarks.iter().filter(|named| named.row.verdict == verdict).collect();
        let size = |named: &NamedRow| named.change().map_or(0.0, |change| change.ln_1p().abs());
        if matches!(verdict, "regressed" | "improved") {
            rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
        }
        rows
    }

    /// All benchmarks that are told one by one, what matters most first: not those that are identical.
    pub(super) fn ordered(&self) -> Vec<&NamedRow> {
        let told = ORDER.iter().filter(|verdict| **verdict != "identical");
        told.flat_map(|verdict| self.with_verdict(verdict)).collect()
    }

    /// The name of a benchmark: its id, and its bench target where other benchmarks have that id too.
    pub(super) fn name(&self, named: &NamedRow) -> String {
        let alike = self.benchmarks.iter().filter(|other| other.id == named.id).count();
        // A name must not steer the terminal.
        let id = named.id.replace(char::is_control, "\u{fffd}");
        if alike > 1 { format!("{}/{} {id}", named.package, named.target) } else { id }
    }

    /// How many functions differ, if that is known: `12 functions changed, 3 added, 1 removed`.
    pub(super) fn functions_differing(&self) -> Option<String> {
        let sum = |count: fn(&super::FunctionCounts) -> usize| -> usize {
            self.functions.iter().map(count).sum()
        };
        if self.functions.is_empty() {
            return None;
        }
        let parts = [
            (sum(|f| f.changed), "changed"),
            (sum(|f| f.added), "added"),
            (sum(|f| f.removed), "removed"),
        ];
        let told: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let same = sum(|f| f.unchanged);
        Some(if told.is_empty() {
            format!("all {same} functions are the same")
        } else {
            format!("of the functions, {}; {same} are the same", told.join(", "))
        })
    }
}

impl NamedRow {
    fn change(&self) -> Option<f64> {
        Some(self.row.measured.as_ref()?.decisive()?.change.estimate)
    }
}
