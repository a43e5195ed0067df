//! The report of `history` for people: the changes that comparisons showed, the suspected changes in
//! the series of values with the command that confirms them, and the values.

use std::collections::BTreeSet;

use rbench_stats::{Change, segmentation};

use super::{
    super::{
        compare::changes_texts,
        diagnose::between,
        document::{Block, Document, Text},
        names::{Names, metric_name, short, with_metric},
        quantity::{self, MOST_NAMES, VALUES, changed, count, exact, range_in_brackets, value},
        sentence,
        style::Role,
        table::{Cell, Column, Table},
    },
    BenchmarkHistory, Event, EventChange, HistoryReport, HistoryRow, ReferenceVersion, Relation,
    Series, SessionVariation,
};
use crate::{
    model::{Benchmark, CommitRange, Metric, Mode, SkipReason, Unit, Variant, Version},
    verdict::{MIXED, Verdict, VerdictKind},
};

/// The sign after a verdict on versions from different experiments.
const ACROSS: &str = "~";

/// The degrees of freedom below which the variance between experiments is poorly known.
const FEW_DEGREES: f64 = 3.0;

impl HistoryReport {
    pub(super) fn write_document(&self) -> Document {
        let mut document = Document::new("history");
        document.add(Block::paragraph(self.variant_text().into_iter().chain(self.class_text())));
        document.add(self.warning_blocks());
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
        document.add(self.hidden_note());
        document
    }

    pub(super) fn warning_blocks(&self) -> impl Iterator<Item = Block> {
        self.warnings().into_iter().map(|warning| Block::Warning(warning.into(), None))
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let is_different = |row: &HistoryRow| {
            row.against.as_ref().is_some_and(|against| {
                against.relation == Relation::DifferentConditions
                    && against.row.decisive().is_some()
            })
        };
        let different = self.rows().any(is_different).then(|| {
            "results from different machines, compilers or settings are compared, because of \
             --ignore-environment"
                .to_owned()
        });
        let shallow = self.shallow.then(|| {
            "this clone is shallow and lacks older commits: git fetch --unshallow".to_owned()
        });
        let unfinished = (self.unfinished > 0).then(|| {
            let verb = if self.unfinished == 1 { "is" } else { "are" };
            let experiments = count(self.unfinished, "experiment");
            format!(
                "{experiments} {verb} unfinished and left out; rerun the interrupted command to \
                 resume"
            )
        });
        [different, shallow, unfinished].into_iter().flatten().collect()
    }

    /// The stored versions that are not shown.
    pub(super) fn hidden_note(&self) -> Option<Block> {
        let versions = count(self.hidden, "other stored version");
        let note = format!("{versions} not shown: see --last and --since");
        let others = self.other_variants.join(", ");
        let others = format!("results of other variants are stored (--variant): {others}");
        let others = (!self.other_variants.is_empty()).then_some(others);
        Block::paragraph((self.hidden > 0).then_some(note).into_iter().chain(others))
    }

    fn variant_text(&self) -> Option<Text> {
        let Variant { name, settings } = self.variant.as_ref()?;
        Some(Text::from("variant ").name(name).then(": ").name(settings))
    }

    /// The class of machines that measured the versions, if there are several.
    fn class_text(&self) -> Option<Text> {
        let of_class = self.rows().map(|row| &row.machine).filter(|one| !one.class.is_empty());
        let machines: BTreeSet<[&str; 2]> = of_class.map(|one| [&*one.class, &*one.id]).collect();
        let [class, _] = machines.first().filter(|_| machines.len() > 1)?;
        let machines = count(machines.len(), "machine");
        Some(Text::from("measured by ").then(&machines).then(" of class ").name(*class))
    }

