//! The history for web pages and for programs. A page is the document with a table of all benchmarks,
//! each with a drawing of its values, that a reader can sort, filter and unfold.

use std::borrow::Cow;

use askama::Template;
use rbench_stats::Criteria;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{
    Report,
    document::{Block, Document, Medium, Text},
    escape::escape_untrusted,
    html::{Course, Point, page, rendered, sortable},
    json,
    names::with_metric,
    quantity::{self, changed, changed_within, count, value},
    render::{header, section_blocks},
};
use super::{BenchmarkHistory, Event, HistoryReport, HistoryRow, Series, UnmeasuredBenchmark};
use crate::{
    error::Result,
    model::{Variant, Version},
};

/// The approximate total number of versions listed on a page, the maximum for each benchmark, and
/// the number up to which the page has all data.
const MOST_LISTED: usize = 1500;
const MOST_LISTED_OF_EACH: usize = 30;
const MOST_WITH_DATA: usize = 4000;

/// The maximum number of steps of a series: in a line of the table, and in the large figure.
const SMALL: usize = 90;
const LARGE: usize = 400;

/// The classes of benchmarks by importance, each with its name.
const STATES: [(&str, &str); 4] = [
    ("slower", "slower"),
    ("faster", "faster"),
    ("steady", "steady"),
    ("undecided", "not decided"),
];

/// The benchmarks over the stored versions.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct History<'r> {
    criteria: Criteria,
    warnings: Vec<String>,
    /// The variant of all versions; null for plain versions.
    variant: Option<&'r Variant>,
    /// The names of other variants with stored results.
    other_variants: &'r [String],
    /// The number of stored versions that are not shown.
    hidden: usize,
    /// The suspected changes in the series of values, oldest first: one for all benchmarks that may
    /// have changed at one commit.
    events: &'r [Event],
    /// The benchmarks that were not measured in any of the versions, although they are stored.
    unmeasured: &'r [UnmeasuredBenchmark],
    /// One for each metric.
    benchmarks: Cow<'r, [BenchmarkHistory]>,
}

#[derive(Template)]
#[template(path = "history.html")]
struct Page {
    head: String,
    /// What changed and what may have: above the table, or below it if the page is about one benchmark.
    changes: String,
    rows: Vec<Row>,
    remarks: String,
}

struct Row {
    id: String,
    class: &'static str,
    /// The sort keys: the newest value, and all suspected changes together.
    sort: String,
    name: String,
    small: Option<Drawing>,
    newest: [String; 2],
    total: String,
    total_change: f64,
    state: &'static str,
    large: Option<Drawing>,
    /// The numbers of versions and sessions, and the suspected changes.
    caption: String,
    suspected: String,
    /// The values at both ends of the axis, and the versions.
    ends: [String; 2],
    versions_at_ends: [String; 2],
    /// The newest versions.
    details: String,
}

/// A series with its suspected changes.
struct Drawing {
    course: Course,
    /// A line for each suspected change.
    marks: String,
    /// The range of each suspected change, as start and width.
    possible: Vec<(f64, f64)>,
}

impl Report for HistoryReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.json_with(Cow::Borrowed(&self.benchmarks))
    }

    fn html(&self) -> Result<String> {
        let longest = self.benchmarks.iter().max_by_key(|history| history.versions.len());
        let longest = longest.map_or(&[][..], |history| &history.versions);
        let all = format!(
            "{} over {}",
            count(self.benchmarks.len(), "benchmark"),
            count(longest.len(), "version")
        );
        let title = self.subject.clone().unwrap_or(all);
        let mut lead = Text::new();
        if let (Some(first), Some(last)) = (longest.first(), longest.last()) {
            let [first, last] = [first, last].map(|row| end_text(&row.version));
            lead = format!("From {first} to {last}").into();
        }
        if let Some(Variant { name, settings }) = &self.variant {
            lead = lead.then(", variant ").name(name).then(": ").name(settings);
        }
        let mut remarks: Vec<Block> =
            Block::list(self.unmeasured_texts().into_iter().chain(self.explanations()))
                .into_iter()
                .collect();
        remarks.extend(self.hidden_note());
        let is_whole = self.rows().count() <= MOST_WITH_DATA;
        let benchmarks = if is_whole {
            Cow::Borrowed(&*self.benchmarks)
        } else {
            let all = self.command_line.suggest("history", &[], &[("format", Some("json"))]);
            let lacking = "This page does not include the values of versions. All values: ";
            remarks.push(Block::Paragraph(vec![Text::from(lacking).command(all)]));
            self.benchmarks.iter().map(BenchmarkHistory::without_versions).collect()
        };
        let section = |title: &str, blocks| format!("<h2>{title}</h2>\n{}", section_blocks(blocks));
        let mut changes = match self.compared() {
            compared if compared.is_empty() => String::new(),
            compared => section("What comparisons showed to have changed", compared),
        };
        changes += &section("What is suspected to have changed", self.event_blocks());
        let head = header("history", &Text::from(&*title), &lead);
        let body = Page {
            head: head + &section_blocks(self.warning_blocks()),
            changes,
            rows: self.page_rows(),
            remarks: section_blocks(remarks),
        };
        let json = self.json_with(benchmarks)?;
        page(&format!("History: {title}"), &rendered(&body)?, "history", &json)
    }
}

