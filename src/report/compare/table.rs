//! The table of a comparison, in reports and in comments on pull requests.

use super::comparison::{Row, Stage};
use crate::{
    model::Metric,
    report::{
        json::Shares,
        names::{Names, metric_name},
        quantity::{changed, exact, range},
        table::{Cell, Column, Table},
    },
};

/// The confidence of the CI of a change by fresh builds, or by the first interim analysis. Later
/// analyses have a higher one; docs/research/validation.md has their joint coverage.
const INTERVAL: f64 = 0.95;

/// The table of these rows. Without a confidence, it has no details of the values: their intervals
/// are wider than that of the change, in which layouts and noise that both versions share cancel.
pub fn table(
    rows: &[&Row],
    names: &Names<'_>,
    (confidence, names_metrics): (Option<f64>, bool),
) -> Table {
    let is_timed = |row: &&Row| row.metric().is_some_and(|metric| !metric.is_counted());
    // Counts have no confidence interval.
    let is_counted = !rows.is_empty() && !rows.iter().any(is_timed);
    let is_wider =
        |row: &&Row| row.change.as_ref().is_some_and(|change| change.confidence > INTERVAL + 1e-9);
    let at_least = if rows.iter().any(is_wider) { "≥ " } else { "" };
    let interval = if is_counted {
        Column::right("range").optional(3)
    } else {
        Column::right(format!("{at_least}{} interval", exact(INTERVAL))).dropped(0)
    };
    let of_value = confidence.map_or_else(String::new, |one| format!("± ({})", exact(one)));
    let mut table = Table::new([
        Column::left("benchmark").names(),
        Column::left("metric"),
        Column::right("base").dropped(1),
        Column::right(of_value.clone()).joined().optional(1),
        Column::right("head").dropped(1),
        Column::right(of_value).joined().optional(1),
        Column::right("change"),
        interval,
        Column::left("verdict"),
        Column::right("builds").optional(2),
        Column::right(Shares::HEAD).optional(0),
    ]);
    for row in rows {
        table.row(cells(row, names, (confidence.is_some(), names_metrics)));
    }
    table
}

fn cells(row: &Row, names: &Names<'_>, (has_details, names_metrics): (bool, bool)) -> Vec<Cell> {
    let metric = row.metric();
    let named = metric_name(metric.as_ref().filter(|_| names_metrics));
    let mut cells = vec![Cell::name(names.name(&row.benchmark)), Cell::name(named)];
    let values = metric.as_ref().map(|Metric { unit, .. }| {
        [&row.base, &row.head].map(|value| value.as_ref().map(|value| value.texts(*unit)))
    });
    for (value, interval) in values.into_iter().flatten().map(Option::unwrap_or_default) {
        let interval = if has_details { interval } else { String::new() };
        cells.extend([Cell::from(value), Cell::from(interval)]);
    }
    cells.resize_with(6, Cell::default);
    let variance = row.stages.last().filter(|_| has_details);
    let role = row.verdict.role();
    let change = row.change.as_ref().map(|change| change.change);
    cells.extend([
        Cell::styled(role, change.map_or_else(String::new, |change| changed(change.estimate))),
        Cell::from(change.map_or_else(String::new, |change| range(change.low, change.high))),
        Cell::styled(role, row.verdict.name()),
        Cell::from(row.stages.iter().map(builds).collect::<Vec<_>>().join("+")),
        Cell::from(Shares::text(variance.and_then(|one| one.variance))),
    ]);
    cells
}

/// The number of deciding builds of a stage: `10`.
fn builds(stage: &Stage) -> String {
    let [base, head] = [stage.base.builds, stage.head.builds];
    // Untrusted numbers may be of any size.
    let paired = base.saturating_add(head).saturating_sub(stage.builds_left_out) / 2;
    if stage.builds_left_out > 0 { paired } else { base.min(head) }.to_string()
}
