//! The report of `compare` for people. A pull request shows changes and problems first, and folds
//! the rest.

use std::collections::{BTreeMap, BTreeSet};

use rbench_stats::{Rule, Summary};

use super::{
    CompareReport, ComparisonReport, NamedMetrics, Parts, Row, is_compiled, name,
    notes::{changes_texts, ground, has_metric},
    table,
    warning::{cause, consequence, sentence},
};
use crate::report::{
    document::{Block, Document, Item, Medium, Text},
    escape::escape_untrusted,
    grouped,
    impact::MOST,
    names::{metric_name, short},
    quantity::{self, exact},
    sentence::{self, by_reasons, dependencies_note, idle_note, idle_number},
    style::Role,
    table::{Table, shorten},
};
use crate::{
    compare::{ComparedExperiment, ExplainedTime, Outcome, UnlistedTarget, Warning},
    model::{
        Absence, Benchmark, FailedTarget, Metric, Mode, REFUSED, SandboxState, Variant, Version,
    },
    verdict::{DecidedRow, DecidedStage, Verdict, VerdictKind},
};

/// The maximum number of changed benchmarks, by what they execute, and of stored experiments in a
/// report for a terminal.
const MOST_IMPACTS: usize = 3;

/// The maximum number of functions, files or variables named for a benchmark there.
const MOST_CAUSES: usize = 2;

const MOST_STORED: usize = 3;

/// The maximum number of reasons in a report for a terminal, and the width of a failure there, in
/// columns: the rest is `--reasons`.
const MOST_REASONS: usize = 6;
const LONGEST_FAILURE: usize = 80;

/// The maximum number of causes of noise in the one line about them.
const MOST_NOISE: usize = 3;

/// In a failure to execute a benchmark that no other has, or that several have.
const ABOUT_IDS: &str = " this id; ";

const VALUES: &str = "the change comes from pairs of builds with the same layout, in which shared noise cancels: it is \
                      more precise than base and head, which are comparable only within this table";

/// The verdicts on benchmarks that were not measured, each with its reason.
pub(crate) const NOT_MEASURED: [(VerdictKind, &str); 2] = [
    (VerdictKind::Unaffected, "no changed code or data"),
    (VerdictKind::Identical, "same machine code"),
];

fn is_paired(stage: &DecidedStage) -> bool {
    stage.assessment.comparison.method.is_paired()
}

impl CompareReport<'_> {
    pub(super) fn write_document(&self, medium: Medium) -> Document {
        let Outcome { base, head, .. } = &self.with_base.outcome;
        let versions = Text::from_name(head.to_string()).then(" compared with ");
        let versions = versions.name(base.to_string());
        let mut document = Document::new("compare");
        if medium == Medium::Markdown {
            document.title = Text::from(format!("Benchmarks: {}", self.headline()));
            document.lead = versions;
        } else {
            document.title = versions;
        }
        document.add(self.with_base.part(medium));
        if let Some(also) = self.also_base {
            let head = Text::from("also against ").name(also.outcome.base.to_string());
            document.add([Block::Heading(head)]);
            document.add(also.part(medium));
        }
        document
    }
}

impl ComparisonReport {
    pub(super) fn part(&self, medium: Medium) -> Vec<Block> {
        let parts = if medium == Medium::Markdown { self.page() } else { self.text() };
        parts.blocks()
    }

    fn summary(&self) -> Vec<Text> {
        let verdicts = Text::new().styled(Role::Head, self.outcome.counts().all_words());
        std::iter::once(verdicts).chain(self.mean_texts().map(Text::from)).collect()
    }