impl HistoryReport {
    fn json_with(&self, benchmarks: Cow<'_, [BenchmarkHistory]>) -> Result<String> {
        json::document(&History {
            criteria: self.criteria,
            warnings: self.warnings(),
            variant: self.variant.as_ref(),
            other_variants: &self.other_variants,
            hidden: self.hidden,
            events: &self.events,
            unmeasured: &self.unmeasured,
            benchmarks,
        })
    }

    /// The rows of the table: suspected slowdowns first, then speedups, the largest change first;
    /// series without an analysis last.
    fn page_rows(&self) -> Vec<Row> {
        let names = self.names();
        let listed = (MOST_LISTED / self.benchmarks.len().max(1)).min(MOST_LISTED_OF_EACH);
        let row = |history: &BenchmarkHistory| {
            let name = with_metric(names.name(&history.benchmark), Some(&history.metric));
            Row::new(history, &name, listed)
        };
        let mut rows: Vec<Row> = self.benchmarks.iter().map(row).collect();
        let rank = |row: &Row| STATES.iter().position(|(class, _)| *class == row.class);
        rows.sort_by(|one, other| {
            let [size, other_size] = [one, other].map(|row| row.total_change.abs());
            rank(one).cmp(&rank(other)).then(other_size.total_cmp(&size))
        });
        for (index, row) in rows.iter_mut().enumerate() {
            row.id = format!("b{index}");
        }
        rows
    }
}

impl BenchmarkHistory {
    fn without_versions(&self) -> Self {
        Self {
            benchmark: self.benchmark.clone(),
            metric: self.metric.clone(),
            sessions: self.sessions.clone(),
            series: self.series.clone(),
            versions: Vec::new(),
        }
    }

    fn points(&self) -> Vec<Point> {
        let mut session = 0;
        let mut points = Vec::with_capacity(self.versions.len());
        for (at, row) in self.versions.iter().enumerate() {
            if at > 0 && self.versions[at - 1].measured != row.measured {
                session += 1;
            }
            let Some(result) = &row.result else { continue };
            let value = result.value;
            let interval = [result.low, result.high].map(|end| end.unwrap_or(value));
            points.push(Point { at, value, interval, session });
        }
        points
    }

    fn drawing(&self, points: &[Point], steps: usize) -> Option<Drawing> {
        if points.is_empty() {
            return None;
        }
        let rows = &self.versions;
        let course = Course::new(points, rows.len(), steps);
        let place = |version: &Version| rows.iter().position(|row| row.version == *version);
        let (mut marks, mut possible) = (String::new(), Vec::new());
        for change in self.series.changes() {
            let Some(at) = place(&change.place.best.until) else { continue };
            marks += &format!("M{} 0V100", course.x(at as f64 - 0.5));
            let range = &change.place.possible;
            if let (Some(after), Some(until)) = (place(&range.after), place(&range.until))
                && *range != change.place.best
            {
                let from = course.x(after as f64);
                possible.push((from, course.x(until as f64) - from));
            }
        }
        Some(Drawing { course, marks, possible })
    }

