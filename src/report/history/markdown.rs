//! The history for a web page: a table for each benchmark.

use super::{HistoryReport, Shown};
use crate::report::{date, value};

impl HistoryReport {
    /// For web pages.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for warning in &self.warnings {
            text += &format!("> warning: {warning}\n\n");
        }
        for benchmark in &self.benchmarks {
            text += &format!(
                "### `{}` ({} {})\n\n| version | date | value | change | verdict | subject |\n\
                 |---|---|--:|--:|---|---|\n",
                benchmark.id, benchmark.package, benchmark.target
            );
            for version in &benchmark.versions {
                let shown = version.shown.map_or("failed".to_owned(), |shown| match shown {
                    Shown { interval: Some(interval), .. } => {
                        value::with_interval(&interval, benchmark.in_unit)
                    }
                    Shown { value, .. } => value::value(value, benchmark.in_unit),
                });
                let against = version.against.as_ref();
                let change = against.and_then(|against| against.change);
                text += &format!(
                    "| `{}` | {} | {shown} | {} | {}{} | {} |\n",
                    version.version.short(),
                    version.time.map_or(String::new(), date::day),
                    change.map_or(String::new(), |change| value::percent(change.estimate)),
                    against.map_or("", |against| against.verdict),
                    if against.is_some_and(|a| a.measured == "apart") { " (apart)" } else { "" },
                    version.summary.replace('|', "\\|")
                );
            }
            text += "\n";
        }
        text
    }
}
