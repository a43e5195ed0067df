//! Writes a comparison as Markdown, for a comment or a step summary: changes first, whole rows
//! only, within a size limit. Untrusted text stands in spans and blocks of code, where nothing is a
//! mention, a link or markup.
//!
//! A comment has a marker by which it is found again, and a notice that it is stale while a new run
//! works.

use rbench_code::impact::Impact;

use crate::{
    compare::UnlistedTarget,
    error::{Error, Exit},
    model::{Metric, RemovedBenchmark, SandboxState, Version, is_plain_web_address},
    report::{
        compare::{
            Comparison, Comparisons, NOT_MEASURED, NamedMetrics, Parts, Row, WarningFields,
            changes_texts, confirmed_by, table,
        },
        document::{Block, Document, Item, Text},
        explain::time::TimeLines,
        impact::{self, ImpactRow, impact_notes},
        names::Names,
        quantity::{and_more, count, exact},
        render::{COMMENT_ROOM, fenced, markdown_within},
        sentence::CONFIRMED,
    },
    verdict::VerdictKind,
};

/// The maximum size of a step summary in bytes: GitHub drops a larger one as a whole.
pub const SUMMARY_ROOM: usize = 1024 * 1024;

/// The maximum number of benchmarks named in a list.
const MOST_NAMES: usize = 8;

/// The sentence for readers who see a regression for the first time.
const FOR_CONTRIBUTORS: &str = "Regressed: this change makes the benchmark slower; make it faster, or explain why it is \
    worth the time, so that a maintainer can accept it in the base (cargo rbench accept)";

/// What a page says about its job: where a reader finds more, and who made it advisory.
#[derive(Clone, Debug, Default)]
pub struct Links {
    run: Option<String>,
    /// The pages of stored results.
    site: Option<String>,
    /// The label that makes the job advisory, and the account that set it.
    advisory: Option<(String, String)>,
    /// The exit code of the job, if it is this one.
    exit: Option<Exit>,
}

impl Links {
    /// Links to the run at this address; ignores anything that is not a web address.
    pub fn new(address: Option<&str>) -> Self {
        let is_address = |text: &&str| is_plain_web_address(text);
        Self { run: address.filter(is_address).map(str::to_owned), ..Self::default() }
    }

    /// The same with the address of the pages of stored results, which the user of this job chose.
    #[must_use]
    pub fn with_site(self, address: Option<&str>) -> Self {
        Self { site: Self::new(address).run, ..self }
    }

    /// The same for a job that this label makes advisory.
    #[must_use]
    pub fn with_advisory(self, label: &str, account: &str) -> Self {
        Self { advisory: Some((label.to_owned(), account.to_owned())), ..self }
    }

    /// The same with the exit code of this job.
    #[must_use]
    pub fn with_exit(self, exit: Exit) -> Self {
        Self { exit: Some(exit), ..self }
    }

    /// The sentences on what the result means for the job.
    fn consequences(&self) -> Vec<Text> {
        let fails = self.exit.filter(|exit| *exit != Exit::Success);
        let fails =
            fails.map(|exit| Text::from(format!("This job fails (exit code {})", exit as u8)));
        self.advisory_text().into_iter().chain(fails).collect()
    }

    /// The sentence that the job is advisory, if it is.
    pub fn advisory_text(&self) -> Option<Text> {
        let (label, account) = self.advisory.as_ref()?;
        let text = Text::from("Advisory: regressions do not fail this job, because ").name(account);
        Some(text.then(" set the label ").name(label))
    }

    pub(super) fn text(&self) -> String {
        let links = [("run", &self.run), ("history", &self.site)].into_iter();
        let links: Vec<String> = links
            .filter_map(|(name, address)| Some(format!("[{name}](<{}>)", address.as_ref()?)))
            .collect();
        if links.is_empty() { String::new() } else { format!(" ({})", links.join(", ")) }
    }
}

/// The page with as much as fits into `room` bytes.
pub fn page(comparison: &Comparisons, links: &Links, room: usize) -> String {
    let sandbox = SandboxState::of_all(comparison.both().map(|one| one.sandbox))
        .map_or_else(String::new, |state| format!("; {}", state.text()));
    let footer = format!(
        "\n<sub>cargo rbench compared builds with several code layouts{}{sandbox}</sub>\n",
        links.text()
    );
    let mut document = headed(comparison);
    document.add(Block::paragraph(links.consequences()));
    for (number, one) in comparison.both().enumerate() {
        if number > 0 {
            document.add([Block::heading(format!("Also against {}", one.base.short()))]);
        }
        document.add(one.section());
    }
    markdown_within(&document, room.saturating_sub(footer.len())) + &footer
}

/// A page with the counts alone, for when the full one is refused.
pub fn short_page(comparison: &Comparisons, links: &Links) -> String {
    let mut document = headed(comparison);
    document.add(Block::paragraph(links.consequences()));
    document.add(comparison.both().map(|one| Block::Paragraph(one.sentences())));
    let more = format!("\nThe report has the rows{}.\n", links.text());
    markdown_within(&document, COMMENT_ROOM) + &more
}

