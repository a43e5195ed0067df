//! The summary of a comparison: counts, mean changes, the order of benchmarks, and the exit code.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ComparisonReport;
use crate::{
    failure::Exit,
    judge::JudgedRow,
    model::Metric,
    report::{
        names::{Names, with_metric},
        quantity,
        verdict::VerdictKind,
    },
    stats::Verdict,
};

/// How many rows have each verdict, and how many benchmarks and bench targets were not compared at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rows with this verdict; so for the next nine.
    pub regressed: usize,
    #[expect(missing_docs)]
    pub accepted: usize,
    #[expect(missing_docs)]
    pub improved: usize,
    #[expect(missing_docs)]
    pub failed: usize,
    #[expect(missing_docs)]
    pub skipped: usize,
    #[expect(missing_docs)]
    pub not_comparable: usize,
    #[expect(missing_docs)]
    pub inconclusive: usize,
    #[expect(missing_docs)]
    pub unchanged: usize,
    #[expect(missing_docs)]
    pub unaffected: usize,
    #[expect(missing_docs)]
    pub identical: usize,
    /// Benchmarks that only the head has.
    pub added: usize,
    /// Benchmarks that only the base has.
    pub removed: usize,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: usize,
}

/// The geometric mean of the changes of all benchmarks that were judged in one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeometricMean {
    /// The metric's name.
    pub metric: String,
    /// 0.05 is 5 % more than the base.
    pub change: f64,
    /// How many benchmarks.
    pub benchmarks: usize,
    /// How many others had nothing in one of the versions: that has no ratio.
    #[serde(skip)]
    pub left_out: usize,
}

impl Counts {
    /// How many there are of each of these kinds.
    pub fn of(kinds: &[VerdictKind]) -> Self {
        let of = |kind| kinds.iter().filter(|one| **one == kind).count();
        Self {
            regressed: of(VerdictKind::Regressed),
            accepted: of(VerdictKind::Accepted),
            improved: of(VerdictKind::Improved),
            failed: of(VerdictKind::Failed),
            skipped: of(VerdictKind::Skipped),
            not_comparable: of(VerdictKind::NotComparable),
            inconclusive: of(VerdictKind::Inconclusive),
            unchanged: of(VerdictKind::Unchanged),
            unaffected: of(VerdictKind::Unaffected),
            identical: of(VerdictKind::Identical),
            ..Self::default()
        }
    }

    /// How many rows have this verdict.
    pub const fn with_verdict(&self, kind: VerdictKind) -> usize {
        match kind {
            VerdictKind::Regressed => self.regressed,
            VerdictKind::Failed => self.failed,
            VerdictKind::Accepted => self.accepted,
            VerdictKind::Improved => self.improved,
            VerdictKind::NotComparable => self.not_comparable,
            VerdictKind::Inconclusive => self.inconclusive,
            VerdictKind::Unchanged => self.unchanged,
            VerdictKind::Unaffected => self.unaffected,
            VerdictKind::Identical => self.identical,
            VerdictKind::Skipped => self.skipped,
        }
    }

    /// How many rows there are.
    fn rows(&self) -> usize {
        VerdictKind::ALL.into_iter().map(|kind| self.with_verdict(kind)).sum()
    }

    /// The exit code of comparisons with these counts, as [`ComparisonReport::exit`] has it.
    pub fn exit(
        comparisons: impl Iterator<Item = Self>,
        advisory: bool,
        inconclusive_counts: bool,
    ) -> Exit {
        let all: Vec<Self> = comparisons.collect();
        let any = |is_so: fn(&Self) -> bool| all.iter().any(is_so);
        if any(|counts| counts.regressed > 0) && !advisory {
            Exit::Regression
        } else if any(|counts| counts.failed + counts.failed_targets > 0) {
            Exit::Benchmark
        } else if inconclusive_counts
            && any(|counts| {
                counts.inconclusive + counts.not_comparable > 0 || counts.skipped == counts.rows()
            })
        {
            Exit::Inconclusive
        } else {
            Exit::Success
        }
    }
}

impl ComparisonReport {
    /// How many there are of each kind.
    pub fn counts(&self) -> Counts {
        self.counts_of(|_| true)
    }

    /// How many there are of each kind of those that affect the exit code.
    fn deciding_counts(&self) -> Counts {
        self.counts_of(|row| self.decides(row))
    }

    /// Whether a row affects the exit code. What was counted beside times does so only if that was asked for.
    pub fn decides(&self, row: &JudgedRow) -> bool {
        let is_counted = |row: &JudgedRow| row.metric.as_ref().is_some_and(Metric::is_counted);
        !is_counted(row)
            || row.metric.as_ref().is_some_and(|metric| self.deciding.contains(metric))
            || self.rows.iter().all(|other| other.metric.is_none() || is_counted(other))
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

    /// The exit code: a regression, unless they are only `advisory`, counts more than a failed benchmark,
    /// and that more than a verdict that says neither, or no verdict at all, where that counts. A comparison with a
    /// release counts as much as that with the base.
    pub fn exit(&self, advisory: bool, inconclusive_counts: bool) -> Exit {
        Counts::exit(self.both().map(Self::deciding_counts), advisory, inconclusive_counts)
    }

    /// The geometric mean of the changes in each metric.
    pub(super) fn geometric_means(&self) -> Vec<GeometricMean> {
        let mut logs: BTreeMap<&Metric, (Vec<f64>, usize)> = BTreeMap::new();
        let is_judged = |row: &&JudgedRow| {
            !matches!(row.verdict, Verdict::Failed { .. } | Verdict::NotComparable { .. })
        };
        for row in self.rows.iter().filter(is_judged) {
            if let (Some(metric), Some(stage)) = (&row.metric, row.decisive()) {
                let (logs, left_out) = logs.entry(metric).or_default();
                let [base, head] = stage.summaries.each_ref().map(|one| one.values().mean);
                if (base > 0.0) == (head > 0.0) {
                    logs.push(stage.assessment.comparison.log_change);
                } else {
                    *left_out += 1;
                }
            }
        }
        let mean = |(metric, (logs, left_out)): (&Metric, (Vec<f64>, usize))| GeometricMean {
            metric: metric.name.clone(),
            change: (logs.iter().sum::<f64>() / logs.len() as f64).exp_m1(),
            benchmarks: logs.len(),
            left_out,
        };
        logs.into_iter().filter(|(_, (logs, _))| !logs.is_empty()).map(mean).collect()
    }

    /// The geometric means of more than one benchmark, each as a sentence.
    pub(super) fn mean_texts(&self) -> impl Iterator<Item = String> {
        let means = self.geometric_means().into_iter().filter(|mean| mean.benchmarks > 1);
        means.map(|GeometricMean { metric, change, benchmarks, left_out }| {
            let metric =
                if metric == Metric::wall().name { String::new() } else { format!(" in {metric}") };
            let change = quantity::percent(change);
            let without = match left_out {
                0 => String::new(),
                some => format!(", without {some} that had or has none"),
            };
            format!(
                "geometric mean of the {benchmarks} benchmarks judged{metric}{without}: {change}"
            )
        })
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
