//! The searches of docs/research/searches.md: how often `bisect` names the commits that made a benchmark slower, in
//! histories of 64 commits with known truth: +5 % and +3 %, two commits that do not build, one merge; `git bisect
//! run` with Criterion.rs searches the same.
//!
//! `cargo run --release -p lab --bin bisect -- --keep DIR` prints a line for each history, and a
//! summary. With `--simulate`, it tries only the search itself, with simulated comparisons.
//! `docs/research/searches.md` has the results.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use clap::Parser;
use history::History;
use serde_json::Value;

mod bisect;
mod history;
mod simulate;

/// The most comparisons of one change.
const MOST: usize = 10;

/// Searches histories whose truth is known.
#[derive(Debug, Parser)]
struct Options {
    /// The number of histories.
    #[arg(long, value_name = "N", default_value_t = 20)]
    seeds: u64,
    /// The seed of the first history.
    #[arg(long, value_name = "S", default_value_t = 0)]
    first: u64,
    /// Also search them by `git bisect run` with criterion.
    #[arg(long)]
    criterion: bool,
    /// Only try the search itself, with simulated comparisons.
    #[arg(long)]
    simulate: bool,
    /// Use this program instead of building rbench.
    #[arg(long, value_name = "FILE")]
    rbench: Option<PathBuf>,
    /// Keep everything in this directory, and do not repeat measurements that it already has.
    #[arg(long, value_name = "DIR", required_unless_present = "simulate")]
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    lab::end(run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let Some(keep) = options.keep.as_ref().filter(|_| !options.simulate) else {
        return Ok(simulate::print());
    };
    std::fs::create_dir_all(keep)?;
    let keep = keep.canonicalize()?;
    let program = options
        .rbench
        .as_ref()
        .map_or_else(|| lab::rbench::build("release"), |it| Ok(it.canonicalize()?))?;
    let (mut right, mut few, mut right_by_criterion) = (0, 0, 0);
    println!("| seed | benchmark | planted | find | comparisons | took | git bisect, criterion |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for seed in options.first..options.first + options.seeds {
        let history = History::of_seed(seed);
        let project = history::place(&keep, seed);
        history.make(&project)?;
        let truth = history.truth(&project)?;
        let started = Instant::now();
        let said = find(&program, &keep, &project, &history, seed)?;
        let took = started.elapsed().as_secs();
        let named = named(&said);
        let is_right = named.as_ref() == Some(&truth);
        right += u64::from(is_right);
        let comparisons = count(&said);
        few += u64::from(comparisons <= MOST * truth.len());
        let by_criterion = if options.criterion {
            let said = keep.join(format!("criterion-{seed}.txt"));
            let started = Instant::now();
            let bisected = bisect::criterion(&keep, &project, &history, &said)?;
            let is_planted = |place: &usize| history.slower.iter().any(|(other, _)| other == place);
            // It names one commit at most, so either of them is right.
            let verdict = match bisected.first_bad {
                Some(place) if is_planted(&place) => {
                    right_by_criterion += 1;
                    format!("{place}, right")
                }
                Some(place) => format!("{place}, wrong"),
                None => "none".to_owned(),
            };
            let (measured, took) = (bisected.measured, started.elapsed().as_secs());
            format!("{verdict}; {measured} commits measured, {took} s")
        } else {
            "-".to_owned()
        };
        let planted: Vec<String> =
            history.slower.iter().map(|(place, units)| format!("{place}: {units}")).collect();
        println!(
            "| {seed} | {} | {} | {} | {comparisons} | {took} s | {by_criterion} |",
            history.function,
            planted.join(", "),
            if is_right { "both" } else { "not both" },
        );
    }
    println!("\nright: {right} of {}; at most {MOST} comparisons each: {few}", options.seeds);
    if options.criterion {
        println!("right by criterion, one of both: {right_by_criterion} of {}", options.seeds);
    }
    // 19 of 20.
    Ok(right * 20 >= options.seeds * 19 && few == options.seeds)
}

/// The report of `cargo rbench bisect` on a history.
fn find(
    program: &Path,
    keep: &Path,
    project: &Path,
    history: &History,
    seed: u64,
) -> Result<Value, Box<dyn Error>> {
    let messages = keep.join(format!("find-{seed}.stderr"));
    let range = format!("{}..done", history::START);
    let output = Command::new(program)
        .args(["bisect", &range, history.function, "--exact", "--bench", "work"])
        .args(["--format", "json", "--config", &format!("build.seed={}", seed + 1)])
        .current_dir(project)
        .env("RBENCH_CACHE_DIR", keep.join("cache"))
        .stdin(Stdio::null())
        .stderr(std::fs::File::create(&messages)?)
        .output()?;
    std::fs::write(keep.join(format!("find-{seed}.json")), &output.stdout)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("seed {seed}: {}; see {}", output.status, messages.display()).into())
}

/// The named commits, if each place is a single one.
fn named(said: &Value) -> Option<Vec<String>> {
    let places = said.pointer("/line/benchmarks/0/places")?.as_array()?;
    let named = |place: &Value| {
        let commit = place["commits"][0]["commit"].as_str()?;
        (place["ending"] == "named").then(|| commit.to_owned())
    };
    places.iter().map(named).collect()
}

/// The number of comparisons on the line.
fn count(said: &Value) -> usize {
    let comparisons = said.pointer("/line/benchmarks/0/comparisons").and_then(Value::as_u64);
    comparisons.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
}