    pub(super) fn names(&self) -> Names<'_> {
        Names::new(self.benchmarks.iter().map(|history| &history.benchmark))
    }

    /// The changes that comparisons within one experiment showed: a table for each pair of versions
    /// between which benchmarks changed, the oldest first; empty if there are none.
    pub(super) fn compared(&self) -> Vec<Block> {
        let names = self.names();
        let mut pairs: Vec<([&Version; 2], Table, bool)> = Vec::new();
        for BenchmarkHistory { benchmark, metric, versions, .. } in &self.benchmarks {
            for HistoryRow { version: head, against, .. } in versions {
                let Some(ReferenceVersion { version: base, relation, row }) = against else {
                    continue;
                };
                let kind = VerdictKind::new(&row.verdict);
                if !kind.is_change() || *relation != Relation::SameExperiment {
                    continue;
                }
                let pair = [base, head];
                let known = pairs.iter().position(|(known, ..)| *known == pair);
                let at = known.unwrap_or_else(|| {
                    let title = format!("changed in {}..{}", base.short(), head.short());
                    pairs.push((pair, changes_table(title, Column::left("verdict")), true));
                    pairs.len() - 1
                });
                let (_, table, is_confirmed) = &mut pairs[at];
                *is_confirmed &= row.stages.len() > 1;
                let change = row.decisive().map(|stage| &stage.assessment.change);
                let verdict = Cell::styled(kind.role(), kind.name());
                let subject = (names.name(benchmark), metric);
                table.row(change_row(subject, kind.role(), change, verdict));
            }
        }
        // All benchmarks have the versions in one order; versions that a benchmark lacks are not in
        // its rows.
        let longest = self.benchmarks.iter().max_by_key(|history| history.versions.len());
        let place = |head: &Version| {
            longest.and_then(|all| all.versions.iter().position(|row| row.version == *head))
        };
        pairs.sort_by_key(|([_, head], ..)| place(head));
        let blocks = |(pair, table, is_confirmed): ([&Version; 2], Table, bool)| {
            let confidence = exact(self.criteria.confidence);
            let evidence =
                format!("confirmed by fresh builds; intervals have {confidence} confidence");
            let evidence = is_confirmed.then(|| Text::from(evidence));
            let lines = evidence.into_iter().chain([self.functions_step(pair)]).collect();
            let commits = self.commits_block(pair);
            std::iter::once(Block::Table(table)).chain(commits).chain([Block::Paragraph(lines)])
        };
        pairs.into_iter().flat_map(blocks).collect()
    }

    fn commits_block(&self, [base, head]: [&Version; 2]) -> Option<Block> {
        let is_range = |range: &CommitRange| range.after == *base && range.until == *head;
        let (_, changes) = self.commits.iter().find(|(range, _)| is_range(range))?;
        Block::paragraph(changes_texts(changes, [base, head]))
    }

    /// The suspected changes by event, and the number of analysed benchmarks.
    pub(super) fn event_blocks(&self) -> Vec<Block> {
        let names = self.names();
        let mut blocks = Vec::new();
        for Event { place, changes } in &self.events {
            let title = format!("suspected since {}", place.best);
            let mut table = changes_table(title, Column::left("or in").dropped(0));
            for one in changes {
                let change = &one.change.change;
                let role = if change.estimate > 0.0 { Role::Bad } else { Role::Good };
                let possible = one.change.place.possible_range().unwrap_or_default();
                let subject = (names.name(&one.benchmark), &one.metric);
                table.row(change_row(subject, role, Some(change), Cell::from(possible)));
            }
            blocks.push(Block::Table(table));
            blocks.extend(self.commits_block([&place.best.after, &place.best.until]));
        }
        let is_open = |event: &&Event| event.changes.iter().any(|one| !self.is_confirmed(one));
        let newest = self.events.iter().rev().find(is_open);
        let confirmation = newest
            .map(|event| Text::from("confirm the newest: ").command(self.confirmation(event)));
        let summary = (!self.benchmarks.is_empty()).then(|| Text::from(self.decided_text()));
        blocks.extend(Block::list(confirmation.into_iter().chain(summary)));
        blocks
    }

    /// True if fresh builds of just these versions showed a change already.
    fn is_confirmed(&self, suspected: &EventChange) -> bool {
        let CommitRange { after, until } = &suspected.change.place.best;
        let is_subject = |history: &&BenchmarkHistory| {
            history.benchmark == suspected.benchmark && history.metric == suspected.metric
        };
        let rows = self.benchmarks.iter().filter(is_subject).flat_map(|one| &one.versions);
        rows.filter(|row| row.version == *until).filter_map(|row| row.against.as_ref()).any(|one| {
            one.version == *after
                && one.relation == Relation::SameExperiment
                && VerdictKind::new(&one.row.verdict).is_change()
                && one.row.stages.len() > 1
        })
    }

    /// The number of benchmarks with an analysed series, and the reasons why others have none.
    pub(super) fn decided_text(&self) -> String {
        let all = self.benchmarks.len();
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        let mut most = 0;
        for benchmark in &self.benchmarks {
            match &benchmark.series {
                Series::Decided { versions, .. } => most = most.max(*versions),
                Series::Undecided { reason } => {
                    match reasons.iter_mut().find(|(known, _)| known == reason) {
                        Some((_, count)) => *count += 1,
                        None => reasons.push((reason, 1)),
                    }
                }
            }
        }
        let not: usize = reasons.iter().map(|(_, count)| count).sum();
        let mut text = String::new();
        if self.events.is_empty() && not < all {
            text += "no change is suspected";
            if !self.paths.is_empty() {
                text += &format!(" where {} changed", self.paths.join(", "));
            }
            text += ": ";
        }
        let subjects: BTreeSet<&Benchmark> =
            self.benchmarks.iter().map(|history| &history.benchmark).collect();
        let of_all = if subjects.len() == all {
            count(all, "benchmark")
        } else {
            // A benchmark has one series for each metric.
            format!("{all} series of {}", count(subjects.len(), "benchmark"))
        };
        if not < all {
            let versions = count(most, "version");
            text += &format!("decided {} of {of_all} over up to {versions}", all - not);
        }
        let has = |(index, (reason, number)): (usize, &(&str, usize))| {
            let who = match index {
                0 if not == all && subjects.len() == all => count(*number, "benchmark"),
                0 if not == all => format!("{number} series"),
                _ => number.to_string(),
            };
            format!("{who} {} {reason}", if *number == 1 { "has" } else { "have" })
        };
        let undecided: Vec<String> = reasons.iter().enumerate().map(has).collect();
        if !undecided.is_empty() {
            text += if not < all { "; not decided: " } else { "no trend yet: " };
        }
        text + &undecided.join("; ")
    }

    fn overview(&self) -> Vec<Block> {
        let names = self.names();
        let mut table = Table::new([
            Column::left("benchmark").names(),
            Column::left("metric"),
            Column::left("history").dropped(2),
            Column::right("newest").dropped(3),
            Column::left("version").dropped(0),
            Column::right("last change"),
            Column::left("").dropped(1).joined(),
            Column::left("verdict"),
            Column::left("").joined(),
            Column::left("in"),
        ]);
        let mut sentences = Vec::new();
        for benchmark in &self.benchmarks {
            let Some(newest) = benchmark.versions.last() else { continue };
            let name = names.name(&benchmark.benchmark);
            let mut cells = vec![
                Cell::name(&name),
                Cell::from(metric_name(Some(&benchmark.metric))),
                Cell::from(benchmark.sparkline()),
                newest.value_cell(benchmark.metric.unit),
                newest.commit_cell(),
            ];
            let last_change =
                benchmark.versions.iter().rev().find(|row| row.changed_in_its_experiment());
            cells.extend(last_change.unwrap_or(newest).verdict_cells());
            cells.extend(last_change.map(HistoryRow::commit_cell));
            table.row(cells);
            // The table above has the change.
            let is_known = newest.changed_in_its_experiment();
            let sentence = newest.sentence(with_metric(name, Some(&benchmark.metric)));
            sentences.extend(sentence.filter(|_| !is_known));
        }
        sentences.extend(self.unmeasured_texts());
        sentences.extend(self.explanations());
        sentences.extend(self.next_step());
        Block::table(table).into_iter().chain(Block::list(sentences)).collect()
    }

    /// The benchmarks that have no row, because they were not measured yet, with the reason.
    pub(super) fn unmeasured_texts(&self) -> Vec<Text> {
        let names = Names::new(self.unmeasured.iter().map(|one| &one.benchmark));
        let reasons = SkipReason::ALL.map(Some).into_iter().chain([None]);
        let of_reason = |reason: Option<SkipReason>| {
            let all = self.unmeasured.iter().filter(|one| one.reason == reason);
            let all = all.map(|one| Text::from_name(short(&names.name(&one.benchmark))));
            let all: Vec<Text> = all.collect();
            let why = match reason {
                Some(SkipReason::Unaffected) => " (unaffected by every change compared)",
                Some(SkipReason::Identical) => " (identical in all versions compared)",
                None => "",
            };
            (!all.is_empty()).then(|| {
                let text = Text::from("not measured in these versions: ");
                text.append(Text::few(all, MOST_NAMES)).then(why)
            })
        };
        reasons.filter_map(of_reason).collect()
    }

    /// The command that shows more: the versions of a benchmark, or the functions that differ if
    /// there are only two, unless the tables of changes have it.
    fn next_step(&self) -> Option<Text> {
        let longest = self.benchmarks.iter().map(|history| &history.versions);
        let longest = longest.max_by_key(|versions| versions.len());
        if let Some([base, head]) = longest.map(Vec::as_slice) {
            let is_known = self.rows().any(HistoryRow::changed_in_its_experiment);
            return (!is_known).then(|| self.functions_step([&base.version, &head.version]));
        }
        let command = self.command_line.suggest("history", &[], &[("filter", Some("BENCH"))]);
        Some(Text::from("show every version of a benchmark: ").command(command))
    }

    fn functions_step(&self, versions: [&Version; 2]) -> Text {
        let [base, head] = versions.map(Version::current_revision_arg);
        let command = self.command_line.suggest("diff", &[&base, &head], &[]);
        Text::from("list the functions that changed: ").command(command)
    }

    fn tables(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for history in &self.benchmarks {
            let Benchmark { package, target, name } = &history.benchmark;
            let Metric { name: metric, .. } = &history.metric;
            let head = Text::new().styled_name(Role::Head, &*name.id);
            blocks.push(Block::Heading(head.then(format!("  {package} {target}, {metric}"))));
            blocks.push(Block::Paragraph(vec![history.sparkline().into()]));
            blocks.extend(history.versions_table(&history.versions));
        }
        blocks.extend(Block::list(self.explanations()));
        blocks
    }

    /// The legend of the signs that occur, and advice on results that cannot be compared.
    pub(super) fn explanations(&self) -> Vec<Text> {
        let mut lines = Vec::new();
        lines.extend(self.rows().next().map(|_| VALUES.to_owned()));
        let is_unaffected = |row: &HistoryRow| {
            let against = row.against.as_ref();
            against.is_some_and(|against| {
                VerdictKind::new(&against.row.verdict) == VerdictKind::Unaffected
            })
        };
        if self.rows().any(is_unaffected) {
            lines.push(
                "unaffected: it runs no code and reads no data that changed since the version before, so that \
                 version's value is shown"
                    .to_owned(),
            );
        }
        let across = self.rows().filter_map(|row| row.against.as_ref());
        let mut across = across.filter(|against| against.is_across()).peekable();
        if across.peek().is_some() {
            let is_decided = across.any(|against| against.row.decisive().is_some());
            let included = if is_decided {
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
        let refused: Vec<(&ReferenceVersion, &HistoryRow)> = self
            .rows()
            .rev()
            .filter_map(|row| Some((row.against.as_ref()?, row)))
            .filter(|(against, _)| matches!(against.row.verdict, Verdict::NotComparable { .. }))
            .collect();
        let reasons = refused.iter().map(|(against, _)| sentence::row(&against.row));
        lines.extend(reasons.collect::<BTreeSet<String>>());
        let mut texts: Vec<Text> = lines.into_iter().map(Text::from).collect();
        let is_across = |(against, _): &&(&ReferenceVersion, &HistoryRow)| {
            against.relation == Relation::AcrossExperiments
        };
        if let Some((against, row)) = refused.iter().find(is_across) {
            texts.extend(self.measuring_hints(&against.version, row));
        }
        // Results of different modes cannot be compared under any option.
        let mixed = Verdict::NotComparable { reason: MIXED.to_owned() };
        if refused.iter().any(|(against, _)| {
            against.relation == Relation::DifferentConditions && against.row.verdict != mixed
        }) {
            texts.push(Text::from(
                "hint: results from different machines, compilers or settings are compared only with \
                 --ignore-environment",
            ));
        }
        texts
    }

    /// The commands after which a version and the one before it can be compared.
    fn measuring_hints(&self, base: &Version, row: &HistoryRow) -> Vec<Text> {
        let hint =
            |what: &str, command: String| Text::from(format!("hint: {what}: ")).command(command);
        let (base, head) = (base.current_revision_arg(), row.version.current_revision_arg());
        let together = self.command_line.suggest("compare", &[&base, &head], &[]);
        // `run` measures a version alone, so it cannot repeat interleaved results.
        if row.conditions.mode == Some(Mode::Interleaved)
            || row.conditions.interleaving_unavailable.is_some()
        {
            return vec![hint("measure both together", together)];
        }
        // Uncommitted files may have changed since, and be a different version now.
        let same = if row.version.dirty { &base } else { &head };
        let again = self.command_line.suggest("run", &[same], &[]);
        vec![
            hint("measure one of them a second time, with the same settings", again),
            hint("or both together", together),
        ]
    }
}

fn changes_table(title: String, last: Column) -> Table {
    Table::new([
        Column::left(title).names(),
        Column::left("metric"),
        Column::right("change"),
        Column::left("").joined(),
        last,
    ])
}

fn change_row(
    (name, metric): (String, &Metric),
    role: Role,
    change: Option<&Change>,
    last: Cell,
) -> [Cell; 5] {
    let [change, range] = change_cells(role, change);
    [Cell::name(name), Cell::from(metric_name(Some(metric))), change, range, last]
}

/// A change and its interval; empty without a change.
fn change_cells(role: Role, change: Option<&Change>) -> [Cell; 2] {
    change.map_or_else(Default::default, |change| {
        let range = range_in_brackets(change.low, change.high);
        [Cell::styled(role, changed(change.estimate)), Cell::from(range)]
    })
}

impl BenchmarkHistory {
    pub(in crate::report) fn sparkline(&self) -> String {
        let value =
            |row: &HistoryRow| row.result.as_ref().filter(|_| row.like_newest).map(|one| one.value);
        let values: Vec<Option<f64>> = self.versions.iter().map(value).collect();
        let begins = |row: &HistoryRow| {
            self.series.changes().iter().any(|change| change.place.best.until == row.version)
        };
        let changes: Vec<usize> =
            (0..self.versions.len()).filter(|index| begins(&self.versions[*index])).collect();
        sparkline(&values, &changes)
    }

    /// A table of versions, and below it the reasons for verdicts and the variation between
    /// experiments.
    pub(super) fn versions_table(&self, versions: &[HistoryRow]) -> Vec<Block> {
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
        for row in versions {
            let base = row.against.as_ref().map(|against| &against.version);
            let mut cells = vec![
                row.commit_cell(),
                Cell::from(row.version.time.map_or(String::new(), quantity::day)),
                row.value_cell(self.metric.unit),
            ];
            cells.extend(row.verdict_cells());
            let against = base.filter(|_| base != above).map(Version::short);
            cells.push(Cell::from(against.unwrap_or_default()));
            cells.push(Cell::from(&row.version.summary));
            table.row(cells);
            above = Some(&row.version);
        }
        let notes = versions.iter().filter_map(|row| row.sentence(row.version.short()));
        let sessions = self.sessions.as_ref().map(|one| Text::from(one.text()));
        let notes = Block::list(notes.chain(sessions));
        std::iter::once(Block::Table(table)).chain(notes).collect()
    }
}

impl HistoryRow {
    /// True if the experiment that measured it with the version before shows a change.
    pub(super) fn changed_in_its_experiment(&self) -> bool {
        self.against.as_ref().is_some_and(|against| {
            against.relation == Relation::SameExperiment
                && VerdictKind::new(&against.row.verdict).is_change()
        })
    }

    fn commit_cell(&self) -> Cell {
        let short = self.version.short();
        if self.in_repository {
            Cell::from(short)
        } else {
            Cell::styled(Role::Quiet, format!("({short})"))
        }
    }

    fn value_cell(&self, unit: Unit) -> Cell {
        let role = if self.result.is_some() { Role::Plain } else { Role::Doubtful };
        Cell::styled(role, self.value_parts(unit).join(" ").trim_end())
    }

    /// The value and the half-width of its interval, or the reason why there is none.
    pub(super) fn value_parts(&self, unit: Unit) -> [String; 2] {
        match &self.result {
            Some(result) => [value(result.value, unit), result.half_width()],
            None => [self.without_value().name().to_owned(), String::new()],
        }
    }

    /// The cells for the change, its interval, the verdict and its sign.
    fn verdict_cells(&self) -> [Cell; 4] {
        let Some(against) = &self.against else { return Default::default() };
        let change = against.row.decisive().map(|stage| &stage.assessment.change);
        let [change, range] = change_cells(Role::Plain, change);
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
                    .then(|| format!("{}: {}", kind.name(), sentence::reason(row)))
            }
            None => self.unmeasured.as_ref().map(ToString::to_string),
        };
        Some(Text::from_name(name).then(": ").message(reason?))
    }
}

