//! Measures several versions: each is compared with the one before it, so that the history knows how they differ.

use std::time::{Duration, Instant, SystemTime};

use super::{
    Run,
    agenda::{Agenda, Order},
};
use crate::{
    command::show,
    compare::{
        Before, Counts, Earlier, Event, Observer as _, Outcome, Selection, Stages,
        benchmarks_only_in, counts, passed_over,
    },
    console::announcement,
    experiment::ListedVersion,
    failure::{Exit, Failure, Result},
    judge::{ExitPolicy, JudgedRow},
    model::{Benchmark, Sameness, Version},
    report::{
        compare::ComparisonReport,
        quantity::{count, duration},
        show::{RangeComparison, RangeReport},
    },
    settings::{Patience, VerdictSettings},
    source::{Repository, is_range, range_ends},
};

/// A range that was measured.
pub struct RangeDone {
    /// What is stored of its versions.
    pub report: RangeReport,
    /// Whether a benchmark failed.
    pub exit: Exit,
}

/// The versions that revisions and ranges name, in their order. Those of a range are the oldest first, and
/// begin with the one before it, with which its first one is compared.
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

/// The versions of a range, the oldest first, and what is known of them.
struct Versions {
    all: Vec<Version>,
    listed: Vec<Option<ListedVersion>>,
    /// The benchmarks that are asked for, of those that were listed.
    benchmarks: Vec<Vec<Benchmark>>,
    /// Why those cannot be compared that were tried and cannot.
    failures: Vec<Failure>,
    /// What the comparisons say.
    comparisons: Vec<RangeComparison>,
}

