//! Words the results of `bisect`.

use super::{BisectReport, Commit, CommitPlace, Outcome, SearchedBenchmark, SearchedLine};
use crate::{
    model::{Benchmark, FailedTarget},
    report::{
        date,
        names::{Names, metric_name},
        quantity::{changed_within, count},
    },
    stats::{Change, bisection::Ending},
};

/// The number of commits shown at each end of a longer list.
const SHOWN: usize = 3;

/// `+5.02 % (+4.81 .. +5.24)`.
pub fn change(change: &Change) -> String {
    changed_within(change.estimate, change.low, change.high)
}

/// The first and the last commits of a list, and the number between them.
pub fn shown(commits: &[Commit]) -> (&[Commit], usize, &[Commit]) {
    if commits.len() <= 2 * SHOWN + 1 {
        return (commits, 0, &[]);
    }
    let (first, last) = (&commits[..SHOWN], &commits[commits.len() - SHOWN..]);
    (first, commits.len() - 2 * SHOWN, last)
}

/// The day on which a commit was written, and whether it is a merge.
pub fn day(commit: &Commit) -> String {
    let merge = if commit.is_merge { " (merge)" } else { "" };
    format!("{}{merge}", date::day(commit.authored))
}

impl SearchedLine {
    /// The names of all benchmarks in the report.
    pub(super) fn names(&self) -> Names<'_> {
        Names::new(self.benchmarks.iter().map(|one| &one.benchmark))
    }

    /// `62 commits from v1.2.0 (1a2b3c4) to 5d6e7f8`.
    pub(super) fn subject(&self) -> String {
        format!("{} from {} to {}", count(self.commits, "commit"), self.base, self.head)
    }

    /// Notes on everything that was not searched.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.forks {
            notes.push(format!(
                "the start of the range is not on this line, which forks off at {}: what the start alone has is not \
                 searched",
                self.base
            ));
        }
        let ids = |benchmarks: &[Benchmark]| {
            let ids: Vec<&str> = benchmarks.iter().map(|one| one.name.id.as_str()).collect();
            ids.join(", ")
        };
        for (benchmarks, whose) in [(&self.added, &self.head), (&self.removed, &self.base)] {
            if !benchmarks.is_empty() {
                notes.push(format!("only in {whose}, not searched: {}", ids(benchmarks)));
            }
        }
        for skipped in &self.skipped {
            let whom = match skipped.benchmarks.as_slice() {
                [] => String::new(),
                some => format!(" for {}", ids(some)),
            };
            let reason = skipped.reason.lines().next().unwrap_or_default();
            notes.push(format!("{} was passed over{whom}: {reason}", skipped.version));
        }
        for FailedTarget { target, error: failure } in &self.failed_targets {
            notes.push(format!("{target}: {failure}"));
        }
        notes
    }

    /// The number of benchmarks by outcome.
    pub(super) fn counts(&self) -> String {
        let number = |is_it: fn(&Outcome) -> bool| {
            self.benchmarks.iter().filter(|one| is_it(&one.outcome)).count()
        };
        let kinds = [
            (number(|one| matches!(one, Outcome::Changed { .. })), "changed"),
            (number(|one| matches!(one, Outcome::Unchanged { .. })), "unchanged"),
            (number(|one| matches!(one, Outcome::Inconclusive { .. })), "inconclusive"),
            (number(|one| matches!(one, Outcome::Same)), "unaffected"),
            (number(|one| matches!(one, Outcome::Unusable { .. })), "not comparable"),
            (number(|one| matches!(one, Outcome::Open)), "not compared"),
        ];
        let kinds = kinds.into_iter().filter(|(number, _)| *number > 0);
        let kinds: Vec<String> = kinds.map(|(number, kind)| format!("{number} {kind}")).collect();
        if kinds.is_empty() { "no benchmark at both ends".to_owned() } else { kinds.join(", ") }
    }
}

impl SearchedBenchmark {
    /// The name, with the metric unless that is wall time.
    pub(super) fn name(&self, names: &Names<'_>) -> String {
        let metric = metric_name(self.metric.as_ref());
        let name = names.name(&self.benchmark);
        if metric.is_empty() { name } else { format!("{name} {metric}") }
    }

    /// The outcome in one line.
    pub(super) fn outcome(&self) -> String {
        let comparisons = count(self.comparisons, "comparison");
        match &self.outcome {
            Outcome::Same => "unaffected: executes and reads nothing that differs".to_owned(),
            Outcome::Unusable { version, reason } => {
                let reason = reason.lines().next().unwrap_or_default();
                format!("cannot be compared in {version}: {reason}")
            }
            Outcome::Open => "not compared".to_owned(),
            Outcome::Unchanged { change: of } => format!("no change: {}", change(of)),
            Outcome::Inconclusive { change: of } => format!("inconclusive: {}", change(of)),
            Outcome::Changed { total, places, .. } => {
                let single = places.iter().filter(|place| place.named().is_some()).count();
                let mut by = Vec::new();
                if single > 0 {
                    by.push(format!("by {}", count(single, "commit")));
                }
                if single < places.len() {
                    by.push(format!(
                        "{} not narrowed to one",
                        count(places.len() - single, "place")
                    ));
                }
                format!("{}, {}; {comparisons}", change(total), by.join(" and "))
            }
        }
    }

    /// Remarks on the benchmark.
    pub(super) fn remarks(&self, min_effect: f64) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Outcome::Changed { unexplained, places, .. } = &self.outcome {
            let is_shown = unexplained.low > 0.0 || unexplained.high < 0.0;
            let is_large = unexplained.estimate.abs() >= min_effect;
            if is_shown && is_large && !places.is_empty() {
                remarks.push(format!("left unexplained: {}", change(unexplained)));
            }
        }
        for [from, to] in &self.same {
            remarks.push(format!(
                "from {} to {} it executes and reads nothing that differs: not measured",
                from.short(),
                to.short()
            ));
        }
        remarks
    }
}

impl CommitPlace {
    /// A caution, if the search of this place did not end at a single commit.
    pub(super) fn caution(&self) -> Option<String> {
        let commits = count(self.commits.len(), "commit");
        match self.ending {
            Ending::Shown if self.commits.len() == 1 => None,
            Ending::Shown => Some(format!("one of {commits}: those between cannot be compared")),
            Ending::Spread => {
                Some(format!("somewhere in {commits}: neither half alone is shown to have changed"))
            }
            Ending::NotShown => {
                Some(format!("perhaps in {commits}: their own comparison does not show it"))
            }
            Ending::Stopped => Some(format!("somewhere in {commits}: the search was stopped here")),
        }
    }

    /// The command that verifies the change.
    pub(super) fn check(&self, report: &BisectReport, benchmark: &Benchmark) -> Option<String> {
        let at = self.commits.last()?.version.short();
        let base = if self.named().is_some() { format!("{at}~1") } else { self.after.short() };
        let options = [("filter", Some(&*benchmark.name.id)), ("exact", None)];
        Some(report.command_line.suggest("compare", &[&base, &at], &options))
    }
}

impl BisectReport {
    /// `9 comparisons measured, 3 taken from the store`.
    pub(super) fn cost(&self) -> String {
        let stored = match self.stored {
            0 => String::new(),
            some => format!(", {some} taken from the store"),
        };
        format!("{} measured{stored}", count(self.measured, "comparison"))
    }

    /// Remarks on the whole search.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.stopped {
            remarks
                .push("the budget ended the search: the same command goes on from here".to_owned());
        }
        remarks
    }
}