fn headed(comparison: &Comparisons) -> Document {
    let worst = comparison.worst().map_or("nothing to compare", VerdictKind::name);
    Document::new("ci").titled(format!("Benchmarks: {worst}"))
}

impl Comparison {
    /// `1a2b3c4 against 5d6e7f8: 2 regressed, 7 unchanged`.
    fn sentences(&self) -> Vec<Text> {
        let [head, base] = [&self.head, &self.base].map(Version::short);
        let versions = Text::from_name(head).then(" against ").name(base);
        let verdicts = versions.then(format!(": {}", self.counts.all_words()));
        let min_effect = exact(self.criteria.min_effect);
        let min_effect = format!("Changes below {min_effect} (min-effect) do not count");
        let part = self
            .partition
            .map(|part| format!("Part {} of {} of the benchmarks", part.part, part.of));
        let settings = std::iter::once(min_effect).chain(part).map(Text::from);
        std::iter::once(verdicts).chain(settings).collect()
    }

    fn section(&self) -> Vec<Block> {
        let names = self.names();
        let mut rows: Vec<&Row> = self.benchmarks.iter().collect();
        let size = |row: &Row| row.estimate().unwrap_or(0.0).abs();
        rows.sort_by(|one, other| {
            one.verdict.cmp(&other.verdict).then(size(other).total_cmp(&size(one)))
        });
        let is_news = |row: &&Row| row.verdict.is_change() || row.verdict == VerdictKind::Failed;
        let (news, others): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(is_news);
        let others: Vec<&Row> =
            others.into_iter().filter(|row| row.verdict < VerdictKind::Unaffected).collect();

        let is_first = |one: &&WarningFields| one.warning.is_urgent();
        let (first, warnings): (Vec<_>, Vec<_>) = self.warnings.iter().partition(is_first);
        let quoted = |warning: &&WarningFields| quoted(&warning.text);
        let metrics: Vec<Metric> = self.benchmarks.iter().filter_map(Row::metric).collect();
        let named = NamedMetrics::of(metrics.iter());
        let kinds = [VerdictKind::NotComparable, VerdictKind::Inconclusive, VerdictKind::Unchanged];
        let calm = Block::table(table(&others, &names, None, named))
            .map(|table| Block::Details(self.counts.words(&kinds).into(), vec![table]));
        let is_red = self.counts.regressed > 0;
        let [base, head] = [&self.base, &self.head].map(Version::short);
        let again =
            Text::from("Compare again: ").command(format!("cargo rbench compare {base} {head}"));
        let is_clean = !self.base.dirty && !self.head.dirty;
        let again = Some(again).filter(|_| is_clean);
        let advice = is_red.then(|| {
            Block::Paragraph(std::iter::once(FOR_CONTRIBUTORS.into()).chain(again).collect())
        });
        let failed = news.iter().filter_map(|row| failure_reason(&names, row));
        let failed = self.failed_targets.iter().map(failed_target).chain(failed);
        let not_measured = NOT_MEASURED.into_iter().filter_map(|(kind, why)| {
            let these = self.benchmarks.iter().filter(|row| row.verdict == kind);
            let these: Vec<&Row> = these.filter(|row| row.base.is_none()).collect();
            let shown = these.iter().take(MOST_NAMES);
            let shown = Text::joined(shown.map(|row| Text::from_name(row.name(&names))), ", ");
            let text = Text::from(format!("{} ({why}; not measured): ", kind.name())).append(shown);
            (!these.is_empty()).then(|| text.then(and_more(these.len(), MOST_NAMES)))
        });
        let added = self.added.iter().map(|one| (one, String::new())).collect::<Vec<_>>();
        let reason = |one: &RemovedBenchmark| format!(" ({})", one.absence.reason());
        let removed = self.removed.iter().map(|one| (&one.benchmark, reason(one))).collect();
        let absent = [(added, &self.head), (removed, &self.base)];
        let absent = absent.into_iter().filter(|(benchmarks, _)| !benchmarks.is_empty());
        let absent = absent.map(|(benchmarks, whose)| {
            let shown = benchmarks.iter().take(MOST_NAMES);
            let shown = shown.map(|(one, why)| Text::from_name(names.name(one)).then(why.as_str()));
            Text::from(format!("{} only in {}: ", benchmarks.len(), whose.short()))
                .append(Text::joined(shown, ", "))
                .then(and_more(benchmarks.len(), MOST_NAMES))
        });
        Parts {
            summary: self.sentences(),
            changes: changes_texts(&self.changes, [&self.base, &self.head]),
            urgent: first.iter().map(|warning| Block::Warning(quoted(warning), None)).collect(),
            table: Block::table(table(&news, &names, None, named))
                .into_iter()
                .chain(advice)
                .collect(),
            notes: confirmed(&names, &news)
                .into_iter()
                .chain(failed)
                .chain(impacts(&names, &news))
                .collect(),
            times: self.times.iter().map(|one| times(&names, one)).collect(),
            calm,
            remarks: not_measured.chain(absent).collect(),
            warnings: Block::folded(
                format!("{}: all verdicts hold", count(warnings.len(), "warning")),
                warnings.iter().map(quoted),
            ),
            ..Parts::default()
        }
        .blocks()
    }
}

