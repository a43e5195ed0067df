//! Applies accepted slowdowns to regressions, and finds the entries that no longer matter.

use rbench_stats::Criteria;

use crate::{
    config::{AcceptedEntry, AcceptedToml},
    error::Result,
    git::Repository,
    model::{Acceptance, AcceptedChange, Benchmark, Idle, IdleAcceptance, Metric, Name, Version},
    project::Project,
    verdict::{DecidedRow, Verdict},
};

pub struct Acceptances<'p> {
    /// The repository that contains the commits of the entries.
    pub repository: &'p Repository,
    file: AcceptedToml,
}

impl<'p> Acceptances<'p> {
    pub fn read(project: &'p Project) -> Result<Self> {
        let file = project.accepted()?;
        Ok(Self { repository: &project.repository, file })
    }

    /// Changes the verdicts of those regressions that were accepted between base and head. Nothing is accepted between
    /// a version and a variant of it: an entry is about a commit.
    pub fn apply(
        &self,
        rows: &mut [DecidedRow],
        versions: [&Version; 2],
        criteria: impl Fn(&Benchmark) -> Criteria,
    ) -> Result<()> {
        if versions[0].variant != versions[1].variant {
            return Ok(());
        }
        for row in rows.iter_mut() {
            let (Verdict::Regressed { .. }, Some(metric)) = (&row.verdict, &row.metric) else {
                continue;
            };
            let acceptance = self.find(&row.benchmark, metric, versions)?;
            if let (Some(acceptance), Some(stage)) = (acceptance, row.decisive()) {
                let assessment = &stage.assessment;
                let criteria = criteria(&row.benchmark);
                row.verdict = row.verdict.clone().under(acceptance, assessment, &criteria);
            }
        }
        Ok(())
    }

    /// The accepted slowdowns of a benchmark between base and head. Several successive ones share
    /// one [`Ceiling`]; one whose commits include the commit of another contains that one.
    fn find(
        &self,
        benchmark: &Benchmark,
        metric: &Metric,
        versions: [&Version; 2],
    ) -> Result<Option<Acceptance>> {
        let mut between: Vec<&AcceptedEntry> = Vec::new();
        for entry in self.file.entries().iter().filter(|entry| entry.applies_to(benchmark, metric))
        {
            if self.repository.is_between(versions, &entry.commit)?
                && self.is_measured_within(entry, versions[0])?
            {
                between.push(entry);
            }
        }
        let (mut ceiling, mut changes) = (Ceiling::default(), Vec::new());
        for entry in &between {
            let mut is_contained = false;
            for other in between.iter().filter(|other| other.commit != entry.commit) {
                is_contained |= self.contains(other, &entry.commit)?;
            }
            if !is_contained {
                ceiling.add(entry);
            }
            let AcceptedEntry { commit, reason, .. } = entry;
            changes.push(AcceptedChange { commit: commit.clone(), reason: reason.clone() });
        }
        let ceiling = ceiling.together();
        Ok((!between.is_empty()).then_some(Acceptance { ceiling, changes }))
    }

    /// True if the base has none of the commits that an entry was measured over. If it has some of
    /// them, the entry was measured over more commits than are compared, and shows nothing about
    /// the rest.
    fn is_measured_within(&self, entry: &AcceptedEntry, base: &Version) -> Result<bool> {
        let common = self.repository.merge_base(base, &version(&entry.commit))?;
        common.map_or(Ok(true), |common| {
            self.repository.has_in_history(&version(&entry.base), &common)
        })
    }

    /// True if a commit is one of those that an entry was measured over.
    fn contains(&self, entry: &AcceptedEntry, commit: &str) -> Result<bool> {
        let [base, head] = [&entry.base, &entry.commit].map(|id| version(id));
        self.repository.is_between([&base, &head], commit)
    }

