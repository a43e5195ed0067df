//! One experiment over two versions: builds of both with the same seeds, benchmarks measured
//! interleaved, stage by stage.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    time::Duration,
};

use super::{
    benchmarks::{self, Listed, Listing, Wanted},
    project::Project,
};
use crate::{
    build::{Order, Source, TargetBuilds, VersionBuilds, Workshop},
    console::Console,
    failure::{Exit, Failure, OrFail, Result},
    harness::{Conditions, Executable, Filter},
    measure::{
        machine::this_machine,
        schedule::{Design, Step, schedule},
        session::{self, Outcome, Subject},
    },
    model::{
        Asked, BenchTarget, Benchmark, Dimensions, Execution, ExperimentPlan, HarnessKind, Layout,
        LayoutSeed, Metric, PlannedVersion, Series, Stage, TargetFilter, Turn, Version,
    },
    settings::{BuildSettings, ExperimentSettings},
    stats::{Measurements, Misfit, judged},
    store::{ExperimentId, Store, Unfinished},
};

/// The two versions, in this order everywhere.
pub const BASE: usize = 0;
/// See [`BASE`].
pub const HEAD: usize = 1;

/// What stays the same during an experiment.
pub struct Experiment<'a> {
    /// The project.
    pub project: &'a Project,
    /// The workshop that builds.
    pub workshop: &'a Workshop<'a>,
    /// How versions are built.
    pub builds: &'a BuildSettings,
    /// How they are measured.
    pub settings: &'a ExperimentSettings,
    /// Which bench targets.
    pub targets: TargetFilter,
    /// What all executions share.
    pub conditions: Conditions<'a>,
    /// The terminal.
    pub console: &'a Console,
    /// Where every execution is kept.
    pub store: &'a Store<'a>,
}

/// An experiment in the store, and what is done of it.
pub struct Stored {
    id: ExperimentId,
    done: HashSet<(Benchmark, Turn)>,
}

/// One version with its files and its benchmarks.
pub struct Side {
    /// The version.
    pub version: Version,
    checkout: PathBuf,
    /// Its benchmarks.
    pub listing: Listing,
}

/// The measurements of one benchmark: per version, per seed, per execution.
#[derive(Debug, Default)]
pub struct Collected {
    values: [BTreeMap<u32, Vec<Vec<f64>>>; 2],
    metric: Option<Metric>,
    /// Why it has none, if it failed.
    pub failure: Option<Failure>,
}

impl Collected {
    /// The measurements of one version, fit for statistics.
    pub fn measurements(&self, version: usize) -> std::result::Result<Measurements, Misfit> {
        let metric = self.metric.clone().unwrap_or_else(Metric::wall);
        let builds = self.values[version].iter();
        Measurements::new(metric, builds.map(|(seed, executions)| (u64::from(*seed), executions)))
    }

    fn add(&mut self, version: usize, seed: LayoutSeed, execution: &Execution) {
        // The first metric is what the harness is for; all others describe the same run.
        let Some(series) = execution.series.first() else { return };
        self.metric.get_or_insert_with(|| series.metric.clone());
        self.values[version].entry(seed.get()).or_default().push(series.values.clone());
    }
}

