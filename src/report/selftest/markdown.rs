//! The self-test for pull requests and web pages.

use super::{SelftestReport, grid::Grid, text::FLOORS};
use crate::report::{
    compare::warning_sentence,
    markdown::{code_in_table, cut, escaped, folded},
};

/// Comments on GitHub hold 65,536 characters.
const FLOOR_ROWS: usize = 30_000;
const LIMITS: usize = 5_000;

impl SelftestReport {
    pub(super) fn write_markdown(&self) -> String {
        let mut text = format!(
            "### Self-test: is this machine fit to judge?\n\n{}.\n",
            escaped(&self.subject())
        );
        for warning in &self.warnings {
            text += &format!("\n> **Warning:** {}\n", escaped(&warning_sentence(warning)));
        }
        for (_, conclusion) in self.conclusions() {
            let (head, rest) = conclusion.split_once('.').unwrap_or((&conclusion, ""));
            text += &format!("\n**{}.**{}\n", escaped(head), escaped(rest));
        }
        for advice in self.advice() {
            text += &format!("\n{}\n", escaped(&advice));
        }
        text += &table(&self.of_ways(), escaped);
        if let Some(tools) = self.of_tools() {
            text += &table(&tools, escaped);
        }
        let floors = table(&self.of_floors(), code_in_table);
        text += &folded(
            &format!("noise floor{}", self.of_first_way()),
            &format!("\n{}.\n{floors}", escaped(FLOORS)),
        );
        let limits = self.limits().into_iter().map(|limit| format!("\n{}.\n", escaped(&limit)));
        text + &cut(limits, LIMITS, "notes")
    }
}

/// A table whose first cells are written by `name`.
fn table(grid: &Grid, name: fn(&str) -> String) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = line(grid.heads.iter().map(|head| escaped(head)).collect());
    let aligned = ":--|".to_owned() + &"--:|".repeat(grid.heads.len().saturating_sub(1));
    let rows = grid.rows.iter().map(|row| {
        let cells = row.iter().enumerate();
        let written = |(at, cell): (usize, &String)| {
            if at == 0 { name(cell.trim()) } else { escaped(cell) }
        };
        line(cells.map(written).collect())
    });
    format!("\n{heads}|{aligned}\n{}", cut(rows, FLOOR_ROWS, "rows"))
}
