//! `cargo rbench list`: the benchmarks of a version.

use crate::experiment::listing::{self, Request};
use crate::{
    cli::{Format, ListArgs},
    console::Console,
    failure::{Exit, OrFail, Result},
    harness::Conditions,
    process::Interrupt,
    report::ListReport,
};

/// Lists what the filters mean. Targets that cannot be listed are named, and make the run fail.
pub fn run(args: &ListArgs) -> Result<Exit> {
    let console = Console::new(args.output.verbose);
    let interrupt = Interrupt::on_signals()?;
    let conditions = Conditions { interrupt: &interrupt, deadline: None, cpu: None };
    let request = Request {
        revision: &args.revision,
        filter: &args.filter,
        target: &args.target,
        compile: &args.compile,
    };
    let (listing, _lock) = listing::find(&request, &conditions, &console)?;

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
