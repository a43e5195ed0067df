//! How to look deeper: commands to type, each with what it would show.

use serde::Serialize;

use super::{ComparisonReport, NamedRow, figures, row::Advice};
use crate::{
    cli::{DiffArgs, TypedFlags},
    shell::quoted,
};

/// Up to so many benchmarks are named in a command; beyond, it is about all.
const MOST_NAMED: usize = 4;

/// A command and its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextStep {
    /// To be typed in the project.
    pub command: String,
    /// What it shows.
    pub purpose: String,
}

impl ComparisonReport {
    /// Advises commands with the flags that the comparison was typed with.
    pub fn typed_with(&mut self, flags: &TypedFlags) {
        self.typed = flags.clone();
    }

    /// What is worth doing next.
    pub(super) fn next_steps(&self) -> Vec<NextStep> {
        let mut steps = Vec::new();
        let told = self.ordered();
        if !told.is_empty() {
            steps.push(NextStep {
                command: format!(
                    "cargo rbench diff {}{}",
                    self.revisions(),
                    self.typed.of_command::<DiffArgs>()
                ),
                purpose: "the functions whose machine code differs".to_owned(),
            });
        }
        let unsettled =
            |named: &&&NamedRow| matches!(named.row.verdict, "regressed" | "inconclusive");
        if let Some(named) = told.iter().find(unsettled) {
            let head = quoted(&self.head.revision);
            let project = self.typed.only(&["manifest-path"]);
            steps.push(NextStep {
                command: format!("cargo rbench show {head} --exact {}{project}", quoted(&named.id)),
                purpose: format!("the values of {} in every build", self.name(named)),
            });
        }
        let inconclusive = self.with_verdict("inconclusive");
        for of in ["builds", "executions"] {
            let lacking = inconclusive.iter().filter_map(|named| {
                let advice = named.advice().filter(|advice| advice.of == of)?;
                Some((*named, advice))
            });
            let (enough, half): (Vec<_>, Vec<_>) =
                lacking.partition(|(_, advice)| self.is_enough(*advice));
            steps.extend([enough, half].iter().filter_map(|lacking| self.more(lacking)));
        }
        steps
    }

    /// The two revisions as they were typed.
    fn revisions(&self) -> String {
        format!("{} {}", quoted(&self.base.revision), quoted(&self.head.revision))
    }

    /// Whether the smallest change of interest would be seen.
    fn is_enough(&self, advice: Advice) -> bool {
        self.criteria.is_some_and(|criteria| advice.smallest_detectable <= criteria.min_effect)
    }

    /// More builds, or more executions, for those benchmarks that lack them: enough for all of them to
    /// show the smallest change of interest, or for all of them to show half of what they show now.
    fn more(&self, lacking: &[(&NamedRow, Advice)]) -> Option<NextStep> {
        let (_, most) = *lacking.iter().max_by_key(|(_, advice)| advice.number)?;
        let whom = match lacking {
            [(only, _)] => self.name(only),
            several => format!("{} inconclusive benchmarks", several.len()),
        };
        let least = self.criteria.map_or(0.0, |criteria| criteria.min_effect);
        let purpose = if lacking.len() == 1 || self.is_enough(most) {
            let size = figures::size(most.smallest_detectable.max(least));
            format!("would flag a change of {size} in {whom} with 80 % power")
        } else {
            format!("would halve the smallest change that shows with 80 % power in {whom}")
        };
        let mut command = format!("cargo rbench compare {}", self.revisions());
        let mut replaced = vec![most.of, "stored", "allow-different"];
        if lacking.len() <= MOST_NAMED {
            replaced.extend(["exact", "filter"]);
            command += " --exact";
            for (named, _) in lacking {
                command += &format!(" --filter {}", quoted(&named.id));
            }
        }
        command += &self.typed.without(&replaced);
        command += &format!(" {} {}", most.flag(), most.number);
        Some(NextStep { command, purpose })
    }
}

impl NamedRow {
    pub(super) fn advice(&self) -> Option<Advice> {
        self.row.measured.as_ref()?.advice
    }
}
