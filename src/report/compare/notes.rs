//! Notes on many benchmarks at once, and on what differs between the versions.

use std::collections::{BTreeMap, BTreeSet};

use rbench_code::elf::{FunctionDiff, SizedFunction};
use rbench_stats::{Evidence, InconclusiveReason};
use unicode_width::UnicodeWidthStr as _;

use super::{ComparisonReport, name};
use crate::{
    compare::{NamedSizes, TargetSizes},
    model::{
        Benchmark, CommitTitle, InterleavingUnavailable, Metric, Mode, Unit, Version,
        VersionChanges,
    },
    report::{
        diff::{label, sizes},
        distinct,
        document::Text,
        escape::escape_untrusted,
        grouped,
        impact::{ImpactNote, impact_notes},
        names::short,
        quantity::{MOST_NAMES, and_more, changed, count, exact, percent, size},
        sentence,
        table::shorten,
    },
    shell::cargo,
    verdict::{ByMean, DecidedRow, Interleaving, Verdict, VerdictKind},
};

/// The width of a list, in columns: with the words before it, it fits a line of 100.
const LIST_COLUMNS: usize = 48;

/// The number of different functions of a bench target up to which they are named.
const MOST_FUNCTIONS: usize = 3;

impl ComparisonReport {
    pub(super) fn impact_notes(&self, most: usize) -> Vec<ImpactNote> {
        let rows = self.ordered().into_iter().filter_map(|row| {
            Some((&row.benchmark, VerdictKind::new(&row.verdict), row.impact.as_ref()?))
        });
        impact_notes(&self.names(), &rows.collect::<Vec<_>>(), most)
    }

    /// The evidence of changes that the table shows completely, each kind with its benchmarks:
    /// `confirmed by 6 to 9 fresh builds: a, b (largest p 0.001, threshold 0.050)`.
    pub(super) fn evidence(&self) -> Vec<Text> {
        let names = self.names();
        let rows = self.ordered().into_iter().filter(|row| row.metric != Some(Metric::size()));
        let grounds = rows.filter_map(|row| {
            let basis = ground(row)?;
            let needed = p_and_needed(basis).map(|(_, needed)| needed.to_bits());
            Some(((sentence::shown_by(basis), needed), (basis, row)))
        });
        let note = |((shown_by, _), alike): ((&str, _), Vec<(Evidence, &DecidedRow)>)| {
            let largest = if alike.len() > 1 { "largest " } else { "" };
            let reached = alike.iter().filter_map(|(basis, _)| p_and_needed(*basis));
            let reached = reached.max_by(|(one, _), (other, _)| one.total_cmp(other));
            let reached = reached.map_or_else(String::new, |(p, needed)| {
                format!(" ({largest}{})", sentence::reached(p, needed))
            });
            let rows = self.list(alike.iter().map(|(_, row)| name(&names, row)));
            let fresh = alike.iter().filter_map(|(_, row)| row.stages.get(1));
            let fresh = fresh.map(|stage| stage.summaries[1].builds().len());
            let shown_by = match (fresh.clone().min(), fresh.max()) {
                (Some(least), Some(most)) if shown_by == sentence::CONFIRMED => {
                    confirmed_by(least, most)
                }
                _ => shown_by.to_owned(),
            };
            Text::from(format!("{shown_by}: {rows}{reached}"))
        };
        let mut notes: Vec<Text> = grouped(grounds).into_iter().map(note).collect();
        let exaggerated = self.ordered().into_iter().filter(|row| sentence::is_exaggerated(row));
        let exaggerated = self.list(exaggerated.map(|row| name(&names, row)));
        if !exaggerated.is_empty() {
            notes.push(Text::from(format!("{}: {exaggerated}", sentence::TOO_LARGE)));
        }
        notes
    }

    /// The names that fit a line, and the number of the others; all names if every verdict is
    /// explained.
    pub(super) fn list(&self, names: impl Iterator<Item = String>) -> String {
        self.list_with_words(names.map(|name| (name, String::new())))
    }

