//! A plan for a web page.

use super::{PlanReport, sections::Section};
use crate::report::{
    markdown::{code_in_table, escaped, message},
    quantity::duration,
};

impl PlanReport {
    pub(super) fn write_markdown(&self) -> String {
        let mut text = format!("## Plan by {}\n", escaped(&self.version.to_string()));
        for section in self.sections() {
            text += &section.markdown();
        }
        for (benchmark, reason) in &self.unknown.benchmarks {
            let line = message(&format!("{benchmark}: nothing is known: {reason}"));
            text += &format!("\n- {line}");
        }
        for (target, failure) in &self.unknown.targets {
            text += &format!("\n- {}", message(&format!("{target}: {failure}")));
        }
        let toml = self.toml();
        if toml.is_empty() {
            return text;
        }
        let took = duration(self.suggestion.time);
        text += &format!("\n### For `bench.toml`\n\n```toml\n{toml}```\n");
        text += &format!("\nMeasuring a version takes about {took}.\n");
        text + &self.beyond().map_or(String::new(), |line| format!("\n{}\n", escaped(&line)))
    }
}

impl Section {
    fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let align = (0..self.head.len()).map(|index| if index == 0 { "---" } else { "--:" });
        let mut text = format!("\n### {}\n\n", escaped(&self.title));
        text += &line(self.head.iter().map(|head| escaped(head)).collect());
        text += &format!("|{}|\n", align.collect::<Vec<_>>().join("|"));
        for row in &self.rows {
            let cells = row.iter().enumerate().map(|(index, cell)| match index {
                0 => code_in_table(cell),
                _ => escaped(cell),
            });
            text += &line(cells.collect());
        }
        for note in &self.notes {
            text += &format!("\n{}\n", escaped(note));
        }
        text
    }
}
