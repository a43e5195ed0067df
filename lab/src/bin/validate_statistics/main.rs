//! The table of docs/research/validation.md: seeded simulations of known truth, and published numbers, each against its
//! target.
//!
//! `cargo run --release -p lab --bin validate_statistics` prints it, in full precision (with `-- shapes` only those of changed
//! shapes, with `-- executions` those with more executions), and fails if a target is missed; a short form runs in the tests. The table depends on
//! neither the number of threads nor their timing.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{process::ExitCode, time::Instant};

use sheet::{HEADING, Precision, Row, Sheet};

mod alarms;
mod changes;
mod counts;
mod intervals;
mod levels;
mod phenomena;
mod power;
mod procedure;
mod replicate;
mod robust;
mod sessions;
mod shapes;
mod sheet;
mod simulation;
mod stages;
mod tables;
mod year;

fn main() -> ExitCode {
    let start = Instant::now();
    let part: Option<fn(&mut Sheet)> = match std::env::args().nth(1).as_deref() {
        Some("shapes") => Some(shapes),
        Some("executions") => Some(procedure::with_more_executions),
        _ => None,
    };
    let rows = if let Some(part) = part {
        let mut sheet = Sheet::new(Precision::Full);
        part(&mut sheet);
        sheet.rows
    } else {
        validate(Precision::Full)
    };
    println!("{HEADING}");
    for row in &rows {
        println!("{row}");
    }
    let missed = rows.iter().filter(|row| !row.ok).count();
    let seconds = start.elapsed().as_secs_f64();
    println!("\n{} checks, {missed} missed, in {seconds:.0} s", rows.len());
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Changes of the shape of a distribution, and counts that depend on the random state.
fn shapes(sheet: &mut Sheet) {
    shapes::spread(sheet);
    shapes::slow_path(sheet);
    shapes::slower_share(sheet);
    shapes::factor(sheet);
    shapes::false_regressions(sheet);
    year::year(sheet);
    counts::false_regressions(sheet);
}

/// All checks, in the order of the documentation.
fn validate(precision: Precision) -> Vec<Row> {
    let mut sheet = Sheet::new(precision);
    intervals::components(&mut sheet);
    intervals::paper(&mut sheet);
    intervals::coverage(&mut sheet);
    intervals::comparison(&mut sheet);
    intervals::steps(&mut sheet);
    alarms::paired(&mut sheet);
    alarms::minimum(&mut sheet);
    alarms::unpaired(&mut sheet);
    alarms::overlap(&mut sheet);
    power::of_rules(&mut sheet);
    power::one_stage(&mut sheet);
    stages::unchanged(&mut sheet);
    stages::suites(&mut sheet);
    procedure::without_change(&mut sheet);
    procedure::with_change(&mut sheet);
    procedure::without_min_effect(&mut sheet);
    procedure::advice(&mut sheet);
    sessions::false_verdicts(&mut sheet);
    power::pairing(&mut sheet);
    alarms::drifts(&mut sheet);
    levels::layout_test(&mut sheet);
    levels::impact(&mut sheet);
    levels::shares(&mut sheet);
    phenomena::steady(&mut sheet);
    phenomena::named(&mut sheet);
    phenomena::shares(&mut sheet);
    tables::t_quantiles(&mut sheet);
    robust::contaminated(&mut sheet);
    robust::power(&mut sheet);
    // The seed of a row that is gone: those below keep theirs, and their numbers in the documentation.
    sheet.trials(0);
    changes::unchanged(&mut sheet);
    changes::tied(&mut sheet);
    changes::found(&mut sheet);
    shapes(&mut sheet);
    procedure::with_more_executions(&mut sheet);
    sheet.rows
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static SHORT: LazyLock<Vec<Row>> = LazyLock::new(|| validate(Precision::Short));

    #[test]
    #[ignore = "takes long"]
    fn short_form_meets_every_target() {
        let missed: Vec<String> =
            SHORT.iter().filter(|row| !row.ok).map(ToString::to_string).collect();
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    }

    #[test]
    #[ignore = "takes long"]
    fn documentation_shows_these_checks_and_targets() {
        let page = include_str!("../../../../docs/research/validation.md");
        let (_, page) = page.split_once("## The table").expect("the page has the table");
        let table = page.lines().filter(|line| line.starts_with('|')).skip(2);
        let shown = table.map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            (cells[1].to_owned(), cells[2].to_owned())
        });
        let checked = SHORT.iter().map(|row| (row.check.clone(), row.target.to_string()));
        let (shown, checked): (Vec<_>, Vec<_>) = (shown.collect(), checked.collect());
        for (shown, checked) in shown.iter().zip(&checked) {
            assert_eq!(shown, checked);
        }
        assert_eq!(shown.len(), checked.len());
    }
}