    /// The same with words after each name, which are never shortened.
    pub(super) fn list_with_words(&self, names: impl Iterator<Item = (String, String)>) -> String {
        let names: Vec<String> = names.map(|(name, words)| short(&name) + &words).collect();
        let mut columns = 0;
        let fits = |name: &&String| {
            columns += name.width() + 2;
            columns <= LIST_COLUMNS
        };
        let fitting = || names.iter().take(MOST_NAMES).take_while(fits).count().max(1);
        let shown = if self.explains_all { names.len() } else { fitting().min(names.len()) };
        names[..shown].join(", ") + &and_more(names.len(), shown)
    }

    /// The state of the machine that mattered to measurements, in one line.
    pub(super) fn machine_line(&self) -> Option<String> {
        let state = self.outcome.environment.as_ref()?;
        Some(format!("machine: {state} (for fixes: {} rbench doctor)", cargo()))
    }

    /// The reasons for inconclusive verdicts: `3 are too noisy to decide; …`.
    pub(super) fn inconclusive_note(&self) -> Option<String> {
        let names = self.names();
        let (mut by_chance, mut others) = (Vec::new(), BTreeMap::<&str, Vec<&DecidedRow>>::new());
        for row in self.with_verdict(VerdictKind::Inconclusive) {
            let Verdict::Inconclusive { detectable, reason, .. } = row.verdict else {
                continue;
            };
            match inconclusive_note(reason) {
                None => by_chance.push((detectable, row)),
                Some(reason) => others.entry(reason).or_default().push(row),
            }
        }
        let what = match &by_chance[..] {
            [] => None,
            [(_, only)] => Some(format!("{} is", short(&name(&names, only)))),
            several => Some(format!("{} are", several.len())),
        };
        let power = power(by_chance.iter().map(|(detectable, _)| *detectable));
        let by_chance = what.map(|what| format!("{what} too noisy to decide{power}"));
        let others = others.into_iter().map(|(reason, rows)| {
            let rows = rows.into_iter().map(|row| (name(&names, row), at_first(row)));
            format!("{reason}: {}", self.list_with_words(rows))
        });
        let parts: Vec<String> = by_chance.into_iter().chain(others).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The benchmarks that changed by less than the smallest change of interest.
    pub(super) fn too_small_note(&self) -> Option<String> {
        let names = self.names();
        let changes = self.outcome.rows.iter().filter_map(|row| {
            let Verdict::Unchanged { change, difference, .. } = &row.verdict else { return None };
            let confirmed = match difference.as_ref()? {
                Evidence::Confirmed { .. } => ", confirmed",
                Evidence::Counted { .. } => ", counted",
                Evidence::OneStage | Evidence::Stored { .. } | Evidence::BeyondLimit { .. } => "",
            };
            let words = format!(" ({}{confirmed})", changed(change.estimate));
            Some((name(&names, row), words))
        });
        let changes = self.list_with_words(changes);
        (!changes.is_empty()).then(|| format!("changed by less than the min-effect: {changes}"))
    }

    pub(super) fn decided_by_mean(&self) -> Option<String> {
        self.by_mean(sentence::DECIDED_BY_MEAN, |_, by_mean| by_mean.primary.then(String::new))
    }

    /// The benchmarks where the mean of all measurements differs from the reported change by more than the smallest
    /// change of interest. A brief report omits them: the mean decides nothing there.
    pub(super) fn mean_differences(&self) -> Option<String> {
        self.by_mean("change by the mean of all measurements", |row, by_mean| {
            let change = || format!(" ({})", sentence::change_text(&by_mean.change));
            sentence::mean_differs(row).then(change)
        })
    }

    /// The rows with a word on their mean, after `what`.
    fn by_mean(
        &self,
        what: &str,
        word: impl Fn(&DecidedRow, ByMean) -> Option<String>,
    ) -> Option<String> {
        let names = self.names();
        let named = |row| Some((name(&names, row), word(row, row.by_mean?)?));
        let rows = self.list_with_words(self.outcome.rows.iter().filter_map(named));
        (!rows.is_empty()).then(|| format!("{what}: {rows}"))
    }

    /// The benchmarks whose shown values have a ratio outside of the interval of their change, which a reader would take
    /// for an error.
    pub(super) fn values_beside_change(&self) -> Option<String> {
        let names = self.names();
        let differing = self.ordered().into_iter().filter(|row| {
            row.decisive().is_some_and(|stage| {
                let [base, head] = [0, 1].map(|version| stage.summaries[version].values().mean);
                let (change, ratio) = (&stage.assessment.change, head / base - 1.0);
                stage.assessment.comparison.method.is_paired()
                    && !(change.low..=change.high).contains(&ratio)
            })
        });
        let differing = self.list(differing.map(|row| name(&names, row)));
        (!differing.is_empty()).then(|| {
            format!(
                "the change of {differing}, from pairs of builds, is more precise than the ratio of head and base"
            )
        })
    }

    /// The reasons why benchmarks were not interleaved although that was requested, and the times that decide whole
    /// programs, each with its benchmarks.
    pub(super) fn interleaving_notes(&self) -> Vec<String> {
        let names = self.names();
        let mut benchmarks: BTreeMap<(Option<InterleavingUnavailable>, String), Vec<&Benchmark>> =
            BTreeMap::new();
        for row in &self.outcome.rows {
            let Some(Interleaving { mode, unavailable, .. }) = row.interleaving.clone() else {
                continue;
            };
            let times = self.program_times(&row.benchmark, unavailable.as_ref());
            let note = match (&unavailable, times) {
                (Some(reason), None) => format!("measured sequentially, because {reason}"),
                (Some(reason), Some(times)) => {
                    format!("measured sequentially and decided by {times}, because {reason}")
                }
                (None, Some(times)) if mode == Mode::Interleaved => format!(
                    "compared by {times}, both versions at once on one CPU, because it computes alone; \
                     its waiting, at most 5 % of the time, is not compared"
                ),
                (None, _) => continue,
            };
            let of_note = benchmarks.entry((unavailable, note)).or_default();
            // A benchmark has one row for each metric.
            if !of_note.contains(&&row.benchmark) {
                of_note.push(&row.benchmark);
            }
        }
        let note = |((_, note), benchmarks): ((_, String), Vec<&Benchmark>)| {
            let names = self.list(benchmarks.into_iter().map(|benchmark| names.name(benchmark)));
            format!("{note}: {names}")
        };
        benchmarks.into_iter().map(note).chain(self.slower_interleaved()).collect()
    }

    /// The benchmarks whose values are shown to be larger than alone.
    fn slower_interleaved(&self) -> Option<String> {
        let names = self.names();
        let rows = self.list_with_words(self.outcome.rows.iter().filter_map(|row| {
            let factor = row.interleaving.as_ref()?.times_alone?;
            let is_time = [Metric::wall(), Metric::cpu()].map(Some).contains(&row.metric);
            is_time.then(|| (name(&names, row), format!(" ({factor:.1} times)")))
        }));
        let what = "slower interleaved than alone, in the mean of both versions";
        (!rows.is_empty()).then(|| format!("{what}: {rows}"))
    }

    /// The kinds of time that decide a whole program, in words; `None` for other benchmarks, and if the user asked for
    /// other metrics.
    fn program_times(
        &self,
        benchmark: &Benchmark,
        unavailable: Option<&InterleavingUnavailable>,
    ) -> Option<&'static str> {
        let is_decided = |metric: Metric| {
            let mut own = self.outcome.rows.iter().filter(|row| row.benchmark == *benchmark);
            own.any(|row| row.metric.as_ref() == Some(&metric))
        };
        match (is_decided(Metric::wall()), is_decided(Metric::cpu())) {
            (true, true) => Some("wall time and CPU time"),
            (false, true) => Some("CPU time"),
            (true, false)
                if matches!(
                    unavailable,
                    Some(InterleavingUnavailable::Waits | InterleavingUnavailable::WaitsDiffer)
                ) =>
            {
                Some("wall time")
            }
            (_, false) => None,
        }
    }

