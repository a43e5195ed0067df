//! The report of `compare` as a web page: changes first, and each benchmark with the builds that
//! show its verdict.

use askama::Template;
use rbench_code::impact::Impact;
use rbench_stats::{BuildSummary, Interval, Summary};

use super::{
    CompareReport, ComparisonReport, Parts, name,
    notes::{has_metric, is_time},
};
use crate::report::{
    Report as _,
    document::{Block, Text, capitalised},
    escape::{escape_untrusted, escape_untrusted_lines},
    html::{Linear, Pairs, Symmetric, Times, page, rendered, sortable},
    impact::{MOST, function, is_shown, measured_words},
    json::{Estimate, Shares},
    names::Names,
    quantity::{self, bare_percent, changed, count, percent},
    render::{header, section_blocks},
    sentence,
};
use crate::{
    compare::{ExplainedBenchmark, ExplainedTime, Outcome},
    error::Result,
    model::{Metric, Unit},
    verdict::{DecidedRow, DecidedStage, VerdictKind},
};

/// The multiple of a benchmark's change up to which its interval extends the axis. A wider interval
/// may be cut.
const WIDEST: f64 = 4.0;

/// The maximum number of changed benchmarks whose builds are open at first.
const MOST_OPEN: usize = 3;

/// The maximum number of functions listed for a benchmark.
const MOST_FUNCTIONS: usize = 12;

#[derive(Template)]
#[template(path = "section.html")]
struct Section {
    /// A number that no other section has.
    id: usize,
    title: String,
    counts: Vec<(VerdictKind, usize)>,
    /// The blocks before and after the table.
    before: String,
    after: String,
    min_effect: String,
    /// The positions of ± the smallest change of interest, and of round changes, in percent of the
    /// width.
    limits: [String; 2],
    ticks: Vec<(String, String)>,
    rows: Vec<Row>,
}

struct Row {
    id: String,
    kind: VerdictKind,
    is_open: bool,
    /// The sort keys: the values of base and head, and the change.
    sort: String,
    name: String,
    base: (String, String),
    head: (String, String),
    change: String,
    range: String,
    /// The low end, the width and the estimate of the interval, in percent of the width.
    mark: Option<[String; 3]>,
    sentence: String,
    /// The builds of each stage, with a caption.
    stages: Vec<(String, Pairs)>,
    /// The values at both ends of the axis of builds.
    ends: (String, String),
    /// The pairs in the order in which they were measured, and both ends of the axis.
    time: Option<(Times, [String; 2])>,
    notes: Vec<String>,
    functions: Vec<String>,
    /// The times in sampled executions, and the functions that account for their change.
    times: Option<(String, String)>,
    /// The total, and the functions that account for the change in instructions.
    explanation: Option<(String, String)>,
}

struct Pair {
    /// The start of its first execution, if known.
    start: Option<f64>,
    change: f64,
}

/// The dot at the ends of lines.
const MARKER: &str = "<svg class=sr aria-hidden=true><marker id=dot viewBox=\"-4 -4 8 8\" \
    markerUnits=userSpaceOnUse markerWidth=8 markerHeight=8 overflow=visible><path d=\"M0 0h0\"/>\
    </marker></svg>\n";

/// A page of these blocks and of several comparisons, each a section with its title.
pub fn page_of<'r>(
    command: &str,
    title: &str,
    summary: Vec<Block>,
    comparisons: impl IntoIterator<Item = (String, &'r ComparisonReport)>,
    json: &str,
) -> Result<String> {
    let mut body = header(command, &title.into(), &Text::new());
    if !summary.is_empty() {
        body += &format!("<section>\n{}</section>\n", section_blocks(summary));
    }
    for (id, (title, report)) in comparisons.into_iter().enumerate() {
        body += &report.section_html(id, &escape_untrusted(&title))?;
    }
    page(title, &(body + MARKER), command, json)
}

impl CompareReport<'_> {
    pub(super) fn write_html(&self) -> Result<String> {
        let mut sections = vec![self.with_base.section_html(0, "What changed")?];
        if let Some(also) = self.also_base {
            let title =
                format!("Also against {}", escape_untrusted(&also.outcome.base.to_string()));
            sections.push(also.section_html(1, &title)?);
        }
        let Outcome { base, head, .. } = &self.with_base.outcome;
        let title = format!("{}: {head} compared with {base}", self.headline());
        let file = format!("compare-{}-{}", base.short(), head.short());
        let versions = Text::from(head.to_string()).then(format!(" compared with {base}"));
        // The subject of a commit is not that of changes on top of it.
        let subject = if head.dirty { "" } else { &head.summary };
        let body = header("compare", &versions, &Text::from(subject));
        page(&title, &(body + &sections.concat() + MARKER), &file, &self.json()?)
    }
}

