//! The report of `run A..B`: one line for each version.

use std::rc::Rc;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ShowReport, ShownBenchmark, json::Shown};
use crate::{
    compare::Outcome,
    error::Result,
    model::{Benchmark, Version},
    report::{
        Report,
        compare::{self, ComparisonReport},
        document::{Block, Document, Medium, Text},
        escape::escape_untrusted,
        json::{Change, document},
        names::{Names, metric_name},
        quantity::{changed_within, count},
        style::Role,
        table::{Cell, Column, Table},
    },
    shell::CommandLine,
    stats::{Criteria, Verdict},
    verdict::{DecidedRow, ExitPolicy, VerdictKind},
};

/// The measured versions of a range.
#[derive(Clone, Debug)]
pub struct RangeReport {
    /// The versions, in the order in which they were measured.
    pub versions: Vec<ShowReport>,
    /// The criteria of the verdicts.
    pub criteria: Criteria,
    /// The comparisons of pairs of versions, in the order in which they were made.
    pub comparisons: Vec<RangeComparison>,
    /// Writes the suggested commands.
    pub command_line: Rc<dyn CommandLine>,
}

/// The comparison of two versions of a range.
#[derive(Clone, Debug)]
pub struct RangeComparison {
    /// The older one and the newer one.
    pub versions: [Version; 2],
    /// The verdicts on the measured benchmarks.
    pub rows: Vec<DecidedRow>,
}

impl RangeComparison {
    /// The rows with a change.
    pub fn changes(&self) -> impl Iterator<Item = &DecidedRow> {
        self.rows.iter().filter(|row| VerdictKind::new(&row.verdict).is_change())
    }

    /// True if any benchmark was measured.
    fn has_measured(&self) -> bool {
        let is_measured =
            |row: &DecidedRow| !matches!(row.verdict, Verdict::Unaffected | Verdict::Identical);
        self.rows.iter().any(is_measured)
    }

    /// The number of rows without a conclusive verdict.
    fn inconclusive(&self) -> usize {
        let is_inconclusive =
            |row: &&DecidedRow| VerdictKind::new(&row.verdict) == VerdictKind::Inconclusive;
        self.rows.iter().filter(is_inconclusive).count()
    }
}

impl RangeReport {
    /// The changes, by pair of versions.
    fn changes(&self) -> Vec<Text> {
        let rows = || self.comparisons.iter().flat_map(RangeComparison::changes);
        let names = Names::new(rows().map(|row| &row.benchmark));
        let mut texts = Vec::new();
        for comparison in &self.comparisons {
            let [base, head] = comparison.versions.each_ref().map(Version::short);
            for row in comparison.changes() {
                let kind = VerdictKind::new(&row.verdict);
                let size = row.decisive().map_or_else(String::new, |stage| {
                    let change = &stage.assessment.change;
                    format!(" {}", changed_within(change.estimate, change.low, change.high))
                });
                let name = names.name(&row.benchmark);
                let name = format!("{name} {}", metric_name(row.metric.as_ref()));
                let text = Text::from(format!("{base}..{head}: ")).name(name.trim_end());
                texts.push(text.then(" ").styled(kind.role(), kind.name()).then(size));
            }
        }
        if texts.is_empty() && !self.comparisons.is_empty() {
            let of = count(self.comparisons.len(), "comparison");
            texts.push(Text::from(format!("no change was found in {of}")));
        }
        let inconclusive: usize = self.comparisons.iter().map(RangeComparison::inconclusive).sum();
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
        for ShowReport { version, benchmarks, .. } in &self.versions {
            let ids = |failed: bool| {
                let is_meant = move |shown: &&ShownBenchmark| {
                    super::has_failed(shown) == failed
                        && shown.skipped.is_none()
                        && shown.unmeasured.is_none()
                };
                let mut ids: Vec<_> =
                    benchmarks.iter().filter(is_meant).map(|shown| &shown.benchmark).collect();
                ids.dedup();
                ids.len()
            };
            let failed = match ids(true) {
                0 => String::new(),
                failed => failed.to_string(),
            };
            table.row([
                Cell::from(version.short()),
                Cell::from(ids(false).to_string()),
                Cell::styled(Role::Doubtful, failed),
                Cell::from(&version.summary),
            ]);
        }
        if table.is_empty() {
            document.add(Block::paragraph(["no version was measured"]));
            return document;
        }
        document.add([Block::Table(table)]);
        document.add(Block::list(self.changes()));
        let history = self.command_line.suggest("history", &[], &[]);
        let history = Text::from("how benchmarks changed: ").command(history);
        document.add(Block::paragraph([history]));
        document
    }

    fn html(&self) -> Result<String> {
        let part = |(number, comparison): (usize, &RangeComparison)| {
            let [base, head] = comparison.versions.clone();
            let title = format!("{}..{} {}", base.short(), head.short(), head.summary);
            let command_line = self.command_line.clone();
            let mut outcome = Outcome::new([base, head], self.criteria);
            outcome.rows.clone_from(&comparison.rows);
            let report = ComparisonReport::new(outcome, ExitPolicy::default(), command_line);
            report.section_html(number, &escape_untrusted(title.trim()))
        };
        let measured = self.comparisons.iter().filter(|comparison| comparison.has_measured());
        let sections = measured.enumerate().map(part).collect::<Result<Vec<String>>>()?;
        let versions = count(self.versions.len(), "version");
        compare::page_of("run", &format!("{versions} compared"), sections, &self.json()?)
    }

    fn json(&self) -> Result<String> {
        document(&Range {
            versions: self.versions.iter().map(ShowReport::fields).collect(),
            comparisons: self.comparisons.iter().map(ComparisonFields::from).collect(),
        })
    }
}

/// The versions of a range.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Range<'r> {
    /// The newest first.
    versions: Vec<Shown<'r>>,
    /// In the order in which they were made.
    comparisons: Vec<ComparisonFields<'r>>,
}

/// The comparison of two versions.
#[derive(Serialize, JsonSchema)]
struct ComparisonFields<'r> {
    base: &'r Version,
    head: &'r Version,
    /// By both stages.
    changes: Vec<ChangedFields<'r>>,
    /// The number of inconclusive verdicts.
    inconclusive: usize,
}

/// A benchmark that costs more or less in the head.
#[derive(Serialize, JsonSchema)]
struct ChangedFields<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    /// null if the verdict is about the benchmark as a whole.
    metric: Option<&'r str>,
    verdict: VerdictKind,
    change: Option<Change>,
}

impl<'r> From<&'r RangeComparison> for ComparisonFields<'r> {
    fn from(comparison: &'r RangeComparison) -> Self {
        let [base, head] = comparison.versions.each_ref();
        let changed = |row: &'r DecidedRow| ChangedFields {
            id: (&row.benchmark).into(),
            metric: row.metric.as_ref().map(|metric| metric.name.as_str()),
            verdict: VerdictKind::new(&row.verdict),
            change: Change::new(row),
        };
        Self {
            base,
            head,
            changes: comparison.changes().map(changed).collect(),
            inconclusive: comparison.inconclusive(),
        }
    }
}
