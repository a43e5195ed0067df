//! What is stored, read back.

use std::collections::BTreeMap;

use rusqlite::{Row, params};

use super::{
    ExperimentId, Store, block,
    rows::{
        BENCHMARK_COLUMNS, BENCHMARK_WIDTH, TURN_COLUMNS, benchmark_at, bytes_at, layout_at,
        seed_at, stage_at, stage_number, turn_at,
    },
};
use crate::{
    code::Digest,
    failure::Result,
    model::{
        BenchTarget, Benchmark, BuildValues, Execution, Layout, LayoutSeed, Metric, Stage, Turn,
        Version,
    },
};

/// The id of the benchmark with package, target and name in the first three parameters.
pub(super) const BENCHMARK_ID: &str =
    "(SELECT id FROM benchmark WHERE package = ?1 AND target = ?2 AND name = ?3)";

/// An execution and its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedExecution {
    /// Which it is.
    pub turn: Turn,
    /// What it gave.
    pub execution: Execution,
}

/// An execution that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedExecution {
    /// Of which benchmark.
    pub benchmark: Benchmark,
    /// Which it is.
    pub turn: Turn,
    /// The failure as the user was told it.
    pub reason: String,
}

/// A build of a version of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedBuild {
    /// The index of the version in the experiment.
    pub version: usize,
    /// The bench target.
    pub target: BenchTarget,
    /// The seed of its layout.
    pub seed: LayoutSeed,
    /// The layout.
    pub layout: Layout,
    /// Of its loadable sections.
    pub digest: Digest,
}

/// What one experiment measured of one version.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The index of the version in it.
    pub version: usize,
    /// The values.
    pub builds: BuildValues,
}

