//! What matched layouts buy: two versions that differ by an unrelated function, each built with the
//! same layout seeds; how much of the layout's effect cancels from their difference.
//!
//! `cargo run --release --example matched_layouts [SEEDS] [EXECUTIONS]` prints a table, a row for
//! each benchmark of the fixture: the standard deviation between builds, the correlation of the
//! build means of both versions, and the standard error of the change unpaired and paired.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use cargo_rbench::{
    build::{self, Order, Site, Source, Workshop},
    model::{CompileSettings, Layout, LayoutSeed, Metric, Strategy, TargetFilter, Version},
    source::{Checkouts, Repository},
    stats::{Comparison, Estimator, Measurements, Pairing, Random, Summary},
};

const BENCHMARKS: [&str; 6] = ["split", "sort", "fnv", "collatz", "primes", "numbers"];
/// Measurements in an execution, and milliseconds each takes at least.
const MEASUREMENTS: [&str; 2] = ["8", "2"];

fn main() -> ExitCode {
    // This program is also the rustc wrapper and the linker of what it builds.
    if let Some(exit) = build::run_as_tool() {
        return exit;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: &str| arguments.next().unwrap_or(default.to_owned()).parse::<u32>();
    let (seeds, executions) = (number("20")?, number("2")?);
    let directory = tempfile::tempdir()?;
    let project = directory.path().join("project");
    write_project(&project)?;
    let executables = build_both(&project, directory.path(), seeds)?;

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

/// All measurements of a benchmark: of each version, of each build, of each execution.
struct Times {
    benchmark: &'static str,
    versions: [Vec<Vec<Vec<f64>>>; 2],
}

/// Rounds over the seeds in random order; in each, both versions one after the other, which first
/// is random, with the same size of environment.
fn measure(executables: &[Vec<PathBuf>; 2], executions: u32) -> Result<Vec<Times>, Box<dyn Error>> {
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

fn build_both(
    project: &Path,
    scratch: &Path,
    seeds: u32,
) -> Result<[Vec<PathBuf>; 2], Box<dyn Error>> {
    let repository = Repository::discover(project)?;
    let site = Site::new(&scratch.join("cache"), &repository.identity()?, &scratch.join("target"));
    let _lock = site.lock(|_| ())?;
    let workshop = Workshop {
        site: site.clone(),
        workspace: PathBuf::new(),
        settings: CompileSettings::default(),
        inherited: std::env::vars_os().collect(),
        users_workspace: project.to_owned(),
        configs: Vec::new(),
        progress_columns: None,
        watch: &|_| (),
    };
    let order = Order {
        filter: TargetFilter::default(),
        layout: Layout::Matched,
        strategy: Strategy::Relink,
        seeds: LayoutSeed::list(1, seeds),
    };
    let checkouts = Checkouts::open(site.outside())?;
    let executables = |version: Version| -> Result<Vec<PathBuf>, Box<dyn Error>> {
        let checkout = checkouts.checkout(&repository, &version)?;
        let source = Source { version: &version, checkout: &checkout.path };
        let built = workshop.build(source, &order)?;
        let target = built.targets.first().ok_or("the fixture has no bench target")?;
        Ok(target.builds.iter().map(|build| build.executable.clone()).collect())
    };
    Ok([executables(repository.resolve("HEAD~1")?)?, executables(repository.resolve("HEAD")?)?])
}

/// The fixture as a repository with two commits; the second adds a function that no benchmark uses.
fn write_project(project: &Path) -> Result<(), Box<dyn Error>> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/layout-sensitive");
    for file in ["Cargo.toml", "src/lib.rs", "benches/hot.rs"] {
        let to = project.join(file);
        std::fs::create_dir_all(to.parent().unwrap_or(project))?;
        std::fs::copy(fixture.join(file), to)?;
    }
    let git = git2::Repository::init(project)?;
    commit(&git, "Base")?;

    let library = project.join("src/lib.rs");
    let function = "\n/// Squares as text.\npub fn squares(limit: u64) -> String {\n    \
                    (0..limit).map(|value| format!(\"{value}: {}\\n\", value * value)).collect()\n}\n";
    std::fs::write(&library, std::fs::read_to_string(&library)? + function)?;
    let bench = project.join("benches/hot.rs");
    let old = "println!(\"checksum {checksum}\");";
    let new = "println!(\"checksum {checksum} {}\", layout_sensitive::squares(3).len());";
    std::fs::write(&bench, std::fs::read_to_string(&bench)?.replace(old, new))?;
    commit(&git, "Add a function")
}

fn commit(git: &git2::Repository, message: &str) -> Result<(), Box<dyn Error>> {
    let mut index = git.index()?;
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = git.find_tree(index.write_tree()?)?;
    let author = git2::Signature::now("rbench", "rbench@example.invalid")?;
    let parent = git.head().ok().and_then(|head| head.peel_to_commit().ok());
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    git.commit(Some("HEAD"), &author, &author, message, &tree, &parents)?;
    Ok(())
}
