//! What rbench adds to the time of the executions that it measures.
//!
//! `cargo run --release --example overhead [EXECUTIONS]` carries out that many executions (100 unless told
//! otherwise) of 100 ms each: 50 ms of warm-up and 5 measurements of 10 ms, of two versions in two builds,
//! by the loop that `cargo rbench compare` has, each stored and on the disk before the next starts. It
//! prints the time that this took in all, what of it the processes themselves took, and where the rest
//! went. It fails if the ratio of the two is above 1.05.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

use std::{
    cell::Cell,
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use cargo_rbench::{
    build::{self, VersionBuilds, Workshop},
    experiment::{
        schedule::{Design, schedule},
        session::{self, Outcome, Subject},
    },
    harness::{Conditions, Executable, Harness, Native},
    machine::this_machine,
    model::{
        Benchmark, Dimensions, ExecutionRequest, ExperimentPlan, LayoutSeed, Name, PlannedVersion,
        Series, Stage, Turn, Version,
    },
    process::Interrupt,
    store::Store,
};
use support::Project;

mod support;

/// The most that the measuring may take, in times of the processes alone.
const MOST: f64 = 1.05;

const BUILDS: u32 = 2;

fn main() -> ExitCode {
    // This program is also the rustc wrapper and the linker of what it builds.
    if let Some(exit) = build::run_as_tool() {
        return exit;
    }
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let executions: usize = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let project = Project::compared()?;
    let store = Store::open(&project.tree.path().join(".rbench/results.sqlite"), &|| {})?;
    let times = project.build_and(&["HEAD~1", "HEAD"], BUILDS, |workshop, built| {
        measure(&project, &store, workshop, &built, executions)
    })?;
    times.print();
    Ok(times.ratio() <= MOST)
}

/// Where the time of the measuring went.
struct Times {
    executions: u32,
    all: Duration,
    children: Duration,
    enter: Duration,
    store: Duration,
}

impl Times {
    fn ratio(&self) -> f64 {
        self.all.as_secs_f64() / self.children.as_secs_f64()
    }

    fn print(&self) {
        let Self { executions, all, children, enter, store } = *self;
        let rest = all.saturating_sub(children + enter + store);
        println!("{executions} executions in {:.2} s; of each:", all.as_secs_f64());
        for (what, time) in [
            ("the process itself", children),
            ("leading the one path to its version", enter),
            ("storing it, until it is on the disk", store),
            ("preparing, reading what it printed, and all else", rest),
        ] {
            let each = time.as_secs_f64() / f64::from(executions);
            println!("{:>10.3} ms {what}", 1e3 * each);
        }
        println!("measuring / processes: {:.4}, at most {MOST}", self.ratio());
    }
}

fn measure(
    project: &Project,
    store: &Store<'_>,
    workshop: &Workshop<'_>,
    built: &[VersionBuilds],
    executions: usize,
) -> Result<Times, Box<dyn Error>> {
    let (enter, keep, children) = (Cell::default(), Cell::default(), Cell::default());
    let name = Name::plain("steady");
    let executables: Vec<_> = built.iter().map(|version| executables(project, version)).collect();
    let interrupt = Interrupt::on_signals()?;
    let conditions = Conditions { interrupt: &interrupt, deadline: None, cpu: None };
    let mut asked = ExecutionRequest {
        measurements: 5,
        warm_up: Duration::from_millis(50),
        floor: Duration::from_millis(10),
        iterations: None,
        seed: 0,
    };
    // Tuned once, as in a comparison: that takes longer than a short execution.
    let tuned = Native.execute(&executables[0][0], &name, &asked, &conditions)?;
    asked.iterations = tuned.series.first().and_then(Series::same_iterations);
    let subject = Subject { harness: &Native, name: name.clone(), asked, executables };
    let design = Design {
        versions: built.len(),
        benchmarks: 1,
        builds: BUILDS as usize,
        executions: executions.div_ceil(built.len() * BUILDS as usize),
    };
    let steps = schedule(design, 1);
    let experiment = store.begin(&plan())?;
    let benchmark = Benchmark { package: "compared".to_owned(), target: "work".to_owned(), name };
    let seeds = LayoutSeed::list(1, BUILDS);

    let start = Instant::now();
    session::run(
        &steps,
        &[subject],
        &conditions,
        &mut |version, build| timed(&enter, || workshop.enter(built[version].home_of(build))),
        &mut |Outcome { step, result, .. }| {
            let execution = result.as_ref().map_err(Clone::clone)?;
            children.set(children.get() + execution.resources.wall);
            let (stage, round) = (Stage::First, u32::try_from(step.round).unwrap_or(u32::MAX));
            let turn = Turn { version: step.version, stage, round, seed: seeds[step.build] };
            timed(&keep, || store.record_execution(experiment, &benchmark, turn, result.as_ref()))
        },
    )?;
    Ok(Times {
        all: start.elapsed(),
        executions: u32::try_from(steps.len())?,
        children: children.get(),
        enter: enter.get(),
        store: keep.get(),
    })
}

fn timed<T>(spent: &Cell<Duration>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    spent.set(spent.get() + start.elapsed());
    done
}

fn executables(project: &Project, version: &VersionBuilds) -> Vec<Executable> {
    let builds = version.targets.iter().flat_map(|target| &target.builds);
    let executable = |path: &std::path::Path| Executable {
        package: "compared".to_owned(),
        target: "work".to_owned(),
        path: path.to_owned(),
        directory: project.tree.path().to_owned(),
        variables: Vec::new(),
    };
    builds.map(|build| executable(&build.executable)).collect()
}

fn plan() -> ExperimentPlan {
    let version = |revision: &str| PlannedVersion {
        version: Version {
            revision: revision.to_owned(),
            commit: None,
            tree: revision.to_owned(),
            dirty: false,
            summary: String::new(),
            time: None,
        },
        toolchain: String::new(),
    };
    ExperimentPlan {
        versions: vec![version("HEAD~1"), version("HEAD")],
        machine: this_machine(),
        rbench: String::new(),
        settings: String::new(),
        settings_key: String::new(),
        dimensions: Dimensions { builds: BUILDS as usize, executions: 1, measurements: 5 },
        seed: 1,
    }
}
