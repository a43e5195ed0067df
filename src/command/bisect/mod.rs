//! `cargo rbench bisect`: finds the commits of a range that changed benchmarks.

mod comparisons;
mod search;
mod versions;

use std::{rc::Rc, time::SystemTime};

use rbench_stats::bisection::steps;

use self::{comparisons::Finder, versions::Versions};
use super::{output::Output, project_of};
use crate::{
    cli::{BisectArgs, ExperimentArgs},
    compare::{Session, Warning},
    config::{Purpose, StoppingRule, VerdictSettings},
    console::{Console, announcement},
    error::{Error, Exit, Result},
    git::{Line, range_ends},
    machine::{state::MachineState, this_machine},
    measure::{ExperimentSettings, Runner},
    model::Metric,
    process::{Interrupt, SavedHandler},
    project::Project,
    report::{bisect::BisectReport, quantity::count},
    shell::CommandLine as _,
};

pub fn run(args: &BisectArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let project = project_of(&args.experiment.target)?;
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let Some(report) = search(args, &project, &console, &interrupt)? else {
        return Ok(Exit::Success);
    };
    output.write(&report)?;
    announcement::finished(&console, start, report.exit());
    Ok(report.exit())
}

/// Searches the commits of the range. `None` for a dry run, which only prints the plan.
fn search(
    args: &BisectArgs,
    project: &Project,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<BisectReport>> {
    let start = SystemTime::now();
    let experiment = ExperimentArgs { patterns: args.patterns(), ..args.experiment.clone() };
    let (first, last) = range_ends(&args.range)?;
    project.check_tables(&[first, last], console)?;
    let line = project.repository.line(&args.range)?;
    let mode = project.file.mode(args.mode);
    let purpose = Purpose::Comparison { mode, stopping: StoppingRule::Usual };
    let settings = ExperimentSettings::resolve(project, &experiment, purpose);
    let verdicts = VerdictSettings::resolve(&project.file, &args.criteria)?;
    let verdicts = only_kind(args, verdicts, console)?;
    announce(&line, console);
    if args.experiment.dry_run {
        return Ok(None);
    }
    // Checked before rbench itself makes the machine busy.
    let idle = MachineState::now();
    let runner = Runner::open(project, settings, interrupt, console)?;
    let command_line = Rc::new(args.given.without(&["budget"]));
    let mut versions =
        Versions::new(Session::new(project, runner, console, command_line), console)?;
    let finder = Finder { project, verdicts: &verdicts, budget: args.budget, console };
    let alpha = verdicts.criteria.false_alarm_rate;
    let searched = finder.line(&line, None, alpha, 0, &mut versions);
    let criteria = finder.criteria(verdicts.criteria);
    let Versions { session: Session { runner, command_line, .. }, effort, .. } = versions;
    let line = runner.end(start, searched)?;
    let mut warnings = Vec::new();
    let idle = idle.disturbances().into_iter().map(Warning::Disturbance);
    Warning::add_all(idle.chain(effort.warnings), &mut warnings);
    Ok(Some(BisectReport {
        range: args.range.clone(),
        criteria,
        machine: this_machine(),
        measured: effort.measured,
        stored: effort.stored,
        stopped: effort.stopped,
        line,
        warnings,
        command_line,
    }))
}

/// Restricts the settings to one kind of metrics, which the same executions measure. If bench.toml has several, the
/// first one; if flags have several, a usage error.
fn only_kind(
    args: &BisectArgs,
    verdicts: VerdictSettings,
    console: &Console,
) -> Result<VerdictSettings> {
    let kinds = verdicts.kinds();
    let [first, _, ..] = kinds.as_slice() else { return Ok(verdicts) };
    let named = |kind: &VerdictSettings| {
        let metrics: Vec<&str> = kind.metrics.iter().map(|metric| &*metric.name).collect();
        metrics.join(",")
    };
    if args.criteria.metrics.is_empty() {
        let searched = named(first);
        console.line(&format!("note: searching for changes of {searched}; others with --metric"));
        return Ok(first.clone());
    }
    let what = format!("cannot search for changes of {} at once", Metric::names(&verdicts.metrics));
    let error = Error::new(Exit::Usage, what)
        .cause("they are measured in separate executions, so each needs a separate search");
    let search = |kind: &VerdictSettings| {
        let metrics = named(kind);
        args.given.suggest("bisect", &[&args.range], &[("metric", Some(&*metrics))])
    };
    Err(kinds.iter().map(search).fold(error, Error::hint))
}

fn announce(line: &Line, console: &Console) {
    let commits = line.commits.len();
    console.line(&format!(
        "searching {} after {}; each change takes about {}",
        count(commits, "commit"),
        line.base,
        count(steps(commits) as usize + 1, "comparison")
    ));
}
