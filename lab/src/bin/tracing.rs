//! The cost of a traced execution: docs/research/impact.md, "Cost".
//!
//! `cargo run --release -p lab --bin tracing` executes benchmarks of a fixture as `cargo rbench
//! compare` does, alternating between untraced and traced, and a program of 100 MB whose 10,000
//! functions are all entered. It fails if a traced execution of both versions takes more than two
//! untraced ones and 50 ms, or the large program 2 s more.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use cargo_metadata::semver;
use cargo_rbench::{
    harness::{Conditions, Criterion, Divan, Executable, Harness, Native},
    model::{ExecutionRequest, Layout, Outcome, Series},
    process::{
        self, Ending, Interrupt, Invocation, Limits,
        trace::{Observation, Plan, Tracing},
    },
};
use rbench_code::elf::kept_functions;
use rbench_stats::median;

/// The number of benchmarks of each harness, and the number of executions of each kind.
const BENCHMARKS: usize = 3;
const TIMES: usize = 9;
/// The longest accepted duration of traced executions of both versions beyond two ordinary ones.
const MORE: Duration = Duration::from_millis(50);
/// The longest accepted delay of the large program by tracing.
const MORE_OF_LARGE: Duration = Duration::from_secs(2);
/// The functions of the large program, and the size of each in bytes.
const FUNCTIONS: usize = 10_000;
const BYTES: usize = 10_000;

fn main() -> ExitCode {
    lab::program(run)
}

fn run() -> Result<bool, Box<dyn Error>> {
    let tracer = lab::rbench::build("release")?;
    let small = benchmarks(&tracer)?;
    let large = large(&tracer)?;
    Ok(small && large)
}

/// Executes benchmarks of a fixture by each of its harnesses, untraced and traced.
fn benchmarks(tracer: &Path) -> Result<bool, Box<dyn Error>> {
    let project = lab::Project::of_fixture("truth")?;
    let versions = project.build(&["HEAD"], Layout::Default, 1)?;
    let directory = project.tree.path().to_owned();
    let harnesses: [(&str, Box<dyn Harness>); 3] = [
        ("by_criterion", Box::new(Criterion::new(semver::Version::new(0, 8, 0)))),
        ("by_divan", Box::new(Divan { version: semver::Version::new(0, 1, 21), is_fork: false })),
        ("work", Box::new(Native)),
    ];
    let mut all_met = true;
    println!("{:<36} {:>9} {:>9} {:>9}", "execution, ms", "functions", "alone", "traced");
    for (name, harness) in harnesses {
        let built = versions.iter().flat_map(|version| &version.targets);
        let target = built.into_iter().find(|target| target.target.target == name);
        let build = target.and_then(|target| target.builds.first()).ok_or("no build")?;
        let (path, directory) = (build.executable.clone(), directory.clone());
        let executable = Executable { path, directory, ..Executable::default() };
        let tracing = planned(tracer, &executable.path, project.scratch())?;
        all_met &= of_harness(name, &*harness, &executable, &tracing)?;
    }
    println!("both versions traced, at most two executions and 50 ms more: {}", status(all_met));
    Ok(all_met)
}

/// Executes the first benchmarks of an executable, alternating between untraced and traced.
fn of_harness(
    target: &str,
    harness: &dyn Harness,
    executable: &Executable,
    tracing: &Tracing,
) -> Result<bool, Box<dyn Error>> {
    let interrupt = Interrupt::new()?;
    let alone = Conditions::new(&interrupt);
    let traced = Conditions { tracing: Some(tracing), ..alone };
    let request = ExecutionRequest {
        measurements: 50,
        warm_up: Duration::from_millis(20),
        min_time: Duration::from_millis(1),
        iterations: None,
        seed: 1,
    };
    let mut all_met = true;
    for name in harness.list(executable, &alone)?.iter().take(BENCHMARKS) {
        // Once found, the iterations are the same in all executions.
        let iterations = match harness.execute(executable, name, &request, &alone)? {
            Outcome::Measured(execution) => {
                execution.series.first().and_then(Series::same_iterations)
            }
            Outcome::Skipped(_) => None,
        };
        let request = ExecutionRequest { iterations, ..request.clone() };
        let execute = |conditions: &Conditions<'_>| -> Result<f64, Box<dyn Error>> {
            let start = Instant::now();
            harness.execute(executable, name, &request, conditions)?;
            Ok(start.elapsed().as_secs_f64())
        };
        let (mut of_alone, mut of_traced) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            of_alone.push(execute(&alone)?);
            of_traced.push(execute(&traced)?);
        }
        let observed: Observation =
            serde_json::from_slice(&fs::read(tracing.plan.with_file_name("observed"))?)?;
        let observed = observed?;
        let entered = observed.in_set_up.union(&observed.while_measuring).count();
        let (alone, traced) = (median(&mut of_alone), median(&mut of_traced));
        let id = format!("{target} {}", name.id);
        println!("{id:<36} {entered:>9} {:>9.1} {:>9.1}", 1e3 * alone, 1e3 * traced);
        all_met &= 2.0 * traced <= 2.0 * alone + MORE.as_secs_f64();
    }
    Ok(all_met)
}

