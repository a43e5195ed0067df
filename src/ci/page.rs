//! A comparison as Markdown, for a comment or a summary: what changed first, whole rows only, and no longer than there
//! is room. Text from elsewhere stands in spans and blocks of code, where nothing is a mention, a link or markup.

use std::collections::HashMap;

use super::{
    Comparison, Row,
    comparison::{Change, FailedTarget, Function, Warning},
};
use crate::{
    model::Benchmark,
    report::{
        markdown::{code, code_in_table, cut, fenced, folded},
        names::Names,
        quantity::{changed, count, exact, range, value},
        table::shorten,
        verdict::VerdictKind,
        visible::visible,
    },
};

/// The room of a step summary in bytes: a larger one is dropped as a whole.
pub const SUMMARY_ROOM: usize = 1024 * 1024;

/// The longest name, in columns and in bytes; and the longest reason.
const LONGEST: usize = 100;
const LARGEST: usize = 300;
const LONGEST_REASON: usize = 400;

/// So many functions of a benchmark are named, and so many benchmarks that execute the same.
const MOST_FUNCTIONS: usize = 3;
const MOST_NAMES: usize = 8;

/// Headings and sentences of a section, in bytes, beside its lists.
const AROUND: usize = 1_500;

/// What is left out of a list, after its number.
const ROWS: &str = "rows in the report";

const TABLE_HEAD: &str =
    "\n| benchmark | base | head | change | interval, % | verdict |\n|:--|--:|--:|--:|:-:|:--|\n";

/// Where there is more to read.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// The run of the job.
    run: Option<String>,
}

impl Links {
    /// To the run at this address, if it is one.
    pub fn to_run(address: Option<&str>) -> Self {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-".contains(c);
        let is_address = |text: &&str| text.starts_with("http") && text.chars().all(is_plain);
        Self { run: address.filter(is_address).map(str::to_owned) }
    }

    /// A link to the run, in brackets.
    pub(super) fn text(&self) -> String {
        self.run.as_ref().map_or_else(String::new, |run| format!(" ([run](<{run}>))"))
    }
}

/// The kind of the warning that verdicts would be misread without.
const DIFFERENT_WORK: &str = "different_work";

/// Everything, as far as there is room for so many bytes.
pub fn page(comparison: &Comparison, links: &Links, room: usize) -> String {
    let mut text = headline(comparison);
    let footer = format!(
        "\n<sub>cargo rbench compared builds with several code layouts{}</sub>\n",
        links.text()
    );
    let sections = comparison.both().count();
    let room = room.saturating_sub(text.len() + footer.len()) / sections;
    let room = room.saturating_sub(AROUND);
    for (number, one) in comparison.both().enumerate() {
        if number > 0 {
            text += &format!("\n#### Also against {}\n\n", one.base.short());
        }
        text += &one.section(room);
    }
    text + &footer
}

/// The counts alone: for where the page was refused.
pub fn short_page(comparison: &Comparison, links: &Links) -> String {
    let sentences = comparison.both().map(Comparison::sentence);
    headline(comparison)
        + &sentences.collect::<String>()
        + "\nThe report has the rows"
        + &links.text()
        + ".\n"
}

fn headline(comparison: &Comparison) -> String {
    let worst = comparison.worst().map_or("nothing to compare", VerdictKind::name);
    format!("### Benchmarks: {worst}\n\n")
}

impl Comparison {
    /// `1a2b3c4 against 5d6e7f8: 2 regressed, 7 unchanged.`
    fn sentence(&self) -> String {
        let counts = self.counts();
        let counted = VerdictKind::ALL.into_iter().filter_map(|kind| {
            let number = counts.with_verdict(kind);
            (number > 0).then(|| format!("{number} {}", kind.name()))
        });
        let failed = counts.failed_targets;
        let failed = (failed > 0).then(|| count(failed, "failed bench target"));
        let mut counted: Vec<String> = counted.chain(failed).collect();
        if counted.is_empty() {
            counted.push("no benchmark in both versions".to_owned());
        }
        let part = self.partition.map_or_else(String::new, |part| {
            format!(" Part {} of {} of the benchmarks.", part.part, part.of)
        });
        format!(
            "{} against {}: {}. Min-effect {}.{part}\n",
            self.head.short(),
            self.base.short(),
            counted.join(", "),
            exact(self.criteria.min_effect)
        )
    }

