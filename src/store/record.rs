//! Stores the results of an experiment as they arrive, including the benchmarks that were skipped because they behave
//! the same in all versions.

use std::{collections::BTreeMap, time::Duration};

use rusqlite::{Connection, OptionalExtension, params, types::Type};

use super::{
    columns::{
        self, BENCHMARK, BENCHMARK_WIDTH, ExperimentId, MACHINE, benchmark_at, bytes_at, execute,
        query, stage_number,
    },
    encoding::{self, Entry},
    error::StoreError,
    open::Store,
    read::{BENCHMARK_ID, RecordedBuild},
};
use crate::{
    error::{Error, Result},
    model::{
        AbsentBenchmark, BenchTarget, Benchmark, Execution, Machine, SkipReason, Slot, Stage,
        Unmeasured, nanoseconds,
    },
};

impl Store<'_> {
    /// Stores builds of versions of the experiment; replaces known ones.
    pub fn record_builds(
        &self,
        experiment: ExperimentId,
        builds: impl IntoIterator<Item = RecordedBuild>,
    ) -> Result<()> {
        self.write("store builds in", |connection| {
            refuse_if_finished(connection, experiment)?;
            builds.into_iter().try_for_each(|build| insert_build(connection, experiment, &build))
        })
    }

    /// Deletes the executions of a bench target in one stage of an unfinished experiment.
    pub fn forget_executions(
        &self,
        experiment: ExperimentId,
        stage: Stage,
        target: &BenchTarget,
    ) -> Result<()> {
        self.write("forget executions in", |connection| {
            refuse_if_finished(connection, experiment)?;
            connection.execute(
                "DELETE FROM executions WHERE experiment = ? AND stage = ? AND benchmark IN
                 (SELECT id FROM benchmark WHERE package = ? AND target = ?)",
                params![experiment.0, stage_number(stage), target.package, target.target],
            )?;
            Ok(())
        })
    }

    /// Deletes the executions of a benchmark in one stage of an unfinished experiment.
    pub fn forget_benchmark(
        &self,
        experiment: ExperimentId,
        stage: Stage,
        benchmark: &Benchmark,
    ) -> Result<()> {
        self.write("forget executions in", |connection| {
            refuse_if_finished(connection, experiment)?;
            let Benchmark { package, target, name } = benchmark;
            let (experiment, stage) = (experiment.0, stage_number(stage));
            connection.execute(
                &format!(
                    "DELETE FROM executions
                     WHERE benchmark = {BENCHMARK_ID} AND experiment = ?4 AND stage = ?5"
                ),
                params![package, target, name.id, experiment, stage],
            )?;
            Ok(())
        })
    }

    /// Records that a version of the experiment cannot be built.
    pub fn record_unbuildable(
        &self,
        experiment: ExperimentId,
        version: usize,
        error: &Error,
    ) -> Result<()> {
        self.write("store a failure in", |connection| {
            refuse_if_finished(connection, experiment)?;
            set_unbuildable(connection, experiment, version, &error.to_string())
        })
    }

    /// Stores the outcome of one execution: all measurements and resources, or the reason why there are none. It is on
    /// disk when this returns. Replaces an earlier execution of the same slot.
    pub fn record_execution(
        &self,
        experiment: ExperimentId,
        benchmark: &Benchmark,
        slot: Slot,
        outcome: Result<&Execution, &Unmeasured>,
    ) -> Result<()> {
        self.record_executions(experiment, [(benchmark, slot, outcome)])
    }

    /// Stores the outcomes of many executions: all of them, or none.
    pub fn record_executions<'a>(
        &self,
        experiment: ExperimentId,
        executions: impl IntoIterator<
            Item = (&'a Benchmark, Slot, Result<&'a Execution, &'a Unmeasured>),
        >,
    ) -> Result<()> {
        let mut of_benchmarks: BTreeMap<&Benchmark, Vec<_>> = BTreeMap::new();
        for (benchmark, slot, outcome) in executions {
            let outcome = outcome.cloned().map_err(Clone::clone);
            of_benchmarks.entry(benchmark).or_default().push((slot, outcome));
        }
        self.write("store an execution in", |connection| {
            refuse_if_finished(connection, experiment)?;
            of_benchmarks.into_iter().try_for_each(|(benchmark, outcomes)| {
                add_executions(connection, experiment, benchmark, outcomes)
            })
        })
    }
}

pub(super) fn refuse_if_finished(
    connection: &Connection,
    experiment: ExperimentId,
) -> Result<(), StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT finished_ns IS NULL FROM experiment WHERE id = ?")?;
    match statement.query_row([experiment.0], |row| row.get(0)).optional()? {
        Some(true) => Ok(()),
        Some(false) => Err(format!("experiment {experiment} is finished").into()),
        None => Err(format!("there is no experiment {experiment}").into()),
    }
}

