//! The history for a web page: a table for each benchmark.

use super::{Against, HistoryReport};
use crate::report::{
    date,
    markdown::{code, code_in_table, escaped},
    quantity::{estimate, percent},
    verdict::VerdictKind,
};

/// The headings of a table, and how its columns are aligned.
const TABLE_HEAD: &str = "| version | date | value | change | verdict | subject |\n\
                          |---|---|--:|--:|---|---|\n";

impl HistoryReport {
    pub(super) fn write_markdown(&self) -> String {
        let mut text = String::new();
        for warning in self.warnings() {
            text += &format!("> **Warning:** {}\n\n", escaped(&warning));
        }
        for history in &self.benchmarks {
            let place = format!(
                "{} {}, {}",
                history.benchmark.package, history.benchmark.target, history.metric.name
            );
            let id = code(&history.benchmark.name.id);
            text += &format!("### {id} ({})\n\n{TABLE_HEAD}", escaped(&place));
            for row in &history.versions {
                let value = row.summary.as_ref().map_or_else(
                    || row.without_value().name().to_owned(),
                    |summary| estimate(summary, self.criteria.confidence),
                );
                let against = row.against.as_ref();
                let change = against
                    .and_then(|against| against.row.decisive())
                    .map(|stage| percent(stage.assessment.change.estimate));
                let verdict = against.map(|against| VerdictKind::of(&against.row.verdict).name());
                let across = if against.is_some_and(Against::is_across) {
                    " (across experiments)"
                } else {
                    ""
                };
                text += &format!(
                    "| {} | {} | {value} | {} | {}{across} | {} |\n",
                    code_in_table(&row.version.short()),
                    row.version.time.map_or(String::new(), date::day),
                    change.unwrap_or_default(),
                    verdict.unwrap_or_default(),
                    escaped(&row.version.summary)
                );
            }
            text += "\n";
        }
        text
    }
}
