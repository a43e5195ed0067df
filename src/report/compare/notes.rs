//! Words notes on many benchmarks at once.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr as _;

use super::{ComparisonReport, summary::name};
use crate::{
    elf::{ChangedFunction, FunctionDiff, SizedFunction},
    model::{
        Benchmark, DependencyChange, InterleavingUnavailable, Metric, Mode, SLOWER_THAN_ALONE,
    },
    report::{
        diff::label,
        document::Text,
        names::short,
        quantity::{and_more, change_of_stack, changed, count, size},
        sentence,
    },
    shell::cargo,
    stats::{Evidence, InconclusiveReason, Verdict},
    verdict::{ByMean, DecidedRow, Interleaving, VerdictKind},
};

/// The maximum number of names shown in a list.
pub(super) const MOST_NAMES: usize = 8;

/// The width of a list, in columns: with the words before it, it fits a line of 100.
const LIST_COLUMNS: usize = 48;

/// The number of different functions of a bench target up to which they are named.
const MOST_FUNCTIONS: usize = 3;

/// The maximum number of packages named.
const MOST_PACKAGES: usize = 5;

impl ComparisonReport {
    /// The evidence of changes that the table shows completely, each kind with its benchmarks:
    /// `confirmed by fresh builds: a, b (largest p 0.001, threshold 0.050)`.
    pub(super) fn evidence(&self) -> Vec<Text> {
        let names = self.names();
        let mut grounds: Vec<Vec<(Evidence, &DecidedRow)>> = Vec::new();
        let rows = self.ordered().into_iter().filter(|row| row.metric != Some(Metric::size()));
        for shown in rows.filter_map(|row| Some((ground(row)?, row))) {
            match grounds.iter_mut().find(|alike| are_alike(alike[0].0, shown.0)) {
                Some(alike) => alike.push(shown),
                None => grounds.push(vec![shown]),
            }
        }
        let note = |alike: Vec<(Evidence, &DecidedRow)>| {
            let largest = if alike.len() > 1 { "largest " } else { "" };
            let reached = alike.iter().filter_map(|(basis, _)| p_and_needed(*basis));
            let reached = reached.max_by(|(one, _), (other, _)| one.total_cmp(other));
            let reached = reached.map_or_else(String::new, |(p, needed)| {
                format!(" ({largest}{})", sentence::reached(p, needed))
            });
            let rows = self.list(alike.iter().map(|(_, row)| name(&names, row)));
            Text::from(format!("{}: {rows}{reached}", sentence::shown_by(alike[0].0)))
        };
        grounds.into_iter().map(note).collect()
    }

