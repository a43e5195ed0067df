//! `cargo rbench compare`: two versions measured interleaved, and a verdict on every benchmark.

use std::{fs, time::Duration};

use super::{
    experiment::{self, BASE, Collected, Experiment, HEAD, Side},
    project::Project,
};
use crate::{
    build::{Event, VersionBuilds},
    cli::{CompareArgs, ReportFormat},
    console::Console,
    failure::{Exit, OrFail, Result},
    harness::{Conditions, Filter},
    measure::process::Interrupt,
    model::{self, Benchmark, LayoutSeed},
    report::{ComparisonReport, ComparisonRow, quantity},
    settings::{self, BuildSettings, ExperimentSettings},
    stats::{Criteria, Judged, Judgement, Pairing, Verdict},
    store::Store,
};

/// Above this load per core, rbench says that the machine is busy.
const BUSY: f64 = 0.5;

/// Measures, judges, reports.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let console = Console::new(args.report.verbose);
    let project = Project::find(args.target.manifest_path.as_deref())?;
    let builds = build_settings(args, &project);
    let settings = ExperimentSettings::resolve(&project.file, &args.measure);
    let criteria = settings::criteria(&project.file, &args.verdict)?;
    let filter = Filter::new(&args.patterns, args.exact, &args.target.package, &args.target.bench)?;
    let versions =
        [project.repository.resolve(&args.base)?, project.repository.resolve(&args.head)?];
    let interrupt = Interrupt::on_signals()?;
    let conditions = Conditions {
        interrupt: &interrupt,
        deadline: args.measure.deadline.map(Duration::from_secs),
        cpu: args.measure.cpu,
    };

    let _lock = console.lock(&project.site)?;
    let watch = |event: Event<'_>| console.build_event(&event);
    let workshop = project.workshop(builds.compile.clone(), console.progress_columns(), &watch);
    let store_waits = || console.line("waiting for another rbench that writes results");
    let store = Store::open(&project.store(), &store_waits)?;
    let experiment = Experiment {
        project: &project,
        workshop: &workshop,
        builds: &builds,
        settings: &settings,
        targets: settings::target_filter(&args.target),
        conditions,
        console: &console,
        store: &store,
    };
    let [base, head] = versions;
    let sides = [experiment.side(base, &filter)?, experiment.side(head, &filter)?];
    let common = common_benchmarks(&sides);
    console.line(&plan(&experiment, &builds, &settings, common.len()));
    if args.dry_run {
        return Ok(Exit::Success);
    }
    let report = compare(&experiment, &sides, &common, &criteria)?;
    for path in &args.report.output {
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => ReportFormat::Json,
            Some("md") => ReportFormat::Markdown,
            _ => ReportFormat::Text,
        };
        fs::write(path, rendered(&report, format)?)
            .or_fail(Exit::Usage, || format!("cannot write the report {}", path.display()))?;
    }
    Console::result(&rendered(&report, args.report.format)?)?;
    Ok(if args.advisory { Exit::Success } else { report.exit() })
}

fn rendered(report: &ComparisonReport, format: ReportFormat) -> Result<String> {
    Ok(match format {
        ReportFormat::Text => report.text(),
        ReportFormat::Markdown => report.markdown(),
        ReportFormat::Json => {
            report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n"
        }
    })
}

fn build_settings(args: &CompareArgs, project: &Project) -> BuildSettings {
    let resolved = BuildSettings::resolve(&project.file, &args.compile);
    BuildSettings {
        builds: args.measure.builds.unwrap_or(resolved.builds),
        layout: args.measure.layout.unwrap_or(resolved.layout),
        strategy: args.measure.strategy.unwrap_or(resolved.strategy),
        seed: args.measure.seed.unwrap_or(resolved.seed),
        ..resolved
    }
}

/// Benchmarks that both versions have, in the head's order.
fn common_benchmarks(sides: &[Side; 2]) -> Vec<Benchmark> {
    let [base, head] = [BASE, HEAD].map(|version| all(&sides[version]));
    head.into_iter().filter(|benchmark| base.contains(benchmark)).collect()
}

fn all(side: &Side) -> Vec<Benchmark> {
    side.listing.targets.iter().flat_map(|listed| listed.benchmarks.clone()).collect()
}

fn plan(
    experiment: &Experiment<'_>,
    builds: &BuildSettings,
    settings: &ExperimentSettings,
    benchmarks: usize,
) -> String {
    format!(
        "plan: {benchmarks} benchmarks of both versions, {} builds x {} executions x {} measurements, \
         layout {}; measuring takes about {}, and again for what is flagged",
        builds.builds,
        settings.executions,
        settings.measurements,
        builds.layout,
        quantity::duration(experiment.estimate(benchmarks))
    )
}

