//! The self-test for people at a terminal.

use super::{SelftestReport, grid::Grid, name_of};
use crate::report::{
    compare::warning_sentence,
    prose::{filled, first_line_filled},
    quantity::dimensions,
    style::{self, paint},
    table::{Cell, Column, Table},
    visible::{visible, visible_lines},
};

/// What the numbers of the noise floor are.
pub const FLOORS: &str = "standard deviation of the difference of a pair of builds (sd), and the smallest change that so \
                          many builds flag in four of five cases";

impl SelftestReport {
    /// The report for a terminal with so many columns.
    pub(super) fn write_text(&self, columns: usize) -> String {
        let mut text = filled(&paint(style::HEAD, &self.subject()), columns);
        for way in &self.ways {
            text += &filled(
                &format!("{}: {}", name_of(way.interleave), dimensions(way.dimensions)),
                columns,
            );
        }
        for warning in &self.warnings {
            let head = paint(style::DOUBTFUL, "warning:");
            text += &filled(&format!("{head} {}", visible(&warning_sentence(warning))), columns);
        }
        for (target, failure) in &self.failed_targets {
            let target = paint(style::DOUBTFUL, &target.to_string());
            let failure = visible_lines(&failure.to_string()).into_owned();
            text += &first_line_filled(&format!("{target}: failed: {failure}"), columns);
        }
        text += "\n";
        for (is_fit, conclusion) in self.conclusions() {
            let style = if is_fit { style::GOOD } else { style::BAD };
            let (head, rest) = conclusion.split_once('.').unwrap_or((&conclusion, ""));
            text += &filled(&format!("{}.{}", paint(style, head), visible(rest)), columns);
        }
        for advice in self.advice() {
            text += &filled(&advice, columns);
        }
        text += &format!("\n{}", table(&self.of_ways()).fit(columns));
        if let Some(tools) = self.of_tools() {
            text += &format!("\n{}", table(&tools).fit(columns));
        }
        let floors = format!("noise floor{}: {FLOORS}", self.of_first_way());
        text += &format!("\n{}{}", filled(&floors, columns), table(&self.of_floors()).fit(columns));
        let limits = self.limits();
        if !limits.is_empty() {
            text += "\n";
        }
        for limit in limits {
            text += &filled(&visible(&limit), columns);
        }
        text
    }
}

/// The first column has names, all others numbers.
fn table(grid: &Grid) -> Table {
    let column = |(at, head): (usize, &String)| match at {
        0 => Column::left(head.clone()).names(),
        _ => Column::right(head.clone()),
    };
    let mut table = Table::new(grid.heads.iter().enumerate().map(column));
    for row in &grid.rows {
        table.row(row.iter().map(Cell::from));
    }
    table
}
