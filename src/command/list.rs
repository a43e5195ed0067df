//! `cargo rbench list`: the benchmarks of a version.

use super::{
    benchmarks::{self, Wanted},
    project::Project,
};
use crate::{
    build::Event,
    cli::{Format, ListArgs},
    console::Console,
    failure::{Exit, OrFail, Result},
    harness::{Conditions, Filter},
    measure::process::Interrupt,
    report::ListReport,
    settings::{self, BuildSettings},
};

/// Lists what the filters mean. Targets that cannot be listed are named, and make the run fail.
pub fn run(args: &ListArgs) -> Result<Exit> {
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
    let conditions = Conditions { interrupt: &interrupt, deadline: None, cpu: None };
    let listing = benchmarks::list(&project, &workshop, &wanted, &conditions, &console)?;

    for (_, failure) in &listing.failures {
        console.line(&format!("error: {failure}"));
    }
    let listed =
        listing.targets.iter().map(|target| (target.harness.kind(), &target.benchmarks[..]));
    let report = ListReport::new(&listing.version, listed, &listing.failures);
    Console::result(&match args.output.format {
        Format::Text => report.text(),
        Format::Json => report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n",
    })?;
    Ok(if listing.failures.is_empty() { Exit::Success } else { Exit::Benchmark })
}
