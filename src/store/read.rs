//! Reads stored results, and checks that all of them are readable.

use std::collections::{BTreeMap, HashSet};

use rbench_code::elf::Digest;
use rusqlite::{Connection, Row as SqlRow, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{
        BENCHMARK, BENCHMARK_WIDTH, ExperimentId, benchmark_at, bytes_at, layout_at, query,
        seed_at, stage_at, stage_number,
    },
    encoding::{self, Entry},
    error::{Damage, StoreError},
    open::Store,
    schema::{self, SOUND_EXECUTIONS},
};
use crate::{
    error::Result,
    model::{
        BenchTarget, Benchmark, Execution, Layout, LayoutSeed, Metric, Slot, Stage, Unmeasured,
    },
};

/// A subquery for the benchmark's id; package, target and name are the first three parameters.
pub(super) const BENCHMARK_ID: &str =
    "(SELECT id FROM benchmark WHERE package = ?1 AND target = ?2 AND name = ?3)";

/// One execution of a benchmark, successful or failed.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredExecution {
    pub experiment: ExperimentId,
    pub slot: Slot,
    /// The measurements, or the reason why there are none.
    pub outcome: Result<Execution, Unmeasured>,
}

/// A summary of the measurements of one benchmark in an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredBenchmark {
    pub benchmark: Benchmark,
    /// One summary for each version of the experiment, in its order.
    pub versions: Vec<MeasuredVersion>,
}

/// A summary of the measurements of one benchmark and version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredVersion {
    /// The metrics measured in the first stage, in the harness's order.
    pub metrics: Vec<Metric>,
    /// True if an execution of the first stage failed.
    pub failed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedBuild {
    /// The index of the version in the experiment.
    pub version: usize,
    #[serde(flatten)]
    pub target: BenchTarget,
    pub seed: LayoutSeed,
    pub layout: Layout,
    /// The digest of its loadable sections. For a program that runs something else than its build, also of all files
    /// of its version.
    pub digest: Digest,
}

impl Store<'_> {
    /// All executions of a benchmark in these experiments, including failed ones, in the order of experiment ids and
    /// slots.
    pub fn rows(
        &self,
        benchmark: &Benchmark,
        experiments: &[ExperimentId],
    ) -> Result<Vec<StoredExecution>> {
        self.read("read executions from", |connection| rows(connection, benchmark, experiments))
    }

    pub fn experiments_with(&self, benchmark: &Benchmark) -> Result<HashSet<ExperimentId>> {
        self.read("read executions from", |connection| {
            let select = format!(
                "SELECT DISTINCT experiment FROM executions WHERE benchmark = {BENCHMARK_ID}"
            );
            let Benchmark { package, target, name } = benchmark;
            let key = params![package, target, name.id];
            Ok(query(connection, &select, key, |row| Ok(ExperimentId(row.get(0)?)))?)
        })
    }

    /// The benchmarks of an experiment: first the planned ones in their order, then others in the order of their first
    /// appearance in the store.
    pub fn benchmarks_of(&self, experiment: ExperimentId) -> Result<Vec<Benchmark>> {
        self.read("list the benchmarks in", |connection| benchmarks_of(connection, experiment))
    }

    /// A summary for each benchmark of an experiment: first the planned ones in their order, then others in the order
    /// of their first appearance in the store.
    pub fn measured_metrics(&self, experiment: ExperimentId) -> Result<Vec<MeasuredBenchmark>> {
        self.read("read the measurements from", |connection| {
            benchmarks_of(connection, experiment)?
                .into_iter()
                .map(|benchmark| measured(connection, experiment, benchmark))
                .collect()
        })
    }

    pub fn builds(&self, experiment: ExperimentId) -> Result<Vec<RecordedBuild>> {
        self.read("read builds from", |connection| {
            let select = "SELECT version, package, target, seed, layout, digest FROM build
                 WHERE experiment = ? ORDER BY version, package, target, seed";
            Ok(query(connection, select, [experiment.0], build_at)?)
        })
    }

    /// All benchmarks that were ever planned, measured or tuned, in the order of their first appearance in the store.
    pub fn benchmarks(&self) -> Result<Vec<Benchmark>> {
        self.read("list the benchmarks in", |connection| {
            Ok(benchmarks_by_id(connection)?.into_values().collect())
        })
    }
}

/// All benchmarks by id, in the order of their first appearance in the store.
pub(super) fn benchmarks_by_id(
    connection: &Connection,
) -> Result<BTreeMap<i64, Benchmark>, StoreError> {
    let select = format!("SELECT benchmark.id, {BENCHMARK} FROM benchmark");
    Ok(query(connection, &select, (), |row| Ok((row.get(0)?, benchmark_at(row, 1)?)))?)
}