    /// The number of different functions, if known: `2 functions changed, 1 function added, 4309
    /// the same`.
    pub(super) fn functions_note(&self) -> Option<String> {
        if self.outcome.functions.is_empty() {
            return None;
        }
        let diffs = || self.outcome.functions.iter().map(|(_, diff)| diff);
        let same: usize = diffs().map(|diff| diff.unchanged).sum();
        if self.functions_are_equal() {
            // The programs differ, or nothing would have been measured.
            return Some(if diffs().any(|diff| diff.incomplete) {
                format!("all {same} functions that could be read are the same")
            } else {
                format!(
                    "all {same} functions have the same instructions; their addresses, constants or \
                     shared libraries differ"
                )
            });
        }
        let counts = [
            (diffs().map(|diff| diff.changed.len()).sum(), "changed"),
            (diffs().map(|diff| diff.added.len()).sum(), "added"),
            (diffs().map(|diff| diff.removed.len()).sum(), "removed"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(number, word)| format!("{} {word}", count(*number, "function")));
        let counts: Vec<String> = counts.collect();
        let mut text = format!("{}, {same} the same", counts.join(", "));
        // Bench targets of one package have many functions in common.
        let named = distinct(diffs().flat_map(few_functions));
        for function in named.iter().take(MOST_NAMES) {
            text += &format!("; {function}");
        }
        if named.len() > MOST_NAMES {
            text += &format!("; and {} more", named.len() - MOST_NAMES);
        }
        Some(text)
    }

    /// True if all functions are known to be the same.
    pub(super) fn functions_are_equal(&self) -> bool {
        !self.outcome.functions.is_empty()
            && self.outcome.functions.iter().all(|(_, diff)| diff.is_empty())
    }
}

/// `confirmed by 6 to 9 fresh builds`: the table has their numbers.
pub(crate) fn confirmed_by(least: usize, most: usize) -> String {
    let from = if least < most { format!("{least} to ") } else { String::new() };
    format!("confirmed by {from}{}", count(most, "fresh build"))
}

/// The different functions of a bench target with their sizes, if they are few: `parse: 2316 ->
/// 2065 bytes`.
fn few_functions(diff: &FunctionDiff) -> Vec<String> {
    let FunctionDiff { added, removed, changed, .. } = diff;
    if added.len() + removed.len() + changed.len() > MOST_FUNCTIONS {
        return Vec::new();
    }
    let shared = diff.shared_names();
    let changed = changed.iter().map(|function| {
        let name = label(&function.name, function.instance, &shared);
        let is_same_size = function.base_size == function.head_size;
        format!("{name}: {}{}", if is_same_size { "changed, " } else { "" }, sizes(function))
    });
    let sized = |what: &'static str, functions: &[SizedFunction]| {
        let sized = functions.iter().map(|SizedFunction { name, instance, size, .. }| {
            format!("{}: {what}, {size} bytes", label(name, *instance, &shared))
        });
        sized.collect::<Vec<_>>()
    };
    changed.chain(sized("new", added)).chain(sized("removed", removed)).collect()
}