impl Experiment<'_> {
    /// Checks a version out, compiles it, and lists its benchmarks.
    pub fn side(&self, version: Version, filter: &Filter) -> Result<Side> {
        let checkout = self.project.checkout(&version, self.console)?;
        let wanted = Wanted {
            revision: &version.revision,
            targets: self.targets.clone(),
            filter: filter.clone(),
        };
        let listing =
            benchmarks::list(self.project, self.workshop, &wanted, &self.conditions, self.console)?;
        Ok(Side { version, checkout, listing })
    }

    /// The builds of both versions with these seeds.
    pub fn build(&self, sides: &[Side; 2], seeds: &[LayoutSeed]) -> Result<[VersionBuilds; 2]> {
        let order = Order {
            filter: self.targets.clone(),
            layout: self.builds.layout,
            strategy: self.builds.strategy,
            seeds: seeds.to_vec(),
        };
        let build = |side: &Side| {
            self.workshop.build(Source { version: &side.version, checkout: &side.checkout }, &order)
        };
        Ok([build(&sides[BASE])?, build(&sides[HEAD])?])
    }

    /// Begins the experiment in the store, or finds it there unfinished.
    pub fn begin(&self, sides: &[Side; 2], builds: &[VersionBuilds; 2]) -> Result<Stored> {
        let plan = self.plan(sides, builds);
        if let Some(Unfinished { id, done, .. }) = self.store.find_unfinished(&plan)? {
            let count = done.len();
            self.console.line(&format!(
                "going on where an earlier run stopped: {count} executions are done"
            ));
            return Ok(Stored { id, done });
        }
        Ok(Stored { id: self.store.begin(&plan)?, done: HashSet::new() })
    }

    /// Keeps which builds there were: what is judged later must know their layouts, and which of them
    /// are the same programs.
    fn record_builds(&self, stored: &Stored, builds: &[VersionBuilds; 2]) -> Result<()> {
        for (version, of_version) in builds.iter().enumerate() {
            let layout = of_version.layout;
            for TargetBuilds { target, builds } in &of_version.targets {
                for build in builds {
                    let digest = &build.record.digest;
                    self.store
                        .record_build(stored.id, version, target, build.seed, layout, digest)?;
                }
            }
        }
        Ok(())
    }

    /// Ends the experiment in the store.
    pub fn finish(&self, stored: &Stored) -> Result<()> {
        self.store.finish(stored.id)
    }

    fn plan(&self, sides: &[Side; 2], builds: &[VersionBuilds; 2]) -> ExperimentPlan {
        let planned = |index: usize| PlannedVersion {
            version: sides[index].version.clone(),
            toolchain: builds[index]
                .compilations
                .first()
                .map(|compilation| compilation.record.rustc.clone())
                .unwrap_or_default(),
        };
        let BuildSettings { layout, compile, .. } = self.builds;
        let settings =
            format!("{layout} {compile:?} {:?} {:?}", self.settings, self.conditions.cpu);
        ExperimentPlan {
            versions: vec![planned(BASE), planned(HEAD)],
            machine: this_machine(),
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
            settings_key: blake3::hash(settings.as_bytes()).to_hex()[..32].to_owned(),
            settings: serde_json::json!({ "described": settings }).to_string(),
            dimensions: Dimensions {
                builds: self.builds.builds as usize,
                executions: self.settings.executions as usize,
                measurements: self.settings.measurements as usize,
            },
            seed: self.builds.seed,
        }
    }

    /// Measures benchmarks that both versions have, interleaved over the builds, each execution kept
    /// in the store before the next starts; what is there already is not measured again. What came of
    /// each benchmark is in the order of `wanted`.
    pub fn measure(
        &self,
        stored: &Stored,
        stage: Stage,
        sides: &[Side; 2],
        builds: &[VersionBuilds; 2],
        wanted: &[Benchmark],
    ) -> Result<Vec<Collected>> {
        self.record_builds(stored, builds)?;
        let seeds: Vec<LayoutSeed> = builds[BASE]
            .targets
            .first()
            .map(|target| target.builds.iter().map(|build| build.seed).collect())
            .unwrap_or_default();
        let mut subjects = Vec::with_capacity(wanted.len());
        for benchmark in wanted {
            subjects.push(self.subject(sides, builds, benchmark)?);
        }
        let design = Design {
            versions: 2,
            benchmarks: wanted.len(),
            builds: seeds.len(),
            executions: self.settings.executions as usize,
        };
        let stage_seed = self.builds.seed.wrapping_add(u64::from(stage == Stage::Second));
        let turn = |step: &Step| Turn {
            version: step.version,
            stage,
            round: u32::try_from(step.round).unwrap_or(u32::MAX),
            seed: seeds[step.build],
        };
        let mut steps = schedule(design, stage_seed);
        steps.retain(|step| !stored.done.contains(&(wanted[step.benchmark].clone(), turn(step))));
        let counted: Vec<Vec<LayoutSeed>> = wanted
            .iter()
            .map(|benchmark| match self.builds.layout {
                // Equal builds, as asked for: each counts.
                Layout::Natural => seeds.clone(),
                _ => counted_as(builds, &target_of(benchmark), &seeds),
            })
            .collect();
        let mut failures: Vec<Option<Failure>> = vec![None; wanted.len()];
        let mut progress = self.console.executions(steps.len());
        let mut tell = |outcome: Outcome<'_>| {
            let Outcome { step, result, .. } = outcome;
            let benchmark = &wanted[step.benchmark];
            self.store.record_execution(stored.id, benchmark, turn(&step), result.as_ref())?;
            failures[step.benchmark] = result.as_ref().err().cloned();
            progress.done(outcome.progress.0);
            Ok(())
        };
        let mut enter =
            |version: usize, build: usize| self.workshop.enter(builds[version].home_of(build));
        session::run(&steps, &subjects, &self.conditions, &mut enter, &mut tell)
            .map_err(|failure| self.say_what_is_kept(failure))?;
        let counts_for = |benchmark: usize, seed: LayoutSeed| {
            let build = seeds.iter().position(|other| *other == seed)?;
            counted[benchmark].get(build).copied()
        };
        let mut collected = Vec::with_capacity(wanted.len());
        for (index, (benchmark, failure)) in wanted.iter().zip(failures).enumerate() {
            let mut of_benchmark = Collected { failure, ..Collected::default() };
            for recorded in self.store.executions(stored.id, benchmark)? {
                if recorded.turn.stage == stage
                    && let Some(seed) = counts_for(index, recorded.turn.seed)
                {
                    of_benchmark.add(recorded.turn.version, seed, &recorded.execution);
                }
            }
            collected.push(of_benchmark);
        }
        Ok(collected)
    }

    fn say_what_is_kept(&self, failure: Failure) -> Failure {
        if failure.exit() != Exit::Interrupted {
            return failure;
        }
        failure
            .because(format!(
                "every finished execution is kept in {}",
                self.project.store().display()
            ))
            .hint("the same command goes on where this one stopped")
    }

    fn subject<'s>(
        &self,
        sides: &'s [Side; 2],
        builds: &[VersionBuilds; 2],
        benchmark: &Benchmark,
    ) -> Result<Subject<'s>> {
        let listed = [0, 1].map(|version| listed(&sides[version].listing, benchmark));
        let (Some(base), Some(head)) = (listed[BASE], listed[HEAD]) else {
            return Err(Failure::new(
                Exit::Internal,
                format!("{benchmark} is not in both versions"),
            ));
        };
        let executables = |listed: &Listed, builds: &VersionBuilds| -> Vec<Executable> {
            let target = builds.target(&target_of(benchmark));
            let all = target.map(|target| target.builds.as_slice()).unwrap_or_default();
            all.iter()
                .map(|build| Executable {
                    path: build.executable.clone(),
                    ..listed.executable.clone()
                })
                .collect()
        };
        let mut subject = Subject {
            harness: &*base.harness,
            name: benchmark.name.clone(),
            asked: self.asked(),
            executables: vec![executables(base, &builds[BASE]), executables(head, &builds[HEAD])],
        };
        self.tune(&mut subject, benchmark, builds)?;
        Ok(subject)
    }

    /// Finds the iterations of a measurement once for a benchmark and machine, so that all builds of
    /// all versions use the same.
    /// Other harnesses than our own decide for themselves. A benchmark that fails here fails again
    /// when it is measured, and is reported then.
    fn tune(
        &self,
        subject: &mut Subject<'_>,
        benchmark: &Benchmark,
        builds: &[VersionBuilds; 2],
    ) -> Result<()> {
        if subject.harness.kind() != HarnessKind::Native {
            return Ok(());
        }
        let machine = this_machine();
        subject.asked.iterations = self.store.tuned(benchmark, &machine)?;
        if subject.asked.iterations.is_some() {
            return Ok(());
        }
        self.workshop.enter(builds[BASE].home_of(0))?;
        let Some(executable) = subject.executables[BASE].first() else { return Ok(()) };
        let once = Asked { measurements: 1, ..subject.asked.clone() };
        match subject.harness.execute(executable, &subject.name, &once, &self.conditions) {
            Ok(tuned) => {
                let iterations = tuned.series.first().and_then(Series::same_iterations);
                subject.asked.iterations = iterations;
                iterations
                    .map_or(Ok(()), |found| self.store.record_tuned(benchmark, &machine, found))
            }
            Err(failure) if failure.exit() == Exit::Interrupted => Err(failure),
            Err(_) => Ok(()),
        }
    }

    fn asked(&self) -> Asked {
        Asked {
            measurements: self.settings.measurements as usize,
            warm_up: Duration::from_millis(self.settings.warm_up_ms),
            floor: Duration::from_millis(self.settings.floor_ms),
            iterations: None,
            seed: 0,
        }
    }

    /// How long the executions of so many benchmarks take at least.
    pub fn estimate(&self, benchmarks: usize) -> Duration {
        let each = self.asked().least_time() + Duration::from_millis(5);
        let executions = 2 * self.builds.builds * self.settings.executions;
        each.saturating_mul(executions)
            .saturating_mul(u32::try_from(benchmarks).unwrap_or(u32::MAX))
    }
}

