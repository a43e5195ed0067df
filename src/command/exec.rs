//! `cargo rbench exec`: one execution of one benchmark, or of a whole target, for people who debug it.

use std::{slice, time::Duration};

use crate::experiment::listing::{self, Listed, Listing, Request};
use crate::{
    cli::{ExecArgs, Format},
    console::Console,
    failure::{Exit, Failure, OrFail, Result},
    harness::Conditions,
    model::{Benchmark, Execution, ExecutionRequest, Name},
    process::Interrupt,
    report::ExecReport,
};

/// Runs what the filters mean, in the executable as cargo made it.
pub fn run(args: &ExecArgs) -> Result<Exit> {
    let console = Console::new(args.output.verbose);
    let interrupt = Interrupt::on_signals()?;
    let conditions = Conditions {
        interrupt: &interrupt,
        deadline: args.deadline.map(Duration::from_secs),
        cpu: args.cpu,
    };
    let request = Request {
        revision: &args.revision,
        filter: &args.filter,
        target: &args.target,
        compile: &args.compile,
    };
    let (listing, _lock) = listing::find(&request, &conditions, &console)?;
    let (listed, benchmarks) =
        if args.whole_target { the_only_target(&listing)? } else { the_only_one(&listing)? };

    let asked = ExecutionRequest {
        measurements: args.measurements as usize,
        warm_up: Duration::from_millis(args.warm_up),
        floor: Duration::from_millis(args.floor),
        iterations: args.iterations,
        seed: args.seed,
    };
    let results = execute(listed, benchmarks, &asked, &conditions)?;
    let failures: Vec<&Failure> =
        results.iter().filter_map(|(_, result)| result.as_ref().err()).collect();
    let harness = &listed.harness;
    let objection = harness.objection(asked.measurements);
    let Some(report) = ExecReport::new(&listing.version, harness.kind(), objection, &results)
    else {
        return failures.first().map_or(Ok(Exit::Success), |failure| Err((*failure).clone()));
    };
    for failure in &failures {
        console.line(&format!("error: {failure}"));
    }
    Console::result(&match args.output.format {
        Format::Text => report.text(),
        Format::Json => report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n",
    })?;
    Ok(if failures.is_empty() { Exit::Success } else { Exit::Benchmark })
}

/// Executes `benchmarks` of one target in one process.
fn execute<'b>(
    listed: &Listed,
    benchmarks: &'b [Benchmark],
    asked: &ExecutionRequest,
    conditions: &Conditions<'_>,
) -> Result<Vec<(&'b Benchmark, Result<Execution>)>> {
    let Listed { harness, executable, .. } = listed;
    let results = match benchmarks {
        [only] => vec![Ok(harness.execute(executable, &only.name, asked, conditions)?)],
        several => {
            let names: Vec<Name> = several.iter().map(|benchmark| benchmark.name.clone()).collect();
            harness.execute_together(executable, &names, asked, conditions)?
        }
    };
    Ok(benchmarks.iter().zip(results).collect())
}

fn the_only_target(listing: &Listing) -> Result<(&Listed, &[Benchmark])> {
    match (&listing.targets[..], &listing.failures[..]) {
        ([only], _) => Ok((only, &only.benchmarks)),
        ([], [(_, failure), ..]) => Err(failure.clone()),
        (several, _) => {
            let all = several.iter().filter_map(|listed| listed.benchmarks.first());
            let what = format!("benchmarks of {} targets match, not of one", several.len());
            Err(listed_in(Failure::new(Exit::Usage, what), &all.collect::<Vec<_>>())
                .hint("choose a target with -p and --bench"))
        }
    }
}

fn the_only_one(listing: &Listing) -> Result<(&Listed, &[Benchmark])> {
    // One whose id is listed twice fails by itself, and says why.
    if let [only] = &listing.targets[..]
        && let [first, rest @ ..] = &only.benchmarks[..]
        && rest.iter().all(|one| one == first)
    {
        return Ok((only, slice::from_ref(first)));
    }
    match (&listing.targets[..], &listing.failures[..]) {
        ([], [(_, failure), ..]) => Err(failure.clone()),
        (several, _) => {
            let all: Vec<_> = several.iter().flat_map(|listed| &listed.benchmarks).collect();
            let what = format!("{} benchmarks match, not one", all.len());
            Err(listed_in(Failure::new(Exit::Usage, what), &all)
                .hint("give the whole id with --exact, and -p or --bench if that is not enough")
                .hint("or execute all of a target in one process with --whole-target"))
        }
    }
}

/// The failure with the first few of what there is.
fn listed_in(mut failure: Failure, benchmarks: &[&Benchmark]) -> Failure {
    /// As many as one reads.
    const MOST: usize = 10;
    for benchmark in benchmarks.iter().take(MOST) {
        failure = failure.because(format!("  {benchmark}"));
    }
    match benchmarks.len().saturating_sub(MOST) {
        0 => failure,
        more => failure.because(format!("  and {more} more")),
    }
}
