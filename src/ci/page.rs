//! Writes a comparison as Markdown, for a comment or a step summary: changes first, whole rows
//! only, within a size limit. Untrusted text stands in spans and blocks of code, where nothing is a
//! mention, a link or markup.

use std::collections::HashMap;

use super::{
    Comparison, Row,
    comparison::{Change, FailedTarget, Warning},
};
use crate::{
    escape::escape_untrusted,
    model::Benchmark,
    report::{
        document::{Block, Document, Text},
        names::Names,
        quantity::{changed, count, exact, range, value},
        render::markdown_within,
        style::Role,
        table::{Cell, Column, Table, shorten},
    },
    verdict::VerdictKind,
};

/// The maximum length of a comment, in characters. Texts are limited to as many bytes, which is
/// never more characters.
pub const COMMENT_ROOM: usize = 65_536;

/// The maximum size of a step summary in bytes: GitHub drops a larger one as a whole.
pub const SUMMARY_ROOM: usize = 1024 * 1024;

/// The maximum width of a name or a reason, in columns.
const LONGEST: usize = 100;
const LONGEST_REASON: usize = 400;

/// The maximum number of functions named for a benchmark, and of benchmarks named that execute the
/// same.
const MOST_FUNCTIONS: usize = 3;
const MOST_NAMES: usize = 8;

/// The addresses where a reader finds more.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// The run of the job.
    run: Option<String>,
}

impl Links {
    /// Links to the run at this address; ignores anything that is not a web address.
    pub fn new(address: Option<&str>) -> Self {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-".contains(c);
        let is_address = |text: &&str| text.starts_with("http") && text.chars().all(is_plain);
        Self { run: address.filter(is_address).map(str::to_owned) }
    }

    /// A link to the run, in brackets.
    pub(super) fn text(&self) -> String {
        self.run.as_ref().map_or_else(String::new, |run| format!(" ([run](<{run}>))"))
    }
}

/// The kind of the warning that stands above the table, because verdicts would be misread without
/// it.
const DIFFERENT_WORK: &str = "different_work";

/// The page with as much as fits into `room` bytes.
pub fn page(comparison: &Comparison, links: &Links, room: usize) -> String {
    let footer = format!(
        "\n<sub>cargo rbench compared builds with several code layouts{}</sub>\n",
        links.text()
    );
    let mut document = headed(comparison);
    for (number, one) in comparison.both().enumerate() {
        if number > 0 {
            document.add([Block::heading(format!("Also against {}", one.base.short()))]);
        }
        document.add(one.section());
    }
    markdown_within(&document, room.saturating_sub(footer.len())) + &footer
}

/// A page with the counts alone, for when the full one is refused.
pub fn short_page(comparison: &Comparison, links: &Links) -> String {
    let mut document = headed(comparison);
    document.add(comparison.both().map(|one| Block::Paragraph(one.sentences())));
    let more = format!("\nThe report has the rows{}.\n", links.text());
    markdown_within(&document, COMMENT_ROOM) + &more
}

fn headed(comparison: &Comparison) -> Document {
    let worst = comparison.worst().map_or("nothing to compare", VerdictKind::name);
    Document::new("ci").titled(format!("Benchmarks: {worst}"))
}

impl Comparison {
    /// `1a2b3c4 against 5d6e7f8: 2 regressed, 7 unchanged`.
    fn sentences(&self) -> Vec<Text> {
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
        let [head, base] = [&self.head, &self.base].map(super::comparison::Version::short);
        let versions = Text::from_name(head).then(" against ").name(base);
        let verdicts = versions.then(format!(": {}", counted.join(", ")));
        let min_effect = format!("Min-effect {}", exact(self.criteria.min_effect));
        let part = self
            .partition
            .map(|part| format!("Part {} of {} of the benchmarks", part.part, part.of));
        let settings = std::iter::once(min_effect).chain(part).map(Text::from);
        std::iter::once(verdicts).chain(settings).collect()
    }