fn listed<'l>(listing: &'l Listing, benchmark: &Benchmark) -> Option<&'l Listed> {
    listing.targets.iter().find(|listed| listed.benchmarks.contains(benchmark))
}

/// The bench target of a benchmark.
pub fn target_of(benchmark: &Benchmark) -> BenchTarget {
    BenchTarget { package: benchmark.package.clone(), target: benchmark.target.clone() }
}

/// For each seed, the seed that its executions count for: its own, unless an earlier one gave the same
/// programs: equal programs are one build, however often they were linked.
fn counted_as(
    builds: &[VersionBuilds; 2],
    target: &BenchTarget,
    seeds: &[LayoutSeed],
) -> Vec<LayoutSeed> {
    let digests = |index: usize| {
        [BASE, HEAD].map(|version| {
            let build = builds[version].target(target)?.builds.get(index)?;
            Some(build.record.digest)
        })
    };
    let programs: Vec<_> = (0..seeds.len()).map(digests).collect();
    judged::counted_as(&programs).into_iter().map(|index| seeds[index]).collect()
}

/// Whether all builds of a target are the same machine code in both versions.
pub fn identical(builds: &[VersionBuilds; 2], target: &BenchTarget) -> bool {
    let digest = |version: usize| builds[version].target(target).map(TargetBuilds::digest);
    digest(BASE).is_some() && digest(BASE) == digest(HEAD)
}

/// The load of the machine over the last minute, per core, where the system tells.
pub fn load_per_core() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg")
        .or_fail(Exit::Internal, || "cannot read the load")
        .ok()?;
    let load: f64 = text.split(' ').next()?.parse().ok()?;
    let cores = std::thread::available_parallelism().ok()?;
    Some(load / cores.get() as f64)
}
