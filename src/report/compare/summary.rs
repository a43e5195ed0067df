//! Summarizes a comparison: counts, names, and the order of benchmarks.

use super::ComparisonReport;
use crate::{
    model::Metric,
    report::{
        names::{Names, with_metric},
        quantity,
    },
    verdict::{DecidedRow, VerdictKind},
};

impl ComparisonReport {
    /// True if the versions have no benchmark in common, or all of those chose not to run.
    pub(super) fn has_compared_nothing(&self) -> bool {
        self.with_verdict(VerdictKind::Skipped).count() == self.outcome.rows.len()
    }

    /// The smallest change of interest in a benchmark: of its own settings, or the common one.
    pub(super) fn min_effect_of(&self, row: &DecidedRow) -> f64 {
        row.decisive().map_or(self.outcome.criteria.min_effect, |stage| stage.assessment.min_effect)
    }

    /// The smallest change of interest, with a note if it differs between benchmarks: `1 % (some
    /// benchmarks have their own)`.
    pub(super) fn min_effect_text(&self) -> String {
        let common = self.outcome.criteria.min_effect;
        let is_counted = |row: &DecidedRow| row.metric.as_ref().is_some_and(Metric::is_counted);
        let has_own = |row: &DecidedRow| {
            !is_counted(row) && self.min_effect_of(row).total_cmp(&common).is_ne()
        };
        let own = if self.outcome.rows.iter().any(has_own) {
            " (some benchmarks have their own)"
        } else {
            ""
        };
        quantity::exact(common) + own
    }

    /// The most important verdict of both comparisons, in a word.
    pub(super) fn headline(&self) -> &'static str {
        let both = std::iter::once(&self.outcome).chain(self.also.iter().map(|also| &also.outcome));
        let worst = both.filter_map(|outcome| outcome.counts().worst()).min();
        worst.map_or("nothing to compare", VerdictKind::name)
    }

    /// The rows with this verdict, in the order of definition.
    pub(super) fn with_verdict(&self, kind: VerdictKind) -> impl Iterator<Item = &DecidedRow> {
        self.outcome.rows.iter().filter(move |row| VerdictKind::new(&row.verdict) == kind)
    }

    /// The rows of the table: regressions, the largest first, then all others in the order of
    /// definition, without those that were not measured.
    pub(super) fn ordered(&self) -> Vec<&DecidedRow> {
        use VerdictKind::{Identical, Regressed, Skipped, Unaffected};
        let others = self.outcome.rows.iter().filter(|row| {
            let kind = VerdictKind::new(&row.verdict);
            !matches!(kind, Regressed | Unaffected | Identical | Skipped)
        });
        self.regressed().into_iter().chain(others).collect()
    }

    /// The regressions, the largest first.
    pub(super) fn regressed(&self) -> Vec<&DecidedRow> {
        let size =
            |row: &DecidedRow| row.decisive().map_or(0.0, |stage| stage.assessment.change.estimate);
        let mut regressed: Vec<&DecidedRow> = self.with_verdict(VerdictKind::Regressed).collect();
        regressed.sort_by(|one, other| size(other).total_cmp(&size(one)));
        regressed
    }

    /// The names of all benchmarks.
    pub(super) fn names(&self) -> Names<'_> {
        let compared = self.outcome.rows.iter().map(|row| &row.benchmark);
        let removed = self.outcome.removed.iter().map(|one| &one.benchmark);
        Names::new(compared.chain(&self.outcome.added).chain(removed))
    }
}

/// The name of a row: of its benchmark, and of its metric unless that is wall time.
pub(super) fn name(names: &Names<'_>, row: &DecidedRow) -> String {
    with_metric(names.name(&row.benchmark), row.metric.as_ref())
}
