//! The comparison for pull requests: short, what needs attention first, the rest folded, and never longer
//! than a comment may be.

use super::{ComparisonReport, dependencies_note, notes::ground, summary::name};
use crate::{
    judge::JudgedRow,
    model::Version,
    report::{
        accepted::idle_note,
        markdown::{code, code_in_table, cut, escaped, fenced, folded, message},
        names::Names,
        prose::capitalised,
        quantity::{self, changed},
        reach::Form,
        sentence,
        table::shorten,
        verdict::VerdictKind,
        visible::visible,
    },
};

/// Comments on GitHub hold 65,536 characters. The parts below, of which there are five with names, have fewer
/// bytes than that together.
const LOUD: usize = 18_000;
const CALM: usize = 10_000;
const DETAILS: usize = 13_000;
const REACH: usize = 3_000;
const CALM_REACH: usize = 1_500;
const NAMES: usize = 1_000;
const WARNINGS: usize = 3_000;
const MEANS: usize = 1_000;
const OBSTACLES: usize = 2_000;
const FUNCTIONS: usize = 1_500;
const DEPENDENCIES: usize = 500;
const STEPS: usize = 3_000;

/// The longest id, and the longest reason of a failure.
const LONGEST_ID: usize = 100;
const LONGEST_REASON: usize = 1_500;

/// The headings of a table, and how its columns are aligned.
const TABLE_HEAD: &str = "\n| benchmark | base | head | change | interval, % | verdict |\n\
                          |:--|--:|--:|--:|:-:|:--|\n";

impl ComparisonReport {
    pub(super) fn write_markdown(&self) -> String {
        let head = format!("### Benchmarks: {}\n\n", self.headline());
        let Some(also) = &self.also else { return head + &self.section(1) };
        // Both fit into one comment.
        let against = format!("\n#### Also against {}\n\n", version(&also.base));
        head + &self.section(2) + &against + &also.section(2)
    }

    /// One of so many comparisons in a comment.
    fn section(&self, of: usize) -> String {
        let mut text = format!(
            "{} against {}: {}.",
            version(&self.head),
            version(&self.base),
            self.verdicts_text()
        );
        let means = self.mean_texts().map(|mean| format!(" {}.", escaped(&capitalised(&mean))));
        text += &cut(means, MEANS / of, "means");
        text += &format!(" Min-effect {}.\n", self.min_effect_text());
        let warnings = self.all_warnings().into_iter().map(|warning| {
            let warning = shorten(&self.warning_text(&warning), LONGEST_REASON);
            format!("\n> **Warning:** {}\n", escaped(&warning))
        });
        text += &cut(warnings, WARNINGS / of, "warnings");
        if let Some(line) = self.machine_line() {
            text += &format!("\n> {}\n", escaped(&shorten(&line, LONGEST_REASON)));
        }

        let is_calm = |row: &&JudgedRow| {
            let kind = VerdictKind::of(&row.verdict);
            matches!(kind, VerdictKind::Inconclusive | VerdictKind::Unchanged)
        };
        let rows = self.ordered();
        let (calm, loud): (Vec<&JudgedRow>, Vec<&JudgedRow>) =
            rows.iter().copied().partition(is_calm);
        if !loud.is_empty() {
            text += &self.markdown_table(&loud, LOUD / of);
        }
        text += &self.markdown_reach(true, REACH / of);
        text += &self.details(&loud, DETAILS / of);
        if !calm.is_empty() {
            let kinds = [VerdictKind::Inconclusive, VerdictKind::Unchanged];
            let counts = kinds.map(|kind| (self.with_verdict(kind).count(), kind.name()));
            let counts = counts.iter().filter(|(count, _)| *count > 0);
            let counts: Vec<String> =
                counts.map(|(count, word)| format!("{count} {word}")).collect();
            let table = self.markdown_table(&calm, CALM / of)
                + &self.markdown_reach(false, CALM_REACH / of);
            text += &folded(&counts.join(", "), &table);
        }
        let counted = self.time_and_counts().into_iter();
        let counted = counted.map(|note| format!("- {}\n", escaped(&note)));
        let counted = cut(counted, OBSTACLES / of, "notes");
        if !counted.is_empty() {
            text += &format!("\n{counted}");
        }
        let obstacles = self.obstacle_notes().into_iter();
        let obstacles = obstacles.map(|note| format!("\n{}.\n", escaped(&capitalised(&note))));
        text += &cut(obstacles, OBSTACLES / of, "notes");
        text += &self.not_judged(of);
        text + &self.folded_steps(STEPS / of)
    }

    /// What the benchmarks execute and read that differs: of those that got faster or slower, or of those that are
    /// inconclusive.
    fn markdown_reach(&self, is_changed: bool, room: usize) -> String {
        let notes = self.reach_notes(Form::Markdown).into_iter();
        let notes = notes.filter(|note| note.is_changed == is_changed);
        let items = cut(notes.map(|note| format!("- {}\n", note.text)), room, "notes");
        if items.is_empty() { items } else { format!("\n{items}") }
    }

