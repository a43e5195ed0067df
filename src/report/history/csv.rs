//! The history for spreadsheets: a line for each version, or for each suspected change.

use super::{BenchmarkHistory, HistoryReport, HistoryRow};
use crate::{
    judge::VerdictKind,
    model::Version,
    report::{csv::quoted, visible::visible},
};

/// Changes are relative: 0.05 is 5 %. Empty where there is nothing.
const VERSIONS: &str = "package,target,benchmark,metric,unit,commit,time_seconds,value,verdict,\
                        change,suspected_change,suspected_low,suspected_high,subject\n";
const EVENTS: &str = "event,package,target,benchmark,metric,after,until,possible_after,\
                      possible_until,change,low,high,subject\n";

impl HistoryReport {
    pub(super) fn write_csv(&self) -> String {
        if self.events_only { self.csv_of_events() } else { self.csv_of_versions() }
    }

    fn csv_of_events(&self) -> String {
        let mut text = EVENTS.to_owned();
        for (index, event) in self.events.iter().enumerate() {
            for (benchmark, change) in self.members(event) {
                let [after, until] = change.place.best.each_ref().map(hash);
                let [earliest, latest] = change.place.possible.each_ref().map(hash);
                text += &format!(
                    "{},{},{after},{until},{earliest},{latest},{},{},{},{}\n",
                    index + 1,
                    name(benchmark),
                    number(Some(change.estimate)),
                    number(Some(change.low)),
                    number(Some(change.high)),
                    field(&event.place.best[1].summary),
                );
            }
        }
        text
    }

    fn csv_of_versions(&self) -> String {
        let mut text = VERSIONS.to_owned();
        for benchmark in &self.benchmarks {
            for row in &benchmark.versions {
                text += &benchmark.csv_row(row);
            }
        }
        text
    }
}

impl BenchmarkHistory {
    fn csv_row(&self, row: &HistoryRow) -> String {
        let value = row.summary.as_ref().map(|summary| summary.values().mean);
        let verdict =
            row.against.as_ref().map(|against| VerdictKind::of(&against.row.verdict).name());
        let verdict = match row.summary {
            Some(_) => verdict.unwrap_or_default(),
            None => row.without_value().name(),
        };
        let judged = row.against.as_ref().and_then(|against| against.row.decisive());
        let suspected =
            self.series.changes().iter().find(|change| change.place.best[1] == row.version);
        format!(
            "{},{},{},{},{},{verdict},{},{},{},{},{}\n",
            name(self),
            self.metric.unit,
            hash(&row.version),
            row.version.time.map_or(String::new(), |time| time.to_string()),
            number(value),
            number(judged.map(|stage| stage.assessment.change.estimate)),
            number(suspected.map(|change| change.estimate)),
            number(suspected.map(|change| change.low)),
            number(suspected.map(|change| change.high)),
            field(&row.version.summary),
        )
    }
}

/// A number, or nothing where there is none: neither has a change from a count of 0.
fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}

fn name(history: &BenchmarkHistory) -> String {
    let benchmark = &history.benchmark;
    let fields = [&benchmark.package, &benchmark.target, &benchmark.name.id, &history.metric.name];
    fields.map(|text| field(text)).join(",")
}

/// The whole hash of a commit, with what tells an uncommitted tree.
fn hash(version: &Version) -> String {
    match &version.commit {
        Some(commit) if !version.dirty => field(commit),
        _ => field(&version.short()),
    }
}

/// Foreign text, which neither steers a terminal nor is a formula for a spreadsheet.
fn field(text: &str) -> String {
    let text = visible(text);
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    quoted(&if is_formula { format!("'{text}") } else { text.into_owned() })
}