    /// The report for a terminal: one table of all rows, and a line for each thing that needs
    /// attention; details only if every verdict is explained.
    fn text(&self) -> Parts {
        let rows = self.ordered();
        let metric = only_metric(&rows);
        let heading = metric.map(|metric| {
            let metric = format!("metric: {metric}");
            Block::Heading(Text::new().styled(Role::Quiet, metric))
        });
        let table = Block::table(self.table(&rows, metric.is_none()));
        let mut notes = self.evidence();
        notes.extend(self.values_beside_change().map(Text::from));
        notes.extend(self.shown_impacts());
        notes.extend(if self.explains_all {
            self.other_reasons(&rows)
        } else {
            self.attention(&rows)
        });
        notes.extend(self.size_texts());
        notes.extend(self.remarks(!self.explains_all));
        notes.extend(self.not_measured_lines(!self.explains_all).into_iter().map(Text::from));
        if self.explains_all || self.functions_are_equal() {
            notes.extend(self.functions_line().map(Text::from));
        }
        let measured = if self.explains_all { self.measured() } else { self.measured_briefly() };
        notes.extend(self.warning_lines());
        notes.extend(measured.into_iter().map(Text::from));
        Parts {
            summary: [self.changes_texts(), self.summary()].concat(),
            urgent: self.warning_blocks(&self.warnings_on_what_was_compared()),
            table: heading.into_iter().chain(table).collect(),
            notes,
            times: self.times(ExplainedTime::all_lines),
            steps: self.few_steps(),
            ..Parts::default()
        }
    }

    /// The report for a pull request or a web page: changes and problems first, and all details folded.
    pub(super) fn page(&self) -> Parts {
        let quiet = [VerdictKind::Inconclusive, VerdictKind::Unchanged];
        let is_quiet = |row: &&DecidedRow| quiet.contains(&VerdictKind::new(&row.verdict));
        let (calm, loud): (Vec<&DecidedRow>, Vec<&DecidedRow>) =
            self.ordered().into_iter().partition(is_quiet);
        let (changed, others): (Vec<_>, Vec<_>) =
            self.impact_notes(MOST).into_iter().partition(|note| note.is_changed);
        let (urgent, harmless): (Vec<Warning>, Vec<Warning>) =
            self.all_warnings().into_iter().partition(Warning::is_urgent);
        let calm = Block::table(self.table(&calm, true)).map(|table| {
            let notes = Block::list(others.into_iter().map(|note| note.text));
            let inner = std::iter::once(table).chain(notes).collect();
            Block::Details(self.outcome.counts().words(&quiet).into(), inner)
        });
        let not_measured = self.not_measured_lines(false).into_iter().map(Text::from);
        let number = quantity::count(harmless.len(), "warning");
        let how = self.functions_line().into_iter().chain(self.measured());
        let changed = changed.into_iter().map(|note| note.text);
        Parts {
            summary: self.summary(),
            changes: self.changes_texts(),
            urgent: self.warning_blocks(&urgent),
            table: Block::table(self.table(&loud, true)).into_iter().collect(),
            notes: self.evidence().into_iter().chain(changed).collect(),
            times: self.times(ExplainedTime::brief),
            reasons: self.other_reasons(&loud),
            calm,
            sizes: self.size_texts(),
            remarks: self.remarks(true).into_iter().chain(not_measured).collect(),
            warnings: Block::folded(
                format!("{number}: all verdicts hold"),
                harmless.iter().map(|warning| self.warning_text(warning)),
            ),
            how: how.chain(self.mean_differences()).map(Text::from).collect(),
            steps: self.next_steps(),
        }
    }

    /// The commits, files and settings by which the versions differ, a line each.
    pub(super) fn changes_texts(&self) -> Vec<Text> {
        let Outcome { base, head, changes, .. } = &self.outcome;
        let mut texts = changes_texts(changes, [base, head]);
        texts.extend(self.settings_texts());
        texts
    }

    /// The settings of variants and the compilers, if they differ.
    pub(super) fn settings_texts(&self) -> Vec<Text> {
        let Outcome { base, head, compilers, .. } = &self.outcome;
        let mut texts = Vec::new();
        let of_base = base.variant.iter().filter(|variant| head.variant.as_ref() != Some(*variant));
        let variants = of_base.chain(&head.variant);
        texts.extend(variants.map(|Variant { name, settings }| {
            let name = Text::from("variant ").name(name);
            if settings.is_empty() {
                name.then(": no settings")
            } else {
                name.then(": ").name(settings)
            }
        }));
        if let Some([base, head]) = compilers {
            let base = Text::from("the base is compiled by ").name(base);
            texts.push(base.then(", the head by ").name(head));
        }
        texts
    }