/// The evidence of a row's change, if nothing else is left to report about it.
pub(super) fn ground(row: &DecidedRow) -> Option<Evidence> {
    match row.verdict {
        Verdict::Regressed { evidence: basis, .. } | Verdict::Improved { evidence: basis, .. } => {
            let says_more = matches!(basis, Evidence::BeyondLimit { .. });
            (!says_more).then_some(basis)
        }
        _ => None,
    }
}

const fn p_and_needed(basis: Evidence) -> Option<(f64, f64)> {
    match basis {
        Evidence::Confirmed { p, needed }
        | Evidence::Stored { p, needed }
        | Evidence::BeyondLimit { p, needed, .. } => Some((p, needed)),
        Evidence::OneStage | Evidence::Counted { .. } => None,
    }
}

/// The change by the first builds, where fresh builds decide: ` (+1.57 % by the first 20)`.
fn at_first(row: &DecidedRow) -> String {
    let [first, _] = &row.stages[..] else { return String::new() };
    let builds = first.summaries[1].builds().len();
    format!(" ({} by the first {builds})", percent(first.assessment.change.estimate))
}

/// The reason why a seeming change is inconclusive; `None` if noise can explain it.
fn inconclusive_note(reason: InconclusiveReason) -> Option<&'static str> {
    match reason {
        InconclusiveReason::NotFlagged => None,
        InconclusiveReason::Small { .. } | InconclusiveReason::Shrunk { .. } => {
            Some("changed, but by less than the min-effect")
        }
        InconclusiveReason::MeanChanged { .. } => {
            Some("changed only in the mean of all measurements; more builds may confirm it")
        }
        InconclusiveReason::MeanDisagrees { .. } => {
            Some("changed, but not in the mean of all measurements")
        }
        InconclusiveReason::Unconfirmed | InconclusiveReason::NeedsFresh { .. } => {
            Some("seems changed, but no fresh builds checked it")
        }
        InconclusiveReason::Contradicted { .. } | InconclusiveReason::Weak { .. } => {
            Some("seemed changed, but fresh builds do not confirm it")
        }
        InconclusiveReason::Varies { by_chance: None } => {
            Some("the counts of base and head overlap")
        }
        InconclusiveReason::Varies { by_chance: Some(_) } => {
            Some("the counts vary, and are too few to rule out chance")
        }
    }
}