impl SessionVariation {
    fn text(&self) -> String {
        let repeats = count(self.repeats, "version");
        if self.degrees_of_freedom < FEW_DEGREES {
            let verb = if self.repeats == 1 { "was" } else { "were" };
            return format!(
                "the variation between experiments is poorly known: only {repeats} {verb} \
                 measured again"
            );
        }
        format!(
            "standard deviation between experiments: {:.2} % ({repeats} measured again, {:.1} \
             degrees of freedom)",
            100.0 * self.standard_deviation,
            self.degrees_of_freedom
        )
    }
}

/// The ratio of values within which the drawing is not stretched to its full height: noise would
/// seem to be a change.
const CALM: f64 = 1.05;

/// The maximum number of bars, so that the drawing fits beside the rest of a line of 80 columns.
/// More values share bars.
const WIDEST: usize = 36;

/// The sign before the first value of a new level.
const CHANGE: char = '|';

/// One character for each value, `·` for a missing one; the lowest bar is the minimum. A bar `|`
/// stands before each value at which a change is suspected. Many values share bars, which show the
/// mean of neighbours on one side of a change.
pub fn sparkline(values: &[Option<f64>], changes: &[usize]) -> String {
    let each = values.len().div_ceil(WIDEST).max(1);
    let segments: Vec<Vec<Option<f64>>> = segmentation::segments(values.len(), changes)
        .map(|(start, end)| values[start..end].chunks(each).map(mean).collect())
        .collect();
    let bars = bars(&segments.concat());
    let mut bars = bars.chars();
    let drawn =
        segments.iter().map(|segment| bars.by_ref().take(segment.len()).collect::<String>());
    drawn.collect::<Vec<_>>().join(&CHANGE.to_string())
}