    /// The impact on the rows with the largest changes, or on all rows that are not shown to cost
    /// the same if every verdict is explained.
    fn shown_impacts(&self) -> Vec<Text> {
        let mut notes = self.impact_notes(if self.explains_all { MOST } else { MOST_CAUSES });
        if !self.explains_all {
            notes.retain(|note| note.is_changed);
            notes.truncate(MOST_IMPACTS);
        }
        notes.into_iter().map(|note| note.text).collect()
    }

    /// A line for each reason besides the evidence of changes, with the benchmarks that have it.
    pub(super) fn attention(&self, rows: &[&DecidedRow]) -> Vec<Text> {
        let names = self.names();
        let of_rows = rows.iter().filter_map(|row| {
            let reason = match &row.verdict {
                Verdict::Accepted { acceptance, .. } => sentence::acceptance_text(acceptance),
                Verdict::Failed { reason } => {
                    format!("{}: {}", sentence::failed(row.unmeasured_in), brief(reason))
                }
                Verdict::NotComparable { .. } | Verdict::Skipped { .. } => sentence::row(row),
                Verdict::Regressed { .. } | Verdict::Improved { .. } if ground(row).is_none() => {
                    sentence::reason(row)
                }
                _ => return None,
            };
            Some((reason, (VerdictKind::new(&row.verdict).role(), name(&names, row))))
        });
        let of_targets =
            self.outcome.failed_targets.iter().map(|UnlistedTarget { failed, unlisted_in }| {
                let FailedTarget { target, error } = failed;
                let reason = brief(&error.to_string());
                let reason = format!("{}: {reason}", sentence::failed(*unlisted_in));
                (reason, (Role::Doubtful, target.to_string()))
            });
        let reasons = grouped(of_rows.chain(of_targets));
        let more = reasons.len().saturating_sub(MOST_REASONS);
        let line = |(reason, benchmarks): (String, Vec<(Role, String)>)| {
            let role = benchmarks[0].0;
            let names = self.list(benchmarks.into_iter().map(|(_, name)| name));
            Text::new().styled_name(role, names).then(format!(": {reason}"))
        };
        let mut texts: Vec<Text> = reasons.into_iter().take(MOST_REASONS).map(line).collect();
        if more > 0 {
            texts.push(format!("and {}", by_reasons(more, "more reason")).into());
        }
        texts.extend(undecided(VerdictKind::Inconclusive, self.inconclusive_note()));
        texts
    }

    /// The reasons besides the evidence of changes, in full.
    pub(super) fn other_reasons(&self, rows: &[&DecidedRow]) -> Vec<Text> {
        use VerdictKind::{Accepted, Failed, Improved, NotComparable, Regressed};
        let names = self.names();
        let mut texts = Vec::new();
        for row in rows {
            let kind = VerdictKind::new(&row.verdict);
            let needs_reason =
                matches!(kind, Regressed | Accepted | Improved | Failed | NotComparable);
            if needs_reason && ground(row).is_none() || self.explains_all && !needs_reason {
                let name = Text::new().styled_name(kind.role(), name(&names, row));
                texts.push(name.then(": ").message(sentence::row(row)));
            }
        }
        for UnlistedTarget { failed, unlisted_in } in &self.outcome.failed_targets {
            let FailedTarget { target, error } = failed;
            let target = Text::new().styled_name(Role::Doubtful, target.to_string());
            let failed = format!(": {}: ", sentence::failed(*unlisted_in));
            texts.push(target.then(failed).message(error.to_string()));
        }
        if !self.explains_all {
            texts.extend(undecided(VerdictKind::Inconclusive, self.inconclusive_note()));
            texts.extend(undecided(VerdictKind::Unchanged, self.too_small_note()));
        }
        texts
    }

    /// An entry for each benchmark whose change in time is explained.
    pub(super) fn times(&self, lines: impl Fn(&ExplainedTime) -> Vec<Text>) -> Vec<Item> {
        let names = self.names();
        let item = |one: &ExplainedTime| {
            Item::new(Text::from_name(names.name(&one.benchmark)), Block::paragraph(lines(one)))
        };
        self.outcome.time_explanations.iter().map(item).collect()
    }