/// The change that would be flagged, with these changes of several rows, if that is known for all.
fn power(detectable: impl Iterator<Item = Option<f64>>) -> String {
    let Some(mut known) = detectable.collect::<Option<Vec<_>>>() else { return String::new() };
    known.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (known.first(), known.last()) else { return String::new() };
    sentence::power_text(*least, *most)
}

impl ComparisonReport {
    /// The joint conclusion for each benchmark with a time and an instruction count, unless both
    /// are unchanged: `sort: time unchanged (± 0.30 %), instructions +2.10 %`.
    pub(super) fn time_and_counts(&self) -> Vec<String> {
        let names = self.names();
        let note = |counted: &DecidedRow| {
            let (timed, said) = self.time_and_count(counted)?;
            Some(format!("{}: {said}", name(&names, timed)))
        };
        self.outcome
            .rows
            .iter()
            .filter(|row| has_metric(row, is_instructions))
            .filter_map(note)
            .collect()
    }

    /// The joint conclusion for the benchmark of a row, with the row of its time; `None` if the row
    /// is neither of them.
    pub(super) fn time_and_count(&self, row: &DecidedRow) -> Option<(&DecidedRow, String)> {
        let of_benchmark = |is_meant: fn(&Metric) -> bool| {
            let mut rows =
                self.outcome.rows.iter().filter(|other| other.benchmark == row.benchmark);
            rows.find(|other| has_metric(other, is_meant))
        };
        let (timed, counted) = (of_benchmark(is_time)?, of_benchmark(is_instructions)?);
        let is_about = row.metric == timed.metric || row.metric == counted.metric;
        Some((timed, together(timed, counted).filter(|_| is_about)?))
    }

    /// The method of counting, if anything was counted.
    pub(super) fn counted_line(&self) -> Option<String> {
        let counted = || self.outcome.rows.iter().filter(|row| has_metric(row, Metric::is_counted));
        let stages = || counted().filter_map(DecidedRow::decisive);
        let metrics: Vec<Metric> =
            self.outcome.rows.iter().filter_map(|row| row.metric.clone()).collect();
        let mut metrics: Vec<Metric> = metrics.into_iter().filter(Metric::is_counted).collect();
        metrics.sort();
        metrics.dedup();
        stages().next()?;
        if metrics == [Metric::size()] {
            let limit = exact(self.outcome.criteria.for_metric(&Metric::size()).min_effect);
            let nothing = if self.outcome.only_compilations { "; nothing was run" } else { "" };
            return Some(format!(
                "size: text and data of the executable as cargo links it, exact (min-effect {limit}){nothing}"
            ));
        }
        let limits = metrics.iter().map(|metric| {
            let limit = self.outcome.criteria.for_metric(metric).min_effect;
            format!("{} (min-effect {})", metric.name, exact(limit))
        });
        let limits = limits.collect::<Vec<_>>().join(", ");
        let layouts = stages().map(|stage| stage.summaries[0].builds().len()).max().unwrap_or(1);
        let more = if layouts > 1 {
            format!(", and where counts differ in up to {}", count(layouts, "layout"))
        } else {
            String::new()
        };
        Some(format!("counted: {limits}, in 1 layout{more}; independent of timing noise"))
    }

