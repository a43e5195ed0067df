//! The front page of a site: the changes that comparisons showed, the changes that histories suggest, and the course of
//! every benchmark on each machine, with links to the other pages.

use std::time::SystemTime;

use askama::Template;
use rbench_stats::Change;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    compare::changes_texts,
    distinct,
    document::{Block, Document, Medium, Text},
    escape::escape_untrusted,
    history::{
        BenchmarkHistory, CommitPlace, Event, EventChange, HistoryReport, VerdictFields,
        verdict_fields,
    },
    json::{self, MetricFields, metric_fields},
    names::{Names, with_metric},
    quantity::{self, changed, count},
    style::Role,
    table::{Cell, Column, Table},
};
use crate::{
    compare::Outcome,
    error::{Context as _, Exit, Result},
    model::{Benchmark, Metric, Version, VersionChanges},
    verdict::{DecidedRow, VerdictKind},
};

/// Everything that a site shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SiteReport {
    /// The name of the project's directory.
    pub project: String,
    /// The comparisons in which something changed, newest first: each change once, between the nearest commits.
    pub comparisons: Vec<ChangedComparison>,
    /// The histories: one or more for each package on each machine, or class of machines.
    pub histories: Vec<PackageHistory>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangedComparison {
    /// The identity of its experiment in every store.
    pub identity: String,
    /// The start of its experiment, in UTC.
    #[serde(rename = "measured_at", serialize_with = "quantity::time")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub measured: SystemTime,
    /// The class of the machine, or the machine.
    pub machine: String,
    pub base: Version,
    pub head: Version,
    /// The commits between them, for people.
    #[serde(skip)]
    pub commits: VersionChanges,
    /// The page of the comparison, relative to the front page.
    pub page: String,
    #[schemars(length(min = 1))]
    pub changes: Vec<ConfirmedChange>,
}

/// A change that a comparison showed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConfirmedChange {
    #[serde(flatten)]
    benchmark: Benchmark,
    #[serde(flatten, serialize_with = "metric_fields")]
    #[schemars(with = "MetricFields<'_>")]
    metric: Option<Metric>,
    #[serde(flatten, serialize_with = "verdict_fields")]
    #[schemars(with = "VerdictFields")]
    row: DecidedRow,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PackageHistory {
    /// The class of the machines, or the machine.
    pub machine: String,
    pub package: String,
    /// The newest version measured, in the order of the repository.
    pub newest: Option<Version>,
    /// The benchmarks, one for each metric.
    pub benchmarks: Vec<BenchmarkCourse>,
    /// The suspected changes, oldest first.
    pub suspected: Vec<Event>,
}

/// A benchmark over the stored versions, in one line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchmarkCourse {
    #[serde(flatten)]
    benchmark: Benchmark,
    #[serde(flatten, serialize_with = "metric_fields")]
    #[schemars(with = "MetricFields<'_>")]
    metric: Metric,
    /// The page of its history, relative to the front page.
    page: String,
    /// Its course, its newest value, its change and its state, for people.
    #[serde(skip)]
    texts: [String; 4],
}

impl ChangedComparison {
    /// True if it compares two versions with the same settings.
    fn is_of_commits(&self) -> bool {
        self.base.variant == self.head.variant
    }

    fn has(&self, change: &ConfirmedChange) -> bool {
        self.changes.iter().any(|own| own.is_like(change))
    }
}

impl ConfirmedChange {
    pub fn all(outcome: &Outcome) -> Vec<Self> {
        let changed = outcome.rows.iter().filter(|row| VerdictKind::new(&row.verdict).is_change());
        let change = |row: &DecidedRow| Self {
            benchmark: row.benchmark.clone(),
            metric: row.metric.clone(),
            row: row.clone(),
        };
        changed.map(change).collect()
    }

    fn texts(&self) -> [String; 2] {
        self.change().map_or_else(Default::default, change_texts)
    }

    fn change(&self) -> Option<&Change> {
        self.row.decisive().map(|stage| &stage.assessment.change)
    }