    fn remarks(&self, is_brief: bool) -> Vec<Text> {
        let mut remarks = self.time_and_counts();
        remarks.extend(self.decided_by_mean());
        remarks.extend(self.mean_differences().into_iter().filter(|_| !is_brief));
        remarks.extend(self.interleaving_notes());
        remarks.into_iter().map(Text::from).collect()
    }

    pub(super) fn warning_blocks(&self, warnings: &[Warning]) -> Vec<Block> {
        let block =
            |warning: &Warning| Block::Warning(sentence(warning).into(), self.advised(warning));
        warnings.iter().map(block).collect()
    }

    /// The warnings, a line each. Several causes of noise have one consequence and are one line,
    /// unless every verdict is explained.
    pub(super) fn warning_lines(&self) -> Vec<Text> {
        let line = |warning: &Warning| {
            let text = Text::warning(sentence(warning));
            match self.advised(warning) {
                Some(command) => text.then(": ").command(command),
                None => text,
            }
        };
        let has_interval = self.timed().next().is_some();
        let is_noise = |warning: &&Warning| !self.explains_all && !consequence(warning).is_empty();
        let (noise, others): (Vec<&Warning>, Vec<&Warning>) =
            self.outcome.warnings.iter().partition(is_noise);
        let mut lines: Vec<Text> = others.into_iter().map(line).collect();
        if let Some((first, more)) = noise.split_first().filter(|_| has_interval) {
            let mut causes = cause(first);
            for warning in more.iter().take(MOST_NOISE - 1) {
                causes += &format!("; {}", cause(warning));
            }
            if let more @ 1.. = (more.len() + 1).saturating_sub(MOST_NOISE) {
                causes += &format!("; and {}", by_reasons(more, "more cause"));
            }
            lines.push(Text::note(causes + consequence(first)));
        }
        lines
    }

    /// The origin of the results in a few words: sample sizes and criteria, if anything was decided
    /// by values.
    pub(super) fn measured_briefly(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.outcome.stored.iter().take(MOST_STORED).map(stored).collect();
        let more = self.outcome.stored.len().saturating_sub(MOST_STORED);
        if more > 0 {
            lines.push(format!("and {}", quantity::count(more, "more experiment")));
        }
        lines.extend(self.sizes_text().map(|sizes| {
            let criteria = &self.outcome.criteria;
            let rate = exact(criteria.false_alarm_rate);
            let min_effect = self.min_effect_text();
            format!("each version: {sizes}; false-alarm-rate {rate}, min-effect {min_effect}")
        }));
        lines.extend(self.counted_line());
        lines.extend(self.undecisive_line());
        lines.extend(self.sandbox_line());
        lines
    }

    /// The origin of the results: sample sizes, criteria, modes, machine, stored experiments.
    pub(super) fn measured(&self) -> Vec<String> {
        let is_counted = |row: &DecidedRow| has_metric(row, Metric::is_counted);
        let requested = self
            .outcome
            .sample_sizes
            .map(|sizes| format!("requested: {}", quantity::sample_sizes(sizes)));
        let mut lines: Vec<String> = self.outcome.stored.iter().map(stored).collect();
        lines.extend(requested);
        lines.extend(self.sizes_text().map(|sizes| format!("measured of each version: {sizes}")));
        if !self.outcome.rows.iter().any(is_counted) || self.outcome.rows.iter().any(is_timed) {
            lines.extend(self.taken());
            lines.extend(self.decided_text());
        }
        lines.extend(self.counted_line());
        lines.extend(self.undecisive_line());
        let mut timed = self.timed().peekable();
        if timed.peek().is_some() && timed.all(|(_, stage)| is_paired(stage)) {
            lines.push(VALUES.to_owned());
        }
        lines.extend(self.sandbox_line());
        lines.extend(self.machine_line());
        lines
    }

    /// Whether the code was confined, where that was expected or requested.
    fn sandbox_line(&self) -> Option<String> {
        self.outcome.sandbox.map(SandboxState::text)
    }

    fn timed(&self) -> impl Iterator<Item = (&DecidedRow, &DecidedStage)> {
        let timed = self.outcome.rows.iter().filter(|row| is_timed(row));
        timed.filter_map(|row| Some((row, row.decisive()?)))
    }

