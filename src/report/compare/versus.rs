//! The report of `versus`: several implementations of one task, each compared with the first.

use std::collections::BTreeSet;

use rbench_stats::Assessment;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Comparison, ComparisonReport, GeometricMean, page_of};
use crate::{
    error::Result,
    model::{Benchmark, Implementations, Metric, Unit, Version},
    report::{
        Report,
        diagnose::chart::{Axis, Kind, Panel, Shape, document},
        document::{Block, Document, Medium, Text},
        json,
        names::with_metric,
        quantity::{count, value_of_metric},
        sentence,
        style::Role,
        table::{Cell, Column, Table},
    },
    verdict::{DecidedRow, VerdictKind},
};

const ORDER: &str = "all were measured against the first; the order of the others is by the differences of their changes (5 % for any false order)";

const DETAILS: &str = "in detail, the first implementation is the base: improved is faster, regressed slower, unchanged equal";

/// The comparisons of implementations with the first of them.
pub struct VersusReport {
    /// The version that has all of them.
    pub version: Version,
    /// The implementations; the first is the base of all comparisons.
    pub implementations: Implementations,
    /// The comparison of the first with each of the others, in their order.
    pub comparisons: Vec<ComparisonReport>,
    /// The command that measures until every pair is decided, unless this was it.
    pub more: Option<String>,
}

/// Several implementations of one task, which are benchmarks of one version.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Versus<'r> {
    /// The common name of the implementations: `parse/{serde,simd}`.
    name: &'r str,
    version: &'r Version,
    /// The fastest first.
    ranking: Vec<Ranked<'r>>,
    /// The parameters that all implementations have; a single empty one if they have none.
    parameters: &'r [String],
    /// The benchmarks without a partner in another implementation, which were not measured.
    left_out: &'r [Benchmark],
    /// The comparisons of the first implementation as the base with each of the others as the head.
    comparisons: Vec<Comparison>,
}

/// An implementation in the order of all.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct Ranked<'r> {
    /// 1 plus the number of implementations that are shown to be faster with some parameter, and slower with none; null
    /// without results.
    rank: Option<usize>,
    name: &'r str,
    /// The pattern that selects its benchmarks.
    pattern: &'r str,
    /// The mean of its changes relative to the first implementation; null for the first, and without results.
    change: Option<GeometricMean>,
    /// The word for its verdicts, if all agree: `faster`, `equal`; null for the first.
    verdict: Option<&'static str>,
}

/// The probability that any two implementations that are equal and not the first are put in order.
const ANY_FALSE_ORDER: f64 = 0.05;

/// The word for a verdict on an implementation instead of a later version.
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

/// The metric that decides the order: wall time if it was measured.
fn metric(report: &ComparisonReport) -> Option<&Metric> {
    let mut metrics: Vec<&Metric> =
        report.outcome.rows.iter().filter_map(|row| row.metric.as_ref()).collect();
    metrics.sort_by_key(|metric| **metric != Metric::wall());
    metrics.into_iter().next()
}

/// The rows of the deciding metric.
fn rows(report: &ComparisonReport) -> impl Iterator<Item = &DecidedRow> {
    let metric = metric(report);
    report.outcome.rows.iter().filter(move |row| row.metric.as_ref() == metric)
}

/// The decided row of an implementation at one parameter.
fn decided<'r>(report: &'r ComparisonReport, id: &str) -> Option<(VerdictKind, &'r Assessment)> {
    let row = rows(report).find(|row| row.benchmark.name.id == id)?;
    let kind = VerdictKind::new(&row.verdict);
    let is_decided = kind.is_change() || kind == VerdictKind::Unchanged;
    Some((kind, &row.decisive().filter(|_| is_decided)?.assessment))
}

impl VersusReport {
    fn name(&self, index: usize) -> &str {
        &self.implementations.all[index].name
    }

    fn report(&self, index: usize) -> Option<&ComparisonReport> {
        self.comparisons.get(index.checked_sub(1)?)
    }

    /// True if one implementation is shown to be faster than another with some parameter, and slower with none.
    fn is_ahead(&self, one: usize, other: usize) -> bool {
        let others = self.comparisons.len();
        let tests = others * others.saturating_sub(1) / 2 * self.implementations.parameters.len();
        let is_faster = |one: usize, other: usize, id: &str| {
            let of = |index| decided(self.report(index)?, id);
            match (one, other) {
                (_, 0) => of(one).is_some_and(|(kind, _)| kind == VerdictKind::Improved),
                (0, _) => of(other).is_some_and(|(kind, _)| kind == VerdictKind::Regressed),
                _ => of(one).zip(of(other)).is_some_and(|((_, ours), (_, theirs))| {
                    ours.is_shown_below(theirs, ANY_FALSE_ORDER / tests.max(1) as f64)
                }),
            }
        };
        let ids = self.implementations.all[0].benchmarks.iter();
        let ids: Vec<&str> = ids.map(|(common, _)| common.name.id.as_str()).collect();
        ids.iter().any(|id| is_faster(one, other, id))
            && !ids.iter().any(|id| is_faster(other, one, id))
    }

