//! The comparison for people at a terminal.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ComparisonReport, StoredExperiment, Warning,
    counted::is_of,
    dependencies_note,
    notes::{ground, list},
    summary::name,
    warning::sentence,
};
use crate::{
    judge::{JudgedRow, JudgedStage},
    model::{Benchmark, Interleave, Metric},
    report::{
        accepted::idle_note,
        date,
        names::{Names, metric_name},
        prose::{filled, first_line_filled},
        quantity::{self, changed, exact},
        reach::Form,
        sentence,
        shares::{self, Shares},
        style::{self, paint},
        table::{Cell, Column, Table},
        verdict::VerdictKind,
        visible::{visible, visible_lines},
    },
    stats::{Interval, Method, Rule, Summary},
};

/// The confidence of the interval of a change by fresh builds, or by the first interim analysis. Those of later ones
/// have a higher one: docs/validation.md has what it comes to.
const INTERVAL: f64 = 0.95;

impl ComparisonReport {
    /// The report for a terminal with so many columns.
    pub(super) fn write_text(&self, columns: usize) -> String {
        let mut text = self.part(&format!("{} against {}", self.head, self.base), columns);
        if let Some(also) = &self.also {
            let title = format!("also against {}: {}", also.base, also.head);
            text += &format!("\n\n{}", also.part(&title, columns));
        }
        text
    }

    /// One comparison.
    fn part(&self, title: &str, columns: usize) -> String {
        let mut text = paint(style::HEAD, title) + "\n";
        text += &filled(&paint(style::HEAD, &self.verdicts_text()), columns);
        for mean in self.mean_texts() {
            text += &filled(&visible(&mean), columns);
        }
        text += &self.warnings_text(&self.warnings_on_what_was_compared(), columns);
        let rows = self.ordered();
        if !rows.is_empty() {
            let metric = only_metric(&rows);
            if let Some(metric) = metric {
                text += &format!("\n{}", paint(style::QUIET, &format!("metric: {metric}")));
            }
            text += &format!("\n{}", self.table(&rows, metric.is_none()).fit(columns));
        }
        for part in [
            self.explanations(columns),
            self.not_measured(columns),
            self.conditions(columns),
            self.deeper(),
        ] {
            if !part.is_empty() {
                text += &format!("\n{part}");
            }
        }
        text
    }

    /// How the results came about, and what makes them less sure.
    fn conditions(&self, columns: usize) -> String {
        let mut text = self.warnings_text(&self.warnings, columns);
        for line in self.measured() {
            text += &filled(&line, columns);
        }
        if let Some(line) = self.machine_line() {
            text += &filled(&visible(&line), columns);
        }
        text
    }

    fn warnings_text(&self, warnings: &[Warning], columns: usize) -> String {
        warnings.iter().map(|warning| self.warning(warning, columns)).collect()
    }

    /// A warning. The command that it advises stays in one line, to be copied.
    fn warning(&self, warning: &Warning, columns: usize) -> String {
        let head = paint(style::DOUBTFUL, "warning:");
        let (sentence, command) = (sentence(warning), self.advised(warning));
        let colon = if command.is_some() { ":" } else { "" };
        let text = filled(&format!("{head} {}{colon}", visible(&sentence)), columns);
        command.map_or(text.clone(), |command| format!("{text}  {}\n", visible(&command)))
    }

    /// How the results came about.
    pub(super) fn measured(&self) -> Vec<String> {
        let stored = |StoredExperiment { identity, begun, dimensions }: &StoredExperiment| {
            let (begun, shape) = (date::minute(*begun), quantity::dimensions(*dimensions));
            format!("stored results of experiment {}, {begun}: {shape}", visible(identity))
        };
        let mut lines: Vec<String> =
            self.dimensions.map(quantity::dimensions).into_iter().collect();
        lines.extend(self.stored.iter().map(stored));
        let is_counted = |row: &JudgedRow| is_of(row, Metric::is_counted);
        if !self.rows.iter().any(is_counted) || self.rows.iter().any(is_timed) {
            lines.extend(self.taken());
            lines.extend(self.judged());
        }
        lines.extend(self.counted_line());
        lines
    }

