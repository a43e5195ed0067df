//! The measurements of one benchmark in one stage, gathered from the store.

use std::collections::BTreeMap;

use crate::{
    failure::Failure,
    model::{Execution, LayoutSeed, Metric, Resources},
    stats::{Measurements, Misfit},
};

/// The measurements of one benchmark: per version, per seed, per execution.
#[derive(Debug)]
pub struct Collected {
    values: Vec<BTreeMap<u32, Vec<Vec<f64>>>>,
    metric: Option<Metric>,
    /// What each execution took.
    pub resources: Vec<Resources>,
    /// Why it has none, if it failed.
    pub failure: Option<Failure>,
}

impl Collected {
    /// Nothing yet of so many versions.
    pub(super) fn new(versions: usize, failure: Option<Failure>) -> Self {
        Self {
            values: vec![BTreeMap::new(); versions],
            metric: None,
            resources: Vec::new(),
            failure,
        }
    }

    /// The measurements of one version, fit for statistics.
    pub fn measurements(&self, version: usize) -> Result<Measurements, Misfit> {
        let metric = self.metric.clone().unwrap_or_else(Metric::wall);
        let builds = self.values[version].iter();
        Measurements::new(metric, builds.map(|(seed, executions)| (u64::from(*seed), executions)))
    }

    pub(super) fn add(&mut self, version: usize, seed: LayoutSeed, execution: &Execution) {
        self.resources.push(execution.resources.clone());
        // The first metric is what the harness is for; all others describe the same run.
        let Some(series) = execution.series.first() else { return };
        self.metric.get_or_insert_with(|| series.metric.clone());
        self.values[version].entry(seed.get()).or_default().push(series.values.clone());
    }
}