    fn ranking(&self) -> Vec<(usize, Ranked<'_>)> {
        let all = 0..self.implementations.all.len();
        let ranked = |index: usize| {
            let report = self.report(index);
            let mut words = report.into_iter().flat_map(rows).map(word);
            let first = words.next();
            let has_results =
                report.is_none_or(|report| rows(report).any(|row| row.decisive().is_some()));
            let ahead = || all.clone().filter(|other| self.is_ahead(*other, index)).count();
            let ranked = Ranked {
                rank: has_results.then(|| 1 + ahead()),
                name: self.name(index),
                pattern: &self.implementations.all[index].pattern,
                change: report.and_then(|report| {
                    let name = &metric(report)?.name;
                    report.geometric_means().into_iter().find(|mean| mean.metric == *name)
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
        let implementations = count(self.comparisons.len() + 1, "implementation");
        let name = &self.implementations.name;
        Text::from(format!("{implementations} of "))
            .name(name)
            .then(format!(" in {}", self.version))
    }

    /// The implementations in order, with the ratios of their times to that of the first.
    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::right("rank"),
            Column::left("implementation").names(),
            Column::right(format!("× {}", self.name(0))),
            Column::right("95 % interval"),
            Column::left("").shortened(),
        ]);
        for (index, Ranked { rank, name, change, verdict, .. }) in self.ranking() {
            let rank = rank.map_or_else(String::new, |rank| rank.to_string());
            let [ratio, interval] = match change {
                _ if index == 0 => [ratio(0.0), String::new()],
                None => [const { String::new() }; 2],
                Some(GeometricMean { change, low, high, .. }) => {
                    [ratio(change), format!("{} to {}", ratio(low), ratio(high))]
                }
            };
            let words = verdict.map_or_else(|| self.words(index), str::to_owned);
            let words = if index == 0 { "the first".to_owned() } else { words };
            let cells = [Cell::styled(Role::Head, ratio), Cell::from(interval), Cell::from(words)];
            table.row([Cell::from(rank), Cell::name(name)].into_iter().chain(cells));
        }
        table
    }

    /// `2 faster, 1 equal`.
    fn words(&self, index: usize) -> String {
        let words: Vec<&str> = self.report(index).into_iter().flat_map(rows).map(word).collect();
        let distinct: BTreeSet<&str> = words.iter().copied().collect();
        let number = |word: &&str| words.iter().filter(|other| *other == word).count();
        let each = distinct.iter().map(|word| format!("{} {word}", number(word)));
        each.collect::<Vec<_>>().join(", ")
    }

    /// The parameter of a benchmark by its common id; the id without one.
    fn label(&self, id: &str) -> String {
        let common = self.implementations.all[0].benchmarks.iter().map(|(common, _)| common);
        let index = common.into_iter().position(|common| common.name.id == id);
        let parameter = index.and_then(|index| self.implementations.parameters.get(index));
        parameter.filter(|one| !one.is_empty()).map_or(id, String::as_str).to_owned()
    }

    /// The value of the first and the ratio of each other implementation, for each parameter and metric. `None` if the
    /// ranking shows it all.
    fn matrix(&self) -> Option<Block> {
        let first = self.comparisons.first()?;
        let others = || 1..=self.comparisons.len();
        let heads = others().map(|index| Column::right(format!("× {}", self.name(index))));
        let label = if self.implementations.parameters.len() > 1 { "parameter" } else { "" };
        let columns = [Column::left(label).names(), Column::right(self.name(0).to_owned())];
        let mut table = Table::new(columns.into_iter().chain(heads));
        for row in &first.outcome.rows {
            let is_it = |other: &&DecidedRow| {
                other.benchmark == row.benchmark
                    && (other.metric.is_none()
                        || row.metric.is_none()
                        || other.metric == row.metric)
            };
            let cells = self.comparisons.iter().map(|report| {
                let found = report.outcome.rows.iter().find(is_it);
                found.map_or_else(Cell::default, cell)
            });
            let name = with_metric(self.label(&row.benchmark.name.id), row.metric.as_ref());
            let value = row.decisive().map_or_else(String::new, |stage| {
                let summary = &stage.summaries[0];
                value_of_metric(summary.values().mean, summary.metric().unit)
            });
            table.row([Cell::name(name), Cell::from(value)].into_iter().chain(cells));
        }
        Block::table(table)
    }

    /// Everything else that a reader of the tables must know.
    fn notes(&self) -> Vec<Text> {
        use VerdictKind::{Failed, Inconclusive, NotComparable, Skipped};
        let min_effect = self.comparisons.first().map(ComparisonReport::min_effect_text);
        let mut texts = vec![Text::from(format!(
            "equal: the difference is smaller than {} (min-effect)",
            min_effect.unwrap_or_default()
        ))];
        texts.extend((self.comparisons.len() > 1).then(|| Text::from(ORDER)));
        for (index, report) in self.comparisons.iter().enumerate() {
            for row in &report.outcome.rows {
                let kind = VerdictKind::new(&row.verdict);
                if matches!(kind, Failed | NotComparable | Skipped | Inconclusive) {
                    let subject =
                        [self.name(index + 1), &self.label(&row.benchmark.name.id)].join(", ");
                    let reason = if kind == Inconclusive {
                        "inconclusive: neither a difference nor its absence is shown".to_owned()
                    } else {
                        sentence::verdict(&row.verdict)
                    };
                    texts.push(Text::from_name(subject).then(": ").message(reason));
                }
            }
        }
        if let left_out @ [_, ..] = &*self.implementations.left_out {
            let ids: Vec<&str> = left_out.iter().map(|one| one.name.id.as_str()).collect();
            let all = format!("not in all implementations, and left out: {}", ids.join(", "));
            texts.push(Text::from(all));
        }
        let mut known = BTreeSet::new();
        let warnings = self.comparisons.iter().flat_map(ComparisonReport::warning_lines);
        texts.extend(warnings.filter(|warning| known.insert(warning.plain())));
        let measured =
            self.comparisons.first().into_iter().flat_map(ComparisonReport::measured_briefly);
        texts.extend(measured.map(|line| Text::from(line.replace("version", "implementation"))));
        let is_undecided =
            |report: &ComparisonReport| report.with_verdict(Inconclusive).next().is_some();
        if let Some(more) = self.more.as_ref().filter(|_| self.comparisons.iter().any(is_undecided))
        {
            texts.push(Text::from("measure until all are decided: ").command(more));
        }
        texts
    }

    /// The values of all implementations over the parameter, if there are several.
    fn chart(&self) -> Option<Block> {
        let parameters = &self.implementations.parameters;
        let metric = metric(self.comparisons.first()?)?;
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
            let common = self.implementations.all[0].benchmarks.iter();
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
            let mut points: Vec<[f64; 2]> = rows(report).filter_map(point).collect();
            points.sort_by(|one, other| one[0].total_cmp(&other[0]));
            Some(Shape::new(Kind::Line, index, points).named(self.name(index)))
        };
        let shapes = (0..=self.comparisons.len()).filter_map(shape).collect();
        let y = Axis::logarithmic(format!("{}, {}", metric.name, metric.unit));
        let panel = Panel::new("", [x, y], shapes);
        Some(Block::Drawings(vec![document(&self.implementations.name, &[panel])]))
    }

