//! Decides the exit code of a command that compares: which verdicts make it fail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{DecidedRow, VerdictKind};
use crate::{error::Exit, model::Metric};

/// The verdicts that make a command fail. A failed benchmark always does, unless all that fails in both versions is that
/// others have its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitPolicy {
    /// True if regressions are reported without failing.
    pub ignores_regressions: bool,
    /// True if inconclusive and not comparable verdicts also fail, and comparisons of nothing at
    /// all.
    pub inconclusive: bool,
    /// True if benchmarks that are [missing](Counts::missing) in the head also fail.
    pub missing: bool,
    /// True if comparisons of nothing at all fail too. The first benchmarks of a repository have nothing to be compared
    /// with.
    pub nothing_compared: bool,
    /// The metrics that affect the exit code beside times, of those that do so only on request. If nothing was timed,
    /// all do.
    pub metrics: Vec<Metric>,
}

impl ExitPolicy {
    /// The exit code for the counts of rows that [decide](Self::decides), one for each comparison.
    /// A regression outranks a failed benchmark, which outranks an inconclusive verdict or none at
    /// all.
    pub fn exit(&self, comparisons: impl Iterator<Item = Counts>) -> Exit {
        let all: Vec<Counts> = comparisons.collect();
        let any = |is_so: fn(&Counts) -> bool| all.iter().any(is_so);
        if any(|counts| counts.regressed > 0) && !self.ignores_regressions {
            Exit::Regression
        } else if any(|counts| counts.failed + counts.failed_targets > 0)
            || self.missing && any(|counts| counts.missing > 0)
            || self.nothing_compared && all.iter().all(Counts::compare_nothing_that_was_there)
        {
            Exit::Benchmark
        } else if self.inconclusive
            && any(|counts| {
                counts.inconclusive + counts.not_comparable > 0 || counts.skipped == counts.rows()
            })
        {
            Exit::Inconclusive
        } else {
            Exit::Success
        }
    }

    /// True if a row affects the exit code. A count or the peak memory beside times does so only on request, and an id
    /// that several benchmarks have in both versions never.
    pub fn decides(&self, row: &DecidedRow, rows: &[DecidedRow]) -> bool {
        if row.shares_id_in_both() {
            return false;
        }
        let is_beside =
            |row: &DecidedRow| row.metric.as_ref().is_some_and(|metric| !metric.decides());
        !is_beside(row)
            || row.metric.as_ref().is_some_and(|metric| self.metrics.contains(metric))
            || rows.iter().all(|other| other.metric.is_none() || is_beside(other))
    }
}

/// The number of rows by verdict, and of benchmarks and bench targets that were not compared. A
/// benchmark has one row for each metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Slower.
    pub regressed: usize,
    /// Slower, and accepted.
    pub accepted: usize,
    /// Faster.
    pub improved: usize,
    /// Without measurements, because the benchmark failed.
    pub failed: usize,
    /// Without measurements, because the benchmark chose not to run.
    pub skipped: usize,
    /// With measurements that must not be compared.
    pub not_comparable: usize,
    /// Shown neither to have changed nor to be unchanged.
    pub inconclusive: usize,
    /// Shown to be unchanged.
    pub unchanged: usize,
    /// Skipped: they neither execute nor read anything that differs.
    pub unaffected: usize,
    /// Skipped: they have the same machine code.
    pub identical: usize,
    /// Benchmarks that only the head has.
    pub added: usize,
    /// Benchmarks that only the base has.
    pub removed: usize,
    /// Benchmarks that the base could measure and the head cannot: those that only the base has, and those that are
    /// skipped only in the head.
    pub missing: usize,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: usize,
}

impl Counts {
    /// Counts these kinds, beside the numbers of benchmarks that were added, removed, and skipped only in
    /// the head, and of failed bench targets.
    pub fn count(
        kinds: impl Iterator<Item = VerdictKind>,
        [added, removed, skipped_in_head, failed_targets]: [usize; 4],
    ) -> Self {
        let missing = removed + skipped_in_head;
        let mut counts = Self { added, removed, missing, failed_targets, ..Self::default() };
        for kind in kinds {
            *counts.of_kind(kind) += 1;
        }
        counts
    }

    const fn of_kind(&mut self, kind: VerdictKind) -> &mut usize {
        match kind {
            VerdictKind::Regressed => &mut self.regressed,
            VerdictKind::Failed => &mut self.failed,
            VerdictKind::Accepted => &mut self.accepted,
            VerdictKind::Improved => &mut self.improved,
            VerdictKind::NotComparable => &mut self.not_comparable,
            VerdictKind::Inconclusive => &mut self.inconclusive,
            VerdictKind::Unchanged => &mut self.unchanged,
            VerdictKind::Unaffected => &mut self.unaffected,
            VerdictKind::Identical => &mut self.identical,
            VerdictKind::Skipped => &mut self.skipped,
        }
    }

    pub const fn with_verdict(mut self, kind: VerdictKind) -> usize {
        *self.of_kind(kind)
    }

    /// The most important verdict, where a failed bench target counts as a failed benchmark; `None`
    /// if there is nothing.
    pub fn worst(&self) -> Option<VerdictKind> {
        let is_there = |kind: &VerdictKind| {
            let targets = if *kind == VerdictKind::Failed { self.failed_targets } else { 0 };
            self.with_verdict(*kind) + targets > 0
        };
        VerdictKind::ALL.into_iter().find(is_there)
    }

    /// True if no benchmark was compared, although the base may have some.
    fn compare_nothing_that_was_there(&self) -> bool {
        let is_first = self.added > 0 && self.removed == 0 && self.rows() == 0;
        self.skipped == self.rows() && !is_first
    }

    fn rows(&self) -> usize {
        VerdictKind::ALL.into_iter().map(|kind| self.with_verdict(kind)).sum()
    }
}