    /// The change that fresh builds confirmed last.
    fn confirmed(&self) -> Option<f64> {
        let mut compared = self.versions.iter().filter(|row| row.changed_in_its_experiment());
        let stage = compared.next_back()?.against.as_ref()?.row.decisive()?;
        Some(stage.assessment.change.estimate)
    }

    /// One of [`STATES`]: by its series, or without one by what was confirmed.
    fn state(&self) -> (&'static str, &'static str) {
        let [slower, faster, steady, undecided] = STATES;
        let by_size = |change: f64| if change > 0.0 { slower } else { faster };
        match &self.series {
            Series::Undecided { .. } => self.confirmed().map_or(undecided, by_size),
            Series::Decided { changes, .. } if changes.is_empty() => steady,
            Series::Decided { .. } => by_size(self.series.total()),
        }
    }

    /// All suspected changes together, or the one that was confirmed last.
    fn total_text(&self) -> String {
        match self.confirmed() {
            _ if !self.series.changes().is_empty() => changed(self.series.total()),
            Some(change) => changed(change),
            None => String::new(),
        }
    }

    /// Its course as characters, its newest value, its change and its state, for a table of all benchmarks.
    pub(in crate::report) fn in_short(&self) -> [String; 4] {
        let newest = self.versions.last().and_then(|row| row.result.as_ref());
        let newest = newest.map(|result| value(result.value, self.metric.unit));
        let (_, state) = self.state();
        [self.sparkline(), newest.unwrap_or_default(), self.total_text(), state.to_owned()]
    }

    fn suspected(&self) -> String {
        match &self.series {
            Series::Undecided { reason } => format!("Not decided: {reason}"),
            Series::Decided { changes, .. } if changes.is_empty() => {
                "No change is suspected".to_owned()
            }
            Series::Decided { changes, .. } => {
                let suspected = changes.iter().map(|one| {
                    let change = changed_within(&one.change);
                    format!("{change} in {}", one.place.best)
                });
                format!("Suspected: {}", suspected.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Row {
    /// A row with at most `listed` versions.
    fn new(history: &BenchmarkHistory, name: &str, listed: usize) -> Self {
        let rows = &history.versions;
        let total_change = history.series.total();
        let (class, state) = history.state();
        let newest = rows.last();
        let newest_value = newest.and_then(|row| Some(row.result.as_ref()?.value));
        let points = history.points();
        let sessions = 1 + points.last().map_or(0, |point| point.session);
        let [small, large] = [SMALL, LARGE].map(|steps| history.drawing(&points, steps));
        let unit = history.metric.unit;
        let ends = large.as_ref().map_or_else(Default::default, |drawing| {
            let axis = &drawing.course.axis;
            [axis.low, axis.high].map(|end| value(end, unit))
        });
        let sort = newest_value
            .map_or_else(String::new, |newest| [newest, total_change].map(sortable).join(","));
        Self {
            id: String::new(),
            class,
            sort,
            name: escape_untrusted(name).into_owned(),
            small,
            newest: newest.map_or_else(Default::default, |row| row.value_parts(unit)),
            total: history.total_text(),
            total_change,
            state,
            large,
            caption: format!("{} in {}", count(rows.len(), "version"), count(sessions, "session")),
            suspected: escape_untrusted(&history.suspected()).into_owned(),
            ends,
            versions_at_ends: match (rows.first(), newest) {
                (Some(first), Some(last)) => {
                    [first, last].map(|row| escape_untrusted(&end_text(&row.version)).into_owned())
                }
                _ => Default::default(),
            },
            details: details(history, listed),
        }
    }
}

fn details(history: &BenchmarkHistory, listed: usize) -> String {
    let (all, listed) = (history.versions.len(), history.versions.len().min(listed));
    let newest: &[HistoryRow] = &history.versions[all - listed..];
    let title = format!("the newest {listed} of {}", count(all, "version"));
    let title = Block::paragraph((listed < all).then_some(title));
    section_blocks(title.into_iter().chain(history.versions_table(newest)))
}

/// The label of a version at the end of an axis: `1a2b3c4, 2026-11-02`.
fn end_text(version: &Version) -> String {
    let day = version.time.map_or_else(String::new, |time| format!(", {}", quantity::day(time)));
    version.short() + &day
}