    /// How many measurements the executions gave, where it was another number than was requested: many
    /// harnesses have limits, and benchmarks have settings of their own.
    fn taken(&self) -> Option<String> {
        let stored = self.stored.iter().map(|experiment| experiment.dimensions);
        let requested: Vec<usize> =
            stored.chain(self.dimensions).map(|asked| asked.measurements).collect();
        let mut benchmarks: BTreeMap<usize, BTreeSet<&Benchmark>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| is_timed(row)) {
            let summaries = row.stages.iter().flat_map(|stage| &stage.summaries);
            for build in summaries.flat_map(Summary::builds) {
                let taken = build.measurements / build.executions;
                let is_same_for_all = taken * build.executions == build.measurements;
                if is_same_for_all && !requested.contains(&taken) {
                    benchmarks.entry(taken).or_default().insert(&row.benchmark);
                }
            }
        }
        let parts = benchmarks.iter().map(|(taken, of)| {
            let taken = quantity::count(*taken, "measurement");
            format!("{taken} of {}", quantity::count(of.len(), "benchmark"))
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        (!parts.is_empty()).then(|| format!("taken in each execution: {parts}"))
    }

    /// How the results were judged.
    fn judged(&self) -> Vec<String> {
        let criteria = &self.criteria;
        let stages = || self.rows.iter().filter_map(JudgedRow::decisive);
        let rule = |rule: Rule, across: bool| {
            let mut of_these = stages().filter(|stage| stage.assessment.is_across == across);
            let what = match rule {
                Rule::Paired if of_these.any(is_unpaired) => {
                    "t test, Welch's where layouts are not matched".to_owned()
                }
                Rule::Paired => "t test".to_owned(),
                Rule::Overlap => format!("Kalibera et al. 2006, at {}", exact(criteria.confidence)),
            };
            format!("rule {} ({what})", rule.name())
        };
        let across = stages().find(|stage| stage.assessment.is_across);
        let is_within = across.is_none() || stages().any(|stage| !stage.assessment.is_across);
        let across = across.map(|stage| rule(stage.assessment.rule, true));
        let (within, confirmed) = match &across {
            Some(across) if !is_within => (across.clone(), ""),
            _ if criteria.confirm => (rule(criteria.rule, false), ", confirmed on fresh builds"),
            _ => (rule(criteria.rule, false), ""),
        };
        let estimator = self.estimators().map_or(String::new(), |name| name + ", ");
        let min_effect = self.min_effect_text();
        let shared = if criteria.judgements > 1 && criteria.confirm {
            " (of both comparisons together)"
        } else {
            ""
        };
        let rate = exact(criteria.false_alarm_rate) + shared;
        let mut lines = vec![format!(
            "{estimator}{within}, false-alarm-rate {rate}, min-effect {min_effect}{confirmed}"
        )];
        if let Some(across) = across.filter(|_| is_within) {
            lines.push(format!("between experiments: {across}, not confirmed on fresh builds"));
        }
        lines
    }

    /// The estimators that were used: one, unless some benchmarks could not take turns and each kind has the
    /// one that suits it.
    fn estimators(&self) -> Option<String> {
        let used = self.rows.iter().filter(|row| is_timed(row)).filter_map(|row| {
            let took = row.interleaving.map(|all| all.interleave);
            let estimator = row.decisive()?.summaries[0].estimator();
            // A note names the benchmarks that the mean decided.
            let is_own = !row.by_mean.is_some_and(|by_mean| by_mean.decides);
            is_own.then_some((took == Some(Interleave::Turns), estimator.name()))
        });
        // What took turns is last.
        let used: BTreeSet<(bool, &str)> = used.collect();
        let names: BTreeSet<&str> = used.iter().map(|(_, name)| *name).collect();
        match (used.first(), used.last()) {
            (Some((_, alone)), Some((_, in_turns))) if names.len() > 1 => {
                Some(format!("estimator {in_turns} in turns and {alone} otherwise"))
            }
            (Some((_, name)), _) => Some(format!("estimator {name}")),
            _ => self.criteria.estimator.map(|asked| format!("estimator {}", asked.name())),
        }
    }

    fn table(&self, rows: &[&JudgedRow], names_metrics: bool) -> Table {
        let names = self.names();
        let of_value = format!("± ({})", exact(self.criteria.confidence));
        // What is counted has no interval of confidence.
        let is_counted = !rows.is_empty() && !rows.iter().any(|row| is_timed(row));
        let is_wider = |row: &&JudgedRow| {
            row.decisive().is_some_and(|stage| stage.assessment.rates.confidence > INTERVAL + 1e-9)
        };
        let at_least = if rows.iter().any(is_wider) { "≥ " } else { "" };
        let of_change = if is_counted {
            "range".to_owned()
        } else {
            format!("{at_least}{} interval", exact(INTERVAL))
        };
        let range = Column::right(of_change);
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::left("metric"),
            Column::right("base").dropped(1),
            Column::right(of_value.clone()).joined().optional(1),
            Column::right("head").dropped(1),
            Column::right(of_value).joined().optional(1),
            Column::right("change"),
            if is_counted { range.optional(3) } else { range.dropped(0) },
            Column::left("verdict"),
            Column::right("builds").optional(2),
            Column::right(shares::HEAD).optional(0),
        ]);
        for row in rows {
            table.row(self.cells(&names, row, names_metrics));
        }
        table
    }

    fn cells(&self, names: &Names<'_>, row: &JudgedRow, names_metrics: bool) -> Vec<Cell> {
        let kind = VerdictKind::of(&row.verdict);
        let metric = row.metric.as_ref().filter(|_| names_metrics);
        let mut cells =
            vec![Cell::from(names.name(&row.benchmark)), Cell::from(metric_name(metric))];
        if let Some(stage) = row.decisive() {
            let change = stage.assessment.change;
            for summary in &stage.summaries {
                let unit = summary.metric().unit;
                let interval = Interval::three_level(summary, self.criteria.confidence);
                cells.push(Cell::from(quantity::value_of_metric(summary.values().mean, unit)));
                cells.push(interval.as_ref().map_or_else(|_| Cell::default(), half_width));
            }
            cells.push(Cell::styled(kind.style(), changed(change.estimate)));
            cells.push(Cell::from(quantity::range(change.low, change.high)));
        }
        cells.resize_with(8, Cell::default);
        cells.push(Cell::styled(kind.style(), kind.name()));
        cells.push(Cell::from(builds(row)));
        cells.push(row.decisive().map_or_else(Cell::default, shares_cell));
        cells
    }

    /// What the table does not say of the benchmarks in it.
    fn explanations(&self, columns: usize) -> String {
        let names = self.names();
        let notes = self.ground_notes().into_iter();
        let mut text: String =
            notes.map(|(head, note)| filled(&format!("{head}: {note}"), columns)).collect();
        for row in self.ordered() {
            use VerdictKind::{Accepted, Failed, Improved, NotComparable, Regressed};
            let kind = VerdictKind::of(&row.verdict);
            let is_told = matches!(kind, Regressed | Accepted | Improved | Failed | NotComparable);
            if is_told && ground(row).is_none() || self.explains_all && !is_told {
                let name = paint(kind.style(), &name(&names, row));
                text += &first_line_filled(&format!("{name}: {}", sentence::row(row)), columns);
            }
        }
        for (target, failure) in &self.failed_targets {
            let target = paint(style::DOUBTFUL, &target.to_string());
            let failure = visible_lines(&failure.to_string()).into_owned();
            text += &first_line_filled(&format!("{target}: failed: {failure}"), columns);
        }
        let notes = [
            (VerdictKind::Inconclusive, self.inconclusive_note()),
            (VerdictKind::Unchanged, self.too_small_note()),
        ];
        let notes = notes.into_iter().filter(|_| !self.explains_all);
        for (kind, note) in notes {
            if let Some(note) = note {
                let head = paint(kind.style(), &format!("{}:", kind.name()));
                text += &filled(&format!("{head} {note}"), columns);
            }
        }
        let (changed, others): (Vec<_>, Vec<_>) =
            self.reach_notes(Form::Text).into_iter().partition(|note| note.is_changed);
        let told = if self.explains_all { others } else { Vec::new() };
        for note in changed.iter().chain(&told) {
            text += &filled(&note.text, columns);
        }
        for note in self.time_and_counts() {
            text += &filled(&note, columns);
        }
        for note in self.mean_notes() {
            text += &filled(&note, columns);
        }
        for note in self.obstacle_notes() {
            text += &filled(&note, columns);
        }
        text
    }

    /// What there was nothing to measure of, and how the machine code differs.
    fn not_measured(&self, columns: usize) -> String {
        self.not_measured_lines().iter().map(|line| filled(line, columns)).collect()
    }

    /// The same, each as a line.
    pub(super) fn not_measured_lines(&self) -> Vec<String> {
        let names = self.names();
        let mut lines = Vec::new();
        for (kind, why) in [
            (VerdictKind::Unaffected, "executing and reading nothing that changed"),
            (VerdictKind::Identical, "identical machine code"),
        ] {
            let same = list(self.with_verdict(kind).map(|row| name(&names, row)));
            if !same.is_empty() {
                lines.push(format!("{why}, not measured: {same}"));
            }
        }
        for row in self.with_verdict(VerdictKind::Skipped) {
            lines.push(format!("{}: {}", visible(&name(&names, row)), sentence::row(row)));
        }
        for (benchmarks, version) in [(&self.added, &self.head), (&self.removed, &self.base)] {
            let only = list(benchmarks.iter().map(|benchmark| names.name(benchmark)));
            if !only.is_empty() {
                lines.push(format!("only in {}: {only}", visible(&version.to_string())));
            }
        }
        lines.extend(idle_note(&self.idle).map(|note| format!("note: {note}")));
        if let Some(functions) = self.functions_note() {
            lines.push(format!("machine code: {}", visible(&functions)));
        }
        if let Some(dependencies) = dependencies_note(&self.dependencies) {
            lines.push(format!("dependencies: {}", visible(&dependencies)));
        }
        lines
    }

    /// Commands stay in one line each, to be copied.
    fn deeper(&self) -> String {
        let steps = self.next_steps();
        if steps.is_empty() {
            return String::new();
        }
        let mut text = format!("{}\n", paint(style::HEAD, "next steps"));
        for step in steps {
            let purpose = paint(style::QUIET, &format!("# {}", step.purpose));
            text += &format!("  {purpose}\n  {}\n", visible(&step.command));
        }
        text
    }
}