    /// True if both are changes of one benchmark in one direction.
    fn is_like(&self, other: &Self) -> bool {
        let is_slower = |one: &Self| one.change().map(|change| change.estimate > 0.0);
        let subject = |one: &Self| (one.benchmark.clone(), one.metric.clone());
        subject(self) == subject(other) && is_slower(self) == is_slower(other)
    }
}

fn change_texts(change: &Change) -> [String; 2] {
    [changed(change.estimate), quantity::range(change.low, change.high)]
}

/// Leaves each change only in the comparison of the nearest commits that showed it, and the comparisons that still have
/// one. `all` are the newest first; `is_before` is true for a version and itself or a later one.
pub fn narrowest(
    all: &[ChangedComparison],
    is_before: impl Fn(&Version, &Version) -> Result<bool>,
) -> Result<Vec<ChangedComparison>> {
    let is_within = |inner: &ChangedComparison, outer: &ChangedComparison| -> Result<bool> {
        let settings = |one: &ChangedComparison| [&one.base, &one.head].map(|v| v.variant.clone());
        Ok(inner.machine == outer.machine
            && settings(inner) == settings(outer)
            && is_before(&outer.base, &inner.base)?
            && is_before(&inner.head, &outer.head)?)
    };
    let mut kept = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let mut changes = one.changes.clone();
        for (other_at, other) in all.iter().enumerate() {
            if at == other_at || !changes.iter().any(|change| other.has(change)) {
                continue;
            }
            // Of two comparisons of the same versions, the newer one counts.
            if is_within(other, one)? && (other_at < at || !is_within(one, other)?) {
                changes.retain(|change| !other.has(change));
            }
        }
        if !changes.is_empty() {
            kept.push(ChangedComparison { changes, ..one.clone() });
        }
    }
    Ok(kept)
}

impl PackageHistory {
    /// The summary of a report, whose benchmarks have pages of their own.
    pub fn new(
        [machine, package]: [&str; 2],
        report: &HistoryReport,
        page: impl Fn(&BenchmarkHistory) -> Result<String>,
    ) -> Result<Self> {
        let all = report.benchmarks.iter().map(|history| &history.versions);
        let longest = all.max_by_key(|versions| versions.len());
        let course = |history: &BenchmarkHistory| {
            Ok(BenchmarkCourse {
                benchmark: history.benchmark.clone(),
                metric: history.metric.clone(),
                page: page(history)?,
                texts: history.in_short(),
            })
        };
        Ok(Self {
            machine: machine.to_owned(),
            package: package.to_owned(),
            newest: longest.and_then(|versions| Some(versions.last()?.version.clone())),
            benchmarks: report.benchmarks.iter().map(course).collect::<Result<_>>()?,
            suspected: report.events.clone(),
        })
    }
}

impl Report for SiteReport {
    fn document(&self, _medium: Medium) -> Document {
        let mut document = Document::new("site")
            .titled(Text::from("Benchmark results").then(" of ").then(&self.project));
        let (of_commits, of_settings): (Vec<_>, Vec<_>) =
            self.comparisons.iter().partition(|one| one.is_of_commits());
        document.add([Block::heading("What changed")]);
        document.add(Block::paragraph([if of_commits.is_empty() {
            "No comparison showed a change"
        } else {
            "Each change once, by the comparison of the nearest commits that showed it, the newest first; each name \
             leads to its comparison"
        }]));
        document.add(of_commits.into_iter().flat_map(|one| self.comparison_blocks(one)));
        document.add([Block::heading("What is suspected")]);
        let suspected = self.suspected_table();
        document.add(Block::paragraph([if suspected.is_empty() {
            "The histories suggest no other change"
        } else {
            "Histories suggest these changes, which no comparison above has confirmed"
        }]));
        document.add(Block::table(suspected));
        for history in &self.histories {
            document.add(self.course_blocks(history));
        }
        if !of_settings.is_empty() {
            document.add([Block::heading("Variants")]);
            let what = "Differences between settings, which are no changes by commits";
            document.add(Block::paragraph([what]));
            document.add(of_settings.into_iter().flat_map(|one| self.comparison_blocks(one)));
        }
        document
    }

