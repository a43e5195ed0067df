//! The front page of a site: the changes that comparisons showed, the changes that histories suggest, and the newest
//! results of each machine, with links to the other pages.

use std::time::SystemTime;

use askama::Template;
use rbench_stats::Change;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    document::{Block, Document, Medium, Text},
    escape::escape_untrusted,
    history::{CommitPlace, Event, EventChange, HistoryReport, VerdictFields, verdict_fields},
    json::{self, MetricFields, metric_fields},
    names::{Names, with_metric},
    quantity::{self, changed, count},
    style::Role,
    table::{Cell, Column, Table},
};
use crate::{
    compare::Outcome,
    error::{Context as _, Exit, Result},
    model::{Benchmark, Metric, Version},
    verdict::{DecidedRow, VerdictKind},
};

/// Everything that a site shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SiteReport {
    /// The name of the project's directory.
    pub project: String,
    /// The comparisons in which something changed, newest first.
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
    /// The page of the history, relative to the front page.
    pub page: String,
    /// The newest version measured, in the order of the repository.
    pub newest: Option<Version>,
    pub benchmarks: usize,
    /// The suspected changes, oldest first.
    pub suspected: Vec<Event>,
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
        let stage = self.row.decisive();
        stage.map_or_else(Default::default, |stage| change_texts(&stage.assessment.change))
    }
}

fn change_texts(change: &Change) -> [String; 2] {
    [changed(change.estimate), quantity::range(change.low, change.high)]
}

impl PackageHistory {
    /// The summary of a report, which stands on this page.
    pub fn new([machine, package]: [&str; 2], page: String, report: &HistoryReport) -> Self {
        let all = report.benchmarks.iter().map(|history| &history.versions);
        let longest = all.max_by_key(|versions| versions.len());
        Self {
            machine: machine.to_owned(),
            package: package.to_owned(),
            page,
            newest: longest.and_then(|versions| Some(versions.last()?.version.clone())),
            benchmarks: report.benchmarks.len(),
            suspected: report.events.clone(),
        }
    }
}

impl Report for SiteReport {
    fn document(&self, _medium: Medium) -> Document {
        let comparisons = count(self.comparisons.len(), "comparison");
        let mut document = Document::new("site")
            .titled(Text::from("Benchmark results").then(" of ").then(&self.project));
        document.add([Block::heading("What changed")]);
        document.add(Block::paragraph([if self.comparisons.is_empty() {
            "No comparison showed a change".to_owned()
        } else {
            format!(
                "{comparisons} showed a change, the newest first; each name leads to its comparison"
            )
        }]));
        document.add(Block::table(self.changes_table()));
        document.add([Block::heading("What is suspected")]);
        let suspected = self.suspected_table();
        document.add(Block::paragraph([if suspected.is_empty() {
            "The histories suggest no other change"
        } else {
            "Histories suggest these changes, which no comparison above has confirmed"
        }]));
        document.add(Block::table(suspected));
        document.add([Block::heading("All benchmarks")]);
        document.add(Block::table(self.histories_table()));
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
            let head = format!("{} {}", one.head.short(), one.head.summary);
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

    /// The content of `badge.json`: how many slowdowns the histories have.
    pub fn badge(&self) -> Result<String> {
        let suspected = self.histories.iter().flat_map(|history| &history.suspected);
        let changes = suspected.flat_map(|event| &event.changes);
        let slower = changes.filter(|one| one.change.change.estimate > 0.0).count();
        let (message, color) = match slower {
            0 => ("no slowdown".to_owned(), "brightgreen"),
            _ => (count(slower, "slowdown"), "orange"),
        };
        let badge = Badge { schema_version: 1, label: "benchmarks", message, color };
        serde_json::to_string(&badge).context(Exit::Internal, || "cannot write badge.json")
    }

    fn names(&self) -> Names<'_> {
        let confirmed = self.comparisons.iter().flat_map(|one| &one.changes);
        let suspected = self.histories.iter().flat_map(|history| &history.suspected);
        let suspected = suspected.flat_map(|event| &event.changes).map(|one| &one.benchmark);
        Names::new(confirmed.map(|one| &one.benchmark).chain(suspected))
    }

    fn changes_table(&self) -> Table {
        let names = self.names();
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::right("change"),
            Column::left("verdict"),
            Column::left("versions"),
            Column::left("commit"),
            Column::right("95 % interval"),
            Column::left("measured"),
            Column::left("machine"),
        ]);
        for one in &self.comparisons {
            let versions = format!("{}..{}", one.base.short(), one.head.short());
            for change in &one.changes {
                let kind = VerdictKind::new(&change.row.verdict);
                let name = names.name(&change.benchmark);
                let [estimate, interval] = change.texts();
                table.row([
                    Cell::name(with_metric(name, change.metric.as_ref())).linked(&one.page),
                    Cell::styled(kind.role(), estimate),
                    Cell::styled(kind.role(), kind.name()),
                    Cell::name(&versions),
                    Cell::from(&one.head.summary),
                    Cell::from(interval),
                    Cell::from(quantity::minute(one.measured)),
                    Cell::from(&one.machine),
                ]);
            }
        }
        table
    }

    /// True if a comparison of just these versions showed the change that a history suggests.
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

    fn suspected_table(&self) -> Table {
        let names = self.names();
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::right("change"),
            Column::left("commits"),
            Column::left("newest of these commits"),
            Column::right("95 % interval"),
            Column::left("machine"),
        ]);
        for history in &self.histories {
            for Event { place, changes } in history.suspected.iter().rev() {
                for one in changes.iter().filter(|one| !self.is_confirmed(place, one)) {
                    let change = &one.change.change;
                    let role = if change.estimate > 0.0 { Role::Bad } else { Role::Good };
                    let name = with_metric(names.name(&one.benchmark), Some(&one.metric));
                    let [estimate, interval] = change_texts(change);
                    table.row([
                        Cell::name(name).linked(&history.page),
                        Cell::styled(role, estimate),
                        Cell::name(place.best.to_string()),
                        Cell::from(&place.best.until.summary),
                        Cell::from(interval),
                        Cell::from(&history.machine),
                    ]);
                }
            }
        }
        table
    }

    fn histories_table(&self) -> Table {
        let mut table = Table::new([
            Column::left("package").names(),
            Column::right("benchmarks"),
            Column::right("changes"),
            Column::left("newest version"),
            Column::left("commit"),
            Column::left("machine"),
        ]);
        for history in &self.histories {
            let newest = history.newest.as_ref();
            let suspected: usize = history.suspected.iter().map(|event| event.changes.len()).sum();
            table.row([
                Cell::name(&history.package).linked(&history.page),
                Cell::from(history.benchmarks.to_string()),
                Cell::from(suspected.to_string()),
                Cell::from(newest.map(Version::short).unwrap_or_default()),
                Cell::from(newest.map_or("", |version| &version.summary)),
                Cell::from(&history.machine),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn badge_counts_slowdowns() {
        let report =
            SiteReport { project: String::new(), comparisons: Vec::new(), histories: Vec::new() };
        let badge: serde_json::Value = serde_json::from_str(&report.badge().unwrap()).unwrap();
        assert_eq!(badge["schemaVersion"], 1);
        assert_eq!(badge["message"], "no slowdown");
    }
}
