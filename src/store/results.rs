//! Results of chosen experiments, for reports that look at many of them.

use std::collections::BTreeMap;

use rusqlite::params;

use super::{
    ExperimentId, Store, block,
    read::{BENCHMARK_ID, by_build},
    rows::{bytes_at, stage_at, stage_number},
};
use crate::{
    failure::Result,
    model::{Benchmark, BuildValues, Metric, Stage},
};

/// What some experiments measured of one benchmark, in the metric that its harness is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The metric.
    pub metric: Metric,
    /// The values, by experiment, version of the experiment, and stage.
    pub values: BTreeMap<(ExperimentId, usize, Stage), BuildValues>,
}

impl Store<'_> {
    /// What these experiments measured of a benchmark, in the first metric of the first of them that
    /// measured it; `None` if none did.
    pub fn results(
        &self,
        benchmark: &Benchmark,
        experiments: &[ExperimentId],
    ) -> Result<Option<Results>> {
        let Benchmark { package, target, name } = benchmark;
        self.read("read results", |connection| {
            let mut metric: Option<Metric> = None;
            let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for experiment in experiments {
                for table in ["block", "execution"] {
                    let mut statement = connection.prepare_cached(&format!(
                        "SELECT position, stage, block FROM {table}
                         WHERE benchmark = {BENCHMARK_ID} AND experiment = ?4"
                    ))?;
                    let key = params![package, target, name.id, experiment.0];
                    let mut rows = statement.query(key)?;
                    while let Some(row) = rows.next()? {
                        let place = (*experiment, row.get(0)?, stage_at(row, 1)?);
                        let bytes = bytes_at(row, 2)?;
                        if metric.is_none() {
                            metric = block::first_metric(bytes)?;
                        }
                        let Some(metric) = &metric else { continue };
                        found.entry(place).or_default().extend(block::values(bytes, metric)?);
                    }
                }
            }
            Ok(metric.map(|metric| {
                let values =
                    found.into_iter().map(|(place, executions)| (place, by_build(executions)));
                let values = values.filter(|(_, builds)| !builds.is_empty()).collect();
                Results { metric, values }
            }))
        })
    }

    /// How many benchmarks an experiment measured in all of these versions: how many were judged.
    pub fn measured_in_all(&self, experiment: ExperimentId, versions: &[usize]) -> Result<usize> {
        self.read("count benchmarks", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM block WHERE (benchmark, experiment, position, stage)
                         = (benchmark.id, ?1, ?2, ?3))
                     OR EXISTS (SELECT 1 FROM execution
                         WHERE (experiment, benchmark, position, stage) = (?1, benchmark.id, ?2, ?3))
                 FROM benchmark ORDER BY id",
            )?;
            let mut in_all: Vec<bool> = Vec::new();
            for version in versions {
                let key = params![experiment.0, version, stage_number(Stage::First)];
                let there = statement.query_map(key, |row| row.get(0))?;
                let there = there.collect::<rusqlite::Result<Vec<bool>>>()?;
                in_all.resize(there.len(), true);
                in_all.iter_mut().zip(there).for_each(|(all, one)| *all &= one);
            }
            Ok(in_all.into_iter().filter(|all| *all).count())
        })
    }
}
