//! The report of `versus` and of `compare --variants`: implementations of one task, or variants of one version, ranked by
//! their comparisons with the same base.

use std::collections::BTreeSet;

use rbench_stats::Assessment;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Comparison, ComparisonReport, GeometricMean, page_of};
use crate::{
    compare::{ExplainedTime, Outcome},
    error::Result,
    model::{Benchmark, Implementations, Metric, Unit, Version},
    report::{
        Report,
        diagnose::chart::{Axis, Kind, Panel, Shape, document},
        distinct,
        document::{Block, Document, Item, Medium, Text},
        json,
        names::{Names, with_metric},
        quantity::{count, value_of_metric},
        style::Role,
        table::{Cell, Column, Table},
    },
    shell::{cargo, quoted},
    verdict::{Counts, DecidedRow, VerdictKind},
};

/// The comparisons of several candidates with the same base.
pub struct RankingReport {
    version: Version,
    /// The implementations, of which the first is the base; absent for variants, whose base is the version itself.
    implementations: Option<Implementations>,
    /// At least one, in the order in which the candidates were given.
    comparisons: Vec<ComparisonReport>,
    /// The command that measures implementations until every pair is decided, unless this was it.
    more: Option<String>,
}

/// Variants of one version, or implementations of one task by benchmarks of one version, ranked.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Ranking<'r> {
    /// The version that has them.
    version: &'r Version,
    /// The common name of the implementations: `parse/{serde,simd}`; null for variants.
    name: Option<&'r str>,
    /// The fastest first.
    ranking: Vec<Ranked<'r>>,
    /// The parameters that all implementations have; a single empty one if they have none, and none for variants.
    parameters: &'r [String],
    /// The benchmarks without a partner in another implementation, which were not measured.
    left_out: &'r [Benchmark],
    /// The comparisons with the version, or with the first implementation, as the base.
    comparisons: Vec<Comparison>,
}

/// A variant or an implementation in the order of all.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct Ranked<'r> {
    /// 1 plus the number of others that are shown to be faster in some benchmark, and slower in none; null without
    /// results.
    rank: Option<usize>,
    name: String,
    /// The pattern that selects the benchmarks of an implementation; null for variants.
    pattern: Option<&'r str>,
    /// The mean of its changes relative to the base; null for the base, and without results.
    change: Option<GeometricMean>,
    /// The word for its verdicts, if all agree: `faster`, `equal`; null for the base.
    verdict: Option<&'static str>,
}

/// A candidate in one benchmark.
enum Standing<'r> {
    /// It is the base, or runs the same code.
    Base,
    Decided(VerdictKind, &'r Assessment),
    Unknown,
}

/// The probability that any two candidates that are equal and not the base are put in order.
const ANY_FALSE_ORDER: f64 = 0.05;

/// The word for a verdict on a candidate instead of a later version.
fn word(row: &DecidedRow) -> &'static str {
    let is_time = row.metric.as_ref().is_none_or(|metric| metric.unit == Unit::Nanoseconds);
    match VerdictKind::new(&row.verdict) {
        VerdictKind::Regressed | VerdictKind::Accepted if is_time => "slower",
        VerdictKind::Regressed | VerdictKind::Accepted => "more",
        VerdictKind::Improved if is_time => "faster",
        VerdictKind::Improved => "less",
        VerdictKind::Unchanged | VerdictKind::Unaffected | VerdictKind::Identical => "equal",
        kind => kind.name(),
    }
}

fn is_same(row: &DecidedRow) -> bool {
    matches!(VerdictKind::new(&row.verdict), VerdictKind::Unaffected | VerdictKind::Identical)
}

impl RankingReport {
    /// The ranking of variants by their comparisons with the same version; `None` without any.
    pub fn of_variants(comparisons: Vec<ComparisonReport>) -> Option<Self> {
        let version = comparisons.first()?.outcome.base.clone();
        Some(Self { version, implementations: None, comparisons, more: None })
    }