/// Whether a row has what was timed, or anything else that is not counted.
fn is_timed(row: &JudgedRow) -> bool {
    is_of(row, |metric| !metric.is_counted())
}

/// Whether the builds of the versions could not be set against each other in pairs.
fn is_unpaired(stage: &JudgedStage) -> bool {
    matches!(stage.assessment.comparison.method, Method::Welch(_))
}

/// The metric of all rows, where a reader must be told it and there is one alone.
fn only_metric<'r>(rows: &[&'r JudgedRow]) -> Option<&'r str> {
    let metrics: BTreeSet<&str> =
        rows.iter().filter_map(|row| Some(metric_name(Some(row.metric.as_ref()?)))).collect();
    let only = metrics.first().filter(|metric| metrics.len() == 1 && !metric.is_empty());
    only.copied()
}

/// The builds that decided: those of the first stage, and those of the second where there was one: `10+6`.
fn builds(row: &JudgedRow) -> String {
    let of_stage = |stage: &JudgedStage| {
        let [base, head] = stage.assessment.comparison.builds;
        base.min(head).to_string()
    };
    row.stages.iter().map(of_stage).collect::<Vec<_>>().join("+")
}

/// Where the variance of the change lies.
fn shares_cell(stage: &JudgedStage) -> Cell {
    Cell::from(shares::text(Shares::of_change(stage)))
}

fn half_width(interval: &Interval) -> Cell {
    Cell::from(quantity::plus_minus(interval))
}