/// Executes a large program, untraced and traced.
fn large(tracer: &Path) -> Result<bool, Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let (source, path) = (place.path().join("large.s"), place.path().join("large"));
    fs::write(&source, assembler())?;
    let made = Command::new("cc").arg("-o").args([&path, &source]).status()?;
    if !made.success() {
        return Err("the large program cannot be made".into());
    }
    let tracing = planned(tracer, &path, place.path())?;
    let interrupt = Interrupt::new()?;
    let run = |tracing: Option<&Tracing>| -> Result<f64, Box<dyn Error>> {
        let (program, directory) = (path.clone(), place.path().to_owned());
        let tracing = tracing.cloned();
        let invocation = Invocation { program, directory, tracing, ..Invocation::default() };
        let start = Instant::now();
        let ended = process::run(&invocation, &Limits::default(), &interrupt, None)?;
        match ended.ending {
            Ending::Exited(0) => Ok(start.elapsed().as_secs_f64()),
            other => Err(format!("the large program ended with {other:?}").into()),
        }
    };
    let (mut of_alone, mut of_traced) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        of_alone.push(run(None)?);
        of_traced.push(run(Some(&tracing))?);
    }
    let observed: Observation = serde_json::from_slice(&fs::read(place.path().join("observed"))?)?;
    let entered = observed?.in_set_up.len();
    let (alone, traced) = (median(&mut of_alone), median(&mut of_traced));
    let more = traced - alone;
    let size = fs::metadata(&path)?.len() >> 20;
    let is_met = more <= MORE_OF_LARGE.as_secs_f64() && entered >= FUNCTIONS;
    println!(
        "{size} MiB, {entered} functions entered: {alone:.2} s alone, {traced:.2} s traced, at most 2 s more: \
         {}",
        status(is_met)
    );
    Ok(is_met)
}

/// Functions of the required size that return at once, and a `main` that calls all of them.
fn assembler() -> String {
    let mut text = ".text\n".to_owned();
    for number in 0..FUNCTIONS {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            ".type f{number},@function\nf{number}:\n ret\n .zero {BYTES}\n.size f{number},.-f{number}"
        );
    }
    text += ".globl main\n.type main,@function\nmain:\n";
    let is_x86_64 = cfg!(target_arch = "x86_64");
    text += if is_x86_64 { " push %rbx\n" } else { " stp x29, x30, [sp, -16]!\n" };
    for number in 0..FUNCTIONS {
        let call = if is_x86_64 { "call" } else { "bl" };
        let _ = writeln!(text, " {call} f{number}");
    }
    text += if is_x86_64 {
        " xor %eax, %eax\n pop %rbx\n ret\n"
    } else {
        " mov w0, 0\n ldp x29, x30, [sp], 16\n ret\n"
    };
    text + ".size main,.-main\n.section .note.GNU-stack,\"\",%progbits\n"
}

/// The plan to trace every function of an executable.
fn planned(tracer: &Path, path: &Path, place: &Path) -> Result<Tracing, Box<dyn Error>> {
    let functions = kept_functions(&fs::read(path)?)?;
    let plan = Plan {
        executable: path.canonicalize()?,
        functions: functions.iter().map(|function| function.address).collect(),
        report: place.join("observed"),
        ..Plan::default()
    };
    let file = place.join("plan");
    fs::write(&file, serde_json::to_vec(&plan)?)?;
    Ok(Tracing { tracer: tracer.to_owned(), ahead: 0, plan: file })
}

const fn status(is_met: bool) -> &'static str {
    if is_met { "reached" } else { "MISSED" }
}
