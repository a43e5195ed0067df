//! The first table of docs/research/diagnoses.md: how often `cargo rbench diagnose` finds the defect of a benchmark, and none
//! where there is none.
//!
//! `cargo run --release -p lab --bin diagnosed` builds rbench, diagnoses each benchmark of the
//! fixture `diagnosed` several times with the defaults, each time anew, and prints a table and the
//! requirements. It exits with an error if one is missed.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use clap::Parser;
use serde_json::Value;

/// The benchmarks with a defect, and the warning that names it.
const PHENOMENA: [(&str, &str); 4] = [
    ("notifies", "order_effect"),
    ("warms up", "warm_up"),
    ("leaps", "level_shifts"),
    ("two states", "simultaneous_states"),
];
/// The benchmark without a defect.
const STEADY: &str = "steady";
/// The longest accepted duration of a default diagnosis of one benchmark.
const LONGEST: Duration = Duration::from_secs(60);

/// The options of the study.
#[derive(Debug, Parser)]
struct Options {
    /// How often each benchmark with a defect is diagnosed; the steady one twice as often.
    #[arg(long, default_value_t = 20)]
    times: usize,
    /// The `cargo-rbench` to use instead of building one.
    #[arg(long)]
    rbench: Option<PathBuf>,
}

fn main() -> ExitCode {
    lab::end(run(Options::parse()))
}

/// Alternates between benchmarks, so that each meets the same disturbances of the machine.
fn run(options: Options) -> Result<bool, Box<dyn Error>> {
    let program = options.rbench.map_or_else(|| lab::rbench::build("release"), Ok)?;
    let project = lab::Project::of_fixture("diagnosed")?;
    fs::write(project.tree.path().join(".gitignore"), "target\n.rbench\n")?;
    project.tree.commit("Ignore what is built")?;
    let mut named = [0; PHENOMENA.len()];
    let (mut silent, mut times) = (0, Vec::new());
    for time in 0..options.times {
        for (at, (benchmark, expected)) in PHENOMENA.iter().enumerate() {
            let (warnings, took) = diagnose(&program, &project, benchmark)?;
            named[at] += usize::from(warnings.iter().any(|kind| kind == expected));
            print_line(time, benchmark, &warnings, took);
            times.push(took);
        }
        for _ in 0..2 {
            let (warnings, took) = diagnose(&program, &project, STEADY)?;
            silent += usize::from(warnings.is_empty());
            print_line(time, STEADY, &warnings, took);
            times.push(took);
        }
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let mut all_reached = median <= LONGEST;
    for ((benchmark, expected), named) in PHENOMENA.iter().zip(named) {
        println!(
            "{benchmark}: named {expected} {named} of {} times (at least 95 %)",
            options.times
        );
        all_reached &= 100 * named >= 95 * options.times;
    }
    let runs = 2 * options.times;
    println!("{STEADY}: nothing said {silent} of {runs} times (at least 95 %)");
    println!(
        "a diagnosis: {:.0} s in the median, {:.0} s at most (median at most {} s)",
        median.as_secs_f64(),
        times.last().copied().unwrap_or_default().as_secs_f64(),
        LONGEST.as_secs()
    );
    Ok(all_reached && 100 * silent >= 95 * runs)
}

fn print_line(time: usize, benchmark: &str, warnings: &[String], took: Duration) {
    let warnings = if warnings.is_empty() { "nothing".to_owned() } else { warnings.join(", ") };
    println!("{:>3}  {benchmark:<10}  {:>3.0} s  {warnings}", time + 1, took.as_secs_f64());
}

/// The warnings of one diagnosis that starts without stored results.
fn diagnose(
    program: &PathBuf,
    project: &lab::Project,
    benchmark: &str,
) -> Result<(Vec<String>, Duration), Box<dyn Error>> {
    let kept = project.tree.path().join(".rbench");
    if kept.exists() {
        fs::remove_dir_all(kept)?;
    }
    let start = Instant::now();
    let output = Command::new(program)
        .current_dir(project.tree.path())
        .env("XDG_CACHE_HOME", project.scratch().join("cache"))
        .args(["rbench", "diagnose", "HEAD", "--exact", benchmark, "--format", "json"])
        .output()?;
    let took = start.elapsed();
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let warnings = report["benchmarks"][0]["diagnosis"]["warnings"]
        .as_array()
        .ok_or("a report without warnings")?;
    let kinds = warnings.iter().filter_map(|warning| warning["kind"].as_str());
    Ok((kinds.map(str::to_owned).collect(), took))
}
