//! The report of `history` as a web page: suspected changes, and the values of each benchmark over
//! the versions.

use std::borrow::Borrow;

use askama::Template;

use super::{
    BenchmarkHistory, Event, HistoryReport, HistoryRow, Series,
    compared::Shown,
    html_row::{Limits, Row, end_text},
};
use crate::{
    error::Result,
    model::Version,
    report::{
        date,
        escape::escape_untrusted,
        html::{page, rendered},
        names::with_metric,
        prose::capitalised,
        quantity::{changed, count, range},
    },
    verdict::VerdictKind,
};

/// The maximum number of events shown: the newest.
const MOST_EVENTS: usize = 100;
/// The maximum number of benchmarks shown for an event.
const MOST_MEMBERS: usize = 50;
/// The approximate total number of versions listed on a page, the maximum for each benchmark, and
/// the number up to which the page has all data.
const MOST_LISTED: usize = 1500;
const MOST_LISTED_OF_EACH: usize = 30;
const MOST_WITH_DATA: usize = 4000;

#[derive(Template)]
#[template(path = "history.html")]
struct Page {
    title: String,
    lead: String,
    warnings: Vec<String>,
    judged: String,
    shown: Vec<ShownFields>,
    events: Vec<EventFields>,
    hidden_events: usize,
    /// The command that confirms the newest event.
    confirm: Option<String>,
    rows: Vec<Row>,
    hidden: usize,
    /// True if the page has all data.
    is_whole: bool,
    /// The command that prints all values.
    all_values: String,
}

struct EventFields {
    range: String,
    subject: String,
    members: Vec<Member>,
}

/// A change that a comparison showed.
struct ShownFields {
    class: &'static str,
    name: String,
    change: String,
    range: String,
    versions: String,
    subject: String,
    /// The Unix time of the commit, in seconds.
    time: i64,
}

struct Member {
    class: &'static str,
    name: String,
    change: String,
    range: String,
    possible: String,
}

impl HistoryReport {
    pub(super) fn write_html(&self) -> Result<String> {
        self.html_of(&self.benchmarks)
    }

    /// The page of this report with the versions of these benchmarks, which must be those of the
    /// report. A caller with very many versions need not hold all of them at once.
    pub fn html_of<B: Borrow<BenchmarkHistory>>(
        &self,
        benchmarks: impl IntoIterator<Item = B>,
    ) -> Result<String> {
        let names = self.names();
        let listed = (MOST_LISTED / self.benchmarks.len().max(1)).min(MOST_LISTED_OF_EACH);
        let limits = Limits { confidence: self.criteria.confidence, listed };
        let (mut rows, mut shown) = (Vec::new(), Vec::new());
        let (mut longest, mut all) = (None::<Ends>, 0);
        for benchmark in benchmarks {
            let history: &BenchmarkHistory = benchmark.borrow();
            all += history.versions.len();
            let ends = Ends::from_rows(&history.versions);
            if ends.as_ref().map_or(0, |ends| ends.count)
                > longest.as_ref().map_or(0, |ends| ends.count)
            {
                longest = ends;
            }
            let name = with_metric(names.name(&history.benchmark), Some(&history.metric));
            shown.extend(history.shown().map(|one| shown_fields(&one, &escape_untrusted(&name))));
            rows.push(Row::new(history, &escape_untrusted(&name), &limits));
        }
        shown.sort_by_key(|one| std::cmp::Reverse(one.time));
        shown.truncate(MOST_EVENTS);
        rows.sort_by(Row::by_importance);
        for (index, row) in rows.iter_mut().enumerate() {
            row.id = format!("b{index}");
        }
        let is_whole = all <= MOST_WITH_DATA;
        let json =
            if is_whole { self.write_json()? } else { self.without_versions().write_json()? };
        let versions = longest.as_ref().map_or(0, |ends| ends.count);
        let title = format!(
            "{} over {}",
            count(self.benchmarks.len(), "benchmark"),
            count(versions, "version")
        );
        let events = self.events.iter().rev();
        let body = Page {
            lead: longest.map_or_else(String::new, |ends| ends.text()),
            warnings: self
                .warnings()
                .iter()
                .map(|warning| escape_untrusted(warning).into_owned())
                .collect(),
            judged: escape_untrusted(&capitalised(&self.decided_text())).into_owned(),
            shown,
            events: events.take(MOST_EVENTS).map(|event| self.event_html(event)).collect(),
            hidden_events: self.events.len().saturating_sub(MOST_EVENTS),
            confirm: self
                .events
                .last()
                .map(|event| escape_untrusted(&self.confirmation(event)).into_owned()),
            rows,
            hidden: self.hidden,
            is_whole,
            all_values: self.command_line.suggest("history", &[], &[("format", Some("json"))]),
            title,
        };
        page(&format!("History: {}", body.title), &rendered(&body)?, "history", Some(&json))
    }

