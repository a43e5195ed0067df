//! Checks that verdicts do not contradict the mean. Runs `cargo rbench compare` with its defaults
//! on versions whose benchmarks differ in the distribution of their times: spread, a slow path,
//! slow phases.
//!
//! `cargo run --release -p lab --bin shapes [COMPARISONS]` prints the result of each comparison for
//! each benchmark, and exits with an error if a target is missed.

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

/// The line of a report that names the benchmarks whose mean differs from the reported change.
const MEAN_BESIDE: &str = "the mean of all measurements changed differently";

/// The result of one comparison for a benchmark.
struct Said {
    verdict: String,
    /// The printed interval.
    change: [f64; 2],
    by_mean: Option<[f64; 2]>,
    /// True if the mean decided.
    is_by_mean: bool,
    /// True if the text report shows the mean beside the verdict because it differs.
    is_mean_beside: bool,
}

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
    let mut said: BTreeMap<String, Vec<Said>> = BTreeMap::new();
    for seed in 1..=comparisons {
        for (benchmark, one) in compare(&rbench, tree.path(), scratch.path(), seed)? {
            said.entry(benchmark).or_default().push(one);
        }
        eprintln!("{seed} of {comparisons}");
    }
    Ok(print(&said, comparisons))
}

fn compare(
    rbench: &Path,
    project: &Path,
    scratch: &Path,
    seed: u32,
) -> Result<Vec<(String, Said)>, Box<dyn Error>> {
    let markdown = scratch.join("report.md");
    let output = Command::new(rbench)
        .args(["compare", "HEAD~1", "HEAD", "--no-skip", "--format", "json"])
        .args(["--config", &format!("build.seed={seed}"), "--output"])
        .arg(&markdown)
        .current_dir(project)
        .env("RBENCH_CACHE_DIR", scratch.join("cache"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    // A regression gives a nonzero exit code.
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let rows = report["benchmarks"].as_array().ok_or("the report has no benchmarks")?;
    let markdown = std::fs::read_to_string(markdown)?;
    let differs = markdown.lines().filter(|line| line.contains(MEAN_BESIDE)).collect::<String>();
    let said = rows.iter().map(|row| {
        let ends = |of: &Value| Some([of["low"].as_f64()?, of["high"].as_f64()?]);
        let id = row["id"].as_str().ok_or("a benchmark without a name")?;
        let one = Said {
            verdict: row["verdict"].as_str().ok_or("a benchmark without a verdict")?.to_owned(),
            change: ends(&row["change"]).ok_or_else(|| format!("{id} has no change"))?,
            by_mean: ends(&row["by_mean"]),
            is_by_mean: row["by_mean"]["primary"] == true,
            is_mean_beside: differs.contains(&format!("{id} (")),
        };
        Ok((id.to_owned(), one))
    });
    said.collect()
}

/// Prints the table; returns true if all targets are met.
fn print(said: &BTreeMap<String, Vec<Said>>, comparisons: u32) -> bool {
    println!(
        "| benchmark | true change of the mean | regressed | improved | unchanged | inconclusive | by the mean | \
         intervals that contain it: printed | of the mean | printed, or the mean is beside it | |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|");
    let mut is_reached = true;
    for (benchmark, truth, wanted) in BENCHMARKS {
        let said = said.get(benchmark).map(Vec::as_slice).unwrap_or_default();
        let count = |verdict: &str| said.iter().filter(|one| one.verdict == verdict).count();
        let wrong = if truth > 0.0 {
            count("improved") + count("unchanged")
        } else {
            count("improved") + count("regressed")
        };
        let contains = |[low, high]: [f64; 2]| (low..=high).contains(&truth);
        let is_enough =
            wanted.is_none_or(|verdict| 10 * count(verdict) >= 8 * comparisons as usize);
        let ok = wrong == 0 && is_enough && said.len() == comparisons as usize;
        is_reached &= ok;
        println!(
            "| {benchmark} | {:+.1} % | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            100.0 * truth,
            count("regressed"),
            count("improved"),
            count("unchanged"),
            count("inconclusive"),
            said.iter().filter(|one| one.is_by_mean).count(),
            said.iter().filter(|one| contains(one.change)).count(),
            said.iter().filter(|one| one.by_mean.is_some_and(contains)).count(),
            said.iter().filter(|one| contains(one.change) || one.is_mean_beside).count(),
            if ok { "reached" } else { "MISSED" },
        );
    }
    is_reached
}