pub(super) fn insert_build(
    connection: &Connection,
    experiment: ExperimentId,
    build: &RecordedBuild,
) -> Result<(), StoreError> {
    let RecordedBuild { version, target: BenchTarget { package, target }, seed, .. } = build;
    let (layout, digest) = (build.layout.to_string(), build.digest.as_bytes());
    let values = params![experiment.0, version, package, target, seed.get(), layout, digest];
    Ok(execute(connection, "INSERT OR REPLACE INTO build VALUES (?, ?, ?, ?, ?, ?, ?)", values)?)
}

pub(super) fn set_unbuildable(
    connection: &Connection,
    experiment: ExperimentId,
    version: usize,
    reason: &str,
) -> Result<(), StoreError> {
    let update = "UPDATE planned_version SET failure = ? WHERE experiment = ? AND position = ?";
    Ok(execute(connection, update, params![reason, experiment.0, version])?)
}

pub(super) fn add_executions(
    connection: &Connection,
    experiment: ExperimentId,
    benchmark: &Benchmark,
    executions: Vec<(Slot, Result<Execution, Unmeasured>)>,
) -> Result<(), StoreError> {
    let id = columns::benchmark_id(connection, benchmark)?;
    let mut groups: BTreeMap<(usize, Stage), Vec<Entry>> = BTreeMap::new();
    for (Slot { version, stage, round, seed }, outcome) in executions {
        if let Some(defect) = outcome.as_ref().ok().and_then(Execution::defect) {
            return Err(format!("of {benchmark}, {defect}").into());
        }
        groups.entry((version, stage)).or_default().push(Entry { round, seed, outcome });
    }
    groups.into_iter().try_for_each(|((version, stage), entries)| {
        Group { experiment, benchmark, id, version, stage }.add(connection, entries)
    })
}

#[derive(Clone, Copy)]
struct Group<'b> {
    experiment: ExperimentId,
    benchmark: &'b Benchmark,
    id: i64,
    version: usize,
    stage: Stage,
}

impl Group<'_> {
    /// Adds executions to the last part, and to new parts when it is full.
    fn add(self, connection: &Connection, new: Vec<Entry>) -> Result<(), StoreError> {
        let (first, mut entries) = self.unfilled_part(connection)?;
        entries.retain(|old| !new.iter().any(|new| (new.round, new.seed) == (old.round, old.seed)));
        entries.extend(new);
        entries.sort_by_key(|entry| (entry.round, entry.seed));
        let Self { experiment, id, version, stage, .. } = self;
        let mut insert = connection
            .prepare_cached("INSERT OR REPLACE INTO executions VALUES (?, ?, ?, ?, ?, ?)")?;
        for (part, bytes) in (first..).zip(encoding::encode(&entries)?) {
            let stage = stage_number(stage);
            insert.execute(params![id, experiment.0, version, stage, part, bytes])?;
        }
        Ok(())
    }

    /// The number of the part that accepts the next executions, and its present executions.
    fn unfilled_part(self, connection: &Connection) -> Result<(i64, Vec<Entry>), StoreError> {
        let Self { experiment, benchmark, id, version, stage } = self;
        let mut last = connection.prepare_cached(
            "SELECT part, bytes FROM executions
             WHERE (benchmark, experiment, version, stage) = (?, ?, ?, ?)
             ORDER BY part DESC LIMIT 1",
        )?;
        let mut last = last.query(params![id, experiment.0, version, stage_number(stage)])?;
        let Some(last) = last.next()? else { return Ok((0, Vec::new())) };
        let (part, bytes): (i64, _) = (last.get(0)?, bytes_at(last, 1)?);
        if bytes.len() < encoding::FULL {
            let entries = encoding::decode(bytes);
            Ok((part, entries.map_err(|damage| damage.into_error(benchmark, experiment))?))
        } else {
            Ok((part + 1, Vec::new()))
        }
    }
}

