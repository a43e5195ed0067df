//! One experiment over one version or several: builds of all with the same seeds, benchmarks measured
//! interleaved, stage by stage, and every execution kept in the store.

mod collected;
pub mod listing;
mod measuring;
mod plan;
pub mod schedule;
pub mod session;
mod stored;
mod subject;

use std::{collections::HashSet, path::PathBuf, time::Duration};

pub use collected::Collected;
pub use stored::Stored;

use self::listing::{Listed, Listing, Wanted};
use crate::{
    build::{Event, Order, Source, TargetBuilds, VersionBuilds, Workshop},
    cli::ExperimentArgs,
    code::FunctionSet,
    console::Console,
    failure::{Exit, Failure, Result},
    harness::{Conditions, Filter},
    model::{BenchTarget, Benchmark, LayoutSeed, TargetFilter, Version},
    process::Interrupt,
    project::Project,
    settings::{self, BuildSettings, Efforts},
    stats::judged,
    store::Store,
};

/// What stays the same during an experiment.
pub struct Experiment<'a> {
    /// The project.
    pub project: &'a Project,
    /// The workshop that builds.
    pub workshop: &'a Workshop<'a>,
    /// How versions are built.
    pub builds: &'a BuildSettings,
    /// How much is spent on each benchmark.
    pub efforts: &'a Efforts,
    /// Which bench targets.
    pub targets: TargetFilter,
    /// What all executions share.
    pub conditions: Conditions<'a>,
    /// The terminal.
    pub console: &'a Console,
    /// Where every execution is kept.
    pub store: &'a Store<'a>,
}

/// One version with its files and its benchmarks.
pub struct Side {
    /// The version.
    pub version: Version,
    checkout: PathBuf,
    /// Its benchmarks.
    pub listing: Listing,
}

/// The builds of one stage.
pub struct Builds {
    /// The seeds of their layouts, the same for all versions.
    pub seeds: Vec<LayoutSeed>,
    /// For each version, in the order of the sides, one build of each bench target for each seed.
    pub versions: Vec<VersionBuilds>,
}

/// Does `work` with an experiment as it was typed: in the project, under its lock, with its store open.
pub fn with_experiment<T>(
    project: &Project,
    typed: &ExperimentArgs,
    console: &Console,
    interrupt: &Interrupt,
    work: impl FnOnce(&Experiment<'_>, &Filter) -> Result<T>,
) -> Result<T> {
    let ExperimentArgs { patterns, exact, measure, layout, target, compile, .. } = typed;
    let builds = BuildSettings::resolve(&project.file, compile, layout);
    let filter = Filter::new(patterns, *exact, &target.package, &target.bench)?;
    let _lock = console.lock(&project.site)?;
    let watch = |event: Event<'_>| console.build_event(&event);
    let workshop = project.workshop(builds.compile.clone(), console.progress_columns(), &watch);
    let store_waits = || console.line("waiting for another rbench that writes results");
    let experiment = Experiment {
        project,
        workshop: &workshop,
        builds: &builds,
        efforts: &Efforts::resolve(&project.file, measure),
        targets: settings::target_filter(target),
        conditions: Conditions {
            interrupt,
            deadline: measure.deadline.map(Duration::from_secs),
            cpu: measure.cpu,
        },
        console,
        store: &Store::open(&project.store(), &store_waits)?,
    };
    work(&experiment, &filter).map_err(|failure| experiment.say_what_is_kept(failure))
}

impl Experiment<'_> {
    /// Checks a version out, compiles it, and lists its benchmarks.
    pub fn side(&self, version: Version, filter: &Filter) -> Result<Side> {
        let checkout = self.project.checkout(&version, self.console)?;
        let wanted = Wanted {
            version: &version,
            checkout: &checkout,
            targets: self.targets.clone(),
            filter: filter.clone(),
        };
        let listing = listing::list(self.project, self.workshop, &wanted, &self.conditions)?;
        Ok(Side { version, checkout, listing })
    }

    /// The machine code of every bench target of a side, function by function.
    pub fn functions(&self, side: &Side) -> Result<Vec<(BenchTarget, FunctionSet)>> {
        let source = Source { version: &side.version, checkout: &side.checkout };
        self.workshop.functions(source, &self.targets)
    }

    /// As many layout seeds as any of these benchmarks has builds: those of the experiment that come
    /// after the first `used`.
    pub fn seeds(&self, benchmarks: &[Benchmark], used: usize) -> Vec<LayoutSeed> {
        let wanted = benchmarks.iter().map(|benchmark| self.efforts.of(benchmark).builds);
        let count = wanted.max().unwrap_or_default();
        let used_and_new = count.saturating_add(u32::try_from(used).unwrap_or(u32::MAX));
        LayoutSeed::list(self.builds.seed, used_and_new).split_off(used)
    }

    /// The builds of all sides with these seeds.
    pub fn build(&self, sides: &[Side], seeds: Vec<LayoutSeed>) -> Result<Builds> {
        let order = Order {
            filter: self.targets.clone(),
            layout: self.builds.layout,
            strategy: self.builds.strategy,
            seeds: seeds.clone(),
        };
        let build = |side: &Side| {
            self.workshop.build(Source { version: &side.version, checkout: &side.checkout }, &order)
        };
        Ok(Builds { seeds, versions: sides.iter().map(build).collect::<Result<_>>()? })
    }

    fn say_what_is_kept(&self, failure: Failure) -> Failure {
        if failure.exit() != Exit::Interrupted {
            return failure;
        }
        let store = self.project.store();
        failure
            .because(format!("every finished execution is kept in {}", store.display()))
            .hint("the same command goes on where this one stopped")
    }
}

impl Side {
    /// All its benchmarks, each once, even one whose id is listed twice.
    pub fn benchmarks(&self) -> Vec<Benchmark> {
        let mut seen = HashSet::new();
        let listed = self.listing.targets.iter().flat_map(|listed| &listed.benchmarks);
        listed.filter(|benchmark| seen.insert(*benchmark)).cloned().collect()
    }

    fn listed(&self, benchmark: &Benchmark) -> Option<&Listed> {
        self.listing.targets.iter().find(|listed| listed.benchmarks.contains(benchmark))
    }
}

impl Builds {
    /// Whether all builds of a target are the same machine code in all versions.
    pub fn are_identical(&self, target: &BenchTarget) -> bool {
        let digests =
            self.versions.iter().map(|builds| builds.target(target).map(TargetBuilds::digest));
        let mut digests = digests.collect::<Vec<_>>().into_iter();
        digests.next().is_some_and(|first| first.is_some() && digests.all(|other| other == first))
    }

    /// For each seed, the seed that its executions count for: its own, unless an earlier one gave the
    /// same programs: equal programs are one build, however often they were linked.
    fn counted_as(&self, target: &BenchTarget) -> Vec<LayoutSeed> {
        let digests = |index: usize| -> Vec<_> {
            let of_version = |builds: &VersionBuilds| {
                Some(builds.target(target)?.builds.get(index)?.record.digest)
            };
            self.versions.iter().map(of_version).collect()
        };
        let programs: Vec<_> = (0..self.seeds.len()).map(digests).collect();
        judged::counted_as(&programs).into_iter().map(|index| self.seeds[index]).collect()
    }
}

/// The bench target of a benchmark.
pub fn target_of(benchmark: &Benchmark) -> BenchTarget {
    BenchTarget { package: benchmark.package.clone(), target: benchmark.target.clone() }
}