    /// The numbers of builds, executions and measurements of each version that were measured and
    /// decided: `5 to 11 builds × 1 execution × 80 measurements`; of compilations, `5 compilations`.
    fn sizes_text(&self) -> Option<String> {
        let [mut builds, mut executions, mut measurements] = [const { BTreeSet::new() }; 3];
        let mut compilations = BTreeSet::new();
        for (row, _) in self.timed() {
            for version in [0, 1] {
                let of_version = row.stages.iter().map(|stage| stage.summaries[version].builds());
                if is_compiled(row) {
                    compilations.insert(of_version.map(<[_]>::len).sum::<usize>());
                    continue;
                }
                builds.insert(of_version.clone().map(<[_]>::len).sum::<usize>());
                for build in of_version.flatten() {
                    executions.insert(build.executions);
                    measurements.insert(build.measurements / build.executions);
                }
            }
        }
        let part = |numbers: &BTreeSet<usize>, thing: &str| {
            let (least, most) = (*numbers.first()?, *numbers.last()?);
            let from = if least < most { format!("{least} to ") } else { String::new() };
            Some(from + &quantity::count(most, thing))
        };
        let parts = [
            part(&builds, "build"),
            part(&executions, "execution"),
            part(&measurements, "measurement"),
        ];
        let measured: Option<Vec<String>> = parts.into_iter().collect();
        let measured = measured.map(|parts| parts.join(" × "));
        let compiled = part(&compilations, "compilation");
        let all: Vec<String> = measured.into_iter().chain(compiled).collect();
        (!all.is_empty()).then(|| all.join(", and "))
    }