impl Store<'_> {
    /// Records that a benchmark of the experiment was skipped, because it behaves the same in all versions. Replaces
    /// an earlier record of the benchmark.
    pub fn record_unmeasured(
        &self,
        experiment: ExperimentId,
        benchmark: &Benchmark,
        verdict: SkipReason,
    ) -> Result<()> {
        self.write("store the unmeasured benchmarks in", |connection| {
            refuse_if_finished(connection, experiment)?;
            insert_unmeasured(connection, experiment, benchmark, verdict)
        })
    }

    /// The skipped benchmarks of an experiment, which behave the same in all versions, in the order of their first
    /// appearance in the store.
    pub fn unmeasured(&self, experiment: ExperimentId) -> Result<Vec<(Benchmark, SkipReason)>> {
        self.read("read the unmeasured benchmarks from", |connection| {
            let select = format!(
                "SELECT {BENCHMARK}, verdict
                 FROM unmeasured_benchmark JOIN benchmark ON benchmark.id = benchmark
                 WHERE experiment = ? ORDER BY benchmark.id"
            );
            Ok(query(connection, &select, [experiment.0], |row| {
                Ok((benchmark_at(row, 0)?, skip_reason_at(row, BENCHMARK_WIDTH)?))
            })?)
        })
    }

    /// Records the benchmarks that one version of the experiment lacks.
    pub fn record_absent(
        &self,
        experiment: ExperimentId,
        absent: &[AbsentBenchmark],
    ) -> Result<()> {
        self.write("store the absent benchmarks in", |connection| {
            refuse_if_finished(connection, experiment)?;
            absent.iter().try_for_each(|one| insert_absent(connection, experiment, one))
        })
    }

    pub fn absent(&self, experiment: ExperimentId) -> Result<Vec<AbsentBenchmark>> {
        self.read("read the absent benchmarks from", |connection| {
            let select = format!(
                "SELECT {BENCHMARK}, absent_benchmark.version, absence
                 FROM absent_benchmark JOIN benchmark ON benchmark.id = benchmark
                 WHERE experiment = ? ORDER BY benchmark.id"
            );
            Ok(query(connection, &select, [experiment.0], |row| {
                let column = BENCHMARK_WIDTH + 1;
                let absence: String = row.get(column)?;
                let absence = serde_json::from_str(&absence).map_err(|error| {
                    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
                })?;
                let (benchmark, version) = (benchmark_at(row, 0)?, row.get(BENCHMARK_WIDTH)?);
                Ok(AbsentBenchmark { benchmark, version, absence })
            })?)
        })
    }
}

pub(super) fn insert_absent(
    connection: &Connection,
    experiment: ExperimentId,
    absent: &AbsentBenchmark,
) -> Result<(), StoreError> {
    let benchmark = columns::benchmark_id(connection, &absent.benchmark)?;
    let absence = serde_json::json!(absent.absence).to_string();
    let values = params![experiment.0, benchmark, absent.version, absence];
    Ok(execute(connection, "INSERT OR REPLACE INTO absent_benchmark VALUES (?, ?, ?, ?)", values)?)
}

pub(super) fn insert_unmeasured(
    connection: &Connection,
    experiment: ExperimentId,
    benchmark: &Benchmark,
    verdict: SkipReason,
) -> Result<(), StoreError> {
    let benchmark = columns::benchmark_id(connection, benchmark)?;
    let values = params![experiment.0, benchmark, verdict.name()];
    Ok(execute(connection, "INSERT OR REPLACE INTO unmeasured_benchmark VALUES (?, ?, ?)", values)?)
}

fn skip_reason_at(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<SkipReason> {
    let name: String = row.get(column)?;
    SkipReason::from_name(&name).ok_or_else(|| {
        let unknown = format!("`{name}` is no reason not to measure");
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, unknown.into())
    })
}

impl Store<'_> {
    /// The tuned iterations of a benchmark on a machine, for measurements of at least `floor`.
    pub fn tuned(
        &self,
        benchmark: &Benchmark,
        machine: &Machine,
        floor: Duration,
    ) -> Result<Option<u64>> {
        self.read("read the tuned iterations from", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT iterations FROM tuning JOIN machine ON machine.id = machine
                 WHERE benchmark = {BENCHMARK_ID} AND min_time_ns = ?4
                     AND ({MACHINE}) = (?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            ))?;
            let Benchmark { package, target, name } = benchmark;
            let Machine { cpu, cores, memory, os, architecture, id, class } = machine;
            let memory = memory.cast_signed();
            let floor = stored_floor(floor);
            let key = params![
                package,
                target,
                name.id,
                floor,
                cpu,
                cores,
                memory,
                os,
                architecture,
                id,
                class
            ];
            let iterations = statement.query_row(key, |row| row.get::<_, i64>(0)).optional()?;
            Ok(iterations.map(i64::cast_unsigned))
        })
    }

    /// Stores the tuned iterations of a benchmark on a machine, for measurements of at least `floor`; replaces earlier
    /// ones.
    pub fn record_tuned(
        &self,
        benchmark: &Benchmark,
        machine: &Machine,
        floor: Duration,
        iterations: u64,
    ) -> Result<()> {
        self.write("store the tuned iterations in", |connection| {
            let benchmark = columns::benchmark_id(connection, benchmark)?;
            let machine = columns::machine_id(connection, machine)?;
            let (floor, iterations) = (stored_floor(floor), iterations.cast_signed());
            let values = params![benchmark, machine, floor, iterations];
            Ok(execute(connection, "INSERT OR REPLACE INTO tuning VALUES (?, ?, ?, ?)", values)?)
        })
    }
}

fn stored_floor(floor: Duration) -> i64 {
    nanoseconds::from_duration(floor).cast_signed()
}
