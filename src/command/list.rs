//! `cargo rbench list`: lists the benchmarks of a version. It compiles the version and measures nothing.

use super::{output::Output, project_of, selected_targets};
use crate::{
    cli::ListArgs,
    config::BuildSettings,
    console::Console,
    error::{Exit, Result},
    harness::{Conditions, Filter},
    measure::{ListedVersion, Listing},
    model::FailedTarget,
    process::{Interrupt, SavedHandler},
    report::list::{ListReport, ListedBenchmark},
};

/// Lists the matching benchmarks. Prints an error for each target that cannot be listed, and then fails. A target that
/// rbench does not support is no error.
pub fn run(args: &ListArgs) -> Result<Exit> {
    let console = Console::attach();
    let interrupt = Interrupt::on_signals(SavedHandler::Nothing)?;
    let conditions = Conditions::new(&interrupt);
    conditions.check()?;
    let project = project_of(&args.target)?;
    project.check_tables(&[&args.revision], &console)?;
    let settings = BuildSettings::resolve(&project.file, args.compile.clone());
    let targets = selected_targets(&project, &args.target);
    let filter = Filter::new(&args.filter.patterns(), args.filter.exact, targets);
    let version = project.repository.resolve(&args.revision);
    let version = args.given.revision_or_filter(version, "list", &["."], &args.revision)?;
    let build_env = project.build_env(settings.compile, &console)?;
    let version =
        ListedVersion::new(&project, &build_env, version, &filter, (&conditions, &console))?
            .with_benchmarks()?;
    for FailedTarget { error, .. } in &version.listing.failures {
        console.error(&format!("error: {error}"));
    }
    for FailedTarget { target, error } in &version.listing.unsupported {
        console.line(&format!("note: bench target {target} is left out: {}", error.reason()));
        for hint in error.hints() {
            console.line(&format!("hint: {hint}"));
        }
    }
    for (target, harness) in &version.listing.empty {
        console.line(&format!("note: bench target {target} lists no benchmark ({harness})"));
    }
    let Listing { targets, failures, unsupported, .. } = version.listing;
    let exit = if failures.is_empty() { Exit::Success } else { Exit::Benchmark };
    let benchmarks = targets.into_iter().flat_map(|target| {
        let harness = target.harness.kind();
        target.benchmarks.into_iter().map(move |benchmark| ListedBenchmark { benchmark, harness })
    });
    Output::new(args.output.format)?.write(&ListReport {
        version: version.version,
        benchmarks: benchmarks.collect(),
        failed_targets: failures,
        unsupported_targets: unsupported,
    })?;
    Ok(exit)
}