    /// A table with the columns that fit into a pull request.
    fn markdown_table(&self, rows: &[&JudgedRow], room: usize) -> String {
        let names = self.names();
        let lines = rows.iter().map(|row| self.line(&names, row));
        TABLE_HEAD.to_owned() + &cut(lines, room, "rows")
    }

    fn line(&self, names: &Names<'_>, row: &JudgedRow) -> String {
        let name = code_in_table(&shorten(&name(names, row), LONGEST_ID));
        let verdict = match VerdictKind::of(&row.verdict) {
            loud @ (VerdictKind::Regressed | VerdictKind::Failed) => format!("**{}**", loud.name()),
            other => other.name().to_owned(),
        };
        let Some(stage) = row.decisive() else {
            return format!("| {name} | | | | | {verdict} |\n");
        };
        let [base, head] = stage
            .summaries
            .each_ref()
            .map(|summary| quantity::estimate(summary, self.criteria.confidence));
        let change = stage.assessment.change;
        format!(
            "| {name} | {base} | {head} | {} | {} | {verdict} |\n",
            changed(change.estimate),
            quantity::range(change.low, change.high),
        )
    }

    /// Why verdicts are what they are, folded.
    fn details(&self, rows: &[&JudgedRow], room: usize) -> String {
        let names = self.names();
        let item = |name: &str, reason: &str| {
            format!("- {name}: {}", message(&shorten(reason, LONGEST_REASON)))
        };
        let benchmarks = rows
            .iter()
            .filter(|row| ground(row).is_none())
            .map(|row| item(&code(&shorten(&name(&names, row), LONGEST_ID)), &sentence::row(row)));
        let targets = self.failed_targets.iter().map(|(target, failure)| {
            item(&code(&target.to_string()), &format!("failed: {failure}"))
        });
        let notes = [
            (VerdictKind::Inconclusive, self.inconclusive_note()),
            (VerdictKind::Unchanged, self.too_small_note()),
        ];
        let notes = notes.into_iter().filter_map(|(kind, note)| Some((kind.name(), note?)));
        let notes = self.ground_notes().into_iter().chain(notes);
        let notes = notes.map(|(head, note)| item(head, &note));
        let means = self.mean_notes().into_iter().map(|note| format!("- {}", message(&note)));
        let items: Vec<String> = notes.chain(means).chain(benchmarks).chain(targets).collect();
        if items.is_empty() {
            return String::new();
        }
        let reasons = cut(items.into_iter(), room, "reasons");
        folded("the reasons", &format!("\n{reasons}"))
    }

    /// What was not judged, and how the machine code differs, in one of so many comparisons.
    fn not_judged(&self, of: usize) -> String {
        let names = self.names();
        let with_verdict = |kind| self.with_verdict(kind).map(|row| name(&names, row)).collect();
        let only = |of: &Version| format!("only in {}", version(of));
        let lists: [(Vec<String>, String); 5] = [
            (
                with_verdict(VerdictKind::Unaffected),
                "executing and reading nothing that changed, not measured".to_owned(),
            ),
            (
                with_verdict(VerdictKind::Identical),
                "identical machine code, not measured".to_owned(),
            ),
            (with_verdict(VerdictKind::Skipped), "skipped by the benchmark itself".to_owned()),
            (self.added.iter().map(|one| names.name(one)).collect(), only(&self.head)),
            (self.removed.iter().map(|one| names.name(one)).collect(), only(&self.base)),
        ];
        let mut text = String::new();
        for (names, what) in lists.iter().filter(|(names, _)| !names.is_empty()) {
            let items = names.iter().map(|name| format!("{} ", code(&shorten(name, LONGEST_ID))));
            let list = cut(items, NAMES / of, "benchmarks");
            text += &format!("\n{} {what}: {}\n", names.len(), list.trim_end());
        }
        if let Some(note) = idle_note(&self.idle) {
            text += &format!("\nNote: {}.\n", escaped(&note));
        }
        if let Some(functions) = self.functions_note() {
            let counts = functions.split("; ").next().unwrap_or_default();
            let [all, counts] = [&functions, counts].map(escaped);
            let functions = if all.len() <= FUNCTIONS / of { all } else { counts };
            text += &format!("\nMachine code: {functions}.\n");
        }
        if let Some(dependencies) = dependencies_note(&self.dependencies) {
            let dependencies = escaped(&shorten(&visible(&dependencies), DEPENDENCIES));
            text += &format!("\nDependencies: {dependencies}.\n");
        }
        text
    }

    /// Commands to type, folded.
    fn folded_steps(&self, room: usize) -> String {
        let mut commands = String::new();
        for step in self.next_steps() {
            // Each on its own line: a line break in an id must not begin another command.
            let step = format!("# {}\n{}\n", visible(&step.purpose), visible(&step.command));
            if commands.len() + step.len() <= room {
                commands += &step;
            }
        }
        if commands.is_empty() {
            return commands;
        }
        folded("next steps", &fenced(&commands))
    }
}

/// A version, whose revision may be of any length.
fn version(version: &Version) -> String {
    code(&shorten(&visible(&version.to_string()), LONGEST_ID))
}