    /// The names that fit a line, and the number of the others; all names if every verdict is
    /// explained.
    pub(super) fn list(&self, names: impl Iterator<Item = String>) -> String {
        let names: Vec<String> = names.map(|name| short(&name)).collect();
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
            format!("{reason}: {}", self.list(rows.into_iter().map(|row| name(&names, row))))
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
            Some(format!("{} ({}{confirmed})", name(&names, row), changed(change.estimate)))
        });
        let changes = self.list(changes);
        (!changes.is_empty()).then(|| format!("changed by less than the min-effect: {changes}"))
    }

    /// The changes decided by the mean of all measurements.
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
        let named = |row| Some(name(&names, row) + &word(row, row.by_mean?)?);
        let rows = self.list(self.outcome.rows.iter().filter_map(named));
        (!rows.is_empty()).then(|| format!("{what}: {rows}"))
    }

    /// The reasons why benchmarks were not interleaved although that was requested, and the times that decide whole
    /// programs, each with its benchmarks.
    pub(super) fn interleaving_notes(&self) -> Vec<String> {
        let names = self.names();
        let mut benchmarks: BTreeMap<(Option<InterleavingUnavailable>, String), Vec<&Benchmark>> =
            BTreeMap::new();
        for row in &self.outcome.rows {
            let Some(Interleaving { mode, unavailable, .. }) = row.interleaving else { continue };
            let times = self.program_times(&row.benchmark, unavailable);
            let note = match (unavailable, times) {
                (Some(reason), None) => format!("measured sequentially, because {reason}"),
                (Some(reason), Some(times)) => {
                    format!("measured sequentially and decided by {times}, because {reason}")
                }
                (None, Some(times)) if mode == Mode::Interleaved => format!(
                    "decided by {times}, with both versions at once on one CPU, because it computes \
                     alone"
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

    /// The benchmarks whose values are larger than alone, because their threads wait for CPUs in each time slice.
    fn slower_interleaved(&self) -> Option<String> {
        let names = self.names();
        let rows = self.list(self.outcome.rows.iter().filter_map(|row| {
            let alone = row.interleaving?.alone.filter(|_| row.metric == Some(Metric::wall()))?;
            let values = row.decisive()?.summaries.iter().map(|summary| summary.values().mean);
            let factor = values.reduce(f64::min)? / alone;
            let is_slower = factor > SLOWER_THAN_ALONE;
            is_slower.then(|| format!("{} ({factor:.1} times)", name(&names, row)))
        }));
        let what = "slower interleaved than alone, in both versions";
        (!rows.is_empty()).then(|| format!("{what}: {rows}"))
    }

    /// The kinds of time that decide a whole program, in words; `None` for other benchmarks, and if the user asked for
    /// other metrics.
    fn program_times(
        &self,
        benchmark: &Benchmark,
        unavailable: Option<InterleavingUnavailable>,
    ) -> Option<&'static str> {
        let is_decided = |metric: Metric| {
            let mut own = self.outcome.rows.iter().filter(|row| row.benchmark == *benchmark);
            own.any(|row| row.metric.as_ref() == Some(&metric))
        };
        match (is_decided(Metric::wall()), is_decided(Metric::cpu())) {
            (true, true) => Some("wall time and CPU time"),
            (false, true) => Some("CPU time"),
            (true, false) if unavailable == Some(InterleavingUnavailable::Waits) => {
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
        let mut named: Vec<String> = Vec::new();
        for function in diffs().flat_map(few_functions) {
            if !named.contains(&function) {
                named.push(function);
            }
        }
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

/// The different functions of a bench target with their sizes, if they are few: `parse: 2316 ->
/// 2065 bytes`.
fn few_functions(diff: &FunctionDiff) -> Vec<String> {
    let FunctionDiff { added, removed, changed, .. } = diff;
    if added.len() + removed.len() + changed.len() > MOST_FUNCTIONS {
        return Vec::new();
    }
    let shared = diff.shared_names();
    let changed = changed.iter().map(|function| {
        let ChangedFunction { name, instance, base_size, head_size, .. } = function;
        let name = label(name, *instance, &shared);
        let stack = change_of_stack(function.base_stack, function.head_stack);
        if base_size == head_size {
            format!("{name}: changed, {head_size} bytes{stack}")
        } else {
            format!("{name}: {base_size} -> {head_size} bytes{stack}")
        }
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
            (!says_more && !sentence::is_exaggerated(row)).then_some(basis)
        }
        _ => None,
    }
}

/// True if both are of one kind and need the same p value.
fn are_alike(one: Evidence, other: Evidence) -> bool {
    let needed = |basis| p_and_needed(basis).map(|(_, needed)| needed.to_bits());
    sentence::shown_by(one) == sentence::shown_by(other) && needed(one) == needed(other)
}

/// The p value, and the one that was needed.
const fn p_and_needed(basis: Evidence) -> Option<(f64, f64)> {
    match basis {
        Evidence::Confirmed { p, needed }
        | Evidence::Stored { p, needed }
        | Evidence::BeyondLimit { p, needed, .. } => Some((p, needed)),
        Evidence::OneStage | Evidence::Counted { .. } => None,
    }
}

/// The reason why a seeming change is inconclusive; `None` if noise can explain it.
fn inconclusive_note(reason: InconclusiveReason) -> Option<&'static str> {
    match reason {
        InconclusiveReason::NotFlagged => None,
        InconclusiveReason::Small { .. } | InconclusiveReason::Shrunk { .. } => {
            Some("changed, but by less than the min-effect")
        }
        InconclusiveReason::SlowerChanged { .. } => Some(
            "unchanged by the fastest measurements, but changed by the mean of all; more builds may \
             confirm it",
        ),
        InconclusiveReason::MeanDisagrees { .. } => {
            Some("changed by the fastest measurements, but the mean of all does not agree")
        }
        InconclusiveReason::Unconfirmed | InconclusiveReason::NeedsFresh { .. } => {
            Some("flagged, but no fresh builds were measured")
        }
        InconclusiveReason::Contradicted { .. } | InconclusiveReason::Weak { .. } => {
            Some("flagged, but fresh builds do not confirm it")
        }
        InconclusiveReason::Varies { by_chance: None } => Some("counts that overlap"),
        InconclusiveReason::Varies { by_chance: Some(_) } => {
            Some("counts that vary, in too few layouts and initial states to rule out chance")
        }
    }
}

/// The change that would be flagged, with these changes of several rows, if that is known for all.
fn power(detectable: impl Iterator<Item = Option<f64>>) -> String {
    let Some(mut known) = detectable.collect::<Option<Vec<_>>>() else { return String::new() };
    known.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (known.first(), known.last()) else { return String::new() };
    let [least, most] = [least, most].map(|one| size(*one));
    let from = if least == most { String::new() } else { format!("{least} to ") };
    format!("; a change of {from}{most} would be detected with 80 % power")
}

/// The packages with different versions, if there are any, not yet [escaped](crate::escape): `serde
/// 1.0.1 -> 1.0.2, new: foo 0.3.0`.
pub fn dependencies_note(dependencies: &[DependencyChange]) -> Option<String> {
    let versions = |versions: &[String]| versions.join(" and ");
    let (mut changed, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for DependencyChange { name, base, head } in dependencies {
        match (&base[..], &head[..]) {
            ([], head) => added.push(format!("{name} {}", versions(head))),
            (base, []) => removed.push(format!("{name} {}", versions(base))),
            (base, head) => {
                changed.push(format!("{name} {} -> {}", versions(base), versions(head)));
            }
        }
    }
    let mut room = MOST_PACKAGES;
    let mut parts = Vec::new();
    for (what, mut packages) in [("", changed), ("new: ", added), ("removed: ", removed)] {
        packages.truncate(room);
        room -= packages.len();
        if !packages.is_empty() {
            parts.push(format!("{what}{}", packages.join(", ")));
        }
    }
    let more = and_more(dependencies.len(), MOST_PACKAGES);
    (!parts.is_empty()).then(|| parts.join(", ") + &more)
}
