//! Checks that `diff --explain` names the changed function and that its differences sum to the counted
//! one.
//!
//! `cargo run --release -p lab --bin explained` makes ten commits on the fixture `explained`. Each
//! makes one benchmark execute more or fewer instructions for another reason: a slower function,
//! inlining lost and gained, more calls, a larger table, another algorithm, checks, allocations, a
//! method behind a pointer, a recursive function. For each it prints the count of `compare --metric
//! instructions`, the function that `diff --explain` names first, and the distance of the sum of all
//! differences from the count; then the requirements. It fails if one is missed.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use clap::Parser;
use lab::WorkingTree;
use serde_json::Value;

use planted::{PLANTED, Planted};

#[path = "../../../../tests/e2e/explain/planted.rs"]
mod planted;

/// The options of the study.
#[derive(Debug, Parser)]
struct Options {
    /// The rbench under test [default: built with this program]
    #[arg(long)]
    rbench: Option<PathBuf>,
}

fn main() -> ExitCode {
    lab::end(run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let rbench = match &options.rbench {
        Some(rbench) => rbench.canonicalize()?,
        None => lab::rbench::build("release")?,
    };
    let scratch = tempfile::tempdir()?;
    let tree = WorkingTree::of_fixture("explained", scratch.path().join("project"))?;
    let mut found = Vec::new();
    println!("{:<12} {:>12} {:>10}  first", "benchmark", "counted", "sum off");
    for planted in &PLANTED {
        for (file, old, new) in planted.edits {
            tree.edit(&format!("src/{file}"), |text| text.replace(old, new))?;
        }
        tree.commit(planted.benchmark)?;
        let answer = Answer::explain(planted, &rbench, tree.path())?;
        let Answer { counted, first, .. } = &answer;
        let mark = if answer.is_right(planted) { "" } else { " (WRONG)" };
        let off = 100.0 * answer.sum_off();
        println!("{:<12} {counted:>+12.1} {off:>8.3} %  {first}{mark}", planted.benchmark);
        found.push((answer.is_right(planted), answer.sum_off()));
    }
    let right = found.iter().filter(|(is_right, _)| *is_right).count();
    let worst = found.iter().map(|(_, off)| *off).fold(0.0, f64::max);
    let all = found.len();
    let bars = [
        bar("the planted function first: at least 9", &format!("{right} of {all}"), right >= 9),
        bar("sums: at most 0.1 % off", &format!("{:.3} %", 100.0 * worst), worst <= 1e-3),
    ];
    Ok(bars.into_iter().all(|is_met| is_met))
}

fn bar(what: &str, measured: &str, is_met: bool) -> bool {
    println!("{what:<50} {measured:>12} {}", if is_met { "reached" } else { "MISSED" });
    is_met
}

/// The report of rbench on the last commit.
struct Answer {
    /// The counted difference in instructions per iteration.
    counted: f64,
    /// The sum of the differences of all functions.
    sum: f64,
    /// The function that is named first.
    first: String,
}

impl Answer {
    fn explain(planted: &Planted, rbench: &Path, tree: &Path) -> Result<Self, Box<dyn Error>> {
        let ask = |words: &[&str]| -> Result<Value, Box<dyn Error>> {
            let output = Command::new(rbench)
                .args(["rbench", words[0], "HEAD~1", "HEAD"])
                .args(&words[1..])
                .args(["--format", "json"])
                .current_dir(tree)
                .stdin(Stdio::null())
                .output()?;
            let error = |_| String::from_utf8_lossy(&output.stderr).into_owned();
            Ok(serde_json::from_slice(&output.stdout).map_err(error)?)
        };
        let only = format!("^{}$", planted.benchmark);
        let compared =
            ask(&["compare", "--metric", "instructions", "--fail-on", "never", "--filter", &only])?;
        let explained = ask(&["diff", "--explain", planted.benchmark])?;
        let row = &compared["benchmarks"][0];
        let value = |version: &str| row[version]["value"].as_f64().ok_or("nothing was counted");
        let functions = explained["functions"].as_array().ok_or("there are no functions")?;
        Ok(Self {
            counted: value("head")? - value("base")?,
            sum: functions.iter().filter_map(|function| function["self"].as_f64()).sum(),
            first: explained["functions"][0]["name"].as_str().unwrap_or_default().to_owned(),
        })
    }

    fn is_right(&self, planted: &Planted) -> bool {
        self.first == planted.function
    }

    /// The distance of the sum from the count, as a share of the count.
    fn sum_off(&self) -> f64 {
        (self.sum - self.counted).abs() / self.counted.abs()
    }
}