    /// The blocks of one comparison.
    fn section(&self) -> Vec<Block> {
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
        let quoted = |warning: &&Warning| quoted(&warning.text);
        let mut blocks = vec![Block::Paragraph(self.sentences())];
        blocks.extend(of_work.iter().map(|warning| Block::Warning(quoted(warning), None)));
        blocks.extend(Block::table(table(&names, &news)));
        let failed = news.iter().filter_map(|row| failure_reason(&names, row));
        let failed = self.failed_targets.iter().map(failed_target).chain(failed);
        blocks.extend(Block::list(failed));
        blocks.extend(Block::list(executed(&names, &news)));
        if !others.is_empty() {
            let kinds =
                [VerdictKind::NotComparable, VerdictKind::Inconclusive, VerdictKind::Unchanged];
            let number =
                |kind: VerdictKind| others.iter().filter(|row| row.verdict == kind).count();
            let counted = kinds.map(|kind| (number(kind), kind.name()));
            let counted = counted.iter().filter(|(number, _)| *number > 0);
            let counted: Vec<String> =
                counted.map(|(number, name)| format!("{number} {name}")).collect();
            let inner = vec![Block::Table(table(&names, &others))];
            blocks.push(Block::Details(counted.join(", ").into(), inner));
        }
        for (benchmarks, whose) in [(&self.added, &self.head), (&self.removed, &self.base)] {
            let number = benchmarks.len();
            let named = benchmarks.iter().map(|one: &Benchmark| clipped(&names.name(one)));
            let head = format!("{number} only in {}: ", whose.short());
            let text = Text::from(head).append(listed(named.collect(), MOST_NAMES));
            blocks.extend((number > 0).then(|| Block::Paragraph(vec![text])));
        }
        let list = Block::list(warnings.iter().map(quoted));
        blocks.extend(
            list.map(|list| Block::Details(count(warnings.len(), "warning").into(), vec![list])),
        );
        blocks
    }
}

fn table(names: &Names<'_>, rows: &[&Row]) -> Table {
    let mut table = Table::new([
        Column::left("benchmark").names(),
        Column::right("base"),
        Column::right("head"),
        Column::right("change"),
        Column::right("interval, %"),
        Column::left("verdict"),
    ]);
    for row in rows {
        let role = match row.verdict {
            VerdictKind::Regressed | VerdictKind::Failed => Role::Bad,
            _ => Role::Plain,
        };
        let [base, head] = row
            .values()
            .map_or_else(Default::default, |(values, unit)| values.map(|one| value(one, unit)));
        let change = row.change.map_or_else(String::new, |change| changed(change.estimate()));
        let interval = row.change.and_then(|change| Some(range(change.low?, change.high?)));
        table.row([
            Cell::name(name(&row.name(names))),
            Cell::from(base),
            Cell::from(head),
            Cell::from(change),
            Cell::from(interval.unwrap_or_default()),
            Cell::styled(role, row.verdict.name()),
        ]);
    }
    table
}

/// The reason why a benchmark failed.
fn failure_reason(names: &Names<'_>, row: &Row) -> Option<Text> {
    let is_failed = row.verdict == VerdictKind::Failed;
    let name = clipped(&row.name(names));
    is_failed.then(|| name.then(": ").append(first_line(&row.reason.text)))
}

/// The differences that changed benchmarks execute. Benchmarks with the same differences share an
/// entry.
fn executed(names: &Names<'_>, rows: &[&Row]) -> Vec<Text> {
    let mut alike: Vec<(Text, Vec<Text>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for row in rows.iter().filter(|row| row.verdict != VerdictKind::Failed) {
        let functions = row.functions();
        if functions.is_empty() {
            continue;
        }
        let named = functions
            .iter()
            .map(|function| clipped(&function.name).then(format!(" ({})", function.sizes())));
        let what = listed(named.collect(), MOST_FUNCTIONS);
        let name = clipped(&row.name(names));
        let place = *places.entry(what.plain()).or_insert(alike.len());
        match alike.get_mut(place) {
            Some((_, whose)) => whose.push(name),
            None => alike.push((what, vec![name])),
        }
    }
    let note = |(what, whose): (Text, Vec<Text>)| {
        let verb = if whose.len() == 1 { " executes " } else { " execute " };
        listed(whose, MOST_NAMES).then(verb).append(what)
    };
    alike.into_iter().map(note).collect()
}

/// The first `most` things, and the number of the others.
fn listed(mut things: Vec<Text>, most: usize) -> Text {
    let more = things.len().saturating_sub(most);
    things.truncate(most);
    let shown = Text::joined(things, ", ");
    if more > 0 { shown.then(format!(" and {more} more")) } else { shown }
}

fn failed_target(FailedTarget { package, target, error }: &FailedTarget) -> Text {
    clipped(&format!("{package}/{target}")).then(": ").append(first_line(error))
}

/// The first line of a reason, quoted.
fn first_line(reason: &str) -> Text {
    quoted(reason.lines().next().unwrap_or_default())
}

/// Quotes untrusted text in a span of code, so that nothing in it is a mention, a link or markup.
fn quoted(text: &str) -> Text {
    Text::new().quote(shorten(&escape_untrusted(text), LONGEST_REASON))
}

fn clipped(name: &str) -> Text {
    Text::from_name(self::name(name))
}

/// Shortens a name to fit into a row.
fn name(name: &str) -> String {
    let name = escape_untrusted(name);
    if name.trim().is_empty() { "(no name)".to_owned() } else { shorten(&name, LONGEST) }
}
