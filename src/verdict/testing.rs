//! Builds experiments and rows in an in-memory store, for the tests of this module.

use std::{ops::Range, sync::Arc, time::Duration};

use rbench_code::elf::Digest;

use super::{Results, VersionRef};
use crate::{
    model::{
        BenchTarget, Benchmark, Execution, ExecutionRequest, ExperimentPlan, InterimAnalyses,
        Layout, LayoutSeed, Metric, Name, PlannedBenchmark, PlannedVersion, SampleSizes, Series,
        Slot, Stage, Unmeasured, Version, testing, testing::machine,
    },
    store::{ExperimentId, RecordedBuild, Store, StoredExperiment},
};

pub fn place(experiment: usize, version: usize) -> VersionRef {
    VersionRef { experiment, version }
}

/// A clean version with this name as its commit and tree.
pub fn version(name: &str) -> Version {
    Version {
        revision: name.to_owned(),
        commit: Some(name.to_owned()),
        tree: name.to_owned(),
        dirty: false,
        summary: String::new(),
        time: Some(0),
        variant: None,
    }
}

/// The plan of an experiment on these versions, with settings of that key.
pub fn plan(versions: &[&str], settings_key: &str) -> ExperimentPlan {
    let planned = |name: &&str| PlannedVersion {
        version: version(name),
        toolchain: "rustc 1.90.0\nhost: x".to_owned(),
    };
    ExperimentPlan {
        versions: versions.iter().map(planned).collect(),
        benchmarks: Vec::new(),
        machine: machine("").into(),
        rbench: "0.1.0".to_owned(),
        settings: format!("{{\"key\":\"{settings_key}\"}}").into(),
        settings_key: settings_key.into(),
        sample_sizes: SampleSizes {
            first_analysis: None,
            builds: 6,
            executions: 1,
            measurements: 2,
        },
        seed: 1,
    }
}

/// The experiment of that plan, as read back from a store.
pub fn experiment(versions: &[&str], settings_key: &str) -> StoredExperiment {
    let store = Store::in_memory().unwrap();
    let id = store.begin(&plan(versions, settings_key)).unwrap();
    store.experiments().unwrap().into_iter().find(|experiment| experiment.id == id).unwrap()
}

pub fn benchmark(id: &str) -> Benchmark {
    Benchmark { package: "p".to_owned(), target: "t".to_owned(), name: Name::plain(id) }
}

pub fn target() -> BenchTarget {
    benchmark("any").bench_target()
}

/// A metric of that name, in nanoseconds.
pub fn metric(name: &str) -> Metric {
    Metric { name: name.to_owned(), ..Metric::wall() }
}

/// The six layout seeds of a stage.
pub fn seeds(stage: Stage) -> Vec<LayoutSeed> {
    let first = match stage {
        Stage::First => 1,
        Stage::Second => 101,
    };
    (first..first + 6).filter_map(LayoutSeed::new).collect()
}

/// The relative deviation of each of the six builds.
const NOISE: [f64; 6] = [0.0, 0.002, -0.001, 0.001, -0.002, 0.0005];

/// An experiment that a test fills with builds and rows.
pub struct Filling<'s> {
    pub store: &'s Store<'s>,
    pub id: ExperimentId,
}

impl<'s> Filling<'s> {
    /// Begins an experiment on these versions in which every build is a different program.
    pub fn begin(store: &'s Store<'s>, versions: &[&str], benchmarks: &[&str]) -> Self {
        Self::new(store, plan(versions, "key"), versions, benchmarks)
    }

    /// Begins an experiment on base and head whose benchmark `a` has these interim analyses.
    pub fn with_analyses(store: &'s Store<'s>, analyses: InterimAnalyses) -> Self {
        let mut plan = plan(&["base", "head"], "key");
        plan.sample_sizes.first_analysis = Some(analyses.first as usize);
        plan.sample_sizes.builds = analyses.most as usize;
        Self::new(store, plan, &["base", "head"], &["a"])
    }

    /// Measures some builds of the first stage, interleaved and in the order of the interim
    /// analyses: the head takes longer by the relative `change` ± `spread`.
    pub fn measure_builds(&self, builds: Range<usize>, change: f64, spread: f64) {
        self.measure_round(0, builds, change, spread);
    }

