//! Repeated counts of instructions, changes of half a percent and the time of a comparison: docs/research/counts.md,
//! "Instructions".
//!
//! `cargo run --release -p lab --bin counts` builds rbench, and runs its commands in a repository
//! made of the fixture `executed`: twenty commits, each of which gives one of ten benchmarks half a
//! percent more work. With the path of a built `cargo-rbench`, it uses that one.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use serde_json::Value;

/// The number of repetitions.
const TIMES: usize = 20;
/// The longest accepted duration of a comparison of ten benchmarks whose builds exist.
const LONGEST: Duration = Duration::from_secs(10);
/// The benchmarks, in the order in which commits give them more work.
const BENCHMARKS: [&str; 10] =
    ["add", "bytes", "chase", "divide", "fold", "map", "mix", "push", "sort", "text"];
/// More work by 0.5 % is less than 0.5 % more instructions, because a benchmark has others too.
const MIN_EFFECT: &str = "0.3%";

fn main() -> ExitCode {
    lab::end(run())
}

fn run() -> Result<bool, Box<dyn Error>> {
    let program = std::env::args()
        .nth(1)
        .map_or_else(|| lab::rbench::build("release"), |path| Ok(path.into()))?;
    let project = lab::Project::of_fixture("executed")?;
    std::fs::write(project.tree.path().join(".gitignore"), "target\n.rbench\n")?;
    project.tree.commit("Ignore what is built")?;
    let rbench = Rbench { program, project: &project };
    let mut units = [400; BENCHMARKS.len()];
    let (mut named, mut times) = (0, Vec::new());
    for commit in 0..TIMES {
        let changed = commit % BENCHMARKS.len();
        let (before, now) = (units[changed], units[changed] + 2);
        units[changed] = now;
        more_work(&project, BENCHMARKS[changed], [before, now])?;
        let (rows, took) = rbench.compare(&[])?;
        let changes: Vec<&str> = rows
            .iter()
            .filter(|row| !matches!(word(row, "verdict"), "unchanged" | "unaffected" | "identical"))
            .map(|row| word(row, "id"))
            .collect();
        let is_named = changes == [BENCHMARKS[changed]];
        named += usize::from(is_named);
        let estimate = rows.iter().find(|row| word(row, "id") == BENCHMARKS[changed]);
        let estimate = estimate.and_then(|row| row["change"]["estimate"].as_f64());
        println!(
            "{:>2}  {:<7} {before} to {now} units: {:+.3} %, named {changes:?}, {:.1} s with compiling",
            commit + 1,
            BENCHMARKS[changed],
            100.0 * estimate.unwrap_or(f64::NAN),
            took.as_secs_f64(),
        );
    }
    let (first, _) = rbench.compare(&["--no-skip"])?;
    let mut equal = 0;
    for _ in 0..TIMES {
        let (again, took) = rbench.compare(&["--no-skip"])?;
        times.push(took);
        let same = |(one, other): (&Value, &Value)| {
            one["base"]["value"] == other["base"]["value"]
                && one["head"]["value"] == other["head"]["value"]
                && !one["head"]["value"].is_null()
        };
        equal += usize::from(first.len() == BENCHMARKS.len() && first.iter().zip(&again).all(same));
    }
    times.sort_unstable();
    let median = times[TIMES / 2];
    println!("repeats of all ten benchmarks, equal to the instruction: {equal} of {TIMES}");
    println!("half a percent more work, named and nothing else: {named} of {TIMES}");
    println!(
        "ten benchmarks of two versions, builds there: {:.1} s in the median, {:.1} to {:.1} s (bar {} s)",
        median.as_secs_f64(),
        times[0].as_secs_f64(),
        times[TIMES - 1].as_secs_f64(),
        LONGEST.as_secs()
    );
    Ok(equal == TIMES && named == TIMES && median <= LONGEST)
}

/// Changes the units of work of a benchmark, in a commit.
fn more_work(
    project: &lab::Project,
    benchmark: &str,
    [before, now]: [u32; 2],
) -> Result<(), Box<dyn Error>> {
    project.tree.edit("src/lib.rs", |text| {
        let place = text.find(&format!("fn {benchmark}(")).unwrap_or(text.len());
        let (head, own) = text.split_at(place);
        head.to_owned() + &own.replacen(&format!("= {before};"), &format!("= {now};"), 1)
    })?;
    project.tree.commit(&format!("Give {benchmark} more work"))?;
    Ok(())
}

/// rbench in the project.
struct Rbench<'p> {
    program: PathBuf,
    project: &'p lab::Project,
}

impl Rbench<'_> {
    /// Compares the last two commits by counts alone; returns a row for each benchmark, and the
    /// duration.
    fn compare(&self, more: &[&str]) -> Result<(Vec<Value>, Duration), Box<dyn Error>> {
        let cache: &Path = self.project.scratch();
        let start = Instant::now();
        let output = Command::new(&self.program)
            .current_dir(self.project.tree.path())
            .env("XDG_CACHE_HOME", cache.join("cache"))
            .args(["rbench", "compare", "HEAD~1", "HEAD", "--metric", "instructions"])
            .args(["--format", "json", "--min-effect", MIN_EFFECT])
            .args(more)
            .output()?;
        let took = start.elapsed();
        let report: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let rows = report["benchmarks"].as_array().ok_or("a report without benchmarks")?;
        Ok((rows.clone(), took))
    }
}

fn word<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_default()
}