    /// The content of `changes.json`.
    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

/// The changes as an Atom feed (RFC 4287).
#[derive(Template)]
#[template(path = "feed.xml")]
struct Feed {
    project: String,
    id: String,
    updated: String,
    entries: Vec<FeedEntry>,
}

struct FeedEntry {
    title: String,
    id: String,
    updated: String,
    page: String,
    summary: String,
}

/// A badge in the format that shields.io reads from an address.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Badge {
    schema_version: u32,
    label: &'static str,
    message: String,
    color: &'static str,
}

/// The identifier of a feed or of an entry with this number of 32 hexadecimal digits.
fn urn(hex: &str) -> String {
    let [a, b, c, d, e] =
        [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default());
    format!("urn:uuid:{a}-{b}-{c}-{d}-{e}")
}

impl SiteReport {
    /// The content of `feed.xml`: an entry for each comparison in which something changed. Its links are relative.
    pub fn feed(&self) -> Result<String> {
        let names = self.names();
        let entry = |one: &ChangedComparison| {
            let changes = one.changes.iter().map(|change| {
                let name = with_metric(names.name(&change.benchmark), change.metric.as_ref());
                let [estimate, interval] = change.texts();
                let verdict = VerdictKind::new(&change.row.verdict).name();
                format!("{} {verdict} {estimate} ({interval})", escape_untrusted(&name))
            });
            let head = match one.commits.commit_count {
                0 | 1 => format!("{} {}", one.head.short(), one.head.summary),
                several => {
                    let range = format!("{}..{}", one.base.short(), one.head.short());
                    format!("{range}, {}", count(several, "commit"))
                }
            };
            FeedEntry {
                title: format!(
                    "{}: {}",
                    count(one.changes.len(), "change"),
                    escape_untrusted(&head)
                ),
                id: urn(&one.identity),
                updated: quantity::rfc3339(one.measured),
                page: one.page.clone(),
                summary: changes.collect::<Vec<_>>().join("; "),
            }
        };
        let newest = self.comparisons.iter().map(|one| one.measured).max();
        let feed = Feed {
            project: escape_untrusted(&self.project).into_owned(),
            id: urn(&blake3::hash(self.project.as_bytes()).to_hex()),
            updated: quantity::rfc3339(newest.unwrap_or(SystemTime::UNIX_EPOCH)),
            entries: self.comparisons.iter().map(entry).collect(),
        };
        feed.render().context(Exit::Internal, || "cannot write feed.xml")
    }

    /// The content of `badge.json`: the benchmarks with a slowdown that no later change made up for.
    pub fn badge(&self) -> Result<String> {
        let slower = self.unresolved();
        let suspected = self.unconfirmed().filter(|(.., one)| one.change.change.estimate > 0.0);
        let suspected = suspected.count();
        let message = match (slower, suspected) {
            (0, 0) => "no unresolved slowdown".to_owned(),
            (0, _) => format!("{suspected} suspected slower"),
            (_, 0) => format!("{slower} slower"),
            _ => format!("{slower} slower, {suspected} suspected"),
        };
        let color = match (slower, suspected) {
            (0, 0) => "brightgreen",
            (0, _) => "yellow",
            _ => "orange",
        };
        let badge = Badge { schema_version: 1, label: "benchmarks", message, color };
        serde_json::to_string(&badge).context(Exit::Internal, || "cannot write badge.json")
    }

    /// The number of benchmarks whose confirmed changes make them slower together. An accepted slowdown is resolved.
    fn unresolved(&self) -> usize {
        let of_commits = self.comparisons.iter().filter(|one| one.is_of_commits());
        let changes: Vec<_> = of_commits
            .flat_map(|one| one.changes.iter().map(move |change| (&one.machine, change)))
            .filter(|(_, one)| VerdictKind::new(&one.row.verdict) != VerdictKind::Accepted)
            .collect();
        let subject = |&(machine, one): &(&String, &ConfirmedChange)| {
            (machine.clone(), one.benchmark.clone(), one.metric.clone())
        };
        let is_slower = |one: &(String, Benchmark, Option<Metric>)| {
            let own = changes.iter().filter(|change| subject(change) == *one);
            let stages = own.filter_map(|(_, change)| change.row.decisive());
            let assessments: Vec<_> = stages.map(|stage| &stage.assessment).collect();
            let total: f64 = assessments.iter().map(|one| 1.0 + one.change.estimate).product();
            // What is left may be smaller than the smallest change of interest.
            assessments.iter().any(|one| total > 1.0 + one.min_effect)
        };
        distinct(changes.iter().map(subject)).iter().filter(|one| is_slower(one)).count()
    }

