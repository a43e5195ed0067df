//! `cargo rbench exec`: one execution of one benchmark, for people who debug it.

use std::time::Duration;

use super::{
    benchmarks::{self, Listed, Listing, Wanted},
    project::Project,
};
use crate::{
    build::Event,
    cli::{ExecArgs, Format},
    console::Console,
    failure::{Exit, Failure, OrFail, Result},
    harness::{Conditions, Filter},
    measure::process::Interrupt,
    model::{Asked, Benchmark},
    report::ExecReport,
    settings::{self, BuildSettings},
};

/// How many ids an ambiguous filter lists.
const LISTED: usize = 10;

/// Runs the one benchmark that the filters mean, in the executable as cargo made it.
pub fn run(args: &ExecArgs) -> Result<Exit> {
    let console = Console::new(args.output.verbose);
    let project = Project::find(args.target.manifest_path.as_deref())?;
    let settings = BuildSettings::resolve(&project.file, &args.compile);
    let filter = Filter::new(
        &args.filter.patterns,
        args.filter.exact,
        &args.target.package,
        &args.target.bench,
    )?;
    let _lock = console.lock(&project.site)?;
    let watch = |event: Event<'_>| console.build_event(&event);
    let workshop = project.workshop(settings.compile, console.progress_columns(), &watch);
    let wanted =
        Wanted { revision: &args.revision, targets: settings::target_filter(&args.target), filter };
    let interrupt = Interrupt::on_signals()?;
    let conditions = Conditions {
        interrupt: &interrupt,
        deadline: args.deadline.map(Duration::from_secs),
        cpu: args.cpu,
    };
    let listing = benchmarks::list(&project, &workshop, &wanted, &conditions, &console)?;
    let (listed, benchmark) = the_only_one(&listing)?;

    let asked = Asked {
        measurements: args.measurements as usize,
        warm_up: Duration::from_millis(args.warm_up),
        floor: Duration::from_millis(args.floor),
        iterations: args.iterations,
        seed: args.seed,
    };
    let execution =
        listed.harness.execute(&listed.executable, &benchmark.name, &asked, &conditions)?;
    let report = ExecReport::new(&listing.version, listed.harness.kind(), benchmark, &execution);
    Console::result(&match args.output.format {
        Format::Text => report.text(),
        Format::Json => report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n",
    })?;
    Ok(Exit::Success)
}

fn the_only_one(listing: &Listing) -> Result<(&Listed, &Benchmark)> {
    let all: Vec<(&Listed, &Benchmark)> = listing
        .targets
        .iter()
        .flat_map(|listed| listed.benchmarks.iter().map(move |benchmark| (listed, benchmark)))
        .collect();
    match (&all[..], &listing.failures[..]) {
        ([only], _) => Ok(*only),
        ([], [(_, failure), ..]) => Err(failure.clone()),
        (several, _) => {
            let mut failure =
                Failure::new(Exit::Usage, format!("{} benchmarks match, not one", several.len()));
            for (_, benchmark) in several.iter().take(LISTED) {
                failure = failure.because(format!("  {benchmark}"));
            }
            if several.len() > LISTED {
                failure = failure.because(format!("  and {} more", several.len() - LISTED));
            }
            Err(failure
                .hint("give the whole id with --exact, and -p or --bench if that is not enough"))
        }
    }
}
