//! The verdicts on versions that differ only in the spread of their times, or also in their mean: the 120 rows of
//! docs/research/noise.md. Runs `cargo rbench compare` with its defaults, with everything measured.
//!
//! `cargo run --release -p lab --bin shapes [COMPARISONS]` prints the verdicts on each benchmark, and fails if a target is
//! missed.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

use std::{
    collections::BTreeMap,
    error::Error,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use lab::WorkingTree;
use serde_json::Value;

/// Each benchmark, the true change of its mean, and the verdict expected in eight of ten
/// comparisons.
const BENCHMARKS: [(&str, f64, Option<&str>); 7] = [
    ("steadier", 0.0, None),
    ("noisier", 0.0, None),
    ("slow-path", 0.98 * 1.06 - 1.0, Some("regressed")),
    ("slow-phases", 0.06, Some("regressed")),
    ("rare", 0.05, Some("regressed")),
    ("more", 0.05, Some("regressed")),
    ("same", 0.0, Some("unchanged")),
];

fn main() -> ExitCode {
    lab::end(run())
}

fn run() -> Result<bool, Box<dyn Error>> {
    let comparisons = std::env::args().nth(1).map_or(Ok(10), |count| count.parse())?;
    let scratch = tempfile::tempdir()?;
    let tree = WorkingTree::of_fixture("shapes", scratch.path().join("shapes"))?;
    let is_head = |source: String| source.replace("IS_HEAD: bool = false", "IS_HEAD: bool = true");
    tree.edit("src/lib.rs", is_head)?;
    tree.commit("Head")?;
    let rbench = lab::rbench::build("release")?;
    let mut verdicts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for seed in 1..=comparisons {
        let report = compare(&rbench, tree.path(), scratch.path(), seed)?;
        for row in report["benchmarks"].as_array().ok_or("the report has no benchmarks")? {
            let text = |key: &str| row[key].as_str().map(str::to_owned).ok_or("a row without it");
            verdicts.entry(text("id")?).or_default().push(text("verdict")?);
        }
        eprintln!("{seed} of {comparisons}");
    }
    Ok(print(&verdicts, comparisons))
}

fn compare(
    rbench: &Path,
    project: &Path,
    scratch: &Path,
    seed: u32,
) -> Result<Value, Box<dyn Error>> {
    let output = Command::new(rbench)
        .args(["compare", "HEAD~1", "HEAD", "--no-skip", "--format", "json"])
        .args(["--config", &format!("build.seed={seed}")])
        .current_dir(project)
        .env("RBENCH_CACHE_DIR", scratch.join("cache"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    // A regression gives a nonzero exit code.
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Prints the table; returns true if all targets are met.
fn print(verdicts: &BTreeMap<String, Vec<String>>, comparisons: u32) -> bool {
    println!(
        "| benchmark | true change of the mean | regressed | improved | unchanged | inconclusive | |"
    );
    println!("|---|--:|--:|--:|--:|--:|---|");
    let mut is_reached = true;
    for (benchmark, truth, wanted) in BENCHMARKS {
        let verdicts = verdicts.get(benchmark).map(Vec::as_slice).unwrap_or_default();
        let count = |verdict: &str| verdicts.iter().filter(|one| *one == verdict).count();
        let wrong = if truth > 0.0 {
            count("improved") + count("unchanged")
        } else {
            count("improved") + count("regressed")
        };
        let is_enough =
            wanted.is_none_or(|verdict| 10 * count(verdict) >= 8 * comparisons as usize);
        let ok = wrong == 0 && is_enough && verdicts.len() == comparisons as usize;
        is_reached &= ok;
        println!(
            "| {benchmark} | {:+.1} % | {} | {} | {} | {} | {} |",
            100.0 * truth,
            count("regressed"),
            count("improved"),
            count("unchanged"),
            count("inconclusive"),
            if ok { "reached" } else { "MISSED" },
        );
    }
    is_reached
}