impl Run<'_> {
    /// Compares the versions, the oldest of which comes first: all neighbours, or the most informative ones as long
    /// as the budget lasts. What was compared before is left out, and so is what cannot be built.
    pub(super) fn range(
        &self,
        versions: Vec<Version>,
        budget: Option<Duration>,
    ) -> Result<RangeDone> {
        let order = if budget.is_some() { Order::MostInformative } else { Order::Neighbours };
        let mut agenda = Agenda::new(order, versions.len());
        let mut versions = Versions {
            listed: versions.iter().map(|_| None).collect(),
            benchmarks: vec![Vec::new(); versions.len()],
            failures: Vec::new(),
            comparisons: Vec::new(),
            all: versions,
        };
        let before = Before::read(self.runner)?;
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
            let [base, head] = pair.map(|index| &versions.all[index]);
            self.console.line(&format!("comparison {done}: {base} with {head}"));
            let changed = self.listed_pair(&mut versions, pair)?;
            agenda.compared(pair, changed);
            // All versions of a long range may not fit on the disk together. The older one of two neighbours is
            // needed once more.
            if order == Order::Neighbours {
                versions.listed[pair[1]] = None;
                self.runner.prune(previous);
                previous = start;
            }
        }
        self.report_range(versions)
    }

    /// Leaves out what could not be built before.
    fn leave_out_unbuildable(&self, versions: &Versions, before: &Before, agenda: &mut Agenda) {
        for (index, version) in versions.all.iter().enumerate() {
            if before.why_unbuildable(version, || self.runner.compiler(version)).is_some() {
                self.console.line(&passed_over(version, &*self.given));
                agenda.lacks(index);
            }
        }
    }

    /// Compiles and lists both versions. The place of one that cannot be built, or has nothing of what is wanted,
    /// which must not end the rest.
    fn list(&self, versions: &mut Versions, [base, head]: [usize; 2]) -> Result<Option<usize>> {
        for index in [head, base] {
            if versions.listed[index].is_some() {
                continue;
            }
            let version = &versions.all[index];
            match self.runner.list(version.clone()) {
                Ok(listed) => {
                    for (target, failure) in &listed.listing.failures {
                        self.console.line(&format!("warning: {target}: {failure}"));
                    }
                    versions.benchmarks[index] = listed.benchmarks();
                    versions.listed[index] = Some(listed);
                }
                Err(failure) if matches!(failure.exit(), Exit::Build | Exit::Usage) => {
                    if failure.exit() == Exit::Build && !self.only_plan {
                        self.runner.record_unbuildable(version, &failure)?;
                    }
                    self.console.line(&format!("{version}: skipped: {failure}"));
                    versions.failures.push(failure);
                    return Ok(Some(index));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// Compares two versions that are listed; whether any benchmark changed.
    fn listed_pair(&self, versions: &mut Versions, pair: [usize; 2]) -> Result<bool> {
        let [base, head] = pair.map(|index| versions.listed[index].take());
        let (Some(base), Some(head)) = (base, head) else {
            return Err(Failure::new(Exit::Internal, "a version is to be compared with itself"));
        };
        let both = [base, head];
        let rows = self.pair(&both);
        let compared = both.each_ref().map(|listed| listed.version.clone());
        for (index, listed) in pair.into_iter().zip(both) {
            versions.listed[index] = Some(listed);
        }
        let comparison = RangeComparison { versions: compared, rows: rows? };
        let changed = comparison.changes().next().is_some();
        versions.comparisons.push(comparison);
        Ok(changed)
    }

    /// What a comparison of two versions says: for each benchmark, in each kind of metrics.
    fn pair(&self, versions: &[ListedVersion; 2]) -> Result<Vec<JudgedRow>> {
        let Self { runner, console, ref verdicts, .. } = *self;
        let compared = versions.each_ref().map(|listed| listed.version.clone());
        let mut outcome = Outcome::new(compared, verdicts.criteria);
        let chosen = Selection::new(runner, versions, false, &mut outcome.warnings)?;
        let added = benchmarks_only_in(&versions[1], &versions[0]).len();
        if added > 0 {
            let added = count(added, "benchmark");
            console.line(&format!("{added} of the newer version cannot be compared"));
        }
        let mut rows = Vec::new();
        for verdicts in verdicts.kinds() {
            rows.extend(self.pair_of_kind(versions, &chosen, &verdicts, &mut outcome)?);
        }
        let report = ComparisonReport::new(outcome, ExitPolicy::default(), self.given.clone());
        for warning in report.warning_sentences() {
            console.line(&format!("warning: {warning}"));
        }
        let place = |row: &JudgedRow| chosen.common.iter().position(|one| *one == row.benchmark);
        rows.sort_by_key(place);
        Ok(rows)
    }

    /// The same in one kind of metrics, which are measured unless they are stored.
    fn pair_of_kind(
        &self,
        versions: &[ListedVersion; 2],
        chosen: &Selection,
        verdicts: &VerdictSettings,
        outcome: &mut Outcome,
    ) -> Result<Vec<JudgedRow>> {
        let Self { runner, console, .. } = *self;
        let wanted: Vec<&Benchmark> = chosen.measured.iter().collect();
        let stored = Earlier::of(runner, versions, verdicts)?;
        let mut rows = stored.rows(&wanted, verdicts)?;
        let is_stored = |one: &Benchmark| rows.iter().any(|row| row.benchmark == *one);
        let missing: Vec<Benchmark> =
            wanted.into_iter().filter(|one| !is_stored(one)).cloned().collect();
        let known = stored.unmeasured()?;
        let is_unmeasured =
            |one: &&Benchmark| !chosen.measured.contains(one) && !known.contains(one);
        let unmeasured: Vec<(Benchmark, Sameness)> = chosen
            .common
            .iter()
            .filter(is_unmeasured)
            .map(|benchmark| (benchmark.clone(), Sameness::Unaffected))
            .collect();
        if missing.is_empty() && unmeasured.is_empty() {
            console.line("what changed between them is already measured");
            return Ok(rows);
        }
        let (not_measured, of) = (unmeasured.len(), chosen.common.len());
        console.compare_event(Event::Unaffected { not_measured, of });
        if verdicts.times() {
            let outline = runner.outline(versions, &missing);
            announcement::plan(console, &outline, verdicts.criteria.confirm);
        }
        if self.only_plan {
            return Ok(rows);
        }
        let (measured, unmeasured) = (missing.as_slice(), unmeasured.as_slice());
        if verdicts.counts() {
            let is_alone = self.verdicts.kinds().len() == 1;
            let counter = counts::counter(runner, &versions[1], verdicts, is_alone, console)?;
            if let Some(counter) = counter {
                let observer = console;
                let counts =
                    Counts { runner, counter, versions, measured, unmeasured, verdicts, observer };
                let (experiment, counted) = counts.measure()?;
                runner.finish(&experiment)?;
                rows.extend(counted);
            }
            return Ok(rows);
        }
        let (patience, budget, observer) = (Patience::Usual, None, console);
        let stages =
            Stages { runner, versions, measured, unmeasured, verdicts, patience, budget, observer };
        let builds = stages.link(outcome)?;
        rows.extend(stages.measure_and_finish(&builds, outcome)?);
        Ok(rows)
    }

    /// What is stored of the versions by now, the newest first, if any two could be compared.
    fn report_range(&self, mut versions: Versions) -> Result<RangeDone> {
        if let Some(failure) = versions.failures.pop()
            && versions.comparisons.is_empty()
        {
            return Err(failure);
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
            let (store, given) = (&self.runner.store, &self.given);
            let wanted = &versions.benchmarks[index];
            let shown =
                show::of_version(store, version, wanted, &self.verdicts, given, self.console)?;
            if shown.has_failures() {
                exit = Exit::Benchmark;
            }
            report.versions.push(shown);
        }
        Ok(RangeDone { report, exit })
    }
}
