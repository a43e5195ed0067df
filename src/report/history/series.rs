//! Words the suspected changes in the series of a benchmark's values: the likely commits, and the
//! command that confirms them.

use std::collections::BTreeSet;

use super::{HistoryReport, compared::subject};
use crate::{
    model::{Benchmark, Version},
    report::{
        document::{Block, Text},
        names::{Names, metric_name},
        quantity::{changed, count, range_in_brackets},
        style::Role,
        table::{Cell, Column, Table},
    },
};

/// The change-point analysis of a benchmark's values.
#[derive(Clone, Debug)]
pub enum Series {
    /// Analysed for change points.
    Decided {
        /// The number of versions in the series.
        versions: usize,
        /// The probability that a series without a change looks as much as if it had one; 1 if that
        /// is more than 5 %.
        p: f64,
        /// The suspected changes, oldest first.
        changes: Vec<SuspectedChange>,
    },
    /// Not analysed.
    NotJudged {
        /// The reason.
        reason: String,
    },
}

/// A change that the series suggests, and that no comparison has confirmed.
#[derive(Clone, Debug)]
pub struct SuspectedChange {
    /// The commits that may have caused it.
    pub place: CommitPlace,
    /// The relative change of the level: 0.05 is 5 % more than before.
    pub estimate: f64,
    /// The lower limit of its 95 % CI.
    pub low: f64,
    /// The upper limit.
    pub high: f64,
}

/// The commits that may have caused a change, as git ranges `A..B`: those after `A`, up to `B`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPlace {
    /// The most likely range: `A` and `B` were measured, and nothing between them.
    pub best: [Version; 2],
    /// The range that contains the change with 95 % confidence.
    pub possible: [Version; 2],
}

/// Changes of benchmarks that may have a common cause.
#[derive(Clone, Debug)]
pub struct Event {
    /// The commits that may have caused them.
    pub place: CommitPlace,
    /// For each change, the index of the benchmark in the report, and of the change in its series.
    pub members: Vec<[usize; 2]>,
}

impl Series {
    /// The suspected changes.
    pub fn changes(&self) -> &[SuspectedChange] {
        match self {
            Self::Decided { changes, .. } => changes,
            Self::NotJudged { .. } => &[],
        }
    }

    /// Keeps the suspected changes that satisfy the predicate.
    pub fn retain(&mut self, is_kept: impl FnMut(&SuspectedChange) -> bool) {
        if let Self::Decided { changes, .. } = self {
            changes.retain(is_kept);
        }
    }

    /// The relative change over all suspected changes: 0.05 if the last level is 5 % above the
    /// first. A change from or to a count of 0 has no ratio: then it is only that change and those
    /// after it.
    pub fn total(&self) -> f64 {
        let changes = self.changes();
        let has_no_ratio =
            |change: &SuspectedChange| change.estimate <= -1.0 || change.estimate == f64::INFINITY;
        let first = changes.iter().rposition(has_no_ratio).unwrap_or(0);
        changes[first..].iter().map(|change| 1.0 + change.estimate).product::<f64>() - 1.0
    }
}

impl CommitPlace {
    /// The most likely range, in git's notation.
    pub(super) fn best_range(&self) -> String {
        text_of(&self.best)
    }

    /// The 95 % range, if it differs from the most likely one.
    pub(super) fn possible_range(&self) -> Option<String> {
        (self.possible != self.best).then(|| text_of(&self.possible))
    }
}

fn text_of([after, until]: &[Version; 2]) -> String {
    format!("{}..{}", after.short(), until.short())
}

impl HistoryReport {
    /// The benchmarks of an event with their changes, the largest first.
    pub fn members<'r>(
        &'r self,
        event: &Event,
    ) -> Vec<(&'r super::BenchmarkHistory, &'r SuspectedChange)> {
        let member = |[benchmark, change]: &[usize; 2]| {
            let benchmark = self.benchmarks.get(*benchmark)?;
            Some((benchmark, benchmark.series.changes().get(*change)?))
        };
        let mut members: Vec<_> = event.members.iter().filter_map(member).collect();
        members.sort_by(|(_, one), (_, other)| other.estimate.abs().total_cmp(&one.estimate.abs()));
        members
    }

    /// The suspected changes by event, and the number of analysed benchmarks.
    pub(super) fn event_blocks(&self) -> Vec<Block> {
        let names = self.names();
        let mut blocks = Vec::new();
        for event in &self.events {
            blocks.push(Block::Table(self.event(event, &names)));
            blocks.extend(subject(&event.place.best[1]));
        }
        let confirmation = self
            .events
            .last()
            .map(|event| Text::from("confirm the newest: ").command(self.confirmation(event)));
        let summary = std::iter::once(Text::from(self.decided_text()));
        blocks.extend(Block::list(confirmation.into_iter().chain(summary)));
        blocks
    }

    /// The command that decides an event: a comparison of the ends of its range.
    pub fn confirmation(&self, event: &Event) -> String {
        let [base, head] = event.place.possible.each_ref().map(Version::current_revision_arg);
        self.command_line.suggest("compare", &[&base, &head], &[])
    }

    fn event(&self, event: &Event, names: &Names<'_>) -> Table {
        let head = format!("suspected since {}", event.place.best_range());
        let mut table = Table::new([
            Column::left(head).names(),
            Column::left("metric"),
            Column::right("change"),
            Column::left("").joined(),
            Column::left("or in").dropped(0),
        ]);
        for (benchmark, change) in self.members(event) {
            let role = if change.estimate > 0.0 { Role::Bad } else { Role::Good };
            table.row([
                Cell::name(names.name(&benchmark.benchmark)),
                Cell::from(metric_name(Some(&benchmark.metric))),
                Cell::styled(role, changed(change.estimate)),
                Cell::from(range_in_brackets(change.low, change.high)),
                Cell::from(change.place.possible_range().unwrap_or_default()),
            ]);
        }
        table
    }

    /// The number of benchmarks with an analysed series, and the reasons why others have none.
    pub(super) fn decided_text(&self) -> String {
        let all = self.benchmarks.len();
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        let mut most = 0;
        for benchmark in &self.benchmarks {
            match &benchmark.series {
                Series::Decided { versions, .. } => most = most.max(*versions),
                Series::NotJudged { reason } => {
                    match reasons.iter_mut().find(|(known, _)| known == reason) {
                        Some((_, count)) => *count += 1,
                        None => reasons.push((reason, 1)),
                    }
                }
            }
        }
        let not: usize = reasons.iter().map(|(_, count)| count).sum();
        let mut text = String::new();
        if self.events.is_empty() && not < all {
            text += "no change is suspected";
            if !self.paths.is_empty() {
                text += &format!(" where {} changed", self.paths.join(", "));
            }
            text += ": ";
        }
        let subjects: BTreeSet<&Benchmark> =
            self.benchmarks.iter().map(|history| &history.benchmark).collect();
        let of_all = if subjects.len() == all {
            count(all, "benchmark")
        } else {
            // A benchmark has one series for each metric.
            format!("{all} series of {}", count(subjects.len(), "benchmark"))
        };
        text += &format!("judged {} of {of_all}", all - not);
        if not < all {
            text += &format!(" over up to {}", count(most, "version"));
        }
        for (index, (reason, count)) in reasons.iter().enumerate() {
            text += if index == 0 { "; not judged: " } else { ", " };
            text += &format!("{count} {reason}");
        }
        text
    }
}