fn mean(values: &[Option<f64>]) -> Option<f64> {
    let there = || values.iter().flatten();
    let count = there().count();
    (count > 0).then(|| there().sum::<f64>() / count as f64)
}

fn bars(values: &[Option<f64>]) -> String {
    let numbers: Vec<f64> = values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    between(&numbers, [least, CALM * least])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparkline_spans_minimum_to_maximum() {
        assert_eq!(sparkline(&[Some(1.0), None, Some(1.5), Some(2.0)], &[]), "▁·▅█");
        assert_eq!(sparkline(&[], &[]), "");
        assert_eq!(sparkline(&[None], &[]), "·");
    }

    #[test]
    fn sparkline_keeps_small_differences_small() {
        assert_eq!(sparkline(&[Some(100.0), Some(101.0), Some(100.2)], &[]), "▁▂▁");
        assert_eq!(sparkline(&[Some(3.0), Some(3.0)], &[]), "▁▁");
    }

    #[test]
    fn sparkline_marks_a_change_before_the_new_level() {
        let values = [1.0, 1.0, 2.0, 2.0].map(Some);
        assert_eq!(sparkline(&values, &[2]), "▁▁|██");
    }

    #[test]
    fn sparkline_bars_never_mix_two_levels() {
        let values: Vec<Option<f64>> =
            (0..1000).map(|index| Some(if index < 501 { 1.0 } else { 2.0 })).collect();
        let drawn = sparkline(&values, &[501]);
        assert!(drawn.chars().count() <= WIDEST + 3, "{drawn}");
        let [before, after] = drawn.split('|').collect::<Vec<_>>()[..] else { panic!("{drawn}") };
        assert!(before.chars().all(|bar| bar == '▁') && after.chars().all(|bar| bar == '█'));
    }
}
