//! The report of `compare` as a web page: changes first, and each benchmark with the builds that
//! show its verdict.

mod row;

use askama::Template;
use row::Row;

use super::ComparisonReport;
use crate::model::FailedTarget;
use crate::{
    error::{Context as _, Exit, Result},
    report::{
        document::Step,
        escape::escape_untrusted,
        html::{Symmetric, page, rendered},
        prose::capitalised,
        quantity::bare_percent,
    },
    verdict::{DecidedRow, VerdictKind},
};

/// The multiple of a benchmark's change up to which its interval extends the axis. A wider interval
/// may be cut.
const WIDEST: f64 = 4.0;

/// The maximum number of changed benchmarks whose builds are open at first.
const MOST_OPEN: usize = 3;

#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'p> {
    /// The command that makes the page.
    command: &'p str,
    /// The title of the page: the head, or several versions; and the base.
    head: &'p str,
    base: Option<&'p str>,
    summary: String,
    sections: Vec<String>,
}

/// One comparison of two versions.
#[derive(Template)]
#[template(path = "section.html")]
struct Section {
    /// A number that no other section has.
    id: usize,
    title: String,
    counts: Vec<Count>,
    means: Vec<String>,
    warnings: Vec<String>,
    min_effect: String,
    /// The positions of ± the smallest change of interest, and of round changes, in percent of the
    /// width.
    limits: [String; 2],
    ticks: Vec<Tick>,
    rows: Vec<Row>,
    /// The joint conclusions from time and instructions.
    together: Vec<String>,
    failed_targets: Vec<String>,
    others: Vec<String>,
    steps: Vec<Step>,
    how: Vec<String>,
}

struct Count {
    class: &'static str,
    number: usize,
    name: &'static str,
}

struct Tick {
    at: String,
    label: String,
}

/// A page of several comparisons, one section each.
pub fn page_of(command: &str, title: &str, sections: Vec<String>, json: &str) -> Result<String> {
    let body = Page { command, head: title, base: None, summary: String::new(), sections };
    page(title, &rendered(&body)?, command, Some(json))
}

impl ComparisonReport {
    pub(super) fn write_html(&self) -> Result<String> {
        let mut sections = vec![self.section_html(0, "What changed")?];
        if let Some(also) = &self.also {
            let title =
                format!("Also against {}", escape_untrusted(&also.outcome.base.to_string()));
            sections.push(also.section_html(1, &title)?);
        }
        let [base, head] = [&self.outcome.base, &self.outcome.head];
        let names = [base, head].map(|version| escape_untrusted(&version.to_string()).into_owned());
        let title = format!("{}: {head} against {base}", self.headline());
        let file = format!("compare-{}-{}", base.short(), head.short());
        let body = Page {
            command: "compare",
            head: &names[1],
            base: Some(&names[0]),
            summary: escape_untrusted(&head.summary).into_owned(),
            sections,
        };
        page(&title, &rendered(&body)?, &file, Some(&self.json()?))
    }

    /// A section of a page on these two versions; `id` must be unique on the page.
    pub(in crate::report) fn section_html(&self, id: usize, title: &str) -> Result<String> {
        let axis = self.axis();
        let mut ordered = self.ordered();
        ordered.sort_by_key(|row| VerdictKind::new(&row.verdict));
        let names = self.names();
        let prefix = if id == 0 { String::new() } else { format!("{id}-") };
        let mut open = 0;
        let row = |(index, row): (usize, &&DecidedRow)| {
            let is_open = VerdictKind::new(&row.verdict).is_change() && open < MOST_OPEN;
            open += usize::from(is_open);
            self.row_html(row, format!("b{prefix}{index}"), (&names, is_open, &axis))
        };
        let rows = ordered.iter().enumerate().map(row).collect::<Result<_>>()?;
        let limit = self.outcome.criteria.min_effect;
        let section = Section {
            id,
            title: title.to_owned(),
            counts: self.count_items(),
            means: self
                .mean_texts()
                .map(|text| escape_untrusted(&capitalised(&text)).into_owned())
                .collect(),
            warnings: self
                .all_warnings()
                .iter()
                .map(|warning| escape_untrusted(&self.warning_text(warning)).into_owned())
                .collect(),
            min_effect: self.min_effect_text(),
            limits: [-limit, limit].map(|at| percent_of_width(axis.place(at))),
            ticks: ticks(&axis),
            rows,
            together: self
                .time_and_counts()
                .iter()
                .map(|note| escape_untrusted(note).into_owned())
                .collect(),
            failed_targets: self.failed_target_texts(),
            others: self.not_measured_lines(),
            steps: self.visible_steps(),
            how: self.measured(),
        };
        section.render().context(Exit::Internal, || "cannot write the report as a web page")
    }

    /// An axis with room for every change, and for most intervals.
    fn axis(&self) -> Symmetric {
        let scale = self.outcome.criteria.min_effect;
        let changes = self.outcome.rows.iter().filter_map(DecidedRow::decisive);
        let extents = changes.map(|stage| {
            let change = &stage.assessment.change;
            let wide = WIDEST * change.estimate.abs().max(scale);
            let far = change.low.abs().max(change.high.abs()).min(wide);
            // A change from 0 has no position: it stands at the edge.
            if far.is_finite() { far } else { 0.0 }
        });
        Symmetric::new(scale, 1.05 * extents.fold(0.0, f64::max))
    }

    fn count_items(&self) -> Vec<Count> {
        let counts = VerdictKind::ALL.into_iter().map(|kind| Count {
            class: kind.class(),
            number: self.with_verdict(kind).count(),
            name: kind.name(),
        });
        counts.filter(|count| count.number > 0).collect()
    }

    fn failed_target_texts(&self) -> Vec<String> {
        let targets = self.outcome.failed_targets.iter();
        targets
            .map(|FailedTarget { target, error: failure }| format!("{target}: failed: {failure}"))
            .map(|text| escape_untrusted(&text).into_owned())
            .collect()
    }

    fn visible_steps(&self) -> Vec<Step> {
        let steps = self.next_steps().into_iter();
        steps
            .map(|Step { command, purpose }| Step {
                command: escape_untrusted(&command).into_owned(),
                purpose: escape_untrusted(&capitalised(&purpose)).into_owned(),
            })
            .collect()
    }
}

fn ticks(axis: &Symmetric) -> Vec<Tick> {
    let ticks = axis.ticks();
    let negative = ticks.iter().rev().map(|tick| -tick);
    let all = negative.chain([0.0]).chain(ticks.iter().copied());
    all.map(|tick| Tick { at: percent_of_width(axis.place(tick)), label: label(tick) }).collect()
}

/// The label of a round change at an axis: `-3 %`, `0`, `+0.1 %`.
fn label(tick: f64) -> String {
    if tick == 0.0 {
        return "0".to_owned();
    }
    let text = bare_percent(tick);
    let short =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} %")
}

/// A position with one decimal, or none if that is 0.
fn percent_of_width(place: f64) -> String {
    let text = format!("{place:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
