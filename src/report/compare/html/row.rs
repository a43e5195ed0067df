//! One benchmark on a web page: its line in the table, and the evidence build by build.

use super::{ComparisonReport, percent_of_width};
use crate::{
    compare::ExplainedBenchmark,
    error::Result,
    model::{Metric, Unit},
    report::{
        compare::{
            impact::{is_shown, words},
            summary::name,
        },
        escape::{escape_untrusted, escape_untrusted_lines},
        html::{Linear, Pairs, Symmetric, Times, sortable},
        names::Names,
        prose::capitalised,
        quantity::{self, changed, count, percent},
        sentence,
        shares::Shares,
    },
    stats::{Interval, Method, Summary},
    verdict::{DecidedRow, DecidedStage, VerdictKind},
};

/// The maximum number of functions listed for a benchmark.
const MOST_FUNCTIONS: usize = 12;

/// A benchmark in a metric.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) class: &'static str,
    pub(super) is_open: bool,
    /// The sort keys: the values of base and head, and the change.
    pub(super) sort: String,
    pub(super) name: String,
    pub(super) base: (String, String),
    pub(super) head: (String, String),
    pub(super) change: String,
    pub(super) range: String,
    pub(super) mark: Option<Mark>,
    pub(super) verdict: &'static str,
    pub(super) sentence: String,
    pub(super) stages: Vec<Stage>,
    /// The values at both ends of the axis of builds.
    pub(super) ends: (String, String),
    pub(super) time: Option<Time>,
    pub(super) notes: Vec<String>,
    pub(super) functions: Vec<String>,
    pub(super) explanation: Option<Explanation>,
}

/// The functions that account for the change in instructions.
pub(super) struct Explanation {
    pub(super) totals: String,
    pub(super) functions: String,
}

/// The interval of a change, in percent of the width.
pub(super) struct Mark {
    pub(super) low: String,
    pub(super) width: String,
    pub(super) at: String,
}

/// The builds of one stage.
pub(super) struct Stage {
    pub(super) caption: String,
    pub(super) pairs: Pairs,
}

/// The pairs in the order in which they were measured.
pub(super) struct Time {
    pub(super) times: Times,
    pub(super) ends: (String, String),
}

/// A pair of builds with one layout.
struct Pair {
    /// The start of its first execution, if known.
    start: Option<f64>,
    change: f64,
}

