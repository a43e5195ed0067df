//! How a command ends that compares: which verdicts make it fail.

use schemars::JsonSchema;
use serde::Serialize;

use super::{kind::VerdictKind, row::DecidedRow};
use crate::{error::Exit, model::Metric};

/// Which verdicts make a command fail. A failed benchmark always does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitPolicy {
    /// Whether regressions are reported without failing.
    pub ignores_regressions: bool,
    /// Whether it also fails where a verdict is inconclusive or not comparable, or nothing was compared at all.
    pub inconclusive: bool,
    /// The metrics whose counts matter beside times. Where nothing was timed, all do.
    pub metrics: Vec<Metric>,
}

impl ExitPolicy {
    /// The exit code of comparisons with these counts, of rows that [matter](Self::decides): a regression counts more
    /// than a failed benchmark, and that more than a verdict that says neither, or no verdict at all.
    pub fn exit(&self, comparisons: impl Iterator<Item = Counts>) -> Exit {
        let all: Vec<Counts> = comparisons.collect();
        let any = |is_so: fn(&Counts) -> bool| all.iter().any(is_so);
        if any(|counts| counts.regressed > 0) && !self.ignores_regressions {
            Exit::Regression
        } else if any(|counts| counts.failed + counts.failed_targets > 0) {
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

    /// Whether one of the rows of a comparison affects the exit code. What was counted beside times does so only if that
    /// was asked for.
    pub fn decides(&self, row: &DecidedRow, rows: &[DecidedRow]) -> bool {
        let is_counted = |row: &DecidedRow| row.metric.as_ref().is_some_and(Metric::is_counted);
        !is_counted(row)
            || row.metric.as_ref().is_some_and(|metric| self.metrics.contains(metric))
            || rows.iter().all(|other| other.metric.is_none() || is_counted(other))
    }
}

/// The number of rows with each verdict, and of benchmarks and bench targets that were not compared at all. A benchmark
/// has a row for each metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Slower.
    pub regressed: usize,
    /// Slower, and that was accepted.
    pub accepted: usize,
    /// Faster.
    pub improved: usize,
    /// Without measurements, since the benchmark failed.
    pub failed: usize,
    /// Without measurements, since the benchmark chose not to run.
    pub skipped: usize,
    /// With measurements that must not be compared.
    pub not_comparable: usize,
    /// Neither shown to have changed nor to be unchanged.
    pub inconclusive: usize,
    /// Shown to be unchanged.
    pub unchanged: usize,
    /// Not measured: they neither execute nor read anything that differs.
    pub unaffected: usize,
    /// Not measured: they have the same machine code.
    pub identical: usize,
    /// Benchmarks that only the head has.
    pub added: usize,
    /// Benchmarks that only the base has.
    pub removed: usize,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: usize,
}

impl Counts {
    /// How many there are of each of these kinds.
    pub fn count(kinds: &[VerdictKind]) -> Self {
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
}
