//! The summary of a comparison: counts, the order of benchmarks, and the exit code.

use super::ComparisonReport;
use crate::{
    failure::Exit,
    judge::{Counts, JudgedRow, VerdictKind},
    model::Metric,
    report::{
        names::{Names, with_metric},
        quantity,
    },
};

impl ComparisonReport {
    /// How many there are of each kind.
    pub fn counts(&self) -> Counts {
        self.counts_of(|_| true)
    }

    /// How many there are of each kind of those that affect the exit code.
    fn deciding_counts(&self) -> Counts {
        self.counts_of(|row| self.policy.decides(row, &self.rows))
    }

    fn counts_of(&self, is_meant: impl Fn(&JudgedRow) -> bool) -> Counts {
        let rows = self.rows.iter().filter(|row| is_meant(row));
        let kinds: Vec<_> = rows.map(|row| VerdictKind::of(&row.verdict)).collect();
        Counts {
            added: self.added.len(),
            removed: self.removed.len(),
            failed_targets: self.failed_targets.len(),
            ..Counts::of(&kinds)
        }
    }

    /// Whether there is nothing to report of any benchmark.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.failed_targets.is_empty()
    }

    /// Whether no benchmark is in both versions, or those that are chose not to run.
    pub(super) fn has_compared_nothing(&self) -> bool {
        self.with_verdict(VerdictKind::Skipped).count() == self.rows.len()
    }

    /// This comparison, and that with a release.
    fn both(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.also.as_deref())
    }

    /// The exit code. A comparison with a release counts as much as that with the base.
    pub fn exit(&self) -> Exit {
        self.policy.exit(self.both().map(Self::deciding_counts))
    }

    /// The smallest change of interest in a benchmark: its own, if it was judged by one.
    pub(super) fn min_effect_of(&self, row: &JudgedRow) -> f64 {
        row.decisive().map_or(self.criteria.min_effect, |stage| stage.assessment.min_effect)
    }

    /// The smallest change of interest, and whether it is not that of all benchmarks:
    /// `1 % (some benchmarks have their own)`.
    pub(super) fn min_effect_text(&self) -> String {
        let common = self.criteria.min_effect;
        let is_counted = |row: &JudgedRow| row.metric.as_ref().is_some_and(Metric::is_counted);
        let has_own = |row: &JudgedRow| {
            !is_counted(row) && self.min_effect_of(row).total_cmp(&common).is_ne()
        };
        let own =
            if self.rows.iter().any(has_own) { " (some benchmarks have their own)" } else { "" };
        quantity::exact(common) + own
    }

    /// The verdict that matters most in both comparisons, in a word.
    pub(super) fn headline(&self) -> &'static str {
        let worst = |report: &Self| {
            let failed = (!report.failed_targets.is_empty()).then_some(VerdictKind::Failed);
            let kinds = report.rows.iter().map(|row| VerdictKind::of(&row.verdict));
            kinds.chain(failed).min()
        };
        self.both().filter_map(worst).min().map_or("nothing to compare", VerdictKind::name)
    }

    /// `2 regressed, 7 unchanged`.
    pub(super) fn verdicts_text(&self) -> String {
        let counted = VerdictKind::ALL.into_iter().filter_map(|kind| {
            let count = self.with_verdict(kind).count();
            (count > 0).then(|| format!("{count} {}", kind.name()))
        });
        let mut counted: Vec<String> = counted.collect();
        if !self.failed_targets.is_empty() {
            counted.push(quantity::count(self.failed_targets.len(), "failed bench target"));
        }
        if counted.is_empty() {
            "no benchmark in both versions".to_owned()
        } else {
            counted.join(", ")
        }
    }

    /// The rows with this verdict, in the order of definition.
    pub(super) fn with_verdict(&self, kind: VerdictKind) -> impl Iterator<Item = &JudgedRow> {
        self.rows.iter().filter(move |row| VerdictKind::of(&row.verdict) == kind)
    }

    /// The rows of the table: what regressed, then all others in the order of definition, but none where
    /// there was nothing to measure.
    pub(super) fn ordered(&self) -> Vec<&JudgedRow> {
        use VerdictKind::{Identical, Regressed, Skipped, Unaffected};
        let others = self.rows.iter().filter(|row| {
            let kind = VerdictKind::of(&row.verdict);
            !matches!(kind, Regressed | Unaffected | Identical | Skipped)
        });
        self.with_verdict(Regressed).chain(others).collect()
    }

    /// The names of all benchmarks.
    pub(super) fn names(&self) -> Names<'_> {
        let compared = self.rows.iter().map(|row| &row.benchmark);
        Names::of(compared.chain(&self.added).chain(&self.removed))
    }
}

/// The name of a row: of its benchmark, and of its metric where that is not wall time.
pub(super) fn name(names: &Names<'_>, row: &JudgedRow) -> String {
    with_metric(names.name(&row.benchmark), row.metric.as_ref())
}
