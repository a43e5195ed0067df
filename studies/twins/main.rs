//! What it gives, and costs, that functions have the same address in both versions of a comparison.
//!
//! `cargo run --release --example twins -- --project PATH BASE HEAD FILTER` builds two commits of a project and
//! measures the benchmarks that FILTER matches: those that execute nothing that changed between the two, so that
//! all differences are noise. `--project` can be given several times. It prints, for each project, how many
//! common functions have the same address in the layout `twin`, what links and executables cost against
//! `matched` and `natural`, and for each benchmark the standard deviation between builds and the half-width of
//! the 95 % interval in both layouts, all in turns; then the requirements. It fails if one is missed.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    collections::HashMap,
    error::Error,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use cargo_rbench::stats::median;
use clap::Parser;
use serde::Deserialize;

use builds::{Builds, Cost};

mod builds;
#[path = "../support/rbench.rs"]
mod rbench;

/// What is asked of the study.
#[derive(Debug, Parser)]
struct Options {
    /// A project, two of its commits, and a pattern for benchmarks that execute nothing that changed.
    #[arg(long, num_args = 4, value_names = ["PATH", "BASE", "HEAD", "FILTER"], required = true)]
    project: Vec<String>,
    /// Builds of each version.
    #[arg(long, default_value_t = 10)]
    builds: u32,
    /// Only build.
    #[arg(long)]
    no_measure: bool,
}

/// One project with what is compared in it.
pub struct Project {
    rbench: PathBuf,
    path: PathBuf,
    versions: [String; 2],
    filter: String,
    builds: u32,
}

/// The report of a comparison, as far as it is used.
#[derive(Deserialize)]
struct Report {
    benchmarks: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    target: String,
    id: String,
    interleave: Option<String>,
    stages: Vec<Stage>,
}

#[derive(Deserialize)]
struct Stage {
    change: Interval,
    log_standard_error: f64,
    base: Value,
}

#[derive(Deserialize)]
struct Interval {
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Value {
    builds: f64,
}

/// What is known of one benchmark in one layout.
#[derive(Clone, Copy)]
struct Spread {
    /// The standard deviation of the log ratio between builds.
    between_builds: f64,
    /// Half of the width of the 95 % interval of the change.
    half_width: f64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let rbench = rbench::build()?;
    let mut costs = Vec::new();
    let mut spreads = Vec::new();
    for typed in options.project.chunks(4) {
        let [path, base, head, filter] = typed else { continue };
        let project = Project {
            rbench: rbench.clone(),
            path: path.into(),
            versions: [base.clone(), head.clone()],
            filter: filter.clone(),
            builds: options.builds,
        };
        println!("{path} {base} {head}");
        costs.extend(print_costs(&project)?);
        if !options.no_measure {
            spreads.extend(print_spreads(&project)?);
        }
    }
    let largest = |of: fn(&Cost) -> f64| costs.iter().map(of).fold(0.0, f64::max);
    let address = costs.iter().map(|cost| cost.same_address).fold(1.0, f64::min);
    let mut all = vec![
        bar(
            "common functions at the same address: at least 99.5 %",
            1e2 * address,
            address >= 0.995,
        ),
        at_most("links, twin / matched: at most 1.5", largest(|cost| cost.links), 1.5),
        at_most("executable, twin / natural: at most 1.3", largest(|cost| cost.size), 1.3),
    ];
    if !spreads.is_empty() {
        let median_of =
            |of: fn(&[Spread; 2]) -> f64| median(&mut spreads.iter().map(of).collect::<Vec<_>>());
        let gain = median_of(|[matched, twin]| matched.between_builds / twin.between_builds);
        let half_width = median_of(|[_, twin]| twin.half_width);
        all.push(bar("sd between builds, matched / twin, median: at least 2", gain, gain >= 2.0));
        all.push(at_most("half-width in %, median: at most 0.4", 1e2 * half_width, 0.4));
    }
    Ok(all.into_iter().all(|reached| reached))
}

fn at_most(what: &str, measured: f64, most: f64) -> bool {
    bar(what, measured, measured <= most)
}

fn bar(what: &str, measured: f64, is_reached: bool) -> bool {
    println!("{what:<60} {measured:>8.2} {}", if is_reached { "reached" } else { "MISSED" });
    is_reached
}

fn print_costs(project: &Project) -> Result<Vec<Cost>, Box<dyn Error>> {
    let costs = Builds::of(project)?.costs();
    for cost in &costs {
        println!(
            "  {}: {} common functions, {:.2} % at the same address; links {:.2} of matched; executable {:.2} of \
             natural",
            cost.target,
            cost.common,
            1e2 * cost.same_address,
            cost.links,
            cost.size,
        );
    }
    Ok(costs)
}

/// The spreads of each benchmark, matched and twin.
fn print_spreads(project: &Project) -> Result<Vec<[Spread; 2]>, Box<dyn Error>> {
    let matched = project.spreads("matched")?;
    let twin = project.spreads("twin")?;
    println!(
        "  {:<44} {:>15} {:>15} {:>6}",
        "sd between builds, +- 95 %", "matched", "twin", "gain"
    );
    let mut both = Vec::new();
    for (name, matched) in matched {
        let Some((_, twin)) = twin.iter().find(|(other, _)| *other == name) else { continue };
        println!(
            "  {name:<44} {:>6.2} +- {:>5.2} {:>6.2} +- {:>5.2} {:>6.2}",
            1e2 * matched.between_builds,
            1e2 * matched.half_width,
            1e2 * twin.between_builds,
            1e2 * twin.half_width,
            matched.between_builds / twin.between_builds,
        );
        both.push([matched, *twin]);
    }
    Ok(both)
}

impl Project {
    /// What rbench prints as JSON.
    pub fn rbench<T: for<'de> Deserialize<'de>>(
        &self,
        arguments: &[&str],
    ) -> Result<T, Box<dyn Error>> {
        let [base, head] = &self.versions;
        let (command, more) = arguments.split_first().ok_or("no command")?;
        let output = Command::new(&self.rbench)
            .args([*command, base, head, "--format", "json", "-l", &self.builds.to_string()])
            .args(["--strategy", "relink"])
            .args(more)
            .current_dir(&self.path)
            .stdin(Stdio::null())
            .output()?;
        let error = |_| String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(serde_json::from_slice(&output.stdout).map_err(error)?)
    }

    /// The spread of each benchmark that took turns.
    fn spreads(&self, layout: &str) -> Result<Vec<(String, Spread)>, Box<dyn Error>> {
        let report: Report = self.rbench(&[
            "compare",
            "--layout",
            layout,
            "--filter",
            &self.filter,
            "--no-confirm",
            "-m",
            "2",
            "-n",
            "100",
            "--floor",
            "300us",
        ])?;
        let mut met = HashMap::new();
        let spread = |row: Row| {
            let stage =
                row.stages.first().filter(|_| row.interleave.as_deref() == Some("turns"))?;
            let number = met.entry(row.id.clone()).or_insert(0_u32);
            *number += 1;
            let spread = Spread {
                between_builds: stage.log_standard_error * stage.base.builds.sqrt(),
                half_width: (stage.change.high - stage.change.low) / 2.0,
            };
            Some((format!("{} {} {number}", row.target, row.id), spread))
        };
        Ok(report.benchmarks.into_iter().filter_map(spread).collect())
    }
}
