//! The report of `compare` for people. A pull request shows changes and problems first, and folds
//! the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ComparisonReport, Row,
    counted::has_metric,
    notes::{dependencies_note, ground, list},
    summary::name,
    table::table,
    warning::sentence,
};
use crate::{
    compare::{ComparedExperiment, Outcome, Warning},
    model::{Absence, Benchmark, FailedTarget, Metric, Mode, Version},
    report::{
        accepted::idle_note,
        date,
        document::{Block, Document, Item, Medium, Text},
        escape::escape_untrusted,
        names::metric_name,
        quantity::{self, exact},
        sentence,
        style::Role,
        table::Table,
    },
    stats::{Rule, Summary},
    verdict::{DecidedRow, VerdictKind},
};

impl ComparisonReport {
    pub(super) fn write_document(&self, medium: Medium) -> Document {
        let versions = Text::from_name(self.outcome.head.to_string()).then(" against ");
        let versions = versions.name(self.outcome.base.to_string());
        let mut document = Document::new("compare");
        if medium == Medium::Markdown {
            document.title = Text::from(format!("Benchmarks: {}", self.headline()));
            document.lead = versions;
        } else {
            document.title = versions;
        }
        document.add(self.part(medium));
        if let Some(also) = &self.also {
            let head = Text::from("also against ").name(also.outcome.base.to_string());
            document.add([Block::Heading(head)]);
            document.add(also.part(medium));
        }
        document
    }

    /// One comparison.
    fn part(&self, medium: Medium) -> Vec<Block> {
        let verdicts = Text::new().styled(Role::Head, self.outcome.counts().all_words());
        let means = self.mean_texts().map(Text::from);
        let mut blocks: Vec<Block> =
            Block::paragraph(std::iter::once(verdicts).chain(means)).into_iter().collect();
        blocks.extend(self.warning_blocks(&self.warnings_on_what_was_compared()));
        if medium == Medium::Markdown {
            blocks.extend(self.warning_blocks(&self.outcome.warnings));
            blocks.extend(self.rows_by_attention());
        } else {
            blocks.extend(self.rows_in_order());
        }
        blocks.extend(Block::list(self.not_measured_lines()));
        if medium != Medium::Markdown {
            blocks.extend(self.warning_blocks(&self.outcome.warnings));
        }
        let how = Block::list(self.measured().into_iter().chain(self.machine_line()));
        blocks.extend(how.map(|list| match medium {
            Medium::Markdown => Block::Details("how it was measured".into(), vec![list]),
            _ => list,
        }));
        blocks.extend(Block::steps(self.next_steps()));
        blocks
    }

    /// One table of all rows, and the notes on them.
    fn rows_in_order(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let rows = self.ordered();
        if !rows.is_empty() {
            let metric = only_metric(&rows);
            blocks.extend(metric.map(|metric| {
                let metric = format!("metric: {metric}");
                Block::Heading(Text::new().styled(Role::Quiet, metric))
            }));
            blocks.push(Block::Table(self.table(&rows, metric.is_none())));
        }
        let mut notes = self.reasons(&rows);
        let impact_notes = self.impact_notes().into_iter();
        let (changed, others): (Vec<_>, Vec<_>) = impact_notes.partition(|note| note.is_changed);
        let others = if self.explains_all { others } else { Vec::new() };
        notes.extend(changed.into_iter().chain(others).map(|note| Item::from(note.text)));
        notes.extend(self.remarks().into_iter().map(Item::from));
        blocks.extend(Block::list(notes));
        blocks
    }

    /// A table of the changes and problems with folded reasons, and all other rows folded.
    fn rows_by_attention(&self) -> Vec<Block> {
        let quiet = [VerdictKind::Inconclusive, VerdictKind::Unchanged];
        let is_quiet = |row: &&DecidedRow| quiet.contains(&VerdictKind::new(&row.verdict));
        let (calm, loud): (Vec<&DecidedRow>, Vec<&DecidedRow>) =
            self.ordered().into_iter().partition(is_quiet);
        let (changed, others): (Vec<_>, Vec<_>) =
            self.impact_notes().into_iter().partition(|note| note.is_changed);
        let mut blocks = Vec::new();
        blocks.extend(Block::table(self.table(&loud, true)));
        blocks.extend(Block::list(changed.into_iter().map(|note| note.text)));
        let reasons = Block::list(self.reasons(&loud));
        blocks.extend(reasons.map(|list| Block::Details("the reasons".into(), vec![list])));
        let table = Block::table(self.table(&calm, true));
        blocks.extend(table.map(|table| {
            let notes = Block::list(others.into_iter().map(|note| note.text));
            let inner = std::iter::once(table).chain(notes).collect();
            Block::Details(self.outcome.counts().words(&quiet).into(), inner)
        }));
        blocks.extend(Block::list(self.remarks()));
        blocks
    }

