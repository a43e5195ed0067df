//! The report of `run A..B`: one line for each version.

use std::rc::Rc;

use rbench_stats::Criteria;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ShownBenchmark, VersionReport};
use crate::{
    compare::Outcome,
    error::Result,
    model::{Benchmark, Version},
    report::{
        Report,
        compare::{self, ComparisonReport},
        document::{Block, Document, Medium, Text},
        json::{self, Change},
        names::{Names, metric_name},
        quantity::{changed_within, count},
        style::Role,
        table::{Cell, Column, Table},
    },
    shell::CommandLine,
    verdict::{DecidedRow, ExitPolicy, Verdict, VerdictKind},
};

/// The measured versions of a range.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RangeReport {
    /// The newest first.
    pub versions: Vec<VersionReport>,
    /// The comparisons of pairs of versions, in the order in which they were made.
    pub comparisons: Vec<RangeComparison>,
    #[serde(skip)]
    pub criteria: Criteria,
    #[serde(skip)]
    pub command_line: Rc<dyn CommandLine>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RangeComparison {
    pub base: Version,
    pub head: Version,
    /// By both stages.
    changes: Vec<ChangedBenchmark>,
    inconclusive: usize,
    #[serde(skip)]
    rows: Vec<DecidedRow>,
}

/// A benchmark that costs more or less in the head.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ChangedBenchmark {
    #[serde(flatten)]
    benchmark: Benchmark,
    /// null if the verdict is about the benchmark as a whole.
    metric: Option<String>,
    verdict: VerdictKind,
    change: Option<Change>,
}

impl RangeComparison {
    pub fn new([base, head]: [Version; 2], rows: Vec<DecidedRow>) -> Self {
        let changed = rows.iter().filter(|row| VerdictKind::new(&row.verdict).is_change());
        let change = |row: &DecidedRow| ChangedBenchmark {
            benchmark: row.benchmark.clone(),
            metric: row.metric.as_ref().map(|metric| metric.name.clone()),
            verdict: VerdictKind::new(&row.verdict),
            change: Change::new(row),
        };
        let is_inconclusive =
            |row: &&DecidedRow| VerdictKind::new(&row.verdict) == VerdictKind::Inconclusive;
        Self {
            base,
            head,
            changes: changed.map(change).collect(),
            inconclusive: rows.iter().filter(is_inconclusive).count(),
            rows,
        }
    }

    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }
}

impl RangeReport {
    fn changes(&self) -> Vec<Text> {
        let changes = self.comparisons.iter().flat_map(|one| &one.changes);
        let names = Names::new(changes.map(|change| &change.benchmark));
        let mut texts = Vec::new();
        for comparison in &self.comparisons {
            let pair = format!("{}..{}: ", comparison.base.short(), comparison.head.short());
            for row in &comparison.rows {
                let kind = VerdictKind::new(&row.verdict);
                if !kind.is_change() {
                    continue;
                }
                let size = row.decisive().map_or_else(String::new, |stage| {
                    format!(" {}", changed_within(&stage.assessment.change))
                });
                let name = names.name(&row.benchmark);
                let name = format!("{name} {}", metric_name(row.metric.as_ref()));
                let text = Text::from(&*pair).name(name.trim_end());
                texts.push(text.then(" ").styled(kind.role(), kind.name()).then(size));
            }
        }
        if texts.is_empty() && !self.comparisons.is_empty() {
            let of = count(self.comparisons.len(), "comparison");
            texts.push(Text::from(format!("no change was found in {of}")));
        }
        let inconclusive: usize = self.comparisons.iter().map(|one| one.inconclusive).sum();
        if inconclusive > 0 {
            texts.push(Text::from(format!("inconclusive: {}", count(inconclusive, "verdict"))));
        }
        texts
    }
}

impl Report for RangeReport {
    fn document(&self, _medium: Medium) -> Document {
        let mut document = Document::new("run");
        let mut table = Table::new([
            Column::left("version"),
            Column::right("measured"),
            Column::right("failed"),
            Column::left("subject").shortened().dropped(0),
        ]);
        for VersionReport { version, benchmarks, .. } in &self.versions {
            let number = |failed: bool| {
                let is_meant = move |shown: &&ShownBenchmark| {
                    shown.has_failed() == failed
                        && shown.skipped.is_none()
                        && shown.unmeasured.is_none()
                };
                let mut ids: Vec<_> =
                    benchmarks.iter().filter(is_meant).map(|shown| &shown.benchmark).collect();
                ids.dedup();
                ids.len()
            };
            let failed = Some(number(true)).filter(|failed| *failed > 0);
            table.row([
                Cell::from(version.short()),
                Cell::from(number(false).to_string()),
                Cell::styled(Role::Doubtful, failed.map_or_else(String::new, |of| of.to_string())),
                Cell::from(&version.summary),
            ]);
        }
        if table.is_empty() {
            document.add(Block::paragraph(["no version was measured"]));
            return document;
        }
        document.add([Block::Table(table)]);
        document.add(Block::list(self.changes()));
        let variant = self.versions[0].version.variant.as_ref();
        let options: Vec<_> =
            variant.map(|variant| ("variant", Some(&*variant.name))).into_iter().collect();
        let history = self.command_line.suggest("history", &[], &options);
        let history = Text::from("how benchmarks changed: ").command(history);
        document.add(Block::paragraph([history]));
        document
    }

    fn html(&self) -> Result<String> {
        let report = |RangeComparison { base, head, rows, .. }: &RangeComparison| {
            let mut outcome = Outcome::new([base.clone(), head.clone()], self.criteria);
            outcome.rows.clone_from(rows);
            ComparisonReport::new(outcome, ExitPolicy::default(), self.command_line.clone())
        };
        let is_measured =
            |row: &DecidedRow| !matches!(row.verdict, Verdict::Unaffected | Verdict::Identical);
        let measured = self.comparisons.iter().filter(|one| one.rows.iter().any(is_measured));
        let reports: Vec<ComparisonReport> = measured.map(report).collect();
        let comparisons = reports.iter().map(|report| {
            let Outcome { base, head, .. } = &report.outcome;
            let title = format!("{}..{} {}", base.short(), head.short(), head.summary);
            (title.trim().to_owned(), report)
        });
        let title = format!("{} compared", count(self.versions.len(), "version"));
        compare::page_of("run", &title, Vec::new(), comparisons, &self.json()?)
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}
