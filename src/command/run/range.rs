//! Measures several versions by comparing each with its predecessor: a history of interleaved comparisons is more
//! precise than one of separate measurements.

use std::{
    mem,
    time::{Duration, Instant, SystemTime},
};

use super::{
    Run,
    pair_queue::{Order, PairQueue},
};
use crate::{
    command::show,
    compare::{KnownBroken, Request, benchmarks_only_in, compare, passed_over},
    error::{Error, Exit, Result},
    git::{Repository, is_range, range_ends},
    model::{Benchmark, FailedTarget, Version},
    report::{
        compare::ComparisonReport,
        quantity::{count, duration},
        show::{RangeComparison, RangeReport},
    },
    verdict::ExitPolicy,
};

/// The result of measuring a range.
pub struct RangeDone {
    /// The report on the stored results.
    pub report: RangeReport,
    /// The exit code, which says if a benchmark failed.
    pub exit: Exit,
}

/// Resolves revisions and ranges, in their order. A range starts with its base, with which its first version is
/// compared, and goes from the oldest to the newest.
pub fn versions(repository: &Repository, revisions: &[String]) -> Result<Vec<Version>> {
    let mut versions = Vec::new();
    for revision in revisions {
        if is_range(revision) {
            let mut range = repository.resolve_range(revision)?;
            range.push(repository.resolve(range_ends(revision)?.0)?);
            versions.extend(range.into_iter().rev());
        } else {
            versions.push(repository.resolve(revision)?);
        }
    }
    Ok(versions)
}

/// The versions of a range, the oldest first, and the results so far.
struct Versions {
    all: Vec<Version>,
    /// The matching benchmarks of each listed version.
    benchmarks: Vec<Vec<Benchmark>>,
    /// The errors of versions that could not be compared.
    failures: Vec<Error>,
    /// The comparisons so far.
    comparisons: Vec<RangeComparison>,
}

impl Run<'_> {
    /// Compares the versions, which start with the oldest: all neighbors, or the most informative pairs within the
    /// budget. Skips pairs with stored comparisons, and versions that cannot be built.
    pub(super) fn range(
        &mut self,
        versions: Vec<Version>,
        budget: Option<Duration>,
    ) -> Result<RangeDone> {
        let order = if budget.is_some() { Order::MostInformative } else { Order::Adjacent };
        let mut agenda = PairQueue::new(order, versions.len());
        let mut versions = Versions {
            benchmarks: vec![Vec::new(); versions.len()],
            failures: Vec::new(),
            comparisons: Vec::new(),
            all: versions,
        };
        let before = KnownBroken::read(&self.session.runner)?;
        self.leave_out_unbuildable(&versions, &before, &mut agenda);
        let (begin, mut previous, mut done) = (Instant::now(), SystemTime::now(), 0);
        while let Some(pair) = agenda.next() {
            if budget.is_some_and(|budget| begin.elapsed() >= budget) {
                self.console.line(&format!(
                    "{} after {}: what is left was not compared",
                    count(done, "comparison"),
                    duration(begin.elapsed())
                ));
                break;
            }
            let start = SystemTime::now();
            if let Some(lacking) = self.list(&mut versions, pair)? {
                agenda.lacks(lacking);
                continue;
            }
            done += 1;
            let [base, head] = pair.map(|index| versions.all[index].clone());
            self.console.line(&format!("comparison {done}: {base} with {head}"));
            let comparison = self.pair([base, head.clone()])?;
            agenda.compared(pair, comparison.changes().next().is_some());
            versions.comparisons.push(comparison);
            // All versions of a long range may not fit on the disk at once. The older version of a pair is needed once
            // more.
            if order == Order::Adjacent {
                self.session.forget(&head);
                self.session.runner.prune(previous);
                previous = start;
            }
        }
        self.report_range(versions)
    }

    /// Skips versions that could not be built before.
    fn leave_out_unbuildable(
        &self,
        versions: &Versions,
        before: &KnownBroken,
        agenda: &mut PairQueue,
    ) {
        for (index, version) in versions.all.iter().enumerate() {
            if before.why_unbuildable(version, || self.session.runner.compiler(version)).is_some() {
                self.console.line(&passed_over(version, &*self.given));
                agenda.lacks(index);
            }
        }
    }

    /// Compiles and lists both versions. Returns the index of a version that cannot be built or has no matching
    /// benchmark: that must not end the whole run.
    fn list(&mut self, versions: &mut Versions, [base, head]: [usize; 2]) -> Result<Option<usize>> {
        for index in [head, base] {
            let version = &versions.all[index];
            if self.session.listed(version).is_some() {
                continue;
            }
            match self.session.list(version) {
                Ok(listed) => {
                    for FailedTarget { target, error } in &listed.listing.failures {
                        self.console.line(&format!("warning: {target}: {error}"));
                    }
                    versions.benchmarks[index] = listed.benchmarks();
                }
                Err(error) if matches!(error.exit(), Exit::Build | Exit::Usage) => {
                    if error.exit() == Exit::Build && !self.only_plan {
                        self.session.runner.record_unbuildable(version, &error)?;
                    }
                    self.console.line(&format!("{version}: skipped: {error}"));
                    versions.failures.push(error);
                    return Ok(Some(index));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Compares two listed versions: base and head.
    fn pair(&mut self, compared: [Version; 2]) -> Result<RangeComparison> {
        let added = self.session.with(compared.each_ref(), |_, [base, head]| {
            Ok(benchmarks_only_in(head, base).len())
        })?;
        if added > 0 {
            let added = count(added, "benchmark");
            self.console.line(&format!("{added} of the newer version cannot be compared"));
        }
        let request = Request {
            reuses: true,
            only_plan: self.only_plan,
            ..Request::new(compared.clone(), self.verdicts.clone())
        };
        let mut outcome = compare(&request, &mut self.session)?;
        let rows = mem::take(&mut outcome.rows);
        let report = ComparisonReport::new(outcome, ExitPolicy::default(), self.given.clone());
        for warning in report.warning_sentences() {
            self.console.line(&format!("warning: {warning}"));
        }
        Ok(RangeComparison { versions: compared, rows })
    }

    /// Reports the stored results of the versions, the newest first. Fails if no two versions could be compared.
    fn report_range(&self, mut versions: Versions) -> Result<RangeDone> {
        if let Some(error) = versions.failures.pop()
            && versions.comparisons.is_empty()
        {
            return Err(error);
        }
        let mut report = RangeReport {
            criteria: self.verdicts.criteria,
            versions: Vec::new(),
            comparisons: versions.comparisons,
            command_line: self.given.clone(),
        };
        let mut exit = Exit::Success;
        if self.only_plan {
            return Ok(RangeDone { report, exit });
        }
        for (index, version) in versions.all.iter().enumerate().rev() {
            let is_of = |one: &RangeComparison| one.versions.contains(version);
            if !report.comparisons.iter().any(is_of) {
                continue;
            }
            let (store, given) = (&self.session.runner.store, &self.given);
            let wanted = &versions.benchmarks[index];
            let shown =
                show::show_version(store, version, wanted, &self.verdicts, given, self.console)?;
            if shown.has_failures() {
                exit = Exit::Benchmark;
            }
            report.versions.push(shown);
        }
        Ok(RangeDone { report, exit })
    }
}