    /// The same in one round of their executions.
    pub fn measure_round(&self, round: u32, builds: Range<usize>, change: f64, spread: f64) {
        let most = u32::try_from(builds.end).unwrap();
        let seeds = LayoutSeed::list(plan(&["base", "head"], "key").first_stage_seed(), most);
        for (number, seed) in seeds.into_iter().enumerate().skip(builds.start) {
            for version in [0, 1] {
                self.build(version, seed, &format!("{version} {seed}"));
                let sign = if number.is_multiple_of(2) { 1.0 } else { -1.0 };
                let factor = 1.0 + version as f64 * (change + sign * spread);
                let series = Series {
                    metric: Metric::wall(),
                    values: vec![100.0 * factor],
                    iterations: vec![1],
                    resolution: 0.0,
                };
                let slot = Slot { version, stage: Stage::First, round, seed };
                let execution = execution(vec![series]);
                self.store
                    .record_execution(self.id, &benchmark("a"), slot, Ok(&execution))
                    .unwrap();
            }
        }
    }

    /// Begins an experiment on these versions on a machine with that CPU.
    pub fn begin_on(
        cpu: &str,
        store: &'s Store<'s>,
        versions: &[&str],
        benchmarks: &[&str],
    ) -> Self {
        let mut plan = plan(versions, "key");
        cpu.clone_into(&mut Arc::make_mut(&mut plan.machine).cpu);
        Self::new(store, plan, versions, benchmarks)
    }

    fn new(
        store: &'s Store<'s>,
        mut plan: ExperimentPlan,
        versions: &[&str],
        benchmarks: &[&str],
    ) -> Self {
        let sample_sizes = plan.sample_sizes;
        plan.benchmarks = benchmarks
            .iter()
            .map(|id| PlannedBenchmark { benchmark: benchmark(id), sample_sizes })
            .collect();
        let filling = Self { store, id: store.begin(&plan).unwrap() };
        for (index, name) in versions.iter().enumerate() {
            for seed in [seeds(Stage::First), seeds(Stage::Second)].concat() {
                filling.build(index, seed, &format!("{name} {seed}"));
            }
        }
        filling
    }

    /// Records the program that a build produced.
    pub fn build(&self, version: usize, seed: LayoutSeed, program: &str) {
        let digest = Digest::compute(program.as_bytes());
        let (target, layout) = (target(), Layout::SameOrder);
        let build = RecordedBuild { version, target, seed, layout, digest };
        self.store.record_builds(self.id, [build]).unwrap();
    }

    /// Measures every build of a version once, with these values in these metrics and a little
    /// noise.
    pub fn measure(&self, id: &str, version: usize, stage: Stage, values: &[(&str, f64)]) {
        self.measure_with(|_| (), id, version, stage, values);
    }

    /// Measures only the first builds of a version, as a run does that is interrupted.
    pub fn measure_first(
        &self,
        builds: usize,
        version: usize,
        stage: Stage,
        values: &[(&str, f64)],
    ) {
        self.measure_some(builds, |_| (), "a", version, stage, values);
    }

    /// Like [`Self::measure`], with each execution changed by `adapt`.
    pub fn measure_with(
        &self,
        adapt: impl Fn(&mut Execution),
        id: &str,
        version: usize,
        stage: Stage,
        values: &[(&str, f64)],
    ) {
        self.measure_some(NOISE.len(), adapt, id, version, stage, values);
    }

    fn measure_some(
        &self,
        builds: usize,
        adapt: impl Fn(&mut Execution),
        id: &str,
        version: usize,
        stage: Stage,
        values: &[(&str, f64)],
    ) {
        for (seed, noise) in seeds(stage).into_iter().zip(NOISE).take(builds) {
            // Most of the layout effect is common to both versions, a little of it is not.
            let factor = 1.0 + 20.0 * noise + noise * (version as f64 + 1.0) / 4.0;
            let series = |(name, value): &(&str, f64)| Series {
                metric: metric(name),
                values: vec![value * factor, value * factor * 1.001],
                iterations: vec![1, 1],
                resolution: 0.0,
            };
            let mut execution = execution(values.iter().map(series).collect());
            adapt(&mut execution);
            let slot = Slot { version, stage, round: 0, seed };
            self.store.record_execution(self.id, &benchmark(id), slot, Ok(&execution)).unwrap();
        }
    }

    /// Records that the last execution of a version failed.
    pub fn fail(&self, id: &str, version: usize, stage: Stage) {
        let seed = seeds(stage)[5];
        let reason = Unmeasured::Failed("it crashed".to_owned());
        let slot = Slot { version, stage, round: 0, seed };
        self.store.record_execution(self.id, &benchmark(id), slot, Err(&reason)).unwrap();
    }

    /// The results of all experiments of the store.
    pub fn results(&self) -> Results<'s> {
        Results::new(self.store, self.store.experiments().unwrap())
    }
}

fn execution(series: Vec<Series>) -> Execution {
    let asked = ExecutionRequest {
        measurements: 2,
        warm_up: Duration::ZERO,
        min_time: Duration::ZERO,
        iterations: None,
        seed: 0,
    };
    testing::execution(asked, series)
}
