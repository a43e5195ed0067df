//! Counts of known allocations and the time of each: docs/research/counts.md, "Allocations".
//!
//! `cargo run --release -p lab --bin allocations` counts the allocations of benchmarks of the
//! fixture `allocations`, by each harness, with several global allocators, without and with LTO,
//! each a hundred times in different initial states, and compares the counts with the known ones.
//! It fails if any count is wrong, or missing where it should be available. It needs a nightly
//! toolchain for libtest, and a C compiler for mimalloc.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::{
        Conditions, Criterion, Divan, Executable, Harness, Libtest, Native, count_allocations,
    },
    model::{Name, Outcome},
    process::{Interrupt, counting::allocations::LIBRARY_SOURCE, interleaving::LIBRARY_FLAGS},
};

/// How often benchmarks of each harness are counted with each allocator, by default.
const TIMES: usize = 100;

/// The allocations of one call of each function of the fixture, as in its `KNOWN`.
const KNOWN: [(&str, u64, u64); 7] = [
    ("nothing", 0, 0),
    ("boxes", 5, 40),
    ("grown", 6, 2016),
    ("zeroed", 1, 1000),
    ("aligned", 2, 256),
    ("shrunk", 2, 110),
    ("copied", 1, 256),
];

/// The features of the fixture, and whether its allocations can be counted with them.
const ALLOCATORS: [(&str, bool); 4] =
    [("", true), ("wrapper", false), ("mimalloc", false), ("arena", false)];

fn main() -> ExitCode {
    lab::program(run)
}

fn run() -> Result<bool, Box<dyn Error>> {
    let project = lab::Project::of_fixture("allocations")?;
    let library = library(project.scratch())?;
    let times = std::env::args().nth(1).map_or(Ok(TIMES), |times| times.parse())?;
    let mut all_reach = true;
    println!("{:<10} {:<5} {:<12} {:>12} {:>8}", "allocator", "LTO", "harness", "exact", "ms each");
    for (allocator, is_countable) in ALLOCATORS {
        for lto in ["off", "thin", "fat"] {
            for executable in build(&project, allocator, lto)? {
                let counted = Counted::count_allocations(&executable, &library, times)?;
                let is_reached =
                    counted.exact == if is_countable { times } else { 0 } && counted.wrong == 0;
                all_reach &= is_reached;
                let shown = if allocator.is_empty() { "C library" } else { allocator };
                println!(
                    "{shown:<10} {lto:<5} {:<12} {:>5} of {times} {:>8.1} {} {}",
                    executable.target,
                    counted.exact,
                    counted.milliseconds,
                    if is_reached { "reached" } else { "MISSED" },
                    counted.error.unwrap_or_default(),
                );
            }
        }
    }
    Ok(all_reach)
}

/// The results of an executable.
struct Counted {
    /// The number of exact counts, of allocations and bytes.
    exact: usize,
    /// The number of wrong counts.
    wrong: usize,
    /// The reason why it cannot be counted.
    error: Option<String>,
    milliseconds: f64,
}

impl Counted {
    fn count_allocations(
        executable: &Executable,
        library: &Path,
        times: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let harness: Box<dyn Harness> = match executable.target.as_str() {
            "by_criterion" => Box::new(Criterion::new(Version::new(0, 8, 0))),
            "by_divan" => Box::new(Divan { version: Version::new(0, 1, 21), is_fork: false }),
            "by_native" => Box::new(Native),
            _ => Box::new(Libtest),
        };
        let interrupt = Interrupt::new()?;
        let conditions = Conditions::new(&interrupt);
        let names = harness.list(executable, &conditions)?;
        let mut counted = Self { exact: 0, wrong: 0, error: None, milliseconds: 0.0 };
        let start = Instant::now();
        for seed in 0..times {
            let name = &names[seed % names.len()];
            let outcome =
                count_allocations(&*harness, executable, name, seed as u64, &conditions, library)?;
            match one(executable, name, outcome)? {
                Ok(true) => counted.exact += 1,
                Ok(false) => counted.wrong += 1,
                Err(error) => {
                    counted.error = Some(error);
                    break;
                }
            }
        }
        counted.milliseconds = start.elapsed().as_secs_f64() * 1e3 / times as f64;
        Ok(counted)
    }
}

/// True if a benchmark's allocations and their bytes are the known ones; an error if they cannot be
/// counted.
fn one(
    executable: &Executable,
    name: &Name,
    outcome: Outcome,
) -> Result<Result<bool, String>, Box<dyn Error>> {
    let execution = match outcome {
        Outcome::Measured(execution) => execution,
        Outcome::Skipped(reason) => return Ok(Err(reason)),
    };
    let known = KNOWN.iter().find(|(known, ..)| name.id.ends_with(known));
    let (_, count, bytes) = known.ok_or("an unknown benchmark")?;
    let found: Vec<f64> =
        execution.series.iter().flat_map(|series| series.values.iter().copied()).collect();
    let is_exact = found == [*count, *bytes].map(|number| number as f64);
    if !is_exact {
        println!("{} {}: {found:?}, and not {count} and {bytes}", executable.target, name.id);
    }
    Ok(Ok(is_exact))
}

/// Compiles the counting library.
fn library(place: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let (source, library) = (place.join("library.rs"), place.join("library.so"));
    fs::write(&source, LIBRARY_SOURCE)?;
    let mut rustc = Command::new("rustc");
    let flags = LIBRARY_FLAGS.split(' ').chain(["--cap-lints=allow", "-o"]);
    if rustc.args(flags).args([&library, &source]).status()?.success() {
        Ok(library)
    } else {
        Err("the library cannot be compiled".into())
    }
}

/// The bench targets of the fixture with this allocator and LTO.
fn build(
    project: &lab::Project,
    allocator: &str,
    lto: &str,
) -> Result<Vec<Executable>, Box<dyn Error>> {
    let directory = project.tree.path();
    let mut cargo = Command::new("cargo");
    cargo
        .args(["+nightly", "bench", "--benches", "--features", "libtest", "--features", allocator])
        .arg("--target-dir")
        .arg(project.scratch().join("target"))
        .env("CARGO_PROFILE_BENCH_LTO", lto)
        .env_remove("RUSTUP_TOOLCHAIN")
        .current_dir(directory);
    let built = lab::executables::built_by(&mut cargo)?.into_iter().map(|(target, path)| {
        let directory = directory.to_owned();
        Executable { target, path, directory, ..Executable::default() }
    });
    Ok(built.collect())
}
