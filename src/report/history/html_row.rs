//! One benchmark on the page of a history: its line in the table, and its versions.

use std::cmp::Ordering;

use super::{BenchmarkHistory, HistoryRow, ReferenceVersion};
use crate::{
    model::{Unit, Version},
    report::{
        date,
        escape::{escape_untrusted, escape_untrusted_lines},
        html::{Course, Point, sortable},
        quantity::{self, changed, changed_within, count},
        sentence,
    },
    stats::Interval,
    verdict::VerdictKind,
};

/// The maximum number of steps of a series: in a line of the table, and in the large figure.
const SMALL: usize = 90;
const LARGE: usize = 400;
/// The maximum number of versions with sentences.
const MOST_SENTENCES: usize = 6;

/// The classes of benchmarks by importance.
const RANKS: [&str; 4] = ["slower", "faster", "steady", "unjudged"];

/// Limits on the details of a benchmark.
pub(super) struct Limits {
    /// The confidence of all intervals.
    pub(super) confidence: f64,
    /// The number of versions listed.
    pub(super) listed: usize,
}

/// A benchmark in a metric.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) class: &'static str,
    /// The sort keys: the newest value, and all suspected changes together.
    pub(super) sort: String,
    pub(super) name: String,
    pub(super) small: Option<Drawing>,
    pub(super) newest: (String, String),
    pub(super) total: String,
    total_change: f64,
    pub(super) state: &'static str,
    pub(super) large: Option<Drawing>,
    pub(super) caption: String,
    /// A description of the series, for readers who cannot see it.
    pub(super) label: String,
    /// The values at both ends of the axis, and the versions.
    pub(super) ends: (String, String),
    pub(super) versions_at_ends: (String, String),
    pub(super) notes: Vec<String>,
    pub(super) versions: Vec<VersionFields>,
    pub(super) count: usize,
}

/// A series with its suspected changes.
pub(super) struct Drawing {
    pub(super) course: Course,
    /// A line for each suspected change.
    pub(super) marks: String,
    /// The range of each suspected change, as start and width.
    pub(super) possible: Vec<(f64, f64)>,
}

/// A version in a list.
pub(super) struct VersionFields {
    pub(super) class: &'static str,
    pub(super) short: String,
    pub(super) date: String,
    pub(super) value: String,
    pub(super) change: String,
    pub(super) verdict: String,
    pub(super) subject: String,
}

impl Row {
    pub(super) fn new(history: &BenchmarkHistory, name: &str, limits: &Limits) -> Self {
        let rows = &history.versions;
        let changes = history.series.changes();
        let total = history.series.total();
        let (class, state) = match (changes.is_empty(), history.series.undecided_reason()) {
            (false, _) if total > 0.0 => ("slower", "slower"),
            (false, _) => ("faster", "faster"),
            (true, None) => ("steady", "steady"),
            (true, Some(_)) => ("unjudged", "not judged"),
        };
        let newest = rows.last();
        let value = newest.and_then(|row| Some(row.summary.as_ref()?.values().mean));
        let points = points(rows, limits.confidence);
        let [small, large] = [SMALL, LARGE].map(|steps| drawing(history, &points, steps));
        let unit = history.metric.unit;
        let ends = large.as_ref().map_or_else(Default::default, |drawing| {
            let [low, high] = [drawing.course.axis.low, drawing.course.axis.high];
            (quantity::value(low, unit), quantity::value(high, unit))
        });
        let shown = rows.iter().rev().take(limits.listed);
        Self {
            id: String::new(),
            class,
            sort: value.map_or_else(String::new, |value| [value, total].map(sortable).join(",")),
            name: name.to_owned(),
            small,
            newest: newest.map_or_else(Default::default, |row| value_of(row, limits, unit)),
            total: if changes.is_empty() { String::new() } else { changed(total) },
            total_change: total,
            state,
            large,
            caption: caption(rows.len(), &points),
            label: label(history, rows.len()),
            ends,
            versions_at_ends: match (rows.first(), newest) {
                (Some(first), Some(last)) => (end_text(&first.version), end_text(&last.version)),
                _ => Default::default(),
            },
            notes: notes(history),
            versions: shown.map(|row| version_fields(row, limits, unit)).collect(),
            count: rows.len(),
        }
    }

    /// Orders suspected slowdowns first, then speedups, the largest change first; series without an
    /// analysis last.
    pub(super) fn by_importance(one: &Self, other: &Self) -> Ordering {
        let rank =
            |row: &Self| RANKS.iter().position(|class| *class == row.class).unwrap_or(RANKS.len());
        let size = |row: &Self| row.total_change.abs();
        rank(one).cmp(&rank(other)).then(size(other).total_cmp(&size(one)))
    }
}

