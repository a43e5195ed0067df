//! The report of `compare --variants`: several variants of one version, each compared with it, the fastest first.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Comparison, ComparisonReport, GeometricMean, name, page_of};
use crate::{
    compare::Outcome,
    error::Result,
    model::{Metric, Variant, Version},
    report::{
        Report, distinct,
        document::{Block, Document, Medium, Text},
        json,
        names::Names,
        quantity::{changed, count, percent, range},
        style::Role,
        table::{Cell, Column, Table},
    },
    shell::{cargo, quoted},
    verdict::{DecidedRow, Verdict, VerdictKind},
};

const ORDER: &str =
    "each variant is compared with the base, not with the others: their order is not tested";

/// The comparisons of variants of a version with that version.
pub struct VariantsReport {
    /// The fastest first; at least one.
    comparisons: Vec<ComparisonReport>,
}

/// The variants of a version.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Variants<'r> {
    /// The version with which each variant is compared.
    base: &'r Version,
    /// The comparisons of the base with each variant as the head; the variant with the smallest geometric mean of all
    /// changes first.
    comparisons: Vec<Comparison>,
}

impl VariantsReport {
    /// The report on comparisons with the same base, of which there is at least one.
    pub fn new(mut comparisons: Vec<ComparisonReport>) -> Self {
        comparisons.sort_by(|one, other| {
            let [one, other] =
                [one, other].map(|report| mean(report).map_or(0.0, |mean| mean.change));
            one.total_cmp(&other)
        });
        Self { comparisons }
    }

    fn base(&self) -> Option<&Version> {
        self.comparisons.first().map(|report| &report.outcome.base)
    }

    fn title(&self) -> Text {
        let variants = count(self.comparisons.len(), "variant");
        let base = self.base().map(Version::to_string).unwrap_or_default();
        Text::from(format!("{variants} compared with ")).name(base)
    }

    /// The variants in order, with the mean of all changes and the numbers of verdicts.
    fn ranking(&self) -> Table {
        let mut table = Table::new([
            Column::left("variant").names(),
            Column::right("overall"),
            Column::right("95 % interval"),
            Column::left("verdicts").shortened(),
        ]);
        let base = || [Cell::from("the base"), Cell::from(percent(0.0))];
        let mut has_base = false;
        for report in &self.comparisons {
            let mean = mean(report);
            let change = mean.as_ref().map_or(0.0, |mean| mean.change);
            if change > 0.0 && !has_base {
                table.row(base());
                has_base = true;
            }
            let interval = mean.map_or_else(String::new, |mean| range(mean.low, mean.high));
            table.row([
                Cell::name(variant_name(report)),
                Cell::styled(Role::Head, percent(change)),
                Cell::from(interval),
                Cell::from(report.outcome.counts().all_words()),
            ]);
        }
        if !has_base {
            table.row(base());
        }
        table
    }

    /// The change of each benchmark in each variant; `None` if all are the same in all variants.
    fn matrix(&self) -> Option<Block> {
        let rows = || self.comparisons.iter().flat_map(|report| &report.outcome.rows);
        let subjects =
            distinct(rows().filter_map(|row| Some((&row.benchmark, row.metric.as_ref()?))));
        let names = Names::new(rows().map(|row| &row.benchmark));
        let heads = self.comparisons.iter().map(|report| Column::right(variant_name(report)));
        let mut table = Table::new(std::iter::once(Column::left("benchmark").names()).chain(heads));
        for (benchmark, metric) in subjects {
            let of = |report: &ComparisonReport| {
                let mut rows = report.outcome.rows.iter();
                // A row without a metric is about the whole benchmark.
                let is_it = |row: &&DecidedRow| {
                    row.benchmark == *benchmark
                        && (row.metric.as_ref().is_none_or(|one| one == metric))
                };
                rows.find(is_it).map_or_else(Cell::default, cell)
            };
            let row = DecidedRow {
                metric: Some(metric.clone()),
                ..DecidedRow::without_metric(benchmark, Verdict::Unaffected)
            };
            let cells = self.comparisons.iter().map(of);
            table.row(std::iter::once(Cell::name(name(&names, &row))).chain(cells));
        }
        Block::table(table)
    }

