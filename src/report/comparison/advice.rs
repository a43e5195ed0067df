//! How to look deeper: commands to type, each with what it would show.

use serde::Serialize;

use super::{ComparisonReport, NamedRow, figures, row::Advice};
use crate::shell::quoted;

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
    /// What is worth doing next.
    pub(super) fn next_steps(&self) -> Vec<NextStep> {
        let mut steps = Vec::new();
        let told = self.ordered();
        if !told.is_empty() {
            steps.push(NextStep {
                command: format!("cargo rbench diff {}", self.revisions()),
                purpose: "the functions whose machine code differs".to_owned(),
            });
        }
        let unsettled =
            |named: &&&NamedRow| matches!(named.row.verdict, "regressed" | "inconclusive");
        if let Some(named) = told.iter().find(unsettled) {
            let head = quoted(&self.head.revision);
            steps.push(NextStep {
                command: format!("cargo rbench show {head} {}", quoted(&named.id)),
                purpose: format!("the values of {} in every build", self.name(named)),
            });
        }
        let inconclusive = self.with_verdict("inconclusive");
        steps.extend(["builds", "executions"].iter().filter_map(|of| self.more(&inconclusive, of)));
        steps
    }

    /// The two revisions as they were typed.
    fn revisions(&self) -> String {
        format!("{} {}", quoted(&self.base.revision), quoted(&self.head.revision))
    }

    /// More builds, or more executions, for those benchmarks that lack them.
    fn more(&self, inconclusive: &[&NamedRow], of: &str) -> Option<NextStep> {
        let lacking: Vec<(&NamedRow, Advice)> = inconclusive
            .iter()
            .filter_map(|named| Some((*named, named.advice().filter(|advice| advice.of == of)?)))
            .collect();
        let most = lacking.iter().map(|(_, advice)| advice.number).max()?;
        let flag = lacking.first()?.1.flag();
        let named = if lacking.len() <= MOST_NAMED {
            let filters =
                lacking.iter().map(|(named, _)| format!(" --filter {}", quoted(&named.id)));
            format!(" --exact{}", filters.collect::<String>())
        } else {
            String::new()
        };
        let whom = match &lacking[..] {
            [(only, _)] => self.name(only),
            several => format!("{} inconclusive benchmarks", several.len()),
        };
        let smallest = self.criteria.map_or(0.0, |criteria| criteria.min_effect);
        let detectable = lacking.iter().map(|(_, advice)| advice.smallest_detectable);
        Some(NextStep {
            command: format!("cargo rbench compare {}{named} {flag} {most}", self.revisions()),
            purpose: format!(
                "would flag a change of {} in {whom} with 80 % power",
                figures::size(detectable.fold(smallest, f64::max))
            ),
        })
    }
}

impl NamedRow {
    pub(super) fn advice(&self) -> Option<Advice> {
        self.row.measured.as_ref()?.advice
    }
}