    /// One comparison, in so many bytes.
    fn section(&self, room: usize) -> String {
        let of_room = |percent: usize| room / 100 * percent;
        let names = self.names();
        let mut rows: Vec<&Row> = self.benchmarks.iter().collect();
        let size = |row: &Row| row.change.map_or(0.0, Change::estimate).abs();
        rows.sort_by(|one, other| {
            one.verdict.cmp(&other.verdict).then(size(other).total_cmp(&size(one)))
        });
        let is_news = |row: &&Row| row.verdict.is_change() || row.verdict == VerdictKind::Failed;
        let (news, others): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(is_news);
        let others: Vec<&Row> =
            others.into_iter().filter(|row| row.verdict < VerdictKind::Unaffected).collect();

        let (of_work, warnings): (Vec<&Warning>, Vec<&Warning>) =
            self.warnings.iter().partition(|warning| warning.kind == DIFFERENT_WORK);
        let told = |warnings: &[&Warning]| {
            let line = |warning: &&Warning| limited(&visible(&warning.text), LONGEST_REASON) + "\n";
            fenced(&cut(warnings.iter().map(line), of_room(2), "warnings"))
        };
        let mut text = self.sentence();
        if !of_work.is_empty() {
            text += &format!("\n**Warning:**\n\n{}\n", told(&of_work));
        }
        if !news.is_empty() {
            text += &table(&names, &news, of_room(50));
        }
        text += &list(self.failed_targets.iter().map(failed_target), of_room(5), "bench targets");
        let reasons = news.iter().filter_map(|row| failure(&names, row));
        text += &list(reasons, of_room(9), "failed benchmarks");
        text += &list(executed(&names, &news).into_iter(), of_room(10), "notes");
        if !others.is_empty() {
            let kinds =
                [VerdictKind::NotComparable, VerdictKind::Inconclusive, VerdictKind::Unchanged];
            let number =
                |kind: VerdictKind| others.iter().filter(|row| row.verdict == kind).count();
            let counted = kinds.map(|kind| (number(kind), kind.name()));
            let counted = counted.iter().filter(|(number, _)| *number > 0);
            let counted: Vec<String> =
                counted.map(|(number, name)| format!("{number} {name}")).collect();
            text += &folded(&counted.join(", "), &table(&names, &others, of_room(16)));
        }
        for (benchmarks, whose) in [(&self.added, &self.head), (&self.removed, &self.base)] {
            if !benchmarks.is_empty() {
                let named = |one: &Benchmark| format!("{} ", code(&clipped(&names.name(one))));
                let all = cut(benchmarks.iter().map(named), of_room(2), "benchmarks");
                let (number, whose) = (benchmarks.len(), whose.short());
                text += &format!("\n{number} only in {whose}: {}\n", all.trim_end());
            }
        }
        if !warnings.is_empty() {
            text += &folded(&count(warnings.len(), "warning"), &told(&warnings));
        }
        text
    }
}

fn table(names: &Names<'_>, rows: &[&Row], room: usize) -> String {
    TABLE_HEAD.to_owned() + &cut(rows.iter().map(|row| line(names, row)), room, ROWS)
}

fn line(names: &Names<'_>, row: &Row) -> String {
    let name = code_in_table(&clipped(&row.name(names)));
    let verdict = match row.verdict {
        loud @ (VerdictKind::Regressed | VerdictKind::Failed) => format!("**{}**", loud.name()),
        other => other.name().to_owned(),
    };
    let [base, head] = row
        .values()
        .map_or_else(Default::default, |(values, unit)| values.map(|one| value(one, unit)));
    let change = row.change.map_or_else(String::new, |change| changed(change.estimate()));
    let interval = row.change.and_then(|change| Some(range(change.low?, change.high?)));
    let interval = interval.unwrap_or_default();
    format!("| {name} | {base} | {head} | {change} | {interval} | {verdict} |\n")
}

/// Why a benchmark failed.
fn failure(names: &Names<'_>, row: &Row) -> Option<String> {
    let reason = row.reason.text.lines().next().unwrap_or_default();
    let reason = code(&limited(&visible(reason), LONGEST_REASON));
    let name = code(&clipped(&row.name(names)));
    (row.verdict == VerdictKind::Failed).then(|| format!("- {name}: {reason}\n"))
}

/// What benchmarks that changed execute of what differs: those together that execute the same.
fn executed(names: &Names<'_>, rows: &[&Row]) -> Vec<String> {
    let mut alike: Vec<(String, Vec<String>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for row in rows.iter().filter(|row| row.verdict != VerdictKind::Failed) {
        let functions = row.functions();
        let named = |function: &&Function| {
            format!("{} ({})", code(&clipped(&function.name)), function.sizes())
        };
        let what = listed(functions.iter().map(named), functions.len(), MOST_FUNCTIONS);
        let name = code(&clipped(&row.name(names)));
        if functions.is_empty() {
            continue;
        }
        let place = *places.entry(what.clone()).or_insert(alike.len());
        match alike.get_mut(place) {
            Some((_, whose)) => whose.push(name),
            None => alike.push((what, vec![name])),
        }
    }
    let note = |(what, whose): (String, Vec<String>)| {
        let verb = if whose.len() == 1 { "executes" } else { "execute" };
        let number = whose.len();
        format!("- {} {verb} {what}\n", listed(whose.into_iter(), number, MOST_NAMES))
    };
    alike.into_iter().map(note).collect()
}

/// The first of some things, and how many more there are.
fn listed(things: impl Iterator<Item = String>, number: usize, most: usize) -> String {
    let shown: Vec<String> = things.take(most).collect();
    match number.saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn failed_target(FailedTarget { package, target, error }: &FailedTarget) -> String {
    let error = error.lines().next().unwrap_or_default();
    let error = code(&limited(&visible(error), LONGEST_REASON));
    format!("- {}: {error}\n", code(&clipped(&format!("{package}/{target}"))))
}

fn list(items: impl Iterator<Item = String>, room: usize, things: &str) -> String {
    let items = cut(items, room, things);
    if items.is_empty() { items } else { format!("\n{items}") }
}

/// A name that fits into a row, however it is written.
fn clipped(name: &str) -> String {
    let name = visible(name);
    if name.trim().is_empty() {
        return "(no name)".to_owned();
    }
    limited(&shorten(&name, LONGEST), LARGEST)
}

/// The beginning of a text, in so many bytes.
fn limited(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}
