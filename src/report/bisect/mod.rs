//! The report of `bisect`: the commits of a range that changed benchmarks. For people, it is an entry
//! for each benchmark, and below it the places where it changed.

use std::rc::Rc;

use rbench_code::impact::Impact;
use rbench_stats::{Change, Criteria, bisection::Ending};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    compare::{WarningFields, warning_sentence},
    document::{Block, Document, Item, Medium, Text},
    impact,
    json::{self, MetricFields, metric_fields},
    names::{Names, metric_name},
    quantity::{self, changed_within, count},
    style::Role,
};
use crate::{
    compare::Warning,
    error::{Exit, Result},
    model::{Benchmark, CommitRange, FailedTarget, Machine, Metric, Version},
    shell::CommandLine,
};

/// The confidence of the intervals of all changes.
pub const CONFIDENCE: f64 = 0.95;

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BisectReport {
    /// The range as typed.
    pub range: String,
    /// The criteria of the verdicts. Each comparison has a stricter false-positive rate, so that the
    /// whole search keeps this one.
    pub criteria: Criteria,
    pub machine: Machine,
    /// The number of comparisons of two versions that were measured.
    #[serde(rename = "measured_comparisons")]
    pub measured: usize,
    /// The number of comparisons of two versions taken from the store.
    #[serde(rename = "stored_comparisons")]
    pub stored: usize,
    /// True if the search stopped at the end of its budget.
    pub stopped: bool,
    /// The line of first parents.
    pub line: SearchedLine,
    /// Reasons why the results are less certain.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
    #[serde(skip)]
    pub command_line: Rc<dyn CommandLine>,
}

/// A searched line of commits, each with its first parent before it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchedLine {
    /// The version before the first commit.
    pub base: Version,
    /// The last commit.
    pub head: Version,
    pub commits: usize,
    /// True if the start of the range is not on the line, so that the base differs from it.
    pub forks: bool,
    /// The results of the benchmarks that both ends have.
    pub benchmarks: Vec<SearchedBenchmark>,
    /// Benchmarks that only the last commit has; not searched.
    pub added: Vec<Benchmark>,
    /// Benchmarks that only the base has; not searched.
    pub removed: Vec<Benchmark>,
    /// The commits that could not be compared.
    pub skipped: Vec<Skipped>,
    /// Bench targets of the ends whose benchmarks could not be listed.
    pub failed_targets: Vec<FailedTarget>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Skipped {
    pub version: Version,
    /// The benchmarks it was skipped for; all if empty.
    pub benchmarks: Vec<Benchmark>,
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchedBenchmark {
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The metric of the comparisons; `None` if nothing was measured.
    #[serde(flatten, serialize_with = "metric_fields")]
    #[schemars(with = "MetricFields<'_>")]
    pub metric: Option<Metric>,
    /// The number of comparisons with a verdict on it.
    pub comparisons: usize,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Ranges of commits without impact on it, which were not measured.
    pub same: Vec<CommitRange>,
}

/// The outcome of the search for a benchmark: the verdict on the two ends of the line. Intervals are
/// of 95 % confidence.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing that differs between the ends has an impact on it.
    Unaffected,
    /// It cannot be compared at one end.
    NotComparable { version: Version, reason: String },
    /// The search was stopped before the ends were compared.
    NotCompared,
    /// The ends differ by less than the smallest change of interest.
    Unchanged { change: Change },
    /// Neither a change nor its absence is shown.
    Inconclusive { change: Change },
    /// The ends differ.
    Changed {
        change: Change,
        /// The places where it changed, oldest first.
        places: Vec<CommitPlace>,
        /// The part of the change that these places do not explain.
        unexplained: Change,
    },
}

/// The commits that changed a benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommitPlace {
    pub ending: Ending,
    /// The last version before them.
    pub after: Version,
    /// The candidates for the change, oldest first: a single commit, unless the search could not
    /// narrow it down.
    #[schemars(length(min = 1))]
    pub commits: Vec<Commit>,
    pub change: Change,
    /// The impact of their differences on the benchmark; null if it was not examined.
    pub impact: Option<Impact>,
    /// For a merge: the search of the merged commits.
    pub merged: Option<Merged>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Commit {
    #[serde(flatten)]
    pub version: Version,
    /// When its author wrote it, in UTC.
    ///
    /// In seconds since 1970-01-01; in JSON, in RFC 3339.
    #[serde(rename = "authored_at", serialize_with = "quantity::unix_time")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub authored: i64,
    /// True for a merge: it has more than one parent.
    #[serde(rename = "merge")]
    pub is_merge: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Merged {
    /// They were searched too.
    Searched(Box<SearchedLine>),
    /// They were not searched, for this reason.
    NotSearched(String),
}

impl CommitPlace {
    /// The commit that is named, if there is a single one and the change is shown.
    pub fn named(&self) -> Option<&Commit> {
        self.commits.first().filter(|_| self.ending == Ending::Named)
    }
}

impl BisectReport {
    /// The exit code: success whatever was found, and an error if something could not be examined.
    pub fn exit(&self) -> Exit {
        let failed = |one: &SearchedBenchmark| matches!(one.outcome, Outcome::NotComparable { .. });
        let line = &self.line;
        if line.failed_targets.is_empty() && !line.benchmarks.iter().any(failed) {
            Exit::Success
        } else {
            Exit::Benchmark
        }
    }
}

/// The number of commits shown at each end of a longer list.
const SHOWN: usize = 3;

/// The commits of a range that changed benchmarks.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Bisect<'r> {
    /// The version of rbench.
    rbench: &'static str,
    #[serde(flatten)]
    report: &'r BisectReport,
    /// Reasons why the results are less certain.
    warnings: Vec<WarningFields>,
}

