//! Measures the cost of builds: 30 of them against one plain compilation of the same bench target.
//!
//! `cargo run --release -p lab --bin build_cost [BUILDS]` compiles the fixture
//! `criterion-workspace` by plain `cargo bench --no-run` in a fresh target directory, then makes
//! the builds from nothing, prints the ratio of the two times, and the cost of a second version
//! that shares the dependencies. It fails if the ratio is above 1.15 or two builds are the same.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use cargo_rbench::model::Layout;
use lab::Project;

/// The largest accepted cost of the builds, in plain compilations.
const MOST: f64 = 1.15;

fn main() -> ExitCode {
    lab::program(run)
}

fn run() -> Result<bool, Box<dyn Error>> {
    let builds: u32 = std::env::args().nth(1).unwrap_or("30".to_owned()).parse()?;
    let project = Project::of_fixture("criterion-workspace")?;
    // Downloading crates is not timed.
    cargo(&project, &["fetch", "--quiet"])?;

    let plain = cargo(
        &project,
        &["bench", "--no-run", "--quiet", "--bench", "text", "--target-dir", "../plain"],
    )?;
    println!("plain cargo bench --no-run: {:.1} s", plain.as_secs_f64());

    let start = Instant::now();
    let versions = project.build(&["HEAD"], Layout::SameAddress, builds)?;
    let all = start.elapsed();
    let target = &versions[0].targets[0];
    let (distinct, ratio) = (target.distinct(), all.as_secs_f64() / plain.as_secs_f64());
    let links: f64 = target.builds.iter().map(|build| build.record.took().as_secs_f64()).sum();
    println!(
        "{builds} builds: {:.1} s, {:.2} of a plain compilation; {:.0} ms a link; {distinct} distinct",
        all.as_secs_f64(),
        ratio,
        1e3 * links / f64::from(builds),
    );

    project
        .tree
        .edit("src/lib.rs", |library| library + "\n/// Nothing much.\npub fn more() {}\n")?;
    project.tree.commit("Add a function")?;
    let start = Instant::now();
    project.build(&["HEAD"], Layout::SameAddress, builds)?;
    println!("a second version with the same dependencies: {:.1} s", start.elapsed().as_secs_f64());
    Ok(ratio <= MOST && distinct == builds as usize)
}

fn cargo(project: &Project, arguments: &[&str]) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let status = Command::new("cargo")
        .args(arguments)
        .current_dir(project.tree.path())
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .status()?;
    if status.success() { Ok(start.elapsed()) } else { Err("cargo failed".into()) }
}