/// The changes that fresh builds confirmed.
fn confirmed(names: &Names<'_>, rows: &[&Row]) -> Option<Text> {
    let rows: Vec<&&Row> = rows.iter().filter(|row| row.reason.is_confirmed()).collect();
    let shown = rows.iter().take(MOST_NAMES).map(|row| Text::from_name(row.name(names)));
    let fresh = rows.iter().filter_map(|row| row.builds.get(1).copied());
    let by = match (fresh.clone().min(), fresh.max()) {
        (Some(least), Some(most)) => confirmed_by(least, most),
        _ => CONFIRMED.to_owned(),
    };
    let shown = Text::from(by + ": ").append(Text::joined(shown, ", "));
    (!rows.is_empty()).then(|| shown.then(and_more(rows.len(), MOST_NAMES)))
}

fn failure_reason(names: &Names<'_>, row: &Row) -> Option<Text> {
    let is_failed = row.verdict == VerdictKind::Failed;
    let name = Text::from_name(row.name(names));
    is_failed.then(|| name.then(": ").append(first_line(&row.reason.text)))
}

/// The differences that changed benchmarks execute or read. What else they may execute stands in
/// sentences, which are not quoted: they are left out.
fn impacts(names: &Names<'_>, rows: &[&Row]) -> Vec<Text> {
    let known = rows.iter().filter_map(|row| {
        let impact = Impact { uncertainties: Vec::new(), ..row.impact.clone()? };
        (!impact.is_nothing()).then_some((&row.benchmark, row.verdict, impact))
    });
    let known: Vec<_> = known.collect();
    let rows = known.iter().map(|(benchmark, kind, impact)| (*benchmark, *kind, impact));
    let rows: Vec<ImpactRow<'_>> = rows.collect();
    impact_notes(names, &rows, impact::MOST).into_iter().map(|note| note.text).collect()
}

/// Where the time of a benchmark went: at most three lines, quoted because they name functions.
fn times(names: &Names<'_>, TimeLines { benchmark, lines, .. }: &TimeLines) -> Item {
    const MOST: usize = 3;
    let lines = lines.iter().take(MOST).map(|line| quoted(line));
    Item::new(Text::from_name(names.name(benchmark)), Block::list(lines))
}

fn failed_target(one: &UnlistedTarget) -> Text {
    Text::from_name(one.failed.target.to_string()).then(": ").append(first_line(&one.reason()))
}

fn first_line(reason: &str) -> Text {
    quoted(reason.lines().next().unwrap_or_default())
}

/// Quotes untrusted text in a span of code, so that nothing in it is a mention, a link or markup.
fn quoted(text: &str) -> Text {
    Text::new().quote(text)
}

/// The bytes reserved for the notice that a comment is stale.
const NOTICE_ROOM: usize = 1_000;

/// The markers around that notice.
const STALE: [&str; 2] = ["<!-- stale -->\n", "<!-- /stale -->\n"];

/// The invisible first line of the comment with this name, by which it is found again.
pub fn marker(name: &str) -> String {
    format!("<!-- cargo-rbench comment: {name} -->\n")
}

/// The comment to post or to update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub body: String,
    /// The text to post if the full one is refused.
    pub short: String,
    /// True if it is worth a new comment; an old one is updated in any case.
    pub is_news: bool,
}

impl Comment {
    pub fn compose(comparison: &Comparisons, exit: Exit, name: &str, links: &Links) -> Self {
        let marker = marker(name);
        let title = if name == "default" { String::new() } else { format!("**{name}**\n\n") };
        let room = COMMENT_ROOM - NOTICE_ROOM - marker.len() - title.len();
        Self {
            body: format!("{marker}{title}{}", page(comparison, links, room)),
            short: format!("{marker}{title}{}", short_page(comparison, links)),
            is_news: exit != Exit::Success || comparison.has_news(),
        }
    }

    /// The comment on a run that failed before it had a comparison.
    pub fn compose_failure(error: &Error, name: &str, links: &Links) -> Self {
        let head = format!("{}### Benchmarks: not compared{}\n", marker(name), links.text());
        let what: String = error.to_string().chars().take(COMMENT_ROOM / 8).collect();
        Self { body: head.clone() + &fenced(&(what + "\n")), short: head, is_news: false }
    }

    /// The text of an old comment, marked as stale while a comparison of this commit runs.
    pub fn stale(old: &str, commit: &str, links: &Links) -> String {
        let (marker, rest) = old.split_once('\n').unwrap_or((old, ""));
        let rest = match rest.split_once(STALE[0]).and_then(|(_, rest)| rest.split_once(STALE[1])) {
            Some((_, rest)) => rest,
            None => rest,
        };
        let commit: String = commit.chars().filter(char::is_ascii_alphanumeric).take(7).collect();
        let [begin, end] = STALE;
        let notice = format!(
            "> [!NOTE]\n> **Stale:** the benchmarks of {commit} are being compared{}.\n\n",
            links.text()
        );
        format!("{}\n{begin}{notice}{end}{rest}", marker.trim_end())
    }
}