impl Store<'_> {
    /// Every execution of a benchmark in an experiment with all that is known of it, in the order of
    /// turns. Failed ones are [elsewhere](Self::failures).
    pub fn executions(
        &self,
        experiment: ExperimentId,
        benchmark: &Benchmark,
    ) -> Result<Vec<RecordedExecution>> {
        let Benchmark { package, target, name } = benchmark;
        self.read("read executions", |connection| {
            let mut executions = Vec::new();
            for table in ["block", "execution"] {
                let mut statement = connection.prepare_cached(&format!(
                    "SELECT position, stage, block FROM {table}
                     WHERE benchmark = {BENCHMARK_ID} AND experiment = ?4"
                ))?;
                let mut rows = statement.query(params![package, target, name.id, experiment.0])?;
                while let Some(row) = rows.next()? {
                    let (version, stage) = (row.get(0)?, stage_at(row, 1)?);
                    executions.extend(block::decode(bytes_at(row, 2)?)?.into_iter().map(|entry| {
                        let turn = Turn { version, stage, round: entry.round, seed: entry.seed };
                        RecordedExecution { turn, execution: entry.execution }
                    }));
                }
            }
            executions.sort_by_key(|recorded| recorded.turn);
            Ok(executions)
        })
    }

    /// The values of one metric and stage of a benchmark in an experiment, for each version of the
    /// experiment in its order; without builds, if there are none.
    pub fn values(
        &self,
        experiment: ExperimentId,
        benchmark: &Benchmark,
        metric: &Metric,
        stage: Stage,
    ) -> Result<Vec<BuildValues>> {
        let entries = self.select_values(benchmark, metric, stage, Some(experiment))?;
        let versions = self.read("read an experiment", |connection| {
            let mut statement = connection
                .prepare_cached("SELECT count(*) FROM experiment_version WHERE experiment = ?")?;
            Ok(statement.query_row([experiment.0], |row| row.get(0))?)
        })?;
        let mut values = vec![BuildValues::new(); versions];
        for entry in entries {
            if let Some(of_version) = values.get_mut(entry.version) {
                *of_version = entry.builds;
            }
        }
        Ok(values)
    }

    /// The values of one metric of a benchmark in the first stage of all experiments, in the order in
    /// which these were stored.
    pub fn history(&self, benchmark: &Benchmark, metric: &Metric) -> Result<Vec<HistoryEntry>> {
        self.select_values(benchmark, metric, Stage::First, None)
    }

    fn select_values(
        &self,
        benchmark: &Benchmark,
        metric: &Metric,
        stage: Stage,
        experiment: Option<ExperimentId>,
    ) -> Result<Vec<HistoryEntry>> {
        let condition = experiment.map_or("", |_| "AND experiment = ?5");
        let select = |table: &str| {
            format!(
                "SELECT experiment, position, block FROM {table}
                 WHERE benchmark = {BENCHMARK_ID} AND stage = ?4 {condition}"
            )
        };
        self.read("read measurements", |connection| {
            let mut found = BTreeMap::new();
            for table in ["block", "execution"] {
                let mut statement = connection.prepare_cached(&select(table))?;
                let Benchmark { package, target, name } = benchmark;
                let stage = stage_number(stage);
                let mut rows = match experiment {
                    Some(id) => statement.query(params![package, target, name.id, stage, id.0])?,
                    None => statement.query(params![package, target, name.id, stage])?,
                };
                while let Some(row) = rows.next()? {
                    let place = (ExperimentId(row.get(0)?), row.get(1)?);
                    let executions: &mut Vec<_> = found.entry(place).or_default();
                    executions.extend(block::values(bytes_at(row, 2)?, metric)?);
                }
            }
            let entry = |((experiment, version), executions)| HistoryEntry {
                experiment,
                version,
                builds: by_build(executions),
            };
            Ok(found.into_iter().map(entry).filter(|entry| !entry.builds.is_empty()).collect())
        })
    }

    /// The executions of an experiment that failed, and why.
    pub fn failures(&self, experiment: ExperimentId) -> Result<Vec<FailedExecution>> {
        self.read("read failures", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {BENCHMARK_COLUMNS}, {TURN_COLUMNS}, reason FROM failed_execution
                     JOIN benchmark ON benchmark.id = benchmark
                 WHERE experiment = ? ORDER BY benchmark, stage, round, seed, position"
            ))?;
            let rows = statement.query_map([experiment.0], |row| {
                Ok(FailedExecution {
                    benchmark: benchmark_at(row, 0)?,
                    turn: turn_at(row, BENCHMARK_WIDTH)?,
                    reason: row.get("reason")?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The builds of an experiment.
    pub fn builds(&self, experiment: ExperimentId) -> Result<Vec<RecordedBuild>> {
        self.read("read builds", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT position, package, target, seed, layout, digest FROM build
                 WHERE experiment = ? ORDER BY position, package, target, seed",
            )?;
            let rows = statement.query_map([experiment.0], build_at)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Every benchmark that was ever measured or failed.
    pub fn benchmarks(&self) -> Result<Vec<Benchmark>> {
        self.select_benchmarks("TRUE", &[])
    }

    /// The benchmarks that an experiment measured, or that failed in it.
    pub fn benchmarks_of(&self, experiment: ExperimentId) -> Result<Vec<Benchmark>> {
        let there = ["block", "execution", "failed_execution"].map(|table| {
            format!("EXISTS (SELECT 1 FROM {table} AS t WHERE t.benchmark = benchmark.id AND experiment = ?)")
        });
        self.select_benchmarks(&there.join(" OR "), &[experiment.0; 3])
    }

    /// The benchmarks that fulfil a condition, in the order in which they were first met.
    fn select_benchmarks(&self, condition: &str, values: &[i64]) -> Result<Vec<Benchmark>> {
        self.read("list the benchmarks", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {BENCHMARK_COLUMNS} FROM benchmark WHERE {condition} ORDER BY id"
            ))?;
            let parameters = rusqlite::params_from_iter(values);
            let rows = statement.query_map(parameters, |row| benchmark_at(row, 0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The finished experiments that measured a benchmark, the one that was stored last first, at most
    /// `count`.
    pub fn latest(&self, benchmark: &Benchmark, count: usize) -> Result<Vec<ExperimentId>> {
        self.read("look for the newest results", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT DISTINCT experiment FROM block WHERE benchmark = {BENCHMARK_ID}
                 ORDER BY experiment DESC LIMIT ?4"
            ))?;
            let Benchmark { package, target, name } = benchmark;
            let rows = statement.query_map(params![package, target, name.id, count], |row| {
                Ok(ExperimentId(row.get(0)?))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// All versions that experiments were about, in the order in which they were first met.
    pub fn versions(&self) -> Result<Vec<Version>> {
        let mut versions: Vec<Version> = Vec::new();
        let mut met = std::collections::HashSet::new();
        for experiment in self.experiments()? {
            for planned in experiment.plan.versions {
                let Version { commit, tree, dirty, .. } = &planned.version;
                if met.insert((commit.clone(), tree.clone(), *dirty)) {
                    versions.push(planned.version);
                }
            }
        }
        Ok(versions)
    }
}

fn build_at(row: &Row<'_>) -> rusqlite::Result<RecordedBuild> {
    Ok(RecordedBuild {
        version: row.get(0)?,
        target: BenchTarget { package: row.get(1)?, target: row.get(2)? },
        seed: seed_at(row, 3)?,
        layout: layout_at(row, 4)?,
        digest: blake3::Hash::from_bytes(row.get(5)?).into(),
    })
}

/// Executions by seed and round, put together by builds.
pub(super) fn by_build(mut executions: Vec<(LayoutSeed, u32, Vec<f64>)>) -> BuildValues {
    executions.sort_by_key(|(seed, round, _)| (*seed, *round));
    let mut builds = BuildValues::new();
    for (seed, _, values) in executions {
        let seed = u64::from(seed.get());
        match builds.last_mut() {
            Some((last, executions)) if *last == seed => executions.push(values),
            _ => builds.push((seed, vec![values])),
        }
    }
    builds
}