    /// The ranking of implementations by the comparisons of the first with each of the others, in their order. `more` is
    /// the command that measures until every pair is decided, unless this was it.
    pub const fn of_implementations(
        version: Version,
        implementations: Implementations,
        comparisons: Vec<ComparisonReport>,
        more: Option<String>,
    ) -> Self {
        Self { version, implementations: Some(implementations), comparisons, more }
    }

    const fn noun(&self) -> &'static str {
        if self.implementations.is_some() { "implementation" } else { "variant" }
    }

    /// The name of a candidate; 0 is the base.
    fn name(&self, index: usize) -> String {
        match (&self.implementations, self.report(index)) {
            (Some(implementations), _) => implementations.all[index].name.clone(),
            (None, None) => self.version.revision_arg(),
            (None, Some(report)) => {
                let variant = report.outcome.head.variant.as_ref();
                variant.map(|variant| variant.name.clone()).unwrap_or_default()
            }
        }
    }

    fn report(&self, index: usize) -> Option<&ComparisonReport> {
        self.comparisons.get(index.checked_sub(1)?)
    }

    fn all_rows(&self) -> impl Iterator<Item = &DecidedRow> {
        self.comparisons.iter().flat_map(|report| &report.outcome.rows)
    }

    fn benchmarks(&self) -> Vec<&Benchmark> {
        distinct(self.all_rows().map(|row| &row.benchmark))
    }

    /// The metric that decides the order: wall time if it was measured.
    fn metric(&self) -> Option<&Metric> {
        let metrics = || self.all_rows().filter_map(|row| row.metric.as_ref());
        metrics().find(|metric| **metric == Metric::wall()).or_else(|| metrics().next())
    }

    /// The rows of the deciding metric, and those on a benchmark as a whole.
    fn rows<'r>(&'r self, report: &'r ComparisonReport) -> impl Iterator<Item = &'r DecidedRow> {
        let metric = self.metric();
        let rows = report.outcome.rows.iter();
        rows.filter(move |row| row.metric.is_none() || row.metric.as_ref() == metric)
    }

    fn standing(&self, index: usize, benchmark: &Benchmark) -> Standing<'_> {
        let Some(report) = self.report(index) else { return Standing::Base };
        let Some(row) = self.rows(report).find(|row| row.benchmark == *benchmark) else {
            return Standing::Unknown;
        };
        let kind = VerdictKind::new(&row.verdict);
        let is_decided = kind.is_change() || kind == VerdictKind::Unchanged;
        match row.decisive() {
            _ if is_same(row) => Standing::Base,
            Some(stage) if is_decided => Standing::Decided(kind, &stage.assessment),
            _ => Standing::Unknown,
        }
    }

    /// True if one candidate is shown to be faster than another in some benchmark, and slower in none.
    fn is_ahead(&self, one: usize, other: usize) -> bool {
        let benchmarks = self.benchmarks();
        let others = self.comparisons.len();
        let tests = others * others.saturating_sub(1) / 2 * benchmarks.len();
        let is_faster = |one: usize, other: usize, benchmark: &Benchmark| match (
            self.standing(one, benchmark),
            self.standing(other, benchmark),
        ) {
            (Standing::Decided(kind, _), Standing::Base) => kind == VerdictKind::Improved,
            (Standing::Base, Standing::Decided(kind, _)) => kind == VerdictKind::Regressed,
            (Standing::Decided(_, ours), Standing::Decided(_, theirs)) => {
                ours.is_shown_below(theirs, ANY_FALSE_ORDER / tests.max(1) as f64)
            }
            _ => false,
        };
        benchmarks.iter().any(|benchmark| is_faster(one, other, benchmark))
            && !benchmarks.iter().any(|benchmark| is_faster(other, one, benchmark))
    }

    fn ranking(&self) -> Vec<(usize, Ranked<'_>)> {
        let all = 0..=self.comparisons.len();
        let metric = self.metric();
        let ranked = |index: usize| {
            let report = self.report(index);
            let rows = || report.into_iter().flat_map(|report| self.rows(report));
            let mut words = rows().map(word);
            let first = words.next();
            let has_results =
                report.is_none() || rows().any(|row| is_same(row) || row.decisive().is_some());
            let ahead = || all.clone().filter(|other| self.is_ahead(*other, index)).count();
            let implementations = self.implementations.as_ref();
            let ranked = Ranked {
                rank: has_results.then(|| 1 + ahead()),
                name: self.name(index),
                pattern: implementations.map(|all| all.all[index].pattern.as_str()),
                change: report.and_then(|report| {
                    let means = report.geometric_means().into_iter();
                    means.into_iter().find(|mean| Some(&mean.metric) == metric.map(|one| &one.name))
                }),
                verdict: first.filter(|first| words.all(|word| word == *first)),
            };
            (index, ranked)
        };
        let mut ranking: Vec<_> = all.clone().map(ranked).collect();
        let change = |ranked: &Ranked<'_>| ranked.change.as_ref().map_or(0.0, |mean| mean.change);
        ranking.sort_by(|(_, one), (_, other)| {
            let rank = |ranked: &Ranked<'_>| ranked.rank.unwrap_or(usize::MAX);
            rank(one).cmp(&rank(other)).then(change(one).total_cmp(&change(other)))
        });
        ranking
    }

    fn title(&self) -> Text {
        if let Some(implementations) = &self.implementations {
            let all = count(self.comparisons.len() + 1, self.noun());
            let title = Text::from(format!("{all} of ")).name(&implementations.name);
            title.then(format!(" in {}", self.version))
        } else {
            let all = count(self.comparisons.len(), self.noun());
            Text::from(format!("{all} compared with ")).name(self.version.to_string())
        }
    }

    /// The candidates in order, with the ratios of their values to that of the base.
    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::right("rank"),
            Column::left(self.noun()).names(),
            Column::right(format!("× {}", self.name(0))),
            Column::right("95 % interval"),
            Column::left("").shortened(),
        ]);
        for (index, Ranked { rank, name, change, .. }) in self.ranking() {
            let rank = rank.map_or_else(String::new, |rank| rank.to_string());
            let [ratio, interval] = match change {
                _ if index == 0 => [ratio(0.0), String::new()],
                None => [const { String::new() }; 2],
                Some(GeometricMean { change, low, high, .. }) => {
                    [ratio(change), format!("{} to {}", ratio(low), ratio(high))]
                }
            };
            let base = if self.implementations.is_some() { "the first" } else { "the base" };
            let words =
                self.report(index).map_or_else(|| base.to_owned(), |report| self.words(report));
            let cells = [Cell::styled(Role::Head, ratio), Cell::from(interval), Cell::from(words)];
            table.row([Cell::from(rank), Cell::name(name)].into_iter().chain(cells));
        }
        table
    }

    /// `2 faster, 1 equal`; the word alone if all agree.
    fn words(&self, report: &ComparisonReport) -> String {
        let words: Vec<&str> = self.rows(report).map(word).collect();
        let distinct: BTreeSet<&str> = words.iter().copied().collect();
        let number = |word: &&str| words.iter().filter(|other| *other == word).count();
        let each = distinct.iter().map(|word| format!("{} {word}", number(word)));
        let Counts { missing, failed_targets, .. } = report.outcome.counts();
        let others = Counts { missing, failed_targets, ..Counts::default() };
        match (distinct.first(), others == Counts::default()) {
            (None, _) => others.all_words(),
            (Some(word), true) if distinct.len() == 1 => (*word).to_owned(),
            (_, true) => each.collect::<Vec<_>>().join(", "),
            (_, false) => each.chain([others.all_words()]).collect::<Vec<_>>().join(", "),
        }
    }

    /// The parameter of a benchmark, if implementations have some; else its name.
    fn label(&self, names: &Names<'_>, benchmark: &Benchmark) -> String {
        let parameter = self.implementations.as_ref().and_then(|implementations| {
            let mut common = implementations.all[0].benchmarks.iter().map(|(common, _)| common);
            let index = common.position(|common| common == benchmark)?;
            implementations.parameters.get(index).filter(|one| !one.is_empty())
        });
        parameter.map_or_else(|| names.name(benchmark), String::clone)
    }

    /// The value of the base and the ratio of each candidate, for each benchmark and metric. `None` if the ranking shows
    /// it all.
    fn matrix(&self) -> Option<Block> {
        let label = match &self.implementations {
            Some(implementations) if implementations.parameters.len() > 1 => "parameter",
            Some(_) => "",
            None => "benchmark",
        };
        let heads = (1..=self.comparisons.len())
            .map(|index| Column::right(format!("× {}", self.name(index))));
        let columns = [Column::left(label).names(), Column::right(self.name(0))];
        let mut table = Table::new(columns.into_iter().chain(heads));
        let names = Names::new(self.all_rows().map(|row| &row.benchmark));
        for benchmark in self.benchmarks() {
            let rows = || self.all_rows().filter(|row| row.benchmark == *benchmark);
            let mut metrics: Vec<Option<&Metric>> =
                distinct(rows().filter_map(|row| row.metric.as_ref()).map(Some));
            if metrics.is_empty() && !rows().all(is_same) {
                metrics.push(None);
            }
            for metric in metrics {
                let is_it = |row: &&DecidedRow| {
                    row.benchmark == *benchmark
                        && (row.metric.is_none() || row.metric.as_ref() == metric)
                };
                let value = rows().filter(is_it).find_map(DecidedRow::decisive);
                let value = value.map_or_else(String::new, |stage| {
                    let summary = &stage.summaries[0];
                    value_of_metric(summary.values().mean, summary.metric().unit)
                });
                let name = with_metric(self.label(&names, benchmark), metric);
                let cells = self.comparisons.iter().map(|report| {
                    report.outcome.rows.iter().find(is_it).map_or_else(Cell::default, cell)
                });
                table.row([Cell::name(name), Cell::from(value)].into_iter().chain(cells));
            }
        }
        Block::table(table)
    }

    /// The functions that make candidates faster or slower than the base, for each benchmark.
    fn times(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for (report, index) in self.comparisons.iter().zip(1..) {
            for mut item in report.times(ExplainedTime::all_lines) {
                let name = Text::from_name(self.name(index)).then(" compared with ");
                item.text = name.name(self.name(0)).then(" in ").append(item.text);
                items.push(item);
            }
        }
        items
    }

    fn how_to_read(&self) -> Vec<Text> {
        let min_effect = self.comparisons.first().map(ComparisonReport::min_effect_text);
        let mut texts = vec![Text::from(format!(
            "equal: the difference is smaller than {} (min-effect)",
            min_effect.unwrap_or_default()
        ))];
        if self.comparisons.len() > 1 {
            let base = if self.implementations.is_some() { "the first" } else { "the base" };
            texts.push(Text::from(format!(
                "all were measured against {base}; the order of the others is by the differences of their changes (5 % \
                 for any false order)"
            )));
        }
        texts
    }

    /// Everything else that a reader of the tables must know.
    fn notes(&self) -> Vec<Text> {
        let mut texts = Vec::new();
        for (report, index) in self.comparisons.iter().zip(1..) {
            let mut settings = report.settings_texts();
            if self.implementations.is_some() {
                // The settings of an implementation are its pattern.
                settings.clear();
            }
            let mut settings = settings.into_iter();
            texts.extend(settings.next());
            let rows: Vec<&DecidedRow> = report.outcome.rows.iter().collect();
            let others = settings.chain(report.attention(&rows)).chain(report.size_texts());
            let name = Text::from_name(self.name(index));
            texts.extend(others.map(|text| name.clone().then(": ").append(text)));
        }
        if let Some(implementations) = &self.implementations
            && !implementations.left_out.is_empty()
        {
            let ids: Vec<&str> =
                implementations.left_out.iter().map(|one| one.name.id.as_str()).collect();
            let all = format!("not in all implementations, and left out: {}", ids.join(", "));
            texts.push(Text::from(all));
        }
        let mut known = BTreeSet::new();
        let warnings = self.comparisons.iter().flat_map(ComparisonReport::warning_lines);
        texts.extend(warnings.filter(|warning| known.insert(warning.plain())));
        let measured =
            self.comparisons.first().into_iter().flat_map(ComparisonReport::measured_briefly);
        texts.extend(measured.map(|line| Text::from(line.replace("version", self.noun()))));
        texts.extend(self.next_command());
        texts
    }

    /// The command that decides more, or that shows more.
    fn next_command(&self) -> Option<Text> {
        if self.implementations.is_some() {
            let is_undecided =
                |row: &DecidedRow| VerdictKind::new(&row.verdict) == VerdictKind::Inconclusive;
            let more = self.more.as_ref().filter(|_| self.all_rows().any(is_undecided))?;
            return Some(Text::from("measure until all are decided: ").command(more));
        }
        // A comparison that measured nothing is not stored.
        let is_stored = |one: &&Outcome| {
            !one.only_compilations && one.rows.iter().any(|row| row.decisive().is_some())
        };
        let mut outcomes = self.comparisons.iter().map(|one| &one.outcome);
        let Outcome { base, head, .. } = outcomes.find(is_stored)?;
        let versions = [base.revision_arg(), head.revision_arg()].map(quoted).join(" ");
        let command = format!("{} rbench compare --stored {versions}", cargo());
        Some(Text::from("each comparison in full: ").command(command))
    }

    /// The values of all implementations over the parameter, if there are several.
    fn chart(&self) -> Option<Block> {
        let Implementations { name, all, parameters, .. } = self.implementations.as_ref()?;
        let metric = self.metric()?;
        if parameters.len() < 2 {
            return None;
        }
        let numbers: Option<Vec<f64>> =
            parameters.iter().map(|one| one.parse().ok().filter(|number| *number > 0.0)).collect();
        let x = match &numbers {
            Some(_) => Axis::logarithmic("parameter"),
            None => Axis { names: parameters.clone(), ..Axis::linear("parameter") },
        };
        let x_of = |id: &str| {
            let common = all[0].benchmarks.iter();
            let index = common.map(|(one, _)| &one.name.id).position(|one| one == id)?;
            Some(numbers.as_ref().map_or(index as f64, |numbers| numbers[index]))
        };
        let shape = |index: usize| {
            // Values of the first are nearly the same in each comparison.
            let (report, version) = (self.comparisons.get(index.saturating_sub(1))?, index.min(1));
            let point = |row: &DecidedRow| {
                let value = row.decisive()?.summaries[version].values().mean;
                Some([x_of(&row.benchmark.name.id)?, value])
            };
            let mut points: Vec<[f64; 2]> = self.rows(report).filter_map(point).collect();
            points.sort_by(|one, other| one[0].total_cmp(&other[0]));
            Some(Shape::new(Kind::Line, index, points).named(self.name(index)))
        };
        let shapes = (0..=self.comparisons.len()).filter_map(shape).collect();
        let y = Axis::logarithmic(format!("{}, {}", metric.name, metric.unit));
        let panel = Panel::new("", [x, y], shapes);
        Some(Block::Drawings(vec![document(name, &[panel])]))
    }

    fn summary(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Table(self.table())];
        blocks.extend(self.matrix());
        blocks.extend(self.chart());
        blocks
    }

    const fn command(&self) -> &'static str {
        if self.implementations.is_some() { "versus" } else { "compare" }
    }
}