    /// Which metrics have regressed rows that do not affect the exit code, and what makes them affect it.
    pub(super) fn undecisive_line(&self) -> Option<String> {
        let regressed = self.with_verdict(VerdictKind::Regressed);
        let beside = regressed.filter(|row| !self.policy.decides(row, &self.outcome.rows));
        let metrics: BTreeSet<&Metric> = beside.filter_map(|row| row.metric.as_ref()).collect();
        let first = metrics.first()?;
        let limit = |metric: &&Metric| {
            let limit = self.outcome.criteria.for_metric(metric).min_effect;
            format!("{} (min-effect {})", metric.name, exact(limit))
        };
        let names = metrics.iter().map(limit).collect::<Vec<_>>().join(", ");
        let does = if metrics.len() == 1 { "does" } else { "do" };
        Some(format!(
            "{names} {does} not affect the exit code; --fail-on {} makes it do so",
            first.name
        ))
    }
}

pub(super) fn is_time(metric: &Metric) -> bool {
    metric.unit == Unit::Nanoseconds
}

pub(super) fn is_instructions(metric: &Metric) -> bool {
    *metric == Metric::instructions()
}

pub(super) fn has_metric(row: &DecidedRow, wanted: impl Fn(&Metric) -> bool) -> bool {
    row.metric.as_ref().is_some_and(wanted)
}

/// The joint conclusion from time and instructions; `None` if neither changed, or one is unknown.
fn together(timed: &DecidedRow, counted: &DecidedRow) -> Option<String> {
    let change = |row: &DecidedRow| Some(row.decisive()?.assessment.change);
    let (time, executed) = (change(timed)?, change(counted)?);
    let is_changed = |row: &DecidedRow| {
        matches!(
            row.verdict,
            Verdict::Regressed { .. } | Verdict::Improved { .. } | Verdict::Accepted { .. }
        )
    };
    let is_same = |row: &DecidedRow| matches!(row.verdict, Verdict::Unchanged { .. });
    let executed = changed(executed.estimate);
    if is_changed(timed) && is_same(counted) {
        let time = percent(time.estimate);
        return Some(format!("time {time}, instructions the same: memory, branches or layout"));
    }
    if is_changed(timed) && is_changed(counted) {
        return Some(format!("time {}, instructions {executed}", percent(time.estimate)));
    }
    if is_same(timed) && is_changed(counted) {
        let around = size((time.high - time.low) / 2.0);
        return Some(format!("time unchanged (± {around}), instructions {executed}"));
    }
    is_changed(counted).then(|| format!("time inconclusive, instructions {executed}"))
}

/// The maximum numbers of crates and of functions that are named.
const MOST_SIZES: usize = 6;

impl ComparisonReport {
    /// The sections of each executable, and the crates and functions whose sizes differ.
    pub(super) fn size_texts(&self) -> Vec<Text> {
        self.outcome.sizes.iter().flat_map(target_sizes).collect()
    }
}

