//! Differences of pairs of builds that did not change: of stored comparisons in which a benchmark does the same in
//! both versions.

use std::{collections::HashSet, error::Error, path::Path};

use cargo_rbench::{
    judge::{Results, VersionRef},
    model::{Benchmark, Stage},
    stats::Criteria,
    store::{Store, StoredExperiment},
};

/// The differences of one benchmark in one comparison.
pub struct Row {
    /// By which both halves are told apart.
    pub benchmark: String,
    /// `ln head − ln base` of each pair of builds.
    pub differences: Vec<f64>,
}

/// The rows of a store: wall times of benchmarks that some comparison of the same two versions did not measure since
/// nothing they execute differs, or whose executables are the same in both.
pub fn rows(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let store = Store::open(path, &|| ())?;
    let results = Results::finished(&store)?;
    let criteria = Criteria::default();
    let mut rows = Vec::new();
    for (index, experiment) in results.experiments.iter().enumerate() {
        if experiment.plan.versions.len() != 2 {
            continue;
        }
        let unaffected = unaffected(&store, &results.experiments, experiment)?;
        for measured in store.measured_metrics(experiment.id)? {
            let benchmark = measured.benchmark;
            let places = [0, 1].map(|version| VersionRef { experiment: index, version });
            let of_benchmark = results.of_benchmark(&benchmark, [index])?;
            let programs = places.map(|place| -> Result<Vec<_>, Box<dyn Error>> {
                let builds = of_benchmark.linked(place)?;
                Ok(builds.iter().map(|build| (build.seed, build.digest)).collect())
            });
            let [base, head] = programs;
            if !unaffected.contains(&benchmark) && base? != head? {
                continue;
            }
            let Some(metric) = of_benchmark.metrics(&places).into_iter().next() else { continue };
            let mut summaries = Vec::new();
            for place in places {
                let summary = of_benchmark.summary(place, Stage::First, &metric, &criteria)?;
                summaries.extend(summary);
            }
            let [base, head] = &summaries[..] else { continue };
            let same_seeds = base.builds().iter().zip(head.builds());
            let difference = same_seeds.filter(|(base, head)| base.seed == head.seed);
            let differences = difference.map(|(base, head)| (head.value / base.value).ln());
            rows.push(Row { benchmark: benchmark.to_string(), differences: differences.collect() });
        }
    }
    Ok(rows)
}

/// What some experiment on the same two versions did not measure.
fn unaffected(
    store: &Store<'_>,
    experiments: &[StoredExperiment],
    like: &StoredExperiment,
) -> Result<HashSet<Benchmark>, Box<dyn Error>> {
    let trees = |stored: &StoredExperiment| -> Vec<String> {
        stored.plan.versions.iter().map(|planned| planned.version.tree.clone()).collect()
    };
    let mut found = HashSet::new();
    for other in experiments.iter().filter(|other| trees(other) == trees(like)) {
        found.extend(store.unmeasured(other.id)?.into_iter().map(|(benchmark, _)| benchmark));
    }
    Ok(found)
}