impl ComparisonReport {
    /// A section of a page on these two versions; `id` must be unique on the page.
    fn section_html(&self, id: usize, title: &str) -> Result<String> {
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
        let rows = ordered.iter().enumerate().map(row).collect();
        let limit = self.outcome.criteria.min_effect;
        let counts = self.outcome.counts();
        // The rows have their own table, evidence, causes and reasons.
        let [before, _, after] = Parts {
            summary: self.mean_texts().map(Text::from).collect(),
            notes: self.other_reasons(&[]),
            times: Vec::new(),
            reasons: Vec::new(),
            calm: None,
            ..self.page()
        }
        .around_table();
        let section = Section {
            id,
            title: title.to_owned(),
            counts: VerdictKind::ALL
                .map(|kind| (kind, counts.with_verdict(kind)))
                .into_iter()
                .filter(|(_, number)| *number > 0)
                .collect(),
            before: section_blocks(before),
            after: section_blocks(after),
            min_effect: self.min_effect_text(),
            limits: [-limit, limit].map(|at| percent_of_width(axis.place(at))),
            ticks: ticks(&axis),
            rows,
        };
        rendered(&section)
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

    fn row_html(
        &self,
        row: &DecidedRow,
        id: String,
        (names, is_open, axis): (&Names<'_>, bool, &Symmetric),
    ) -> Row {
        let kind = VerdictKind::new(&row.verdict);
        let stage = row.decisive();
        let change = stage.map(|stage| stage.assessment.change);
        let [base, head] = [0, 1].map(|version| {
            stage.map_or_else(Default::default, |stage| {
                let summary = &stage.summaries[version];
                Estimate::new(summary, self.outcome.criteria.confidence)
                    .texts(summary.metric().unit)
            })
        });
        let values = Linear::fit(row.stages.iter().flat_map(|stage| {
            let builds = stage.summaries.iter().flat_map(Summary::builds).map(|build| build.value);
            let intervals = stage.summaries.iter().filter_map(|summary| self.interval(summary));
            builds.chain(intervals.flatten())
        }));
        let unit = row.metric.as_ref().map_or(Unit::Nanoseconds, |metric| metric.unit);
        let stages = row
            .stages
            .iter()
            .enumerate()
            .map(|(index, stage)| self.stage_html(index, stage, &values))
            .collect();
        let (functions, impact_note) = reached_functions(row, kind);
        let together = self.time_and_count(row).map(|(_, said)| capitalised(&said));
        Row {
            id,
            kind,
            is_open,
            sort: sort(stage),
            name: escape_untrusted(&name(names, row)).into_owned(),
            base,
            head,
            change: change.map_or_else(String::new, |change| changed(change.estimate)),
            range: change
                .map_or_else(String::new, |change| quantity::range(change.low, change.high)),
            mark: change.map(|change| {
                let [low, at, high] =
                    [change.low, change.estimate, change.high].map(|change| axis.place(change));
                [low, (high - low).max(0.2), at].map(percent_of_width)
            }),
            sentence: escape_untrusted_lines(&capitalised(&sentence::reason(row))).into_owned(),
            stages,
            ends: (quantity::value(values.low, unit), quantity::value(values.high, unit)),
            time: time(row),
            notes: together.into_iter().chain(shares_note(stage)).chain(impact_note).collect(),
            functions,
            times: self.times_html(row),
            explanation: self.explanation_html(row),
        }
    }

    /// The functions that account for a change in time, for the row of that time.
    fn times_html(&self, row: &DecidedRow) -> Option<(String, String)> {
        let is_of =
            |one: &&ExplainedTime| one.benchmark == row.benchmark && has_metric(row, is_time);
        let explained = self.outcome.time_explanations.iter().find(is_of)?;
        Some((explained.totals().plain(), section_blocks(explained.details())))
    }

    /// The functions that account for a change in instructions, for the row of that count.
    fn explanation_html(&self, row: &DecidedRow) -> Option<(String, String)> {
        let is_of = |one: &&ExplainedBenchmark| {
            one.benchmark == row.benchmark && row.metric.as_ref() == Some(&Metric::instructions())
        };
        let explained = self.outcome.explanations.iter().find(is_of)?;
        Some((explained.totals(), section_blocks(explained.details())))
    }

    fn interval(&self, summary: &Summary) -> Option<[f64; 2]> {
        let interval = Interval::three_level(summary, self.outcome.criteria.confidence).ok()?;
        Some([interval.low, interval.high])
    }

    fn stage_html(&self, index: usize, stage: &DecidedStage, axis: &Linear) -> (String, Pairs) {
        let values = stage.summaries.each_ref().map(|summary| {
            summary.builds().iter().map(|build| (build.seed, build.value)).collect::<Vec<_>>()
        });
        let intervals = stage.summaries.each_ref().map(|summary| self.interval(summary));
        let changes: Vec<f64> = pairs(stage).iter().map(|pair| pair.change).collect();
        let which = if index == 0 { "" } else { "fresh " };
        let caption = if stage.assessment.comparison.method.is_paired() {
            let slower = changes.iter().filter(|change| **change > 0.0).count();
            let least = changes.iter().copied().fold(f64::INFINITY, f64::min);
            let most = changes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            format!(
                "{} of builds: {slower} slower, {}\u{a0}%",
                count(changes.len(), &format!("{which}pair")),
                quantity::range(least, most),
            )
        } else {
            let [base, head] = values.each_ref().map(Vec::len);
            format!("{base} {which}builds of the base and {head} of the head, not paired")
        };
        (
            caption,
            Pairs::new(&values, &intervals, stage.assessment.comparison.method.is_paired(), axis),
        )
    }
}

fn ticks(axis: &Symmetric) -> Vec<(String, String)> {
    let ticks = axis.ticks();
    let negative = ticks.iter().rev().map(|tick| -tick);
    let all = negative.chain([0.0]).chain(ticks.iter().copied());
    all.map(|tick| (percent_of_width(axis.place(tick)), label(tick))).collect()
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

/// The values of base and head, and the change, if there are any.
fn sort(stage: Option<&DecidedStage>) -> String {
    stage.map_or_else(String::new, |stage| {
        let [base, head] = stage.summaries.each_ref().map(|summary| summary.values().mean);
        [base, head, stage.assessment.change.estimate].map(sortable).join(",")
    })
}

/// The pairs of a stage; empty unless equal seeds are a pair.
fn pairs(stage: &DecidedStage) -> Vec<Pair> {
    let [base, head] = &stage.summaries;
    let pair = |head: &BuildSummary| {
        let base = base.builds().iter().find(|base| base.seed == head.seed)?;
        let start = base.start.zip(head.start).map(|(base, head)| base.min(head));
        Some(Pair { start, change: head.value / base.value - 1.0 })
    };
    if stage.assessment.comparison.method.is_paired() {
        head.builds().iter().filter_map(pair).collect()
    } else {
        Vec::new()
    }
}

/// The pairs of all stages in order of time; `None` unless every start is known.
fn time(row: &DecidedRow) -> Option<(Times, [String; 2])> {
    let mut changes = Vec::new();
    let mut parted = Vec::new();
    for stage in &row.stages {
        if !changes.is_empty() {
            parted.push(changes.len());
        }
        let mut timed: Vec<(f64, f64)> = Vec::new();
        for pair in pairs(stage) {
            timed.push((pair.start?, pair.change));
        }
        timed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        changes.extend(timed.into_iter().map(|(_, change)| change));
    }
    if changes.len() < 2 {
        return None;
    }
    let times = Times::new(&changes, &parted);
    let ends = [times.axis.low, times.axis.high].map(percent);
    Some((times, ends))
}

fn shares_note(stage: Option<&DecidedStage>) -> Option<String> {
    let builds = (100.0 * Shares::change_shares(stage?)?.builds()).round();
    Some(format!("Variance: {builds:.0} % builds, {:.0} % executions", 100.0 - builds))
}

/// The changed functions that a benchmark executes, and a note on the rest of the impact.
fn reached_functions(row: &DecidedRow, kind: VerdictKind) -> (Vec<String>, Option<String>) {
    let Some(impact) = row.impact.as_ref().filter(|_| is_shown(kind)) else {
        return (Vec::new(), None);
    };
    if impact.functions.len() <= 1 {
        return (
            Vec::new(),
            Some(capitalised(&measured_words(impact, kind.is_change(), MOST).plain())),
        );
    }
    let mut functions: Vec<String> =
        impact.functions.iter().take(MOST_FUNCTIONS).map(|one| function(one).plain()).collect();
    if let Some(more) = impact.functions.len().checked_sub(MOST_FUNCTIONS).filter(|more| *more > 0)
    {
        functions.push(format!("and {more} more"));
    }
    let others = Impact { functions: Vec::new(), ..impact.clone() };
    let others = (!others.is_nothing())
        .then(|| capitalised(&measured_words(&others, kind.is_change(), MOST).plain()));
    (functions, others)
}