impl Report for BisectReport {
    fn document(&self, _medium: Medium) -> Document {
        let title = Text::new().name(&*self.range).then(format!(": {}", self.line.subject()));
        let mut document = Document::new("bisect").titled(title);
        let warnings = self.warnings.iter();
        document.add(warnings.map(|one| Block::Warning(warning_sentence(one).into(), None)));
        document.add(self.blocks(&self.line));
        let stored = match self.stored {
            0 => String::new(),
            some => format!(", {some} taken from the store"),
        };
        let measured = count(self.measured, "comparison");
        let summary = format!("{}; {measured} measured{stored}", self.line.counts());
        let resume = "the budget ended the search: the same command continues from here";
        let resume = self.stopped.then(|| resume.to_owned());
        document.add(Block::paragraph([summary].into_iter().chain(resume)));
        document
    }

    fn json(&self) -> Result<String> {
        json::document(&Bisect {
            rbench: env!("CARGO_PKG_VERSION"),
            report: self,
            warnings: self.warnings.iter().map(WarningFields::from).collect(),
        })
    }
}

impl BisectReport {
    /// The results on a line: each benchmark that changed stands apart.
    fn blocks(&self, line: &SearchedLine) -> Vec<Block> {
        let names = Names::new(line.benchmarks.iter().map(|one| &one.benchmark));
        let is_changed = |one: &&SearchedBenchmark| matches!(one.outcome, Outcome::Changed { .. });
        let item = |one: &SearchedBenchmark| self.item(one, &names);
        let changed = line.benchmarks.iter().filter(is_changed);
        let mut blocks: Vec<Block> = changed.map(|one| Block::List(vec![item(one)])).collect();
        let others = line.benchmarks.iter().filter(|one| !is_changed(one));
        blocks.extend(Block::list(others.map(item)));
        blocks.extend(Block::list(line.notes()));
        blocks
    }

    fn item(&self, one: &SearchedBenchmark, names: &Names<'_>) -> Item {
        let (role, places): (_, &[CommitPlace]) = match &one.outcome {
            Outcome::Changed { places, .. } => (Role::Head, places),
            _ => (Role::Plain, &[]),
        };
        let places = places.iter().map(|place| self.place(place, &one.benchmark));
        let remarks = one.remarks(self.criteria.min_effect).into_iter().map(Item::from);
        let (name, metric) = (names.name(&one.benchmark), metric_name(one.metric.as_ref()));
        let name = if metric.is_empty() { name } else { format!("{name} {metric}") };
        let text = Text::new().styled_name(role, name).then(format!(": {}", one.outcome()));
        Item::new(text, Block::list(places.chain(remarks)))
    }

    /// A place: the commits that changed the benchmark, and below them the size of the change and the
    /// command that verifies it.
    fn place(&self, place: &CommitPlace, benchmark: &Benchmark) -> Item {
        let CommitPlace { commits, change, impact, merged, .. } = place;
        let role = if change.estimate > 0.0 { Role::Bad } else { Role::Good };
        let mut size = Text::new().styled(role, changed_within(change));
        if let Some(impact) = impact {
            size = size.then(": ").append(impact::words(impact, "measured because", impact::MOST));
        }
        let mut below = vec![Item::from(size)];
        if let Some(last) = commits.last() {
            let at = last.version.short();
            let base =
                if place.named().is_some() { format!("{at}~1") } else { place.after.short() };
            let options = [("filter", Some(&*benchmark.name.id)), ("exact", None)];
            let command = self.command_line.suggest("compare", &[&base, &at], &options);
            below.push(Text::from("check it with: ").command(command).into());
        }
        below.extend(merged.as_ref().map(|merged| match merged {
            Merged::NotSearched(reason) => {
                Item::from(format!("the commits that it merged were not searched: {reason}"))
            }
            Merged::Searched(line) => {
                let head = format!("of the commits that it merged, {}:", line.subject());
                Item::new(head, self.blocks(line))
            }
        }));
        let caution = place.caution().map(|caution| Text::new().styled(Role::Doubtful, caution));
        let lines = caution.into_iter().chain(commit_texts(commits));
        Item::new(Text::joined(lines, "; "), [Block::List(below)])
    }
}