    /// The reasons for verdicts that the table does not show.
    fn reasons(&self, rows: &[&DecidedRow]) -> Vec<Item> {
        use VerdictKind::{Accepted, Failed, Improved, NotComparable, Regressed};
        let names = self.names();
        let grounds = self.ground_notes().into_iter();
        let mut texts: Vec<Text> =
            grounds.map(|(head, note)| Text::from(format!("{head}: {note}"))).collect();
        for row in rows {
            let kind = VerdictKind::new(&row.verdict);
            let is_told = matches!(kind, Regressed | Accepted | Improved | Failed | NotComparable);
            if is_told && ground(row).is_none() || self.explains_all && !is_told {
                let name = Text::new().styled_name(kind.role(), name(&names, row));
                texts.push(name.then(": ").message(sentence::row(row)));
            }
        }
        for FailedTarget { target, error: failure } in &self.outcome.failed_targets {
            let target = Text::new().styled_name(Role::Doubtful, target.to_string());
            texts.push(target.then(": failed: ").message(failure.to_string()));
        }
        let notes = [
            (VerdictKind::Inconclusive, self.inconclusive_note()),
            (VerdictKind::Unchanged, self.too_small_note()),
        ];
        for (kind, note) in notes.into_iter().filter(|_| !self.explains_all) {
            texts.extend(note.map(|note| {
                Text::new()
                    .styled(kind.role(), format!("{}:", kind.name()))
                    .then(format!(" {note}"))
            }));
        }
        texts.into_iter().map(Item::from).collect()
    }

