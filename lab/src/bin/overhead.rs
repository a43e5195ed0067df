//! Measures the overhead that rbench adds to the executions that it measures.
//!
//! `cargo run --release -p lab --bin overhead [EXECUTIONS]` runs that many executions (100 by
//! default) of 100 ms each: 50 ms of warm-up and 5 measurements of 10 ms, of two versions in two
//! builds, as `cargo rbench compare` does, each stored and on the disk before the next starts. It
//! prints the total time and the part of it that the processes themselves took. It fails if the
//! ratio of the two is above 1.05.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use cargo_rbench::{
    cli::{Cli, Command},
    config::Purpose,
    console::Console,
    measure::{ExperimentSettings, Runner},
    model::Stage,
    process::{Interrupt, SavedHandler},
    project::Project,
};

/// The largest accepted ratio of the total time to that of the processes alone.
const MOST: f64 = 1.05;

/// Builds of each of the two versions.
const BUILDS: usize = 2;

fn main() -> ExitCode {
    lab::program(run)
}

fn run() -> Result<bool, Box<dyn Error>> {
    let executions: usize = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let compared = lab::Project::compared()?;
    let manifest = compared.tree.path().join("Cargo.toml");
    let project = Project::find(Some(&manifest), &[])?;
    let words = format!(
        "compare --exact --filter steady -l {BUILDS} -m {} -n 5 --config experiment.warm-up=50ms --config experiment.min-time=10ms",
        executions.div_ceil(2 * BUILDS)
    );
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let Some(Command::Compare(args)) = Cli::parse_words(&words)?.command else {
        return Err("the words are not those of a comparison".into());
    };
    let settings = ExperimentSettings::resolve(&project, &args.experiment, Purpose::OneVersion);
    let (interrupt, console) = (Interrupt::on_signals(SavedHandler::Nothing)?, Console::attach());
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let resolve = |revision| project.repository.resolve(revision);
    let versions = [runner.list(resolve("HEAD~1")?)?, runner.list(resolve("HEAD")?)?];
    let benchmarks = versions[0].benchmarks();
    let builds = runner.link(&versions, &benchmarks, runner.first_seeds(&versions, &benchmarks))?;
    let started = runner.begin(&versions, &benchmarks, &builds)?;

    let start = Instant::now();
    let ignored = &mut |_: &_| Ok(());
    runner.measure(&started, Stage::First, &versions, &builds, &benchmarks, ignored)?;
    let all = start.elapsed();

    let mut processes = Vec::new();
    for benchmark in &benchmarks {
        for row in runner.store.rows(benchmark, &[started.id])? {
            processes
                .push(row.outcome.map_err(|unmeasured| unmeasured.to_string())?.resources.wall);
        }
    }
    Ok(print(all, &processes))
}

/// Prints the distribution of the time, and returns true if the overhead is accepted.
fn print(all: Duration, processes: &[Duration]) -> bool {
    let alone: Duration = processes.iter().sum();
    let each = |time: Duration| 1e3 * time.as_secs_f64() / processes.len() as f64;
    let ratio = all.as_secs_f64() / alone.as_secs_f64();
    println!("{} executions in {:.2} s; of each:", processes.len(), all.as_secs_f64());
    println!("{:>10.3} ms the process itself", each(alone));
    println!(
        "{:>10.3} ms finding its build, reading what it printed, storing it on the disk",
        each(all.saturating_sub(alone))
    );
    println!("measuring / processes: {ratio:.4}, at most {MOST}");
    ratio <= MOST
}
