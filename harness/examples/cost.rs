//! Measures the cost of the harness itself; run it with `cargo run --release --example cost`.
//!
//! Prints the time of an empty iteration, and the time of a whole process beyond the requested warm-up and
//! measurements: the least of several runs, as other processes only add to it.
#![expect(clippy::print_stdout, reason = "it is what this example is for")]

use std::{
    env, fs,
    process::{Command, ExitCode},
    time::Instant,
};

use rbench_harness::{Suite, black_box};

fn benchmarks(suite: &mut Suite<'_>) {
    suite.bench("empty", |bencher| bencher.iter(|| ()));
    suite.bench("sum", |bencher| bencher.iter(|| (0..100_u64).map(black_box).sum::<u64>()));
}

fn main() -> ExitCode {
    if env::args().any(|argument| argument.starts_with("--rbench")) {
        return rbench_harness::run(benchmarks);
    }
    for id in ["empty", "sum"] {
        if let Err(error) = show_cost(id) {
            println!("{id}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Measures `id` in a separate process, with known iterations, as rbench would.
fn show_cost(id: &str) -> std::io::Result<()> {
    let iterations = first_number(&execute(id, None)?.0, "iterations ");
    let mut per_iteration = Vec::new();
    let mut least_cost = u64::MAX;
    for _ in 0..5 {
        let (answer, wall) = execute(id, Some(iterations))?;
        let times: Vec<u64> = answer.lines().filter_map(|line| line.parse().ok()).collect();
        let requested = first_number(&answer, "warm-up ") + times.iter().sum::<u64>();
        per_iteration.extend(times.iter().map(|time| *time as f64 / iterations as f64));
        least_cost = least_cost.min(wall.saturating_sub(requested));
    }
    per_iteration.sort_by(f64::total_cmp);
    println!(
        "{id}: median {:.3} ns per iteration; {:.3} ms beyond warm-up and measuring",
        per_iteration[per_iteration.len() / 2],
        least_cost as f64 / 1e6,
    );
    Ok(())
}

/// The answer of one execution, and its wall time in nanoseconds, start of the process included.
fn execute(id: &str, iterations: Option<u64>) -> std::io::Result<(String, u64)> {
    let output = env::temp_dir().join(format!("rbench-cost-{}", std::process::id()));
    let mut command = Command::new(env::current_exe()?);
    command.args(["--bench", "--rbench-seed", "1", "--rbench-measurements", "100"]);
    command.args(["--rbench-id", id]).arg("--rbench-output").arg(&output);
    if let Some(iterations) = iterations {
        command.args(["--rbench-iterations", &iterations.to_string()]);
    }
    let start = Instant::now();
    command.status()?;
    let wall = start.elapsed();
    let answer = fs::read_to_string(&output)?;
    fs::remove_file(output)?;
    Ok((answer, u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX)))
}

fn first_number(answer: &str, prefix: &str) -> u64 {
    answer
        .lines()
        .find_map(|line| line.strip_prefix(prefix)?.split(' ').next()?.parse().ok())
        .unwrap_or(0)
}