fn target_sizes(sizes: &TargetSizes) -> Vec<Text> {
    let TargetSizes { target, base, head, crates, functions } = sizes;
    let name = || Text::from_name(target.target.clone());
    let sections = [
        ("text", base.text, head.text),
        ("data", base.data, head.data),
        ("bss", base.bss, head.bss),
    ];
    let sections = sections.map(|(section, base, head)| {
        let change = NamedSizes { name: String::new(), base, head };
        if base == head {
            format!("{section} {head} bytes")
        } else {
            format!("{section} {base} -> {head} bytes ({:+})", change.difference())
        }
    });
    let mut texts = vec![name().then(format!(": {}", sections.join(", ")))];
    for (kind, all) in [("crates", crates), ("functions", functions)] {
        let changed = all.iter().filter(|one| one.difference() != 0).map(|one| {
            let name = if one.name.is_empty() { "not of Rust" } else { &one.name };
            Text::from_name(name).then(format!(" {:+}", one.difference()))
        });
        let changed: Vec<Text> = changed.collect();
        if changed.is_empty() {
            continue;
        }
        let line = name().then(format!(": bytes of code by {kind}: "));
        texts.push(line.append(Text::few(changed, MOST_SIZES)));
    }
    texts
}

/// The maximum number of commits, and of files, that are named.
const MOST_CHANGES: usize = 3;

/// The maximum width of a title, in columns: the usual limit for the first line of a message.
const LONGEST_TITLE: usize = 72;

/// The commits and files: `1 commit: 1a2b3c4 Parse faster`. Several commits share a line, so that none seems to be the
/// cause: `7 commits, newest first: 1a2b3c4 Parse faster; 5d6e7f8 Read tokens by a table; and 5 more`.
pub(crate) fn changes_texts(changes: &VersionChanges, [base, head]: [&Version; 2]) -> Vec<Text> {
    let VersionChanges { commits, commit_count, base_only_commits, uncommitted_files, .. } =
        changes;
    let commit = |CommitTitle { id, title }: &CommitTitle| {
        let digits: String = id.chars().take(7).collect();
        let title = shorten(&escape_untrusted(title), LONGEST_TITLE);
        Text::new().name(digits).then(" ").quote(title)
    };
    let mut texts = Vec::new();
    if *commit_count > 0 {
        let order = if *commit_count > 1 { ", newest first" } else { "" };
        // One more is named rather than counted.
        let most = if *commit_count == MOST_CHANGES + 1 { MOST_CHANGES + 1 } else { MOST_CHANGES };
        let more = commit_count.saturating_sub(commits.len().min(most));
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let head = Text::from(format!("{}{order}: ", count(*commit_count, "commit")));
        let named = Text::joined(commits.iter().take(most).map(commit), "; ");
        texts.push(head.append(named).then(more));
    }
    if *base_only_commits > 0 {
        let lacked = count(*base_only_commits, "commit");
        let name = Text::from_name(base.to_string()).then(format!(" has {lacked} that "));
        texts.push(name.name(head.to_string()).then(" lacks"));
    }
    if !uncommitted_files.is_empty() {
        let number = changes.uncommitted_file_count;
        let names =
            uncommitted_files.iter().take(MOST_CHANGES).map(|file| Text::from_name(short(file)));
        let head = Text::from(format!("uncommitted changes in {}: ", count(number, "file")));
        texts.push(head.append(Text::joined(names, ", ")).then(and_more(number, MOST_CHANGES)));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::counted;

    #[test]
    fn time_and_instructions_have_a_joint_conclusion() {
        let said = |time: f64, instructions: f64| {
            let timed = counted(&Metric::wall(), "a", 100.0, time);
            together(&timed, &counted(&Metric::instructions(), "a", 100.0, instructions))
        };
        assert_eq!(
            said(104.0, 100.0).unwrap(),
            "time +4.00 %, instructions the same: memory, branches or layout"
        );
        assert_eq!(said(104.0, 103.0).unwrap(), "time +4.00 %, instructions +3.00 %");
        let unchanged = said(100.0, 102.1).unwrap();
        assert!(unchanged.starts_with("time unchanged (± "), "{unchanged}");
        assert!(unchanged.ends_with("), instructions +2.10 %"), "{unchanged}");
        assert_eq!(said(100.0, 100.0), None);
    }
}
