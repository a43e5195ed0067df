//! The report of `history` for people.

use super::{
    BenchmarkHistory, HistoryReport, HistoryRow, ReferenceVersion, Relation, sparkline::sparkline,
};
use crate::{
    model::{Metric, Mode, Version},
    report::{
        date,
        document::{Block, Document, Text},
        names::{metric_name, with_metric},
        quantity::{self, changed, count, range_in_brackets},
        sentence,
        style::Role,
        table::{Cell, Column, Table},
    },
    stats::{SessionVariance, Verdict},
    verdict::{Interleaving, MIXED, VerdictKind},
};

/// The sign after a verdict on versions from different experiments.
const ACROSS: &str = "~";

/// The degrees of freedom below which the variance between experiments is poorly known.
const FEW_DEGREES: f64 = 3.0;

impl HistoryReport {
    pub(super) fn write_document(&self) -> Document {
        let mut document = Document::new("history");
        let warnings = self.warnings().into_iter();
        document.add(warnings.map(|warning| Block::Warning(warning.into(), None)));
        let nothing = || self.benchmarks.iter().all(|benchmark| benchmark.versions.is_empty());
        let why_empty = if self.benchmarks.is_empty() && self.worst_only {
            "no benchmark is suspected to have become slower in the versions that are shown"
        } else if self.benchmarks.is_empty() || !self.changes_only && nothing() {
            "none of these benchmarks was measured in the versions that are shown"
        } else {
            ""
        };
        if !why_empty.is_empty() {
            document.add(Block::paragraph([why_empty]));
            return document;
        }
        if !self.changes_only && self.overview {
            document.add(self.compared());
        }
        document.add(self.event_blocks());
        if !self.changes_only {
            document.add(if self.overview { self.overview() } else { self.tables() });
        }
        if self.hidden > 0 {
            let versions = count(self.hidden, "other stored version");
            let hidden = format!("{versions} not shown: see --last and --since");
            document.add(Block::paragraph([hidden]));
        }
        document
    }

    /// One row for each benchmark.
    fn overview(&self) -> Vec<Block> {
        let names = self.names();
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::left("metric"),
            Column::left("history").dropped(2),
            Column::right("newest").dropped(3),
            Column::left("version").dropped(0),
            Column::right("change"),
            Column::left("").dropped(1).joined(),
            Column::left("verdict"),
            Column::left("").joined(),
        ]);
        let mut sentences = Vec::new();
        for benchmark in &self.benchmarks {
            let Some(newest) = benchmark.versions.last() else { continue };
            let name = names.name(&benchmark.benchmark);
            let mut cells = vec![
                Cell::name(&name),
                Cell::from(metric_name(Some(&benchmark.metric))),
                Cell::from(benchmark.sparkline()),
                self.value_cell(newest),
                newest.commit_cell(),
            ];
            cells.extend(newest.verdict_cells());
            table.row(cells);
            sentences.extend(newest.sentence(with_metric(name, Some(&benchmark.metric))));
        }
        sentences.extend(self.explanations());
        let each = self.command_line.suggest("history", &["BENCH"], &[]);
        sentences.push(Text::from("every version of a benchmark: ").command(each));
        Block::table(table).into_iter().chain(Block::list(sentences)).collect()
    }

    /// One table for each benchmark.
    fn tables(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for benchmark in &self.benchmarks {
            let BenchmarkHistory { benchmark: place, metric: Metric { name: metric, .. }, .. } =
                benchmark;
            let head = Text::new().styled_name(Role::Head, &*place.name.id);
            let head = head.then(format!("  {} {}, {metric}", place.package, place.target));
            blocks.push(Block::Heading(head));
            blocks.push(Block::Paragraph(vec![benchmark.sparkline().into()]));
            blocks.push(Block::Table(self.table(benchmark)));
            let rows = benchmark.versions.iter();
            let notes = rows.filter_map(|row| row.sentence(row.version.short()));
            let sessions = benchmark.sessions.as_ref().map(|one| Text::from(sessions_text(one)));
            blocks.extend(Block::list(notes.chain(sessions)));
        }
        blocks.extend(Block::list(self.explanations()));
        blocks
    }

    fn table(&self, benchmark: &BenchmarkHistory) -> Table {
        let mut table = Table::new([
            Column::left("version"),
            Column::left("date").dropped(1),
            Column::right("value"),
            Column::right("change"),
            Column::left("").dropped(2).joined(),
            Column::left("verdict"),
            Column::left("").joined(),
            Column::left("against").dropped(3),
            Column::left("subject").shortened().dropped(0),
        ]);
        let mut above = None;
        for row in &benchmark.versions {
            let base = row.against.as_ref().map(|against| &against.version);
            let mut cells = vec![
                row.commit_cell(),
                Cell::from(row.version.time.map_or(String::new(), date::day)),
                self.value_cell(row),
            ];
            cells.extend(row.verdict_cells());
            let against = base.filter(|_| base != above).map(Version::short);
            cells.push(Cell::from(against.unwrap_or_default()));
            cells.push(Cell::from(&row.version.summary));
            table.row(cells);
            above = Some(&row.version);
        }
        table
    }

    fn value_cell(&self, row: &HistoryRow) -> Cell {
        row.summary.as_ref().map_or_else(
            || Cell::styled(Role::Doubtful, row.without_value().name()),
            |summary| Cell::from(quantity::estimate(summary, self.criteria.confidence)),
        )
    }

    /// The legend of the signs that occur, and advice on results that cannot be compared.
    fn explanations(&self) -> Vec<Text> {
        let mut lines = Vec::new();
        let across = || {
            let rows = self.rows().filter_map(|row| row.against.as_ref());
            rows.filter(|against| against.is_across())
        };
        if across().next().is_some() {
            let is_judged = across().any(|against| against.row.decisive().is_some());
            let included = if is_judged {
                ": the verdict includes the variation between experiments"
            } else {
                ""
            };
            lines.push(format!(
                "{ACROSS} measured in a different experiment than the version before{included}"
            ));
        }
        if self.rows().any(|row| !row.in_repository) {
            lines.push("( ) no longer in this repository".to_owned());
        }
        let is_refused = |against: &&ReferenceVersion| {
            matches!(against.row.verdict, Verdict::NotComparable { .. })
        };
        let refused = || {
            let rows = self.rows().rev();
            rows.filter_map(|row| Some((row.against.as_ref().filter(is_refused)?, row)))
        };
        let mut reasons: Vec<String> =
            refused().map(|(against, _)| sentence::row(&against.row)).collect();
        reasons.sort_unstable();
        reasons.dedup();
        lines.extend(reasons);
        let is_across = |(against, _): &(&ReferenceVersion, &HistoryRow)| {
            against.relation == Relation::AcrossExperiments
        };
        let mut texts: Vec<Text> = lines.into_iter().map(Text::from).collect();
        let hint =
            |what: &str, command: String| Text::from(format!("hint: {what}: ")).command(command);
        if let Some((against, row)) = refused().find(is_across) {
            let version = &row.version;
            let (base, head) =
                (against.version.current_revision_arg(), version.current_revision_arg());
            // Uncommitted files may have changed since, and be a different version now.
            let same = if version.dirty { &base } else { &head };
            let again = self.command_line.suggest("run", &[same], &[]);
            let together = self.command_line.suggest("compare", &[&base, &head], &[]);
            // `run` measures a version alone, so it cannot repeat interleaved results.
            let alone = Interleaving { mode: Mode::Sequential, unavailable: None };
            if row.interleaving.is_none_or(|all| all == alone) {
                texts
                    .push(hint("measure one of them a second time, with the same settings", again));
                texts.push(hint("or both together", together));
            } else {
                texts.push(hint("measure both together", together));
            }
        }
        // Results of different modes cannot be compared under any option.
        let mixed = Verdict::NotComparable { reason: MIXED.to_owned() };
        let would_be_allowed = |against: &ReferenceVersion| {
            against.relation == Relation::DifferentConditions && against.row.verdict != mixed
        };
        if refused().any(|(against, _)| would_be_allowed(against)) {
            texts.push(Text::from(
                "hint: results from different machines, compilers or settings are compared only with \
                 --ignore-environment",
            ));
        }
        texts
    }
}