/// Implements [`Store::rows`] within a transaction.
pub(super) fn rows(
    connection: &Connection,
    benchmark: &Benchmark,
    experiments: &[ExperimentId],
) -> Result<Vec<StoredExecution>, StoreError> {
    let ids: Vec<String> = experiments.iter().map(ToString::to_string).collect();
    let ids = format!("[{}]", ids.join(","));
    let mut statement = connection.prepare_cached(&format!(
        "SELECT experiment, version, stage, bytes, {SOUND_EXECUTIONS} FROM executions
         WHERE benchmark = {BENCHMARK_ID} AND experiment IN (SELECT value FROM json_each(?4))
         ORDER BY experiment, version, stage, part"
    ))?;
    let Benchmark { package, target, name } = benchmark;
    let mut parts = statement.query(params![package, target, name.id, ids])?;
    let mut rows: Vec<StoredExecution> = Vec::new();
    while let Some(part) = parts.next()? {
        let (experiment, version, stage) =
            (ExperimentId(part.get(0)?), part.get(1)?, stage_at(part, 2)?);
        let row = |Entry { round, seed, outcome }| StoredExecution {
            experiment,
            slot: Slot { version, stage, round, seed },
            outcome,
        };
        let entries = sound(part, 4, encoding::decode(bytes_at(part, 3)?))
            .map_err(|damage| damage.into_error(benchmark, experiment))?;
        rows.extend(entries.into_iter().map(row));
    }
    rows.sort_by_key(|row| (row.experiment, row.slot));
    // The last execution of a slot counts.
    rows.dedup_by(|later, kept| {
        let same = (later.experiment, later.slot) == (kept.experiment, kept.slot);
        if same {
            std::mem::swap(later, kept);
        }
        same
    });
    Ok(rows)
}

/// The benchmarks of an experiment: the planned ones, then others that have executions.
pub(super) fn benchmarks_of(
    connection: &Connection,
    experiment: ExperimentId,
) -> Result<Vec<Benchmark>, StoreError> {
    let select = format!(
        "SELECT {BENCHMARK} FROM benchmark JOIN (
             SELECT benchmark, position FROM planned_benchmark WHERE experiment = ?1
             UNION ALL SELECT benchmark, NULL FROM executions WHERE experiment = ?1
         ) AS met ON met.benchmark = benchmark.id
         GROUP BY benchmark.id ORDER BY min(met.position) NULLS LAST, benchmark.id"
    );
    Ok(query(connection, &select, [experiment.0], |row| benchmark_at(row, 0))?)
}

fn measured(
    connection: &Connection,
    experiment: ExperimentId,
    benchmark: Benchmark,
) -> Result<MeasuredBenchmark, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT count(*) FROM planned_version WHERE experiment = ?")?;
    let versions: usize = statement.query_row([experiment.0], |row| row.get(0))?;
    let mut versions = vec![MeasuredVersion::default(); versions];
    let mut statement = connection.prepare_cached(&format!(
        "SELECT version, bytes, {SOUND_EXECUTIONS} FROM executions
         WHERE benchmark = {BENCHMARK_ID} AND experiment = ?4 AND stage = ?5
         ORDER BY version, part"
    ))?;
    let Benchmark { package, target, name } = &benchmark;
    let stage = stage_number(Stage::First);
    let mut parts = statement.query(params![package, target, name.id, experiment.0, stage])?;
    while let Some(part) = parts.next()? {
        let Some(version) = versions.get_mut(part.get::<_, usize>(0)?) else { continue };
        let head = sound(part, 2, encoding::head(bytes_at(part, 1)?))
            .map_err(|damage| damage.into_error(&benchmark, experiment))?;
        let new = head.metrics.into_iter().filter(|metric| !version.metrics.contains(metric));
        version.metrics.extend(new.collect::<Vec<_>>());
        version.failed |= head.failures > 0;
    }
    // A later part may contain a repetition of the failed execution.
    if versions.iter().any(|version| version.failed) {
        for version in &mut versions {
            version.failed = false;
        }
        for row in rows(connection, &benchmark, &[experiment])? {
            if row.slot.stage == Stage::First && row.outcome.is_err() {
                versions[row.slot.version].failed = true;
            }
        }
    }
    Ok(MeasuredBenchmark { benchmark, versions })
}

fn build_at(row: &SqlRow<'_>) -> rusqlite::Result<RecordedBuild> {
    Ok(RecordedBuild {
        version: row.get(0)?,
        target: BenchTarget { package: row.get(1)?, target: row.get(2)? },
        seed: seed_at(row, 3)?,
        layout: layout_at(row, 4)?,
        digest: blake3::Hash::from_bytes(row.get(5)?).into(),
    })
}

/// The content of a part of the executions, if this column shows that its row is sound: the checksum within the part
/// does not cover the benchmark and the version that it belongs to.
fn sound<T>(row: &SqlRow<'_>, column: usize, content: Result<T, Damage>) -> Result<T, Damage> {
    let is_sound = row.get(column).is_ok_and(|is_sound: bool| is_sound);
    if is_sound { content } else { content.and(Err("its checksum is wrong".into())) }
}

impl Store<'_> {
    /// Reads the complete store and returns everything that is wrong with it; empty if it is sound.
    pub fn check(&self) -> Result<Vec<String>> {
        self.read("check", |connection| {
            let mut findings = schema::findings(connection, true)?;
            findings.extend(schema::dangling(connection, schema::READ_LATER)?);
            findings.extend(unreadable_executions(connection)?);
            Ok(findings)
        })
    }
}

fn unreadable_executions(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut findings = Vec::new();
    let mut statement = connection.prepare(&format!(
        "SELECT {BENCHMARK}, experiment, bytes, executions.{SOUND_EXECUTIONS}
         FROM executions JOIN benchmark ON benchmark.id = benchmark"
    ))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let entries = encoding::decode(bytes_at(row, BENCHMARK_WIDTH + 1)?);
        if let Err(damage) = sound(row, BENCHMARK_WIDTH + 2, entries) {
            let experiment = ExperimentId(row.get(BENCHMARK_WIDTH)?);
            findings.push(damage.into_error(&benchmark_at(row, 0)?, experiment).0);
        }
    }
    Ok(findings)
}