/// The points of the versions that have values.
fn points(rows: &[HistoryRow], confidence: f64) -> Vec<Point> {
    let mut session = 0;
    let mut points = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        if at > 0 && rows[at - 1].measured != row.measured {
            session += 1;
        }
        let Some(summary) = &row.summary else { continue };
        let value = summary.values().mean;
        let interval = Interval::three_level(summary, confidence);
        let interval = interval.map_or([value; 2], |interval| [interval.low, interval.high]);
        points.push(Point { at, value, interval, session });
    }
    points
}

fn drawing(history: &BenchmarkHistory, points: &[Point], steps: usize) -> Option<Drawing> {
    if points.is_empty() {
        return None;
    }
    let rows = &history.versions;
    let course = Course::new(points, rows.len(), steps);
    let place = |version: &Version| rows.iter().position(|row| row.version == *version);
    let (mut marks, mut possible) = (String::new(), Vec::new());
    for change in history.series.changes() {
        let Some(at) = place(&change.place.best[1]) else { continue };
        marks += &format!("M{} 0V100", course.x(at as f64 - 0.5));
        let [after, until] = &change.place.possible;
        if let (Some(after), Some(until)) = (place(after), place(until))
            && change.place.possible != change.place.best
        {
            let from = course.x(after as f64);
            possible.push((from, course.x(until as f64) - from));
        }
    }
    Some(Drawing { course, marks, possible })
}

fn caption(versions: usize, points: &[Point]) -> String {
    let sessions = 1 + points.last().map_or(0, |point| point.session);
    format!("{} in {}", count(versions, "version"), count(sessions, "session"))
}

fn label(history: &BenchmarkHistory, versions: usize) -> String {
    let changes = history.series.changes();
    let since = changes.iter().map(|change| {
        format!("{} in {}", changed(change.estimate), escape_untrusted(&change.place.best_range()))
    });
    let since = since.collect::<Vec<_>>().join(", ");
    let since = if since.is_empty() { "no change is suspected".to_owned() } else { since };
    format!("values of {}: {since}", count(versions, "version"))
}

/// The suspected changes, and the comparisons of the newest versions.
fn notes(history: &BenchmarkHistory) -> Vec<String> {
    let mut notes = Vec::new();
    for change in history.series.changes() {
        notes.push(format!(
            "Suspected in {}: {}",
            escape_untrusted(&change.place.best_range()),
            changed_within(change.estimate, change.low, change.high)
        ));
    }
    notes.extend(
        history
            .series
            .undecided_reason()
            .map(|reason| format!("Not judged: {}", escape_untrusted(reason))),
    );
    let said = history.versions.iter().rev().filter_map(|row| {
        let against = row.against.as_ref()?;
        let kind = VerdictKind::new(&against.row.verdict);
        let is_told = kind.is_change() || kind == VerdictKind::Failed;
        let across = if against.is_across() { ", across experiments" } else { "" };
        is_told.then(|| {
            let sentence = escape_untrusted_lines(&sentence::row(&against.row)).into_owned();
            format!("{} {sentence}{across}", escape_untrusted(&row.version.short()))
        })
    });
    notes.extend(said.take(MOST_SENTENCES));
    notes
}

/// The value of a version and the half-width of its interval; or the reason why there is none.
fn value_of(row: &HistoryRow, limits: &Limits, unit: Unit) -> (String, String) {
    let Some(summary) = &row.summary else {
        return (row.without_value().name().to_owned(), String::new());
    };
    let interval = Interval::three_level(summary, limits.confidence);
    let half_width = interval.as_ref().map_or_else(|_| String::new(), quantity::plus_minus);
    (quantity::value(summary.values().mean, unit), half_width)
}

fn version_fields(row: &HistoryRow, limits: &Limits, unit: Unit) -> VersionFields {
    let against = row.against.as_ref();
    let kind = against.map(|against| VerdictKind::new(&against.row.verdict));
    let change = against.and_then(|against| against.row.decisive());
    let across = if against.is_some_and(ReferenceVersion::is_across) { " ~" } else { "" };
    let (value, half_width) = value_of(row, limits, unit);
    VersionFields {
        class: kind.map_or("none", VerdictKind::class),
        short: escape_untrusted(&row.version.short()).into_owned(),
        date: row.version.time.map_or_else(String::new, date::day),
        value: format!("{value} {half_width}").trim().to_owned(),
        change: change.map_or_else(String::new, |stage| changed(stage.assessment.change.estimate)),
        verdict: kind.map_or_else(String::new, |kind| format!("{}{across}", kind.name())),
        subject: escape_untrusted(&row.version.summary).into_owned(),
    }
}

/// The label of a version at the end of an axis: `1a2b3c4, 2026-11-02`.
pub(super) fn end_text(version: &Version) -> String {
    let day = version.time.map_or_else(String::new, |time| format!(", {}", date::day(time)));
    escape_untrusted(&(version.short() + &day)).into_owned()
}