    fn summary(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Table(self.table())];
        blocks.extend(self.matrix());
        blocks.extend(self.chart());
        blocks.extend(Block::list(self.notes()));
        blocks
    }
}

/// A ratio to the first implementation, with as many digits as a difference of 0.1 % needs.
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

impl Report for VersusReport {
    fn document(&self, _: Medium) -> Document {
        let mut document = Document::new("versus");
        document.title = self.title();
        document.add(self.summary());
        document
    }

    fn html(&self) -> Result<String> {
        let mut summary = self.summary();
        // The details are those of any comparison, with its words.
        summary.push(Block::Paragraph(vec![Text::from(DETAILS)]));
        let comparisons = self.comparisons.iter().zip(1..).map(|(report, index)| {
            (format!("{} compared with {}", self.name(index), self.name(0)), report)
        });
        page_of("versus", &self.title().plain(), summary, comparisons, &self.json()?)
    }

    fn json(&self) -> Result<String> {
        json::document(&Versus {
            name: &self.implementations.name,
            version: &self.version,
            ranking: self.ranking().into_iter().map(|(_, ranked)| ranked).collect(),
            parameters: &self.implementations.parameters,
            left_out: &self.implementations.left_out,
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
        model::{Implementation, Name},
        report::{
            style,
            testing::{
                HOSTILE, assert_harmless, assert_keeps, benchmark, decided_row, given, version,
            },
        },
        verdict::{ExitPolicy, Verdict},
    };

    const PARAMETERS: [&str; 2] = ["1024", "4096"];

    /// The first implementation and these others, with the factors of their times to those of the first in both stages,
    /// for each parameter.
    fn report(others: &[(&str, [&[f64]; 2])]) -> VersusReport {
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
        VersusReport {
            version: version.clone(),
            implementations: Implementations {
                name: name.to_owned(),
                all: all.map(implementation).collect(),
                parameters: PARAMETERS.map(str::to_owned).to_vec(),
                left_out: vec![benchmark("encode/first/7")],
            },
            comparisons,
            more: Some("cargo rbench versus --budget unlimited".to_owned()),
        }
    }

    fn ranks(report: &VersusReport) -> Vec<(Option<usize>, &str)> {
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
        assert_keeps("versus", &report);
        assert!(report.html().unwrap().contains("<svg"), "there is a chart");
    }

    #[test]
    fn hostile_names_are_harmless() {
        let mut report = report(&[(HOSTILE, [EQUAL, SLOWER])]);
        report.implementations.left_out =
            vec![Benchmark { name: Name::plain(HOSTILE), ..benchmark("a") }];
        assert_harmless(&report);
    }
}
