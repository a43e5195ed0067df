//! Prints every check of the statistics against its target, and fails if one is missed.

use std::{process::ExitCode, time::Instant};

use cargo_rbench::stats::validation::{HEADING, Precision, validate};

#[expect(clippy::print_stdout, reason = "the table is what the example is for")]
fn main() -> ExitCode {
    let start = Instant::now();
    let rows = validate(Precision::Full);
    println!("{HEADING}");
    for row in &rows {
        println!("{row}");
    }
    let missed = rows.iter().filter(|row| !row.ok).count();
    let seconds = start.elapsed().as_secs_f64();
    println!("\n{} checks, {missed} missed, in {seconds:.0} s", rows.len());
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
