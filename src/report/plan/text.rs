//! A plan for people at a terminal.

use super::{PlanReport, sections::Section};
use crate::report::{
    names::Names,
    prose::{filled, first_line_filled},
    quantity::{count, duration},
    style::{self, paint},
    table::{Cell, Column, Table},
    visible::{visible, visible_lines},
};

impl PlanReport {
    pub(super) fn write_text(&self, columns: usize) -> String {
        let version = paint(style::HEAD, &self.version.to_string());
        let summary = visible(&self.version.summary);
        let mut text = format!("{version}  {summary}").trim_end().to_owned() + "\n";
        for section in self.sections() {
            text += &section.text(columns);
        }
        text += &self.failures_text(columns);
        let toml = self.toml();
        if toml.is_empty() {
            return text;
        }
        let took = duration(self.suggestion.time);
        let head = paint(style::HEAD, "For bench.toml");
        text += &format!("\n{head} (measuring a version takes about {took})\n\n{toml}");
        if let Some(line) = self.beyond() {
            text += &format!("\n{}", filled(&line, columns));
        }
        text
    }

    /// What no number of builds makes visible.
    pub(super) fn beyond(&self) -> Option<String> {
        let beyond = &self.suggestion.beyond;
        let names = Names::of(self.benchmarks.iter().map(|one| &one.benchmark));
        let all = beyond.iter().map(|index| names.name(&self.benchmarks[*index].benchmark));
        let all: Vec<String> = all.map(|name| visible(&name).into_owned()).collect();
        (!all.is_empty()).then(|| {
            format!(
                "{} {} more than {} builds, which is not suggested: {}",
                count(all.len(), "benchmark"),
                if all.len() == 1 { "needs" } else { "need" },
                super::MOST_BUILDS,
                all.join(", ")
            )
        })
    }

    fn failures_text(&self, columns: usize) -> String {
        let names = Names::of(self.unknown.benchmarks.iter().map(|(benchmark, _)| benchmark));
        let benchmarks = self.unknown.benchmarks.iter().map(|(benchmark, reason)| {
            let name = names.name(benchmark);
            format!("{}: nothing is known: {}", visible(&name), visible_lines(reason))
        });
        let targets = self.unknown.targets.iter().map(|(target, failure)| {
            format!("{}: {}", visible(&target.to_string()), visible_lines(&failure.to_string()))
        });
        let lines = benchmarks.chain(targets).map(|line| first_line_filled(&line, columns));
        let lines: String = lines.collect();
        if lines.is_empty() { lines } else { "\n".to_owned() + &lines }
    }
}

impl Section {
    fn text(&self, columns: usize) -> String {
        let head = self.head.iter().enumerate().map(|(index, head)| match index {
            0 => Column::left(head.clone()).names(),
            _ => Column::right(head.clone()),
        });
        let mut table = Table::new(head);
        for row in &self.rows {
            table.row(row.iter().map(Cell::from));
        }
        let title = paint(style::HEAD, &self.title);
        let notes = self.notes.iter().map(|note| filled(note, columns));
        format!("\n{title}\n\n{}\n{}", table.fit(columns), notes.collect::<String>())
    }
}
