//! What a study measured, read from rbench's own store as rbench itself reads it.

use std::{error::Error, path::Path};

use cargo_rbench::{
    judge::{BenchmarkResults, Results, VersionRef},
    model::{Metric, Stage},
    stats::{Estimator, Measurements},
    store::{Store, StoredExperiment},
};

use crate::answer::Report;

/// Base and head.
pub type Pair = [Measurements; 2];

/// What the first stage of the comparison with this report and seed measured, by benchmark.
pub fn first_stage(
    store: &Path,
    report: &Report,
    seed: u64,
) -> Result<Vec<(String, Pair)>, Box<dyn Error>> {
    let store = Store::open(store, &|| ())?;
    let experiment = experiment(&store, report, seed)?;
    let planned: Vec<_> =
        experiment.plan.benchmarks.iter().map(|planned| planned.benchmark.clone()).collect();
    let results = Results::new(&store, vec![experiment]);
    let mut pairs = Vec::new();
    for benchmark in planned {
        let of_benchmark = results.of_benchmark(&benchmark, [0])?;
        pairs.push((benchmark.name.id, pair(&of_benchmark)?));
    }
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(pairs)
}

fn pair(benchmark: &BenchmarkResults<'_>) -> Result<Pair, Box<dyn Error>> {
    let version = |version| {
        let place = VersionRef { experiment: 0, version };
        benchmark.measurements(place, Stage::First, &Metric::wall(), Estimator::default())
    };
    version(0)?
        .zip(version(1)?)
        .map(<Pair>::from)
        .ok_or_else(|| "a version lacks measurements".into())
}

/// The last finished experiment over the report's versions with this seed.
fn experiment(
    store: &Store<'_>,
    report: &Report,
    seed: u64,
) -> Result<StoredExperiment, Box<dyn Error>> {
    let versions = [&report.base.commit, &report.head.commit];
    let is_wanted = |experiment: &StoredExperiment| {
        let planned = experiment.plan.versions.iter().map(|planned| &planned.version.commit);
        experiment.finished.is_some() && experiment.plan.seed == seed && planned.eq(versions)
    };
    let mut experiments = store.experiments()?.into_iter().rev();
    experiments.find(is_wanted).ok_or_else(|| format!("seed {seed} is not in the store").into())
}
