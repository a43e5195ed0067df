//! The comparison for people at a terminal.

use anstyle::Style;
use textwrap::{Options, WordSeparator, WordSplitter};

use super::{ComparisonReport, NamedRow, Unmatched, figures};
use crate::{
    console::PLAIN_COLUMNS,
    report::{
        quantity,
        style::{self, paint},
        table::{Cell, Column, Table, shorten},
    },
};

/// Up to so many names of a list are told.
const MOST_NAMES: usize = 8;

/// No sentence is broken into lines shorter than this.
const NARROWEST: usize = 40;

impl ComparisonReport {
    /// For people reading a file: without colours.
    pub fn text(&self) -> String {
        style::plain(&self.terminal(PLAIN_COLUMNS))
    }

    /// For people at a terminal with so many columns, with colours.
    pub fn terminal(&self, columns: usize) -> String {
        let prose = Prose { columns: columns.max(NARROWEST) };
        let mut text = paint(style::HEAD, &format!("{} against {}", self.head, self.base)) + "\n";
        if let Some(made) = self.made() {
            text += &prose.filled(&made, "");
        }
        for warning in &self.warnings {
            let warning = format!("{} {}", paint(style::DOUBTFUL, "warning:"), warning.text);
            text += &prose.filled(&warning, "  ");
        }
        let rows = self.ordered();
        if !rows.is_empty() {
            text += &format!("\n{}", self.table(&rows).fit(columns));
        }
        let targets = self.failed_targets.iter().map(|failed| {
            let target = paint(style::DOUBTFUL, &format!("{}/{}", failed.package, failed.target));
            prose.told(&format!("{target}: failed: {}", failed.error))
        });
        let benchmarks = rows.iter().filter_map(|named| self.sentence(named, prose));
        let sentences: String = benchmarks.chain(targets).collect();
        if !sentences.is_empty() {
            text += &format!("\n{sentences}");
        }
        text + "\n" + &self.summary(prose) + &self.deeper()
    }

    /// How the experiment was made.
    fn made(&self) -> Option<String> {
        let (dimensions, criteria) = (self.dimensions?, self.criteria?);
        let confirmed = if criteria.confirm { ", confirmed on fresh builds" } else { "" };
        Some(format!(
            "{} x {} x {}; estimator {}, rule {} at {}{confirmed}",
            quantity::count(dimensions.builds, "build"),
            quantity::count(dimensions.executions, "execution"),
            quantity::count(dimensions.measurements, "measurement"),
            criteria.estimator,
            criteria.rule,
            figures::size(criteria.false_alarm_rate),
        ))
    }

