//! The history for a web page: a table for each benchmark.

use super::{Against, HistoryReport};
use crate::report::{
    date,
    markdown::{code, code_in_table, escaped},
    names::metric_name,
    quantity::{changed, estimate, range},
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
        text += &self.markdown_events();
        let shown = self.benchmarks.iter().filter(|_| !self.events_only);
        for history in shown {
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
                    .map(|stage| changed(stage.assessment.change.estimate));
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

    fn markdown_events(&self) -> String {
        let mut text = String::new();
        for event in &self.events {
            text += &format!("**suspected since {}**", code(&event.place.best_range()));
            let subject = &event.place.best[1].summary;
            if !subject.is_empty() {
                text += &format!(" ({})", escaped(subject));
            }
            text += "\n\n| benchmark | change | 95 % interval | or in |\n|---|--:|---|---|\n";
            for (history, change) in self.members(event) {
                let metric = match metric_name(Some(&history.metric)) {
                    "" => String::new(),
                    metric => format!(" ({})", escaped(metric)),
                };
                text += &format!(
                    "| {}{metric} | {} | {} | {} |\n",
                    code_in_table(&history.benchmark.name.id),
                    changed(change.estimate),
                    range(change.low, change.high),
                    change
                        .place
                        .possible_range()
                        .map_or(String::new(), |range| code_in_table(&range)),
                );
            }
            text.push('\n');
        }
        text + &format!("{}\n\n", escaped(&self.judged()))
    }
}