impl ComparisonReport {
    pub(super) fn row_html(
        &self,
        row: &DecidedRow,
        id: String,
        (names, is_open, axis): (&Names<'_>, bool, &Symmetric),
    ) -> Result<Row> {
        let kind = VerdictKind::new(&row.verdict);
        let stage = row.decisive();
        let change = stage.map(|stage| stage.assessment.change);
        let [base, head] = [0, 1].map(|version| {
            stage.map_or_else(Default::default, |stage| self.value(&stage.summaries[version]))
        });
        let values = Linear::fit(row.stages.iter().flat_map(|stage| {
            let builds = stage.summaries.iter().flat_map(Summary::builds).map(|build| build.value);
            let intervals = stage.summaries.iter().filter_map(|summary| self.interval(summary));
            builds.chain(intervals.flatten())
        }));
        let unit = row.metric.as_ref().map_or(Unit::Nanoseconds, |metric| metric.unit);
        let stages: Vec<Stage> = row
            .stages
            .iter()
            .enumerate()
            .map(|(index, stage)| self.stage_html(index, stage, &values))
            .collect();
        let (functions, impact_note) = reached_functions(row, kind);
        let together = self.time_and_count(row).map(|(_, said)| capitalised(&said));
        Ok(Row {
            id,
            class: kind.class(),
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
                Mark {
                    low: percent_of_width(low),
                    width: percent_of_width((high - low).max(0.2)),
                    at: percent_of_width(at),
                }
            }),
            verdict: kind.name(),
            sentence: escape_untrusted_lines(&capitalised(&sentence::reason(row))).into_owned(),
            stages,
            ends: (quantity::value(values.low, unit), quantity::value(values.high, unit)),
            time: time(row),
            notes: together.into_iter().chain(shares_note(stage)).chain(impact_note).collect(),
            functions,
            explanation: self.explanation_html(row)?,
        })
    }

    /// The functions that account for a change in instructions, for the row of that count.
    fn explanation_html(&self, row: &DecidedRow) -> Result<Option<Explanation>> {
        let is_of = |one: &&ExplainedBenchmark| {
            one.benchmark == row.benchmark && row.metric.as_ref() == Some(&Metric::instructions())
        };
        let Some(explained) = self.outcome.explanations.iter().find(is_of) else { return Ok(None) };
        let functions = explained.functions_html()?;
        Ok(Some(Explanation { totals: explained.totals(), functions }))
    }

    /// The value of a version, and the half-width of its interval.
    fn value(&self, summary: &Summary) -> (String, String) {
        let interval = Interval::three_level(summary, self.outcome.criteria.confidence);
        let value = quantity::value_of_metric(summary.values().mean, summary.metric().unit);
        (value, interval.as_ref().map_or_else(|_| String::new(), quantity::plus_minus))
    }

    fn interval(&self, summary: &Summary) -> Option<[f64; 2]> {
        let interval = Interval::three_level(summary, self.outcome.criteria.confidence).ok()?;
        Some([interval.low, interval.high])
    }

    fn stage_html(&self, index: usize, stage: &DecidedStage, axis: &Linear) -> Stage {
        let values = stage.summaries.each_ref().map(|summary| {
            summary.builds().iter().map(|build| (build.seed, build.value)).collect::<Vec<_>>()
        });
        let intervals = stage.summaries.each_ref().map(|summary| self.interval(summary));
        let changes: Vec<f64> = pairs(stage).iter().map(|pair| pair.change).collect();
        let which = if index == 0 { "" } else { "fresh " };
        let caption = if is_paired(stage) {
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
        Stage { caption, pairs: Pairs::new(&values, &intervals, is_paired(stage), axis) }
    }
}

/// The values of base and head, and the change, if there are any.
fn sort(stage: Option<&DecidedStage>) -> String {
    stage.map_or_else(String::new, |stage| {
        let [base, head] = stage.summaries.each_ref().map(|summary| summary.values().mean);
        [base, head, stage.assessment.change.estimate].map(sortable).join(",")
    })
}

fn is_paired(stage: &DecidedStage) -> bool {
    matches!(stage.assessment.comparison.method, Method::Paired { .. })
}

/// The pairs of a stage; empty unless equal seeds are a pair.
fn pairs(stage: &DecidedStage) -> Vec<Pair> {
    let [base, head] = &stage.summaries;
    let pair = |head: &crate::stats::BuildSummary| {
        let base = base.builds().iter().find(|base| base.seed == head.seed)?;
        let start = base.start.zip(head.start).map(|(base, head)| base.min(head));
        Some(Pair { start, change: head.value / base.value - 1.0 })
    };
    if is_paired(stage) { head.builds().iter().filter_map(pair).collect() } else { Vec::new() }
}

/// The pairs of all stages in order of time; `None` unless every start is known.
fn time(row: &DecidedRow) -> Option<Time> {
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
    let ends = (percent(times.axis.low), percent(times.axis.high));
    Some(Time { times, ends })
}

/// The shares of the variance of a change.
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
        return (Vec::new(), Some(capitalised(&words(impact, kind.is_change()).plain())));
    }
    let mut functions: Vec<String> = impact
        .functions
        .iter()
        .take(MOST_FUNCTIONS)
        .map(|function| crate::report::impact::function(function).plain())
        .collect();
    if let Some(more) = impact.functions.len().checked_sub(MOST_FUNCTIONS).filter(|more| *more > 0)
    {
        functions.push(format!("and {more} more"));
    }
    let others = crate::impact::Impact { functions: Vec::new(), ..impact.clone() };
    let others =
        (!others.is_nothing()).then(|| capitalised(&words(&others, kind.is_change()).plain()));
    (functions, others)
}