    fn summary(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Table(self.ranking())];
        blocks.extend(self.matrix());
        let several = (self.comparisons.len() > 1).then(|| Text::from(ORDER));
        blocks.extend(Block::list(several));
        blocks
    }

    /// A line for each variant with its settings, and for everything else that a reader of the tables must know. The
    /// rest is in each comparison.
    fn brief(&self) -> Vec<Text> {
        let mut texts: Vec<Text> = Vec::new();
        for report in &self.comparisons {
            let name = Text::from_name(variant_name(report));
            let mut settings = report.settings_texts().into_iter();
            texts.extend(settings.next());
            let others = settings.chain(report.attention(&report.ordered()));
            let others = others.chain(report.size_texts());
            texts.extend(others.map(|text| name.clone().then(": ").append(text)));
        }
        let mut known = BTreeSet::new();
        let warnings = self.comparisons.iter().flat_map(ComparisonReport::warning_lines);
        texts.extend(warnings.filter(|warning| known.insert(warning.plain())));
        // A comparison that measured nothing is not stored.
        let is_stored = |one: &&Outcome| {
            !one.is_of_compilations() && one.rows.iter().any(|row| row.decisive().is_some())
        };
        let mut stored = self.comparisons.iter().map(|one| &one.outcome);
        if let Some(Outcome { base, head, .. }) = stored.find(is_stored) {
            let versions = [base.revision_arg(), head.revision_arg()].map(quoted).join(" ");
            let command = format!("{} rbench compare --stored {versions}", cargo());
            texts.push(Text::from("each comparison in full: ").command(command));
        }
        texts
    }
}

/// The mean of all changes of a comparison, in wall time if that was measured.
fn mean(report: &ComparisonReport) -> Option<GeometricMean> {
    let mut means = report.geometric_means();
    means.sort_by_key(|mean| mean.metric != Metric::wall().name);
    means.into_iter().next()
}

fn variant_name(report: &ComparisonReport) -> String {
    let variant: Option<&Variant> = report.outcome.head.variant.as_ref();
    variant.map(|variant| variant.name.clone()).unwrap_or_default()
}

/// The change of a benchmark with the role of its verdict; the verdict alone if it is no change and no absence of one.
fn cell(row: &DecidedRow) -> Cell {
    let kind = VerdictKind::new(&row.verdict);
    match row.decisive() {
        Some(stage) if kind.is_change() || kind == VerdictKind::Accepted => {
            Cell::styled(kind.role(), changed(stage.assessment.change.estimate))
        }
        _ => Cell::styled(kind.role(), kind.name()),
    }
}

impl Report for VariantsReport {
    fn document(&self, medium: Medium) -> Document {
        let mut document = Document::new("compare");
        document.title = self.title();
        document.add(self.summary());
        let explains_all = self.comparisons.iter().any(|report| report.explains_all);
        if matches!(medium, Medium::Terminal { .. }) && !explains_all {
            document.add(Block::list(self.brief()));
            return document;
        }
        for report in &self.comparisons {
            let part = report.part(medium);
            let head = Text::from_name(report.outcome.head.to_string());
            if medium == Medium::Markdown {
                document.add([Block::Details(head, part)]);
            } else {
                document.add(std::iter::once(Block::Heading(head)).chain(part));
            }
        }
        document
    }

    fn html(&self) -> Result<String> {
        let comparisons = self.comparisons.iter().map(|one| (one.outcome.head.to_string(), one));
        page_of("compare", &self.title().plain(), self.summary(), comparisons, &self.json()?)
    }

    fn json(&self) -> Result<String> {
        let comparisons = self.comparisons.iter().map(ComparisonReport::comparison).collect();
        let Some(base) = self.base() else { return Ok(String::new()) };
        json::document(&Variants { base, comparisons })
    }
}