    fn names(&self) -> Names<'_> {
        let confirmed = self.comparisons.iter().flat_map(|one| &one.changes);
        let all = self.histories.iter().flat_map(|history| &history.benchmarks);
        Names::new(confirmed.map(|one| &one.benchmark).chain(all.map(|one| &one.benchmark)))
    }

    /// A heading with the versions, then what both have in common, and a row for each change.
    fn comparison_blocks(&self, one: &ChangedComparison) -> Vec<Block> {
        let names = self.names();
        let ChangedComparison { base, head, commits, page, .. } = one;
        let title = Text::from_name(base.short()).then(" to ").name(head.short());
        let measured = format!("measured {} on {}", quantity::minute(one.measured), one.machine);
        let lines = changes_texts(commits, [base, head]).into_iter().chain([measured.into()]);
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::right("change"),
            Column::left("verdict"),
            Column::right("95 % interval"),
        ]);
        for change in &one.changes {
            let kind = VerdictKind::new(&change.row.verdict);
            let [estimate, interval] = change.texts();
            let name = with_metric(names.name(&change.benchmark), change.metric.as_ref());
            table.row([
                Cell::name(name).linked(page),
                Cell::styled(kind.role(), estimate),
                Cell::styled(kind.role(), kind.name()),
                Cell::from(interval),
            ]);
        }
        let title = Block::heading(title);
        let lines = Block::paragraph(lines);
        [title].into_iter().chain(lines).chain(Block::table(table)).collect()
    }

    /// True if a comparison within the range showed the change that a history suggests.
    fn is_confirmed(&self, place: &CommitPlace, suspected: &EventChange) -> bool {
        let is_between = |one: &&ChangedComparison| {
            let versions = [&one.base, &one.head].map(|version| &version.commit);
            versions == [&place.best.after.commit, &place.best.until.commit]
        };
        self.comparisons.iter().filter(is_between).flat_map(|one| &one.changes).any(|change| {
            change.benchmark == suspected.benchmark
                && change.metric.as_ref() == Some(&suspected.metric)
        })
    }

    /// The suspected changes that no comparison confirmed, with their places.
    fn unconfirmed(&self) -> impl Iterator<Item = (&PackageHistory, &CommitPlace, &EventChange)> {
        let events = self
            .histories
            .iter()
            .flat_map(|history| history.suspected.iter().rev().map(move |event| (history, event)));
        let all = events.flat_map(|(history, event)| {
            event.changes.iter().map(move |one| (history, &event.place, one))
        });
        all.filter(|(_, place, one)| !self.is_confirmed(place, one))
    }

    fn suspected_table(&self) -> Table {
        let names = self.names();
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::right("change"),
            Column::left("commits"),
            Column::right("95 % interval"),
            Column::left("machine"),
        ]);
        for (history, place, one) in self.unconfirmed() {
            let change = &one.change.change;
            let role = if change.estimate > 0.0 { Role::Bad } else { Role::Good };
            let name = Cell::name(with_metric(names.name(&one.benchmark), Some(&one.metric)));
            let page = history
                .benchmarks
                .iter()
                .find(|course| course.benchmark == one.benchmark && course.metric == one.metric);
            let [estimate, interval] = change_texts(change);
            table.row([
                page.map_or(name.clone(), |course| name.linked(&course.page)),
                Cell::styled(role, estimate),
                Cell::name(place.best.to_string()),
                Cell::from(interval),
                Cell::from(&history.machine),
            ]);
        }
        table
    }

    fn course_blocks(&self, history: &PackageHistory) -> Vec<Block> {
        let names = self.names();
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::left("course"),
            Column::right("newest"),
            Column::right("change"),
            Column::left("now"),
        ]);
        for BenchmarkCourse { benchmark, metric, page, texts } in &history.benchmarks {
            let [course, newest, change, state] = texts;
            table.row([
                Cell::name(with_metric(names.name(benchmark), Some(metric))).linked(page),
                Cell::from(course),
                Cell::from(newest),
                Cell::from(change),
                Cell::from(state),
            ]);
        }
        let title = Text::from("All benchmarks of ").name(&history.package);
        let newest = history.newest.as_ref().map(|version| {
            let to = Text::from("up to ").name(version.short()).then(" ");
            to.quote(&version.summary).then(format!(", on {}", history.machine))
        });
        let lines = Block::paragraph(newest);
        [Block::heading(title)].into_iter().chain(lines).chain(Block::table(table)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{decided_row, version};

    #[test]
    fn feed_escapes_what_commits_and_benchmarks_say() {
        let entry = FeedEntry {
            title: "1 change: 1a2b3c4 <b>&\"".to_owned(),
            id: urn("00112233445566778899aabbccddeeff"),
            updated: quantity::rfc3339(SystemTime::UNIX_EPOCH),
            page: "compare/1.html".to_owned(),
            summary: "]]></summary>".to_owned(),
        };
        let feed = Feed {
            project: "a<b".to_owned(),
            id: urn(""),
            updated: entry.updated.clone(),
            entries: vec![entry],
        };
        let text = feed.render().unwrap();
        assert!(text.contains("<id>urn:uuid:00112233-4455-6677-8899-aabbccddeeff</id>"), "{text}");
        for raw in ["a<b", "<b>", "]]>"] {
            assert!(!text.contains(raw), "{text}");
        }
    }

    /// A comparison of two commits, named by the digits of their hashes, with these changes as factors.
    fn comparison(commits: &str, changes: &[(&str, f64)]) -> ChangedComparison {
        let [base, head] = [0, 1].map(|at| version("HEAD", commits.chars().nth(at).unwrap()));
        let change = |&(id, factor): &(&str, f64)| {
            let row = decided_row(id, 1e3, &[factor, factor], 0.01, 1e-4);
            ConfirmedChange { benchmark: row.benchmark.clone(), metric: row.metric.clone(), row }
        };
        ChangedComparison {
            identity: commits.to_owned(),
            measured: SystemTime::UNIX_EPOCH,
            machine: "here".to_owned(),
            base,
            head,
            commits: VersionChanges::default(),
            page: "compare/1.html".to_owned(),
            changes: changes.iter().map(change).collect(),
        }
    }

    #[test]
    fn change_stands_once_under_the_nearest_commits() {
        let all = vec![
            comparison("16", &[("a", 1.3), ("b", 1.2)]),
            comparison("34", &[("a", 1.3)]),
            comparison("34", &[("a", 1.31), ("c", 0.8)]),
            comparison("25", &[("a", 0.7), ("c", 0.8)]),
        ];
        let kept = narrowest(&all, |one, other| Ok(one.commit <= other.commit)).unwrap();
        let ids = |one: &ChangedComparison| -> Vec<String> {
            one.changes.iter().map(|change| change.benchmark.name.id.clone()).collect()
        };
        let kept: Vec<_> = kept.iter().map(|one| (one.identity.as_str(), ids(one))).collect();
        let expected = [("16", vec!["b"]), ("34", vec!["a"]), ("34", vec!["c"]), ("25", vec!["a"])];
        assert_eq!(
            kept,
            expected.map(|(name, ids)| (name, ids.into_iter().map(str::to_owned).collect()))
        );
    }

    #[test]
    fn badge_counts_slowdowns_that_nothing_made_up_for() {
        let message = |comparisons: Vec<ChangedComparison>| {
            let report = SiteReport { project: String::new(), comparisons, histories: Vec::new() };
            let badge: serde_json::Value = serde_json::from_str(&report.badge().unwrap()).unwrap();
            assert_eq!(badge["schemaVersion"], 1);
            badge["message"].as_str().unwrap().to_owned()
        };
        assert_eq!(message(Vec::new()), "no unresolved slowdown");
        let slower = comparison("12", &[("a", 1.3), ("b", 1.2)]);
        assert_eq!(message(vec![slower.clone()]), "2 slower");
        let faster = comparison("23", &[("a", 1.0 / 1.3), ("b", 0.95)]);
        assert_eq!(message(vec![faster, slower]), "1 slower");
    }
}