fn compare(
    experiment: &Experiment<'_>,
    sides: &[Side; 2],
    common: &[Benchmark],
    criteria: &Criteria,
) -> Result<ComparisonReport> {
    let count = experiment.builds.builds;
    let seed = experiment.builds.seed;
    let first_builds = experiment.build(sides, &LayoutSeed::list(seed, count))?;
    let (same, measured): (Vec<Benchmark>, Vec<Benchmark>) =
        common.iter().cloned().partition(|benchmark| {
            experiment::identical(&first_builds, &experiment::target_of(benchmark))
        });
    let mut report = ComparisonReport::new(&sides[BASE].version, &sides[HEAD].version);
    report.warn_about_builds(&first_builds, count);
    if let Some(load) =
        experiment::load_per_core().filter(|load| *load > BUSY && !measured.is_empty())
    {
        report.warn(format!("the machine is busy: a load of {load:.1} per core"));
    }
    for benchmark in &same {
        report.add(benchmark, ComparisonRow::judged(&Judgement::of(Verdict::Identical)));
    }
    for (version, other) in [(BASE, HEAD), (HEAD, BASE)] {
        let others = all(&sides[other]);
        let only = all(&sides[version]).into_iter().filter(|benchmark| !others.contains(benchmark));
        report.only_in(&sides[version].version, only.collect());
        for (target, failure) in &sides[version].listing.failures {
            report.target_failed(target, failure);
        }
    }
    if !measured.is_empty() {
        measure_and_judge(experiment, sides, &first_builds, &measured, criteria, &mut report)?;
    }
    Ok(report)
}

/// Both stages of the benchmarks whose code differs: all of them, then what was flagged.
fn measure_and_judge(
    experiment: &Experiment<'_>,
    sides: &[Side; 2],
    first_builds: &[VersionBuilds; 2],
    measured: &[Benchmark],
    criteria: &Criteria,
    report: &mut ComparisonReport,
) -> Result<()> {
    let pairing = pairing(first_builds);

    let stored = experiment.begin(sides, first_builds)?;
    let first = experiment.measure(&stored, model::Stage::First, sides, first_builds, measured)?;
    let stages: Vec<Option<Judged>> =
        first.iter().map(|collected| judged(collected, pairing, criteria)).collect();
    let flagged: Vec<usize> = stages
        .iter()
        .enumerate()
        .filter(|(_, judged)| judged.as_ref().is_some_and(|j| j.needs_confirmation(criteria)))
        .map(|(index, _)| index)
        .collect();
    let second = if flagged.is_empty() {
        Vec::new()
    } else {
        let names: Vec<Benchmark> = flagged.iter().map(|&index| measured[index].clone()).collect();
        experiment.console.line(&format!(
            "measuring {} flagged benchmark{} again on fresh builds",
            names.len(),
            if names.len() == 1 { "" } else { "s" }
        ));
        let count = experiment.builds.builds;
        let all_seeds = LayoutSeed::list(experiment.builds.seed, 2 * count);
        let builds = experiment.build(sides, &all_seeds[count as usize..])?;
        experiment.measure(&stored, model::Stage::Second, sides, &builds, &names)?
    };
    experiment.finish(&stored)?;

    let count = stages.iter().filter(|stage| stage.is_some()).count();
    for (index, benchmark) in measured.iter().enumerate() {
        let again = flagged.iter().position(|&i| i == index).and_then(|at| second.get(at));
        let again = again.and_then(|collected| judged(collected, pairing, criteria));
        let stages = [stages[index].as_ref(), again.as_ref()];
        let row = row(&first[index], stages, count, criteria);
        report.add(benchmark, row);
    }
    Ok(())
}

fn row(
    collected: &Collected,
    [first, second]: [Option<&Judged>; 2],
    judged: usize,
    criteria: &Criteria,
) -> ComparisonRow {
    let reason = match (first, &collected.failure) {
        (Some(first), None) => {
            return ComparisonRow::judged(&Judgement::by_stages(first, second, judged, criteria));
        }
        (_, Some(failure)) => failure.to_string(),
        (None, None) => "it gave no measurements".to_owned(),
    };
    ComparisonRow::judged(&Judgement::of(Verdict::Failed { reason }))
}

/// What one stage says about a benchmark; `None` if there are no measurements of one version.
fn judged(collected: &Collected, pairing: Pairing, criteria: &Criteria) -> Option<Judged> {
    let [base, head] = [BASE, HEAD].map(|version| collected.measurements(version).ok());
    Some(Judged::of([&base?, &head?], pairing, criteria))
}

fn pairing(builds: &[VersionBuilds; 2]) -> Pairing {
    Pairing::of_layouts(builds.iter().map(|builds| builds.layout))
}
