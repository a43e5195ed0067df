//! What matched layouts buy: two versions that differ by an unrelated function, each built with the
//! same layout seeds; how much of the layout's effect cancels from their difference.
//!
//! `cargo run --release --example matched_layouts [SEEDS] [EXECUTIONS]` prints a table, a row for
//! each benchmark of the fixture: the standard deviation between builds, the correlation of the
//! build means of both versions, and the standard error of the change unpaired and paired.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use cargo_rbench::{
    model::{Layout, Metric},
    stats::{Comparison, Estimator, Measurements, Pairing, Random, Summary},
};

use support::Project;

mod support;

const BENCHMARKS: [&str; 6] = ["split", "sort", "fnv", "collatz", "primes", "numbers"];
/// Measurements in an execution, and milliseconds each takes at least.
const MEASUREMENTS: [&str; 2] = ["8", "2"];

fn main() -> ExitCode {
    support::program(|| run().map(|()| true))
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: &str| arguments.next().unwrap_or(default.to_owned()).parse::<u32>();
    let (seeds, executions) = (number("20")?, number("2")?);
    let (_project, executables) = build_both(seeds)?;

    println!("{seeds} seeds, {executions} executions, minimum estimator; sd and SE in %\n");
    println!("benchmark   sd base  sd head  correlation  SE unpaired  SE paired  ratio");
    for times in measure(&executables, executions)? {
        print_row(&times)?;
    }
    Ok(())
}

fn print_row(times: &Times) -> Result<(), Box<dyn Error>> {
    let summary = |version: &Vec<Vec<Vec<f64>>>| {
        let builds = (1..).zip(version.iter().cloned());
        Measurements::new(Metric::wall(), builds).map(|all| Summary::of(&all, Estimator::Minimum))
    };
    let (base, head) = (summary(&times.versions[0])?, summary(&times.versions[1])?);
    let paired = Comparison::new(&base, &head, Pairing::BySeed, 0.05)?;
    let unpaired = Comparison::new(&base, &head, Pairing::Unpaired, 0.05)?;
    let spread = |summary: &Summary| {
        let values = summary.values();
        100.0 * values.standard_deviation().unwrap_or(0.0) / values.mean
    };
    println!(
        "{:<11} {:>7.2} {:>8.2} {:>12.2} {:>12.3} {:>10.3} {:>6.2}",
        times.benchmark,
        spread(&base),
        spread(&head),
        paired.correlation.unwrap_or(0.0),
        100.0 * unpaired.standard_error,
        100.0 * paired.standard_error,
        paired.standard_error / unpaired.standard_error,
    );
    Ok(())
}

/// The executables of both versions, in the order of the seeds.
type Executables = [Vec<PathBuf>; 2];

/// All measurements of a benchmark: of each version, of each build, of each execution.
struct Times {
    benchmark: &'static str,
    versions: [Vec<Vec<Vec<f64>>>; 2],
}

/// Rounds over the seeds in random order; in each, both versions one after the other, which first
/// is random, with the same size of environment.
fn measure(executables: &Executables, executions: u32) -> Result<Vec<Times>, Box<dyn Error>> {
    let mut random = Random::new(1);
    let seeds = executables[0].len();
    let mut all: Vec<Times> = BENCHMARKS
        .map(|benchmark| Times {
            benchmark,
            versions: [vec![Vec::new(); seeds], vec![Vec::new(); seeds]],
        })
        .into();
    for _ in 0..executions {
        let mut order: Vec<usize> = (0..seeds).collect();
        random.shuffle(&mut order);
        for seed in order {
            for times in &mut all {
                let padding = "x".repeat(random.below(4096));
                let mut versions = [0, 1];
                random.shuffle(&mut versions);
                for version in versions {
                    let executable = &executables[version][seed];
                    let measured = execute(executable, times.benchmark, &padding)?;
                    times.versions[version][seed].push(measured);
                }
            }
        }
    }
    Ok(all)
}

fn execute(executable: &Path, benchmark: &str, padding: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let output = Command::new(executable)
        .arg(benchmark)
        .args(MEASUREMENTS)
        .env_clear()
        .env("PADDING", padding)
        .output()?;
    let lines = String::from_utf8(output.stdout)?;
    Ok(lines.lines().map(str::parse).collect::<Result<_, _>>()?)
}

/// The executables of both versions; the second has a function that no benchmark uses.
fn build_both(seeds: u32) -> Result<(Project, Executables), Box<dyn Error>> {
    let project = Project::of_fixture("layout-sensitive")?;
    project.tree.edit("src/lib.rs", |library| {
        library
            + "\n/// Squares as text.\npub fn squares(limit: u64) -> String {\n    \
               (0..limit).map(|value| format!(\"{value}: {}\\n\", value * value)).collect()\n}\n"
    })?;
    project.tree.edit("benches/hot.rs", |bench| {
        let old = "println!(\"checksum {checksum}\");";
        let new = "println!(\"checksum {checksum} {}\", layout_sensitive::squares(3).len());";
        bench.replace(old, new)
    })?;
    project.tree.commit("Add a function")?;
    let executables =
        project.build(&["HEAD~1", "HEAD"], Layout::Matched, seeds)?.into_iter().map(|version| {
            let builds = version.targets.into_iter().flat_map(|target| target.builds);
            builds.map(|build| build.executable).collect::<Vec<_>>()
        });
    let both = executables.collect::<Vec<_>>().try_into().map_err(|_| "there are two versions")?;
    Ok((project, both))
}