    fn without_versions(&self) -> Self {
        let stripped = |history: &BenchmarkHistory| BenchmarkHistory {
            benchmark: history.benchmark.clone(),
            metric: history.metric.clone(),
            sessions: history.sessions,
            series: history.series.clone(),
            versions: Vec::new(),
        };
        Self {
            criteria: self.criteria,
            overview: self.overview,
            changes_only: self.changes_only,
            worst_only: self.worst_only,
            paths: self.paths.clone(),
            hidden: self.hidden,
            unfinished: self.unfinished,
            shallow: self.shallow,
            benchmarks: self.benchmarks.iter().map(stripped).collect(),
            events: self.events.clone(),
            command_line: self.command_line.clone(),
        }
    }

    fn event_html(&self, event: &Event) -> EventFields {
        let names = self.names();
        let until = &event.place.best[1];
        let day = until.time.map_or_else(String::new, date::day);
        let members = self.members(event).into_iter().take(MOST_MEMBERS);
        let member = |(history, change): (&BenchmarkHistory, &super::SuspectedChange)| Member {
            class: if change.estimate > 0.0 { "slower" } else { "faster" },
            name: escape_untrusted(&with_metric(
                names.name(&history.benchmark),
                Some(&history.metric),
            ))
            .into_owned(),
            change: changed(change.estimate),
            range: range(change.low, change.high),
            possible: escape_untrusted(&change.place.possible_range().unwrap_or_default())
                .into_owned(),
        };
        EventFields {
            range: escape_untrusted(&event.place.best_range()).into_owned(),
            subject: escape_untrusted(format!("{day} {}", until.summary).trim()).into_owned(),
            members: members.map(member).collect(),
        }
    }
}

fn shown_fields(Shown { base, head, row, .. }: &Shown<'_>, name: &str) -> ShownFields {
    let change = row.decisive().map(|stage| stage.assessment.change);
    ShownFields {
        class: VerdictKind::new(&row.verdict).class(),
        name: name.to_owned(),
        change: change.map_or_else(String::new, |change| changed(change.estimate)),
        range: change.map_or_else(String::new, |change| range(change.low, change.high)),
        versions: escape_untrusted(&format!("{}..{}", base.short(), head.short())).into_owned(),
        subject: escape_untrusted(&head.summary).into_owned(),
        time: head.time.unwrap_or_default(),
    }
}

/// The first and the last of the shown versions.
struct Ends {
    first: Version,
    last: Version,
    count: usize,
}

impl Ends {
    fn from_rows(rows: &[HistoryRow]) -> Option<Self> {
        let [first, last] = [rows.first()?, rows.last()?].map(|row| row.version.clone());
        Some(Self { first, last, count: rows.len() })
    }

    fn text(&self) -> String {
        let [first, last] = [&self.first, &self.last].map(end_text);
        format!("From {first} to {last}")
    }
}

impl Series {
    /// The reason why a series was not analysed.
    pub(super) fn undecided_reason(&self) -> Option<&str> {
        match self {
            Self::Decided { .. } => None,
            Self::NotJudged { reason } => Some(reason),
        }
    }
}