    /// The number of measurements taken, if it differs from the request: many harnesses have
    /// limits, and benchmarks have their own settings.
    fn taken(&self) -> Option<String> {
        let stored = self.outcome.stored.iter().map(|experiment| experiment.sample_sizes);
        let requested: Vec<usize> =
            stored.chain(self.outcome.sample_sizes).map(|asked| asked.measurements).collect();
        let mut benchmarks: BTreeMap<usize, BTreeSet<&Benchmark>> = BTreeMap::new();
        for row in self.outcome.rows.iter().filter(|row| is_timed(row) && !is_compiled(row)) {
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
            " (of all comparisons and metrics together)"
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
        let is_meant = |row: &&DecidedRow| {
            is_timed(row) && (self.outcome.only_compilations || !is_compiled(row))
        };
        let used = self.outcome.rows.iter().filter(is_meant).filter_map(|row| {
            let took = row.interleaving.as_ref().map(|all| all.mode);
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
        let all = self.outcome.rows.iter().filter_map(|row| row.metric.as_ref());
        let named = if names_metrics { NamedMetrics::of(all) } else { NamedMetrics::None };
        let rows: Vec<Row> = rows.iter().map(|row| self.row(row)).collect();
        table(
            &rows.iter().collect::<Vec<_>>(),
            &self.names(),
            self.explains_all.then_some(self.outcome.criteria.confidence),
            named,
        )
    }

    pub(super) fn functions_line(&self) -> Option<String> {
        self.functions_note().map(|functions| format!("machine code: {functions}"))
    }

    /// The benchmarks that were not measured, and the dependencies that differ.
    pub(super) fn not_measured_lines(&self, is_brief: bool) -> Vec<String> {
        let names = self.names();
        let mut lines = Vec::new();
        for (kind, why) in NOT_MEASURED {
            let unmeasured = self.with_verdict(kind).filter(|row| row.decisive().is_none());
            let same = self.list(unmeasured.map(|row| name(&names, row)));
            if !same.is_empty() {
                lines.push(format!("{} ({why}; not measured): {same}", kind.name()));
            }
        }
        lines.extend(self.audit_lines());
        let mut skipped: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in self.with_verdict(VerdictKind::Skipped) {
            skipped.entry(sentence::row(row)).or_default().push(name(&names, row));
        }
        for (reason, rows) in skipped {
            lines.push(format!("{}: {reason}", self.list(rows.into_iter())));
        }
        let Outcome { base, head, added, removed, .. } = &self.outcome;
        let only_in =
            |version: &Version| format!("only in {}", escape_untrusted(&version.to_string()));
        let only = self.list(added.iter().map(|benchmark| names.name(benchmark)));
        if !only.is_empty() {
            lines.push(format!("{}: {only}", only_in(head)));
        }
        let mut by_absence: BTreeMap<Absence, Vec<String>> = BTreeMap::new();
        for one in removed {
            by_absence.entry(one.absence).or_default().push(names.name(&one.benchmark));
        }
        for (absence, only) in by_absence {
            let only = self.list(only.into_iter());
            lines.push(format!("{}: {only} ({} in head)", only_in(base), absence.reason()));
        }
        let renamed = removed.iter().filter_map(|one| Some((one, one.renamed.as_ref()?)));
        let renamed = self.list_with_words(renamed.map(|(old, new)| {
            (names.name(&old.benchmark), format!(" to {}", short(&names.name(new))))
        }));
        if !renamed.is_empty() {
            lines.push(format!("perhaps renamed: {renamed}"));
        }
        let left_out = self.list(self.outcome.left_out.iter().map(|one| one.target.clone()));
        if !left_out.is_empty() {
            lines.push(format!(
                "not compiled (name and source lack words of the filter; --bench NAME compares one): {left_out}"
            ));
        }
        let idle =
            if is_brief { idle_number(&self.outcome.idle) } else { idle_note(&self.outcome.idle) };
        lines.extend(idle.map(|note| format!("note: {note}")));
        if let Some(dependencies) = dependencies_note(&self.outcome.dependencies) {
            lines.push(format!("dependencies: {}", escape_untrusted(&dependencies)));
        }
        lines
    }
}

fn undecided(kind: VerdictKind, note: Option<String>) -> Option<Text> {
    let kind = Text::new().styled(kind.role(), format!("{}:", kind.name()));
    Some(kind.then(format!(" {}", note?)))
}

/// A failure on one line: its first cause and the last line of the output, without the error that
/// names the benchmark again.
pub(super) fn brief(message: &str) -> String {
    let is_note = |line: &&str| line.starts_with("note: run with") || line.is_empty();
    // Hints stand at the end, and may have several lines.
    let before = message.lines().map(str::trim).take_while(|line| !line.starts_with("hint:"));
    let lines: Vec<&str> = before.filter(|line| !is_note(line)).collect();
    if let Some(refused) = lines.iter().find(|line| line.starts_with(REFUSED)) {
        // Its end is the line to add.
        return escape_untrusted(refused).into_owned();
    }
    if let (Some(at), Some(cause)) =
        (lines.iter().position(|line| line.contains(" panicked at ")), lines.get(1))
    {
        // The message stands below the place.
        let place = lines[at].rsplit_once(" panicked at ").map_or("", |(_, place)| place);
        let place = place.trim_end_matches(':');
        let words = lines.get(at + 1).copied().unwrap_or("it panicked");
        let cause = cause.split(';').next().unwrap_or_default().trim_end_matches(':');
        let text = if cause.contains(words) {
            cause.to_owned()
        } else {
            format!("{cause}: {words} ({place})")
        };
        return shorten(&escape_untrusted(&text), LONGEST_FAILURE);
    }
    let text = match &lines[..] {
        [] => String::new(),
        [only] | [_, only] => (*only).to_owned(),
        // What the program printed says nothing about the ids of benchmarks.
        [_, cause, .., last] if cause.contains(last) || cause.contains(ABOUT_IDS) => {
            cause.trim_end_matches(':').to_owned()
        }
        [_, cause, .., last] => format!("{}: {last}", cause.trim_end_matches(':')),
    };
    shorten(&escape_untrusted(&text), LONGEST_FAILURE)
}

fn stored(experiment: &ComparedExperiment) -> String {
    let ComparedExperiment { identity, started, sample_sizes } = experiment;
    let (started, requested) = (quantity::minute(*started), quantity::sample_sizes(*sample_sizes));
    let identity = escape_untrusted(identity);
    format!("stored results of experiment {identity}, {started}; requested: {requested}")
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