/// A ratio to the base, with as many digits as a difference of 0.1 % needs.
fn ratio(change: f64) -> String {
    let ratio = 1.0 + change;
    if ratio >= 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.3}") }
}

fn cell(row: &DecidedRow) -> Cell {
    let kind = VerdictKind::new(&row.verdict);
    match row.decisive() {
        Some(stage) => {
            let ratio = ratio(stage.assessment.change.estimate);
            Cell::styled(kind.role(), format!("{ratio} {}", word(row)))
        }
        None => Cell::styled(kind.role(), word(row)),
    }
}

impl Report for RankingReport {
    fn document(&self, medium: Medium) -> Document {
        let mut document = Document::new(self.command());
        document.title = self.title();
        document.add(self.summary());
        let explains_all = self.comparisons.iter().any(|report| report.explains_all);
        let is_folded = medium == Medium::Markdown && self.implementations.is_none();
        if !explains_all && !is_folded {
            document.add(Block::list(self.times()));
            document.add(Block::list([self.how_to_read(), self.notes()].concat()));
            return document;
        }
        document.add(Block::list(self.how_to_read()));
        for report in &self.comparisons {
            let part = report.part(medium);
            let head = Text::from_name(report.outcome.head.to_string());
            if is_folded {
                document.add([Block::Details(head, part)]);
            } else {
                document.add(std::iter::once(Block::Heading(head)).chain(part));
            }
        }
        document
    }