impl BenchmarkHistory {
    fn sparkline(&self) -> String {
        let value = |row: &HistoryRow| {
            row.summary.as_ref().filter(|_| row.like_newest).map(|summary| summary.values().mean)
        };
        let values: Vec<Option<f64>> = self.versions.iter().map(value).collect();
        let begins = |row: &HistoryRow| {
            self.series.changes().iter().any(|change| change.place.best[1] == row.version)
        };
        let changes: Vec<usize> =
            (0..self.versions.len()).filter(|index| begins(&self.versions[*index])).collect();
        sparkline(&values, &changes)
    }
}

impl HistoryRow {
    fn commit_cell(&self) -> Cell {
        let short = self.version.short();
        if self.in_repository {
            Cell::from(short)
        } else {
            Cell::styled(Role::Quiet, format!("({short})"))
        }
    }

    /// The cells for the change, its interval, the verdict and its sign.
    fn verdict_cells(&self) -> [Cell; 4] {
        let Some(against) = &self.against else { return Default::default() };
        let stage = against.row.decisive();
        let [change, range] = stage.map_or_else(Default::default, |stage| {
            let change = stage.assessment.change;
            let range = range_in_brackets(change.low, change.high);
            [changed(change.estimate), range].map(Cell::from)
        });
        let kind = VerdictKind::new(&against.row.verdict);
        let sign = if against.is_across() { ACROSS } else { "" };
        [change, range, Cell::styled(kind.role(), kind.name()), Cell::from(sign)]
    }

    /// The reason for the verdict, if a reader will ask for it.
    fn sentence(&self, name: String) -> Option<Text> {
        use VerdictKind::{Accepted, Failed, Improved, Regressed, Skipped};
        let reason = match &self.against {
            Some(ReferenceVersion { row, .. }) => {
                let kind = VerdictKind::new(&row.verdict);
                matches!(kind, Regressed | Accepted | Improved | Failed | Skipped)
                    .then(|| sentence::row(row))
            }
            None => self.failure.as_ref().map(ToString::to_string),
        };
        Some(Text::from_name(name).then(": ").message(reason?))
    }
}

fn sessions_text(sessions: &SessionVariance) -> String {
    let repeats = count(sessions.repeats, "version");
    if sessions.freedom < FEW_DEGREES {
        let verb = if sessions.repeats == 1 { "was" } else { "were" };
        return format!(
            "the variation between experiments is hardly known yet: only {repeats} {verb} \
             measured again"
        );
    }
    format!(
        "standard deviation between experiments: {:.2} % ({repeats} measured again, {:.1} degrees \
         of freedom)",
        100.0 * sessions.standard_deviation().exp_m1(),
        sessions.freedom
    )
}
