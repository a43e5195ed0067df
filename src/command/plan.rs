//! `cargo rbench plan`: recommends numbers of builds, executions and measurements, from stored results and a pilot.

mod costs;
mod levels;

use std::time::SystemTime;

use costs::Links;
use levels::StoredLevels;

use super::{output::Output, project_of, run::measure};
use crate::{
    cli::PlanArgs,
    config::{CriteriaOptions, Purpose, VerdictSettings},
    console::{Console, announcement},
    error::{Exit, Result},
    measure::{ExperimentSettings, ListedVersion, Runner},
    model::{Benchmark, Mode, Version},
    process::{Interrupt, SavedHandler},
    report::plan::{Expected, PlanReport, PlannedBenchmark, Unknown},
    verdict::{DecisionOptions, Results, Verdicts},
};

/// Measures a pilot of benchmarks without usable stored results, then reports the plan.
pub fn run(args: &PlanArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let project = project_of(&args.target)?;
    project.check_tables(&[&args.revision], &console)?;
    let settings = ExperimentSettings::resolve(&project.file, &args.pilot(), Purpose::OneVersion);
    let verdicts = VerdictSettings::resolve(&project.file, &CriteriaOptions::default())?;
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let planning = Planning { runner: &runner, verdicts: &verdicts, args, console: &console };
    let done = project.repository.resolve(&args.revision).and_then(|version| {
        let compared = project.file.mode(None);
        let report = planning.report(version, compared)?;
        output.write(&report)?;
        Ok(if report.has_failures() { Exit::Benchmark } else { Exit::Success })
    });
    runner.prune(start);
    if done.is_ok() {
        announcement::finished(&console, start);
    }
    done.map_err(|error| runner.with_what_is_kept(error))
}

/// The inputs of a plan.
struct Planning<'a> {
    runner: &'a Runner<'a>,
    verdicts: &'a VerdictSettings,
    args: &'a PlanArgs,
    console: &'a Console,
}

impl Planning<'_> {
    /// Makes the plan of a version, for comparisons in this mode.
    fn report(&self, version: Version, compared: Mode) -> Result<PlanReport> {
        let versions = [self.runner.list(version)?];
        let [listed] = &versions;
        let benchmarks = listed.benchmarks();
        let unknown = self.unknown(listed, &benchmarks)?;
        if !unknown.is_empty() {
            let outline = self.runner.outline(&versions, &unknown);
            announcement::plan(self.console, &outline, false);
            let seeds = self.runner.first_seeds(&versions, &unknown);
            let builds = self.runner.link(&versions, &unknown, seeds)?;
            measure(self.runner, &versions, &builds, &unknown, self.console)?;
        }
        // Builds of earlier runs are in the cache, with the durations of their links.
        let seeds = self.runner.first_seeds(&versions, &benchmarks);
        let links =
            Links::from_builds(&self.runner.link(&versions, &benchmarks, seeds)?, &benchmarks);
        let results = Results::finished(&self.runner.store)?;
        let mut planned = Vec::with_capacity(benchmarks.len());
        let mut failures: Vec<(Benchmark, String)> = Vec::new();
        let judge = Verdicts::new(&results, DecisionOptions::default());
        for benchmark in &benchmarks {
            let criteria = self.verdicts.criteria(benchmark);
            if let Some(found) =
                StoredLevels::load(&results, &listed.version, benchmark, &criteria)?
            {
                let power = found.expected_power(&judge, &criteria)?;
                planned.push(self.planned(found, power, &links));
            } else {
                let reason = levels::why_not(&results, &listed.version, benchmark)?;
                failures.push((benchmark.clone(), reason));
            }
        }
        let failures = Unknown { benchmarks: failures, targets: listed.listing.failures.clone() };
        Ok(PlanReport::new(
            listed.version.clone(),
            self.verdicts.criteria,
            (self.args.half_width, compared),
            planned,
            failures,
        ))
    }

    /// The benchmarks whose stored results do not separate the variances of the levels.
    fn unknown(&self, listed: &ListedVersion, benchmarks: &[Benchmark]) -> Result<Vec<Benchmark>> {
        let results = Results::finished(&self.runner.store)?;
        let mut unknown = Vec::new();
        for benchmark in benchmarks {
            let criteria = self.verdicts.criteria(benchmark);
            if StoredLevels::load(&results, &listed.version, benchmark, &criteria)?.is_none() {
                unknown.push(benchmark.clone());
            }
        }
        Ok(unknown)
    }

    fn planned(
        &self,
        found: StoredLevels<'_>,
        expected: Option<Expected>,
        links: &Links,
    ) -> PlannedBenchmark {
        let costs = links.costs(&found);
        let criteria = self.verdicts.criteria(&found.results.benchmark);
        PlannedBenchmark::new(found.into_levels(), costs, expected, &criteria)
    }
}