    /// The entries that comparisons with this head no longer need, according to these rows.
    /// `listed` has all benchmarks of the head, if they are known.
    pub fn idle(
        &self,
        rows: &[DecidedRow],
        [base, head]: [&Version; 2],
        listed: Option<&[Benchmark]>,
    ) -> Result<Vec<IdleAcceptance>> {
        let mut idle = self.not_in_history()?;
        for entry in self.file.entries() {
            if !self.repository.has_in_history(head, &entry.commit)? {
                continue;
            }
            let is_there = |all: &[Benchmark]| all.iter().any(|one| entry.names_benchmark(one));
            if listed.is_some_and(|all| !is_there(all)) {
                idle.push(named(entry, Idle::NoBenchmark));
                continue;
            }
            let is_of = |row: &&DecidedRow| {
                row.metric.as_ref().is_some_and(|one| entry.applies_to(&row.benchmark, one))
            };
            let Some(row) = rows.iter().find(is_of) else { continue };
            if self.has_recovered(row, entry, base)? {
                idle.push(named(entry, Idle::Recovered));
            }
        }
        Ok(idle)
    }

    /// True if the head of a row is as fast as before an entry. Needs a comparison with a base that
    /// already has the entry's commit, or with one that has none of the commits it was measured
    /// over.
    fn has_recovered(
        &self,
        row: &DecidedRow,
        entry: &AcceptedEntry,
        base: &Version,
    ) -> Result<bool> {
        Ok(match &row.verdict {
            Verdict::Improved { change, .. }
                if self.repository.has_in_history(base, &entry.commit)? =>
            {
                let min_effect = row.decisive().map_or(0.0, |stage| stage.assessment.min_effect);
                if entry.change.is_infinite() {
                    change.estimate <= -1.0
                } else {
                    (1.0 + change.estimate) * (1.0 + entry.change) <= 1.0 + min_effect
                }
            }
            Verdict::Improved { .. } | Verdict::Unchanged { .. } => match &base.commit {
                Some(commit) => self.repository.has_in_history(&version(&entry.base), commit)?,
                None => false,
            },
            _ => false,
        })
    }

    /// The entries whose commit is not in the history of HEAD; none in a shallow clone, whose
    /// history is incomplete.
    pub fn not_in_history(&self) -> Result<Vec<IdleAcceptance>> {
        let mut idle = Vec::new();
        if self.file.entries().is_empty() || self.repository.is_shallow() {
            return Ok(idle);
        }
        let head = self.repository.resolve("HEAD")?;
        for entry in self.file.entries() {
            if !self.repository.has_in_history(&head, &entry.commit)? {
                idle.push(named(entry, Idle::NotInHistory));
            }
        }
        Ok(idle)
    }
}

/// The ceiling of several successive slowdowns: the measured changes multiply, and the slack of
/// each ceiling above its change is added in quadrature. The slack exists because a measurement is
/// uncertain, and errors of independent measurements partly cancel. Multiplied, ten entries with 1
/// % of slack each would pass 10 % that nobody accepted.
#[derive(Default)]
struct Ceiling {
    /// The sum of the logarithms of the changes.
    changes: f64,
    /// The sum of the squared slacks of the ceilings above the changes, in logarithms.
    squares: f64,
}

impl Ceiling {
    fn add(&mut self, entry: &AcceptedEntry) {
        let [change, ceiling] = [entry.change, entry.ceiling].map(f64::ln_1p);
        // A ceiling that was set by hand below the change is the one that holds.
        let change = change.min(ceiling);
        if ceiling.is_infinite() {
            self.squares = f64::INFINITY;
        } else {
            self.changes += change;
            self.squares += (ceiling - change).powi(2);
        }
    }

    /// Rounded to hundredths of a percent, as in the file.
    fn together(&self) -> f64 {
        (1e4 * (self.changes + self.squares.sqrt()).exp_m1()).round() / 1e4
    }
}

/// A version in which only the commit matters.
fn version(commit: &str) -> Version {
    Version { commit: Some(commit.to_owned()), ..Version::default() }
}

fn named(entry: &AcceptedEntry, why: Idle) -> IdleAcceptance {
    let AcceptedEntry { package, bench, benchmark, metric, commit, .. } = entry;
    let benchmark =
        Benchmark { package: package.clone(), target: bench.clone(), name: Name::plain(benchmark) };
    IdleAcceptance { benchmark, metric: metric.clone(), commit: commit.clone(), why }
}

#[cfg(test)]
mod tests;
