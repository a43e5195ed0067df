//! What a study measured, read from rbench's own store.

use std::{error::Error, path::Path};

use cargo_rbench::{
    model::{Benchmark, Metric, Stage},
    stats::Measurements,
    store::{ExperimentId, Store},
};

use crate::answer::Report;

/// Base and head.
pub type Pair = [Measurements; 2];

/// The store of a study.
pub struct Results {
    store: Store<'static>,
}

impl Results {
    /// Opens the store.
    pub fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        Ok(Self { store: Store::open(path, &|| ())? })
    }

    /// What the first stage of the comparison with this report and seed measured, by benchmark.
    pub fn first_stage(
        &self,
        report: &Report,
        seed: u64,
    ) -> Result<Vec<(String, Pair)>, Box<dyn Error>> {
        let experiment = self.experiment(report, seed)?;
        let mut pairs = Vec::new();
        for benchmark in self.store.benchmarks_of(experiment)? {
            pairs.push((benchmark.name.id.clone(), self.pair(experiment, &benchmark)?));
        }
        pairs.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(pairs)
    }

    fn pair(
        &self,
        experiment: ExperimentId,
        benchmark: &Benchmark,
    ) -> Result<Pair, Box<dyn Error>> {
        let values = self.store.values(experiment, benchmark, &Metric::wall(), Stage::First)?;
        let mut versions = Vec::new();
        for version in values {
            versions.push(Measurements::new(Metric::wall(), version)?);
        }
        versions.try_into().map_err(|_| "a comparison has two versions".into())
    }

    /// The last finished experiment over the report's versions with this seed.
    fn experiment(&self, report: &Report, seed: u64) -> Result<ExperimentId, Box<dyn Error>> {
        let versions = [&report.base.commit, &report.head.commit];
        let experiments = self.store.experiments()?.into_iter().rev();
        let found =
            experiments.filter(|experiment| experiment.finished.is_some()).find(|experiment| {
                let plan = &experiment.plan;
                let planned = plan.versions.iter().map(|planned| &planned.version.commit);
                plan.seed == seed && planned.eq(versions)
            });
        found
            .map(|experiment| experiment.id)
            .ok_or_else(|| format!("seed {seed} is not in the store").into())
    }
}
