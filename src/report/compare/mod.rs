//! The report of `compare`: every benchmark of two versions with its verdict.

mod advice;
mod audit;
mod comparison;
mod document;
mod html;
mod line;
mod notes;
mod overall;
mod parts;
pub(super) mod ranking;
mod warning;

use std::rc::Rc;

pub use comparison::{Comparison, Comparisons};
pub(crate) use comparison::{NamedMetrics, Row, table};
pub(crate) use document::NOT_MEASURED;
pub(super) use html::page_of;
pub(crate) use notes::{changes_texts, confirmed_by};
pub(crate) use overall::GeometricMean;
pub(crate) use parts::Parts;
pub(crate) use ranking::RankingReport;
pub(crate) use warning::WarningFields;
pub(super) use warning::{cause as warning_cause, sentence as warning_sentence};

use super::{
    ExportedValue, Report,
    document::{Document, Medium},
    names::{Names, with_metric},
    quantity,
};
use crate::{
    compare::Outcome,
    error::Result,
    model::Metric,
    shell::CommandLine,
    verdict::{DecidedRow, ExitPolicy, VerdictKind},
};

#[derive(Clone, Debug)]
pub struct ComparisonReport {
    pub outcome: Outcome,
    /// The verdicts that make the command fail.
    pub policy: ExitPolicy,
    /// True to give the reason for every verdict, not only for those worth a check.
    pub explains_all: bool,
    /// True to suggest commands. They need a project that still exists after the report.
    pub suggests: bool,
    pub command_line: Rc<dyn CommandLine>,
}

impl ComparisonReport {
    pub fn new(outcome: Outcome, policy: ExitPolicy, command_line: Rc<dyn CommandLine>) -> Self {
        Self { outcome, policy, explains_all: false, suggests: true, command_line }
    }

    /// Gives the reason for every verdict if `all` is set.
    #[must_use]
    pub fn explaining_all(self, all: bool) -> Self {
        Self { explains_all: all, ..self }
    }

    /// True if the versions have no benchmark in common, or all of those chose not to run.
    fn has_compared_nothing(&self) -> bool {
        self.with_verdict(VerdictKind::Skipped).count() == self.outcome.rows.len()
    }

    /// The smallest change of interest in a benchmark: of its own settings, or the common one.
    fn min_effect_of(&self, row: &DecidedRow) -> f64 {
        row.decisive().map_or(self.outcome.criteria.min_effect, |stage| stage.assessment.min_effect)
    }

    /// The smallest change of interest, with a note if it differs between benchmarks: `1 % (some
    /// benchmarks have their own)`.
    fn min_effect_text(&self) -> String {
        let common = self.outcome.criteria.min_effect;
        let decides = |row: &DecidedRow| row.metric.as_ref().is_none_or(Metric::decides);
        let is_other =
            |row: &DecidedRow| !decides(row) || !self.outcome.only_compilations && is_compiled(row);
        let has_own =
            |row: &DecidedRow| !is_other(row) && self.min_effect_of(row).total_cmp(&common).is_ne();
        let own = if self.outcome.rows.iter().any(has_own) {
            " (some benchmarks have their own)"
        } else {
            ""
        };
        let is_counted = |row: &DecidedRow| row.metric.as_ref().is_some_and(Metric::is_counted);
        let times = self.outcome.rows.iter().find(|row| is_compiled(row) && !is_counted(row));
        let of_times = times
            .filter(|_| !self.outcome.only_compilations)
            .map(|row| format!(", of compiling {}", quantity::exact(self.min_effect_of(row))));
        quantity::exact(common) + own + &of_times.unwrap_or_default()
    }

    /// The rows with this verdict, in the order of definition.
    fn with_verdict(&self, kind: VerdictKind) -> impl Iterator<Item = &DecidedRow> {
        self.outcome.rows.iter().filter(move |row| VerdictKind::new(&row.verdict) == kind)
    }

    /// The rows of the table: regressions, the largest first, then all others in the order of
    /// definition, without those that were not measured.
    fn ordered(&self) -> Vec<&DecidedRow> {
        use VerdictKind::{Identical, Regressed, Skipped, Unaffected};
        let others = self.outcome.rows.iter().filter(|row| {
            let kind = VerdictKind::new(&row.verdict);
            !matches!(kind, Regressed | Unaffected | Identical | Skipped)
        });
        self.regressed().into_iter().chain(others).collect()
    }

    /// The regressions, the largest first.
    fn regressed(&self) -> Vec<&DecidedRow> {
        let size =
            |row: &DecidedRow| row.decisive().map_or(0.0, |stage| stage.assessment.change.estimate);
        let mut regressed: Vec<&DecidedRow> = self.with_verdict(VerdictKind::Regressed).collect();
        regressed.sort_by(|one, other| size(other).total_cmp(&size(one)));
        regressed
    }

    const fn alone(&self) -> CompareReport<'_> {
        CompareReport { with_base: self, also_base: None }
    }

    fn names(&self) -> Names<'_> {
        let compared = self.outcome.rows.iter().map(|row| &row.benchmark);
        let removed = self.outcome.removed.iter().map(|one| &one.benchmark);
        Names::new(compared.chain(&self.outcome.added).chain(removed))
    }
}

/// True for a row about compilations, which run nothing.
fn is_compiled(row: &DecidedRow) -> bool {
    row.metric.as_ref().is_some_and(Metric::is_of_compilations)
}

/// The name of a row: of its benchmark, and of its metric unless that is wall time.
fn name(names: &Names<'_>, row: &DecidedRow) -> String {
    with_metric(names.name(&row.benchmark), row.metric.as_ref())
}

/// The report of `compare` on a head: one comparison after the other.
#[derive(Clone, Copy)]
pub struct CompareReport<'r> {
    with_base: &'r ComparisonReport,
    /// The comparison of the same head with a release, if there is one.
    also_base: Option<&'r ComparisonReport>,
}

impl<'r> CompareReport<'r> {
    /// The report on the comparison with the base, and on that with a release behind it. `None` without any.
    pub fn new(reports: &'r [ComparisonReport]) -> Option<Self> {
        let (with_base, others) = reports.split_first()?;
        Some(Self { with_base, also_base: others.first() })
    }

    /// The most important verdict of both comparisons, in a word.
    fn headline(&self) -> &'static str {
        let both = std::iter::once(self.with_base).chain(self.also_base);
        let worst = both.filter_map(|report| report.outcome.counts().worst()).min();
        worst.map_or("nothing to compare", VerdictKind::name)
    }
}

impl Report for CompareReport<'_> {
    fn document(&self, medium: Medium) -> Document {
        self.write_document(medium)
    }

    fn json(&self) -> Result<String> {
        self.comparisons().to_json()
    }

    fn values(&self) -> Option<Vec<ExportedValue>> {
        Some(self.with_base.head_values())
    }

    fn html(&self) -> Result<String> {
        self.write_html()
    }
}

impl Report for ComparisonReport {
    fn document(&self, medium: Medium) -> Document {
        self.alone().document(medium)
    }

    fn json(&self) -> Result<String> {
        self.alone().json()
    }

    fn html(&self) -> Result<String> {
        self.alone().html()
    }
}

#[cfg(test)]
mod tests;