    /// Remarks on benchmarks besides their verdicts.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.time_and_counts();
        remarks.extend(self.mean_notes());
        remarks.extend(self.interleaving_notes());
        remarks
    }

    pub(super) fn warning_blocks(&self, warnings: &[Warning]) -> Vec<Block> {
        let block =
            |warning: &Warning| Block::Warning(sentence(warning).into(), self.advised(warning));
        warnings.iter().map(block).collect()
    }

    /// The origin of the results: sample sizes, modes, machine, stored experiments.
    pub(super) fn measured(&self) -> Vec<String> {
        let stored =
            |ComparedExperiment { identity, started, sample_sizes }: &ComparedExperiment| {
                let (started, shape) =
                    (date::minute(*started), quantity::sample_sizes(*sample_sizes));
                format!(
                    "stored results of experiment {}, {started}: {shape}",
                    escape_untrusted(identity)
                )
            };
        let mut lines: Vec<String> =
            self.outcome.sample_sizes.map(quantity::sample_sizes).into_iter().collect();
        lines.extend(self.outcome.stored.iter().map(stored));
        let is_counted = |row: &DecidedRow| has_metric(row, Metric::is_counted);
        if !self.outcome.rows.iter().any(is_counted) || self.outcome.rows.iter().any(is_timed) {
            lines.extend(self.taken());
            lines.extend(self.decided_text());
        }
        lines.extend(self.counted_line());
        lines
    }

    /// The number of measurements taken, if it differs from the request: many harnesses have
    /// limits, and benchmarks have their own settings.
    fn taken(&self) -> Option<String> {
        let stored = self.outcome.stored.iter().map(|experiment| experiment.sample_sizes);
        let requested: Vec<usize> =
            stored.chain(self.outcome.sample_sizes).map(|asked| asked.measurements).collect();
        let mut benchmarks: BTreeMap<usize, BTreeSet<&Benchmark>> = BTreeMap::new();
        for row in self.outcome.rows.iter().filter(|row| is_timed(row)) {
            let summaries = row.stages.iter().flat_map(|stage| &stage.summaries);
            for build in summaries.flat_map(Summary::builds) {
                let taken = build.measurements / build.executions;
                let is_same_for_all = taken * build.executions == build.measurements;
                if is_same_for_all && !requested.contains(&taken) {
                    benchmarks.entry(taken).or_default().insert(&row.benchmark);
                }
            }
        }
        let parts = benchmarks.iter().map(|(taken, of)| {
            let taken = quantity::count(*taken, "measurement");
            format!("{taken} of {}", quantity::count(of.len(), "benchmark"))
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        (!parts.is_empty()).then(|| format!("taken in each execution: {parts}"))
    }

    /// The rule, levels and estimators of the verdicts.
    fn decided_text(&self) -> Vec<String> {
        let criteria = &self.outcome.criteria;
        let stages = || self.outcome.rows.iter().filter_map(DecidedRow::decisive);
        let rule = |rule: Rule, across: bool| {
            let mut of_these = stages().filter(|stage| stage.assessment.is_across == across);
            let what = match rule {
                Rule::Paired
                    if !of_these.all(|stage| stage.assessment.comparison.method.is_paired()) =>
                {
                    "t test, Welch's where layouts are not matched".to_owned()
                }
                Rule::Paired => "t test".to_owned(),
                Rule::Overlap => format!("Kalibera et al. 2006, at {}", exact(criteria.confidence)),
            };
            format!("rule {} ({what})", rule.name())
        };
        let across = stages().find(|stage| stage.assessment.is_across);
        let is_within = across.is_none() || stages().any(|stage| !stage.assessment.is_across);
        let across = across.map(|stage| rule(stage.assessment.rule, true));
        let (within, confirmed) = match &across {
            Some(across) if !is_within => (across.clone(), ""),
            _ if criteria.confirm => (rule(criteria.rule, false), ", confirmed on fresh builds"),
            _ => (rule(criteria.rule, false), ""),
        };
        let estimator = self.estimators().map_or(String::new(), |name| name + ", ");
        let min_effect = self.min_effect_text();
        let shared = if criteria.comparisons > 1 && criteria.confirm {
            " (of both comparisons together)"
        } else {
            ""
        };
        let rate = exact(criteria.false_alarm_rate) + shared;
        let mut lines = vec![format!(
            "{estimator}{within}, false-alarm-rate {rate}, min-effect {min_effect}{confirmed}"
        )];
        if let Some(across) = across.filter(|_| is_within) {
            lines.push(format!("between experiments: {across}, not confirmed on fresh builds"));
        }
        lines
    }

    /// The estimators used: one, unless some benchmarks could not be interleaved, so that each mode
    /// has the estimator that suits it.
    fn estimators(&self) -> Option<String> {
        let used = self.outcome.rows.iter().filter(|row| is_timed(row)).filter_map(|row| {
            let took = row.interleaving.map(|all| all.mode);
            let estimator = row.decisive()?.summaries[0].estimator();
            // A note names the benchmarks that the mean decided.
            let is_own = !row.by_mean.is_some_and(|by_mean| by_mean.primary);
            is_own.then_some((took == Some(Mode::Interleaved), estimator.name()))
        });
        // Interleaved results come last.
        let used: BTreeSet<(bool, &str)> = used.collect();
        let names: BTreeSet<&str> = used.iter().map(|(_, name)| *name).collect();
        match (used.first(), used.last()) {
            (Some((_, alone)), Some((_, interleaved))) if names.len() > 1 => {
                Some(format!("estimator {interleaved} where interleaved, {alone} otherwise"))
            }
            (Some((_, name)), _) => Some(format!("estimator {name}")),
            _ => self.outcome.criteria.estimator.map(|asked| format!("estimator {}", asked.name())),
        }
    }

    fn table(&self, rows: &[&DecidedRow], names_metrics: bool) -> Table {
        let rows: Vec<Row> = rows.iter().map(|row| self.row(row)).collect();
        table(
            &rows.iter().collect::<Vec<_>>(),
            &self.names(),
            (self.outcome.criteria.confidence, names_metrics),
        )
    }

    /// The benchmarks that were not measured, and the difference in the machine code.
    pub(super) fn not_measured_lines(&self) -> Vec<String> {
        let names = self.names();
        let mut lines = Vec::new();
        for (kind, why) in [
            (VerdictKind::Unaffected, "executing and reading nothing that changed"),
            (VerdictKind::Identical, "identical machine code"),
        ] {
            let same = list(self.with_verdict(kind).map(|row| name(&names, row)));
            if !same.is_empty() {
                lines.push(format!("{why}, not measured: {same}"));
            }
        }
        for row in self.with_verdict(VerdictKind::Skipped) {
            lines.push(format!("{}: {}", escape_untrusted(&name(&names, row)), sentence::row(row)));
        }
        let Outcome { base, head, added, removed, .. } = &self.outcome;
        let only_in =
            |version: &Version| format!("only in {}", escape_untrusted(&version.to_string()));
        let only = list(added.iter().map(|benchmark| names.name(benchmark)));
        if !only.is_empty() {
            lines.push(format!("{}: {only}", only_in(head)));
        }
        let mut by_absence: BTreeMap<Absence, Vec<String>> = BTreeMap::new();
        for one in removed {
            by_absence.entry(one.absence).or_default().push(names.name(&one.benchmark));
        }
        for (absence, only) in by_absence {
            let only = list(only.into_iter());
            lines.push(format!("{}: {only} ({} in head)", only_in(base), absence.reason()));
        }
        let renamed = removed.iter().filter_map(|one| Some((one, one.renamed.as_ref()?)));
        let renamed =
            list(renamed.map(|(old, new)| {
                format!("{} to {}", names.name(&old.benchmark), names.name(new))
            }));
        if !renamed.is_empty() {
            lines.push(format!("perhaps renamed: {renamed}"));
        }
        lines.extend(idle_note(&self.outcome.idle).map(|note| format!("note: {note}")));
        if let Some(functions) = self.functions_note() {
            lines.push(format!("machine code: {}", escape_untrusted(&functions)));
        }
        if let Some(dependencies) = dependencies_note(&self.outcome.dependencies) {
            lines.push(format!("dependencies: {}", escape_untrusted(&dependencies)));
        }
        lines
    }
}

/// True if a row has values with a confidence interval: a time, or anything else that is not
/// counted.
fn is_timed(row: &DecidedRow) -> bool {
    has_metric(row, |metric| !metric.is_counted())
}

/// The metric of all rows, if there is only one and it is not wall time.
fn only_metric<'r>(rows: &[&'r DecidedRow]) -> Option<&'r str> {
    let metrics: BTreeSet<&str> =
        rows.iter().filter_map(|row| Some(metric_name(Some(row.metric.as_ref()?)))).collect();
    let only = metrics.first().filter(|metric| metrics.len() == 1 && !metric.is_empty());
    only.copied()
}