    fn html(&self) -> Result<String> {
        let mut summary = self.summary();
        summary.extend(Block::list([self.how_to_read(), self.notes()].concat()));
        // The details are those of any comparison, with its words.
        summary.push(Block::Paragraph(vec![
            Text::from("in detail, ")
                .name(self.name(0))
                .then(" is the base: improved is faster, regressed slower, unchanged equal"),
        ]));
        let comparisons = self.comparisons.iter().zip(1..).map(|(report, index)| {
            (format!("{} compared with {}", self.name(index), self.name(0)), report)
        });
        page_of(self.command(), &self.title().plain(), summary, comparisons, &self.json()?)
    }

    fn json(&self) -> Result<String> {
        let implementations = self.implementations.as_ref();
        json::document(&Ranking {
            version: &self.version,
            name: implementations.map(|all| all.name.as_str()),
            ranking: self.ranking().into_iter().map(|(_, ranked)| ranked).collect(),
            parameters: implementations.map_or(&[], |all| &all.parameters),
            left_out: implementations.map_or(&[], |all| &all.left_out),
            comparisons: self.comparisons.iter().map(ComparisonReport::comparison).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use rbench_stats::Criteria;

    use super::*;
    use crate::{
        compare::Outcome,
        model::{Implementation, Name, Variant},
        report::{
            style,
            testing::{
                HOSTILE, assert_harmless, assert_keeps, benchmark, decided_row, given, version,
            },
        },
        verdict::ExitPolicy,
        verdict::Verdict,
    };

    const PARAMETERS: [&str; 2] = ["1024", "4096"];

    /// The first implementation and these others, with the factors of their times to those of the first in both stages,
    /// for each parameter.
    fn report(others: &[(&str, [&[f64]; 2])]) -> RankingReport {
        let name = "encode/{…}";
        let common = |parameter: &str| benchmark(&format!("{name}/{parameter}"));
        let implementation = |own: &str| Implementation {
            name: own.to_owned(),
            pattern: format!("encode/{own}"),
            benchmarks: PARAMETERS
                .map(|one| (common(one), benchmark(&format!("encode/{own}/{one}"))))
                .to_vec(),
        };
        let version = version("HEAD", 'b');
        let comparison = |(own, factors): &(&str, [&[f64]; 2])| {
            let versions = ["first", own].map(|own| implementation(own).as_variant_of(&version));
            let rows = PARAMETERS.iter().zip(factors).map(|(parameter, factors)| {
                let id = format!("{name}/{parameter}");
                decided_row(&id, parameter.parse().unwrap(), factors, 0.01, 0.001)
            });
            let rows = rows.collect();
            let outcome = Outcome { rows, ..Outcome::new(versions, Criteria::default()) };
            ComparisonReport::new(outcome, ExitPolicy::default(), given("compare"))
        };
        let comparisons = others.iter().map(comparison).collect();
        let all = std::iter::once("first").chain(others.iter().map(|(own, _)| *own));
        RankingReport {
            version: version.clone(),
            implementations: Some(Implementations {
                name: name.to_owned(),
                all: all.map(implementation).collect(),
                parameters: PARAMETERS.map(str::to_owned).to_vec(),
                left_out: vec![benchmark("encode/first/7")],
            }),
            comparisons,
            more: Some("cargo rbench versus --budget unlimited".to_owned()),
        }
    }

    fn ranks(report: &RankingReport) -> Vec<(Option<usize>, String)> {
        report.ranking().into_iter().map(|(_, one)| (one.rank, one.name)).collect()
    }

    const FASTER: &[f64] = &[0.9, 0.9];
    const SLOWER: &[f64] = &[1.1, 1.1];
    const EQUAL: &[f64] = &[1.0];

    #[test]
    fn only_what_is_shown_is_ranked() {
        for (others, expected) in [
            (vec![("a", [FASTER, FASTER])], [(Some(1), "a"), (Some(2), "first")].to_vec()),
            (vec![("a", [EQUAL, EQUAL])], vec![(Some(1), "first"), (Some(1), "a")]),
            // Faster with one parameter and slower with the other.
            (vec![("a", [FASTER, SLOWER])], vec![(Some(1), "a"), (Some(1), "first")]),
            (
                vec![
                    ("a", [SLOWER, EQUAL]),
                    ("b", [FASTER, FASTER]),
                    ("c", [&[0.9, 0.901], FASTER]),
                ],
                vec![(Some(1), "b"), (Some(1), "c"), (Some(3), "first"), (Some(4), "a")],
            ),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(rank, name): (_, &str)| (rank, name.to_owned()))
                .collect();
            assert_eq!(ranks(&report(&others)), expected);
        }
    }

    #[test]
    fn versus_has_the_words_of_implementations() {
        let mut report = report(&[("equal", [EQUAL, EQUAL]), ("mixed", [FASTER, SLOWER])]);
        let failed = Verdict::Failed { reason: "it panicked".to_owned() };
        let row = DecidedRow::without_metric(&benchmark("encode/{…}/4096"), failed);
        report.comparisons[0].outcome.rows[1] = row;
        insta::assert_snapshot!(style::plain(&report.text(100)));
        assert_keeps("ranking", &report);
        assert!(report.html().unwrap().contains("<svg"), "there is a chart");
    }

    #[test]
    fn hostile_names_are_harmless() {
        let mut report = report(&[(HOSTILE, [EQUAL, SLOWER])]);
        report.implementations.as_mut().unwrap().left_out =
            vec![Benchmark { name: Name::plain(HOSTILE), ..benchmark("a") }];
        assert_harmless(&report);
    }

    fn variants(all: &[(&str, Vec<DecidedRow>)]) -> RankingReport {
        let base = version("HEAD", 'b');
        let comparison = |(name, rows): &(&str, Vec<DecidedRow>)| {
            let variant =
                Variant { name: (*name).to_owned(), settings: "lto = \"fat\"".to_owned() };
            let head = Version { variant: Some(variant), ..base.clone() };
            let rows = rows.clone();
            let outcome =
                Outcome { rows, ..Outcome::new([base.clone(), head], Criteria::default()) };
            ComparisonReport::new(outcome, ExitPolicy::default(), given("compare"))
        };
        RankingReport::of_variants(all.iter().map(comparison).collect()).unwrap()
    }

    #[test]
    fn variants_are_ranked_like_implementations() {
        let row = |id, factors: &[f64]| decided_row(id, 100.0, factors, 0.01, 0.001);
        let same = |id| DecidedRow::without_metric(&benchmark(id), Verdict::Identical);
        let failed = Verdict::Failed { reason: "it panicked".to_owned() };
        let failed = DecidedRow::without_metric(&benchmark("b"), failed);
        let mut report = variants(&[
            ("slow", vec![row("a", SLOWER), failed, same("c")]),
            ("same", vec![same("a"), same("b"), same("c")]),
            ("fast", vec![row("a", FASTER), row("b", EQUAL), same("c")]),
        ]);
        let expected = [(Some(1), "fast"), (Some(2), "HEAD"), (Some(2), "same"), (Some(4), "slow")];
        assert_eq!(ranks(&report), expected.map(|(rank, name)| (rank, name.to_owned())));
        insta::assert_snapshot!(style::plain(&report.text(100)));
        assert_keeps("ranking", &report);
        report.comparisons[0].outcome.head.variant.as_mut().unwrap().name = HOSTILE.to_owned();
        assert_harmless(&report);
    }
}