/// Each commit, such as `1a2b3c4 2026-11-02 Parse names without a table`; of many, the first and the
/// last, and the number between them.
fn commit_texts(commits: &[Commit]) -> Vec<Text> {
    let text = |Commit { version, authored, is_merge }: &Commit| {
        let merge = if *is_merge { " (merge)" } else { "" };
        let hash = Text::new().styled_name(Role::Head, version.short());
        hash.then(format!(" {}{merge} {}", quantity::day(*authored), version.summary))
    };
    let mut texts: Vec<Text> = commits.iter().map(text).collect();
    if texts.len() > 2 * SHOWN + 1 {
        let between = SHOWN..texts.len() - SHOWN;
        let more = format!("… {} …", count(between.len(), "commit"));
        texts.splice(between, [Text::from(more)]);
    }
    texts
}

impl SearchedLine {
    /// `62 commits from v1.2.0 (1a2b3c4) to 5d6e7f8`.
    fn subject(&self) -> String {
        format!("{} from {} to {}", count(self.commits, "commit"), self.base, self.head)
    }

    /// Notes on everything that was not searched.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.forks {
            notes.push(format!(
                "the start of the range is not on this line, which forks off at {}: commits that only the \
                 start has are not searched",
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
            let reason = first_line(&skipped.reason);
            notes.push(format!("{} was skipped{whom}: {reason}", skipped.version));
        }
        for FailedTarget { target, error } in &self.failed_targets {
            notes.push(format!("{target}: {error}"));
        }
        notes
    }

    fn counts(&self) -> String {
        let kinds = [
            "changed",
            "unchanged",
            "inconclusive",
            "unaffected",
            "not comparable",
            "not compared",
        ];
        let counted = kinds.iter().filter_map(|kind| {
            let number = self.benchmarks.iter().filter(|one| one.outcome.name() == *kind).count();
            (number > 0).then(|| format!("{number} {kind}"))
        });
        let counted: Vec<String> = counted.collect();
        if counted.is_empty() { "no benchmark at both ends".to_owned() } else { counted.join(", ") }
    }
}

impl Outcome {
    const fn name(&self) -> &'static str {
        match self {
            Self::Unaffected => "unaffected",
            Self::NotComparable { .. } => "not comparable",
            Self::NotCompared => "not compared",
            Self::Unchanged { .. } => "unchanged",
            Self::Inconclusive { .. } => "inconclusive",
            Self::Changed { .. } => "changed",
        }
    }
}

impl SearchedBenchmark {
    fn outcome(&self) -> String {
        match &self.outcome {
            Outcome::Unaffected => "unaffected: executes and reads nothing that differs".to_owned(),
            Outcome::NotComparable { version, reason } => {
                format!("cannot be compared in {version}: {}", first_line(reason))
            }
            Outcome::NotCompared => "not compared".to_owned(),
            Outcome::Unchanged { change } => format!("no change: {}", changed_within(change)),
            Outcome::Inconclusive { change } => format!("inconclusive: {}", changed_within(change)),
            Outcome::Changed { change, places, .. } => {
                let single = places.iter().filter(|place| place.named().is_some()).count();
                let others = places.len() - single;
                let by = (single > 0).then(|| format!("by {}", count(single, "commit")));
                let others =
                    (others > 0).then(|| format!("{} not narrowed to one", count(others, "place")));
                let by: Vec<String> = by.into_iter().chain(others).collect();
                let comparisons = count(self.comparisons, "comparison");
                format!("{}, {}; {comparisons}", changed_within(change), by.join(" and "))
            }
        }
    }

    /// The unexplained part of its change, and the commits that were not measured.
    fn remarks(&self, min_effect: f64) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Outcome::Changed { unexplained, places, .. } = &self.outcome {
            let is_shown = unexplained.low > 0.0 || unexplained.high < 0.0;
            let is_large = unexplained.estimate.abs() >= min_effect;
            if is_shown && is_large && !places.is_empty() {
                remarks.push(format!("left unexplained: {}", changed_within(unexplained)));
            }
        }
        remarks.extend(self.same.iter().map(|range| {
            format!(
                "from {} to {} it executes and reads nothing that differs: not measured",
                range.after.short(),
                range.until.short()
            )
        }));
        remarks
    }
}

impl CommitPlace {
    /// A caution, if the search of this place did not end at a single commit.
    fn caution(&self) -> Option<String> {
        let commits = count(self.commits.len(), "commit");
        match self.ending {
            Ending::Named => None,
            Ending::NotComparable => {
                Some(format!("one of {commits}: those between cannot be compared"))
            }
            Ending::Spread => {
                Some(format!("somewhere in {commits}: neither half alone is shown to have changed"))
            }
            Ending::NotShown => {
                Some(format!("perhaps in {commits}: their own comparison does not show it"))
            }
            Ending::Stopped => Some(format!("somewhere in {commits}: the search was stopped here")),
        }
    }
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