    fn table(&self, rows: &[&NamedRow]) -> Table {
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::right("base"),
            Column::right("").joined().dropped(3),
            Column::right("head"),
            Column::right("").joined().dropped(3),
            Column::right("change"),
            Column::right("interval").dropped(4),
            Column::left("verdict"),
            Column::right("variance b/e/m").dropped(2),
            Column::right("paired").dropped(1),
        ]);
        for named in rows {
            table.row(self.cells(named));
        }
        table
    }

    fn cells(&self, named: &NamedRow) -> Vec<Cell> {
        let mood = mood(named.row.verdict);
        let verdict = Cell::styled(mood, named.row.verdict);
        let name = Cell::from(self.name(named));
        let numbers = named.row.measured.as_ref().and_then(|m| Some((m.unit(), m.decisive()?)));
        let Some((unit, stage)) = numbers else {
            let mut cells = vec![name];
            cells.resize_with(7, Cell::default);
            cells.push(verdict);
            return cells;
        };
        let value = |version: &super::row::VersionReport| {
            let cells = [figures::value(version.value, unit), figures::plus_minus(version)];
            cells.map(Cell::from)
        };
        let [base, base_interval] = value(&stage.base);
        let [head, head_interval] = value(&stage.head);
        vec![
            name,
            base,
            base_interval,
            head,
            head_interval,
            Cell::styled(mood, figures::percent(stage.change.estimate)),
            Cell::from(figures::range(&stage.change)),
            verdict,
            Cell::from(stage.head.variance.as_ref().map_or(String::new(), figures::shares)),
            Cell::from(figures::pairing(stage)),
        ]
    }

    /// What the table does not say of a benchmark.
    fn sentence(&self, named: &NamedRow, prose: Prose) -> Option<String> {
        if named.row.verdict == "unchanged" {
            return None;
        }
        let name = paint(mood(named.row.verdict), &self.name(named));
        let mut reason = named.row.reason.clone();
        if let Some(advice) = named.advice() {
            let size = figures::size(advice.smallest_detectable);
            reason += &format!("; with {} {}, one of {size}", advice.flag(), advice.number);
        }
        Some(prose.told(&format!("{name}: {reason}")))
    }

    fn summary(&self, prose: Prose) -> String {
        let mut lines = vec![paint(style::HEAD, &self.verdicts())];
        if let Some(mean) = self.geometric_mean().filter(|mean| mean.benchmarks > 1) {
            let change = figures::percent(mean.change);
            let count = mean.benchmarks;
            lines.push(format!("geometric mean of the {count} benchmarks judged: {change}"));
        }
        let identical = self.with_verdict("identical");
        if !identical.is_empty() {
            let ids: Vec<String> = identical.iter().map(|named| self.name(named)).collect();
            lines.push(format!("identical machine code, not measured: {}", list(&ids)));
        }
        let unmatched = [(&self.added, "added"), (&self.removed, "removed")];
        for (benchmarks, word) in unmatched.iter().filter(|(list, _)| !list.is_empty()) {
            lines.push(format!("{word}, so there is nothing to compare: {}", names(benchmarks)));
        }
        if let Some(functions) = self.functions_differing() {
            lines.push(format!("machine code: {functions}"));
        }
        lines.iter().map(|line| prose.filled(line, "  ")).collect()
    }

    /// Commands stay in one line each, to be copied.
    fn deeper(&self) -> String {
        let steps = self.next_steps();
        if steps.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}\n", paint(style::HEAD, "to look deeper"));
        for step in steps {
            let purpose = paint(style::QUIET, &format!("# {}", step.purpose));
            text += &format!("  {purpose}\n  {}\n", step.command);
        }
        text
    }
}

/// Sentences that are broken between words.
#[derive(Clone, Copy)]
struct Prose {
    columns: usize,
}

impl Prose {
    /// `text` as lines, those after the first with an indent. A number stays with its unit or flag.
    fn filled(self, text: &str, indent: &str) -> String {
        const BOUND: [(&str, &str); 3] =
            [(" %", "\u{a0}%"), (" -l ", " -l\u{a0}"), (" -m ", " -m\u{a0}")];
        let bound = BOUND.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        let options = Options::new(self.columns)
            .subsequent_indent(indent)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation);
        textwrap::fill(&bound, options).replace('\u{a0}', " ") + "\n"
    }

    /// The same, but only of the first line: a failure has lines of its own, with commands in them.
    fn told(self, text: &str) -> String {
        let mut lines = text.lines();
        let mut told = self.filled(lines.next().unwrap_or_default(), "  ");
        for line in lines {
            told += &format!("  {line}\n");
        }
        told
    }
}

fn mood(verdict: &str) -> Style {
    match verdict {
        "regressed" => style::BAD,
        "improved" => style::GOOD,
        "failed" | "inconclusive" | "not-comparable" => style::DOUBTFUL,
        _ => Style::new(),
    }
}

pub(super) fn names(benchmarks: &[Unmatched]) -> String {
    let ids: Vec<String> = benchmarks.iter().map(|unmatched| unmatched.id.clone()).collect();
    list(&ids)
}

/// The first names of a list, and how many more there are.
fn list(names: &[String]) -> String {
    let told: Vec<String> = names.iter().take(MOST_NAMES).map(|name| shorten(name, 60)).collect();
    let more = names.len() - told.len();
    if more == 0 { told.join(", ") } else { format!("{} and {more} more", told.join(", ")) }
}
