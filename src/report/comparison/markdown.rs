//! The comparison for pull requests: short, what needs attention first, the rest folded, and never more
//! than a comment may hold.

use super::{ComparisonReport, NamedRow, Unmatched, figures};
use crate::report::table::shorten;

/// Comments on GitHub hold 65,536 characters. The parts below have fewer bytes than that together.
const LOUD: usize = 24_000;
const CALM: usize = 12_000;
const DETAILS: usize = 16_000;
const NAMES: usize = 1_000;
const WARNINGS: usize = 3_000;

/// The longest id, and the longest reason of a failure.
const LONGEST_ID: usize = 100;
const LONGEST_REASON: usize = 1_500;

/// The headings of a table, and how its columns are aligned.
const TABLE_HEAD: &str = "\n| benchmark | base | head | change | interval, % | verdict |\n\
                          |:--|--:|--:|--:|:-:|:--|\n";

impl ComparisonReport {
    /// For pull requests.
    pub fn markdown(&self) -> String {
        let mut text = format!("### Benchmarks: {}\n\n", self.headline());
        text += &format!(
            "{} against {}: {}.",
            code(&self.head.to_string()),
            code(&self.base.to_string()),
            self.verdicts()
        );
        if let Some(mean) = self.geometric_mean().filter(|mean| mean.benchmarks > 1) {
            let change = figures::percent(mean.change);
            text += &format!(" Geometric mean of {} judged: {change}.", mean.benchmarks);
        }
        text += "\n";
        let warnings = self.warnings.iter().map(|warning| {
            format!("\n> **Warning:** {}\n", escaped(&shorten(&warning.text, LONGEST_REASON)))
        });
        text += &cut(warnings, WARNINGS, "warnings");

        let told = self.ordered();
        let is_calm = |named: &&NamedRow| matches!(named.row.verdict, "inconclusive" | "unchanged");
        let (calm, loud): (Vec<&NamedRow>, Vec<&NamedRow>) =
            told.iter().copied().partition(is_calm);
        if !loud.is_empty() {
            text += &markdown_table(self, &loud, LOUD);
        }
        text += &self.details(&told);
        if !calm.is_empty() {
            text += &folded(&self.calm(), &markdown_table(self, &calm, CALM));
        }
        text += &self.not_judged();
        text + &self.folded_steps()
    }

    /// What is folded: `2 inconclusive, 5 unchanged`.
    fn calm(&self) -> String {
        let counts = self.counts();
        let both = [(counts.inconclusive, "inconclusive"), (counts.unchanged, "unchanged")];
        let told = both.iter().filter(|(count, _)| *count > 0);
        told.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    }

    fn line(&self, named: &NamedRow) -> String {
        let name = code(&shorten(&self.name(named), LONGEST_ID)).replace('|', "\\|");
        let verdict = match named.row.verdict {
            loud @ ("regressed" | "failed") => format!("**{loud}**"),
            other => other.to_owned(),
        };
        let numbers = named.row.measured.as_ref().and_then(|m| Some((m.unit(), m.decisive()?)));
        let Some((unit, stage)) = numbers else {
            return format!("| {name} | | | | | {verdict} |\n");
        };
        let value = |version: &super::row::VersionReport| {
            format!("{} {}", figures::value(version.value, unit), figures::plus_minus(version))
        };
        format!(
            "| {name} | {} | {} | {} | {} | {verdict} |\n",
            value(&stage.base),
            value(&stage.head),
            figures::percent(stage.change.estimate),
            figures::range(&stage.change),
        )
    }

    /// Why each verdict is what it is, folded.
    fn details(&self, told: &[&NamedRow]) -> String {
        let with_reason = || told.iter().filter(|named| named.row.verdict != "unchanged");
        let reasons = with_reason().map(|named| {
            let name = code(&shorten(&self.name(named), LONGEST_ID));
            format!("- {name}: {}", reason(&named.row.reason))
        });
        let targets = self.failed_targets.iter().map(|failed| {
            let target = code(&format!("{}/{}", failed.package, failed.target));
            format!("- {target}: {}", reason(&failed.error))
        });
        if with_reason().count() + self.failed_targets.len() == 0 {
            return String::new();
        }
        folded("the reasons", &format!("\n{}", cut(reasons.chain(targets), DETAILS, "reasons")))
    }

    /// What was not judged, and why.
    fn not_judged(&self) -> String {
        let identical: Vec<String> =
            self.with_verdict("identical").iter().map(|named| self.name(named)).collect();
        let ids = |list: &[Unmatched]| -> Vec<String> {
            list.iter().map(|unmatched| unmatched.id.clone()).collect()
        };
        let lists = [
            (identical, "identical machine code, not measured"),
            (ids(&self.added), "added, so there is nothing to compare"),
            (ids(&self.removed), "removed, so there is nothing to compare"),
        ];
        let mut text = String::new();
        for (names, what) in lists.iter().filter(|(names, _)| !names.is_empty()) {
            let items = names.iter().map(|name| format!("{} ", code(&shorten(name, LONGEST_ID))));
            let list = cut(items, NAMES, "benchmarks");
            text += &format!("\n{} {what}: {}\n", names.len(), list.trim_end());
        }
        if let Some(functions) = self.functions_differing() {
            text += &format!("\nMachine code: {functions}.\n");
        }
        text
    }

    /// Commands to type, folded.
    fn folded_steps(&self) -> String {
        let steps = self.next_steps();
        if steps.is_empty() {
            return String::new();
        }
        let commands: Vec<String> = steps
            .iter()
            .filter(|step| step.command.len() + step.purpose.len() < LONGEST_REASON)
            .map(|step| format!("# {}\n{}\n", step.purpose, step.command))
            .collect();
        folded("to look deeper", &fenced(&commands.concat()))
    }
}

/// A table with the columns that fit into a pull request.
fn markdown_table(report: &ComparisonReport, rows: &[&NamedRow], room: usize) -> String {
    TABLE_HEAD.to_owned() + &cut(rows.iter().map(|named| report.line(named)), room, "rows")
}

/// As much of `parts` as has room, with the number of those that have not.
fn cut(parts: impl Iterator<Item = String>, room: usize, things: &str) -> String {
    let mut text = String::new();
    let mut left_out = 0;
    for part in parts {
        if left_out > 0 || text.len() + part.len() > room {
            left_out += 1;
        } else {
            text += &part;
        }
    }
    if left_out > 0 {
        text += &format!("\n… and {left_out} more {things}\n");
    }
    text
}

fn folded(summary: &str, text: &str) -> String {
    format!("\n<details><summary>{summary}</summary>\n{text}\n</details>\n")
}

/// One line as it is, several as a block.
fn reason(text: &str) -> String {
    let text = shorten(text, LONGEST_REASON);
    match text.split_once('\n') {
        None => format!("{}\n", escaped(&text)),
        Some((first, rest)) => {
            let block = fenced(&format!("{rest}\n")).replace('\n', "\n  ");
            format!("{}\n{}\n", escaped(first), block.trim_end())
        }
    }
}

/// A block of text as it is, whatever backticks it has.
fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("\n{fence}text\n{text}{fence}\n")
}

/// A span of text as it is: HTML and markup mean nothing in it. The fence is longer than any run of
/// backticks in it.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match longest_run(&text) {
        0 => format!("`{text}`"),
        run => {
            let fence = "`".repeat(run + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Prose in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(character);
            }
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}
