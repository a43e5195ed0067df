//! Tuned iterations per measurement, stored once per benchmark, machine and minimum time.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    columns::{BENCHMARK, BENCHMARK_WIDTH, MACHINE, benchmark_at, machine_at},
    error::StoreError,
    intern,
    open::Store,
    read::BENCHMARK_ID,
};
use crate::{
    error::Result,
    model::{Benchmark, Machine, nanoseconds},
};

/// The tuned iterations of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tuning {
    pub(super) benchmark: Benchmark,
    pub(super) machine: Machine,
    /// The minimum time of a measurement.
    pub(super) floor: Duration,
    pub(super) iterations: u64,
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
        let (benchmark, machine) = (benchmark.clone(), machine.clone());
        let tuning = Tuning { benchmark, machine, floor, iterations };
        self.write("store the tuned iterations in", |connection| {
            insert(connection, "REPLACE", &tuning)
        })
    }

    /// All tuned iterations.
    pub(super) fn all_tuned(&self) -> Result<Vec<Tuning>> {
        self.read("read the tuned iterations from", |connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {BENCHMARK}, {MACHINE}, min_time_ns, iterations FROM tuning
                     JOIN benchmark ON benchmark.id = benchmark JOIN machine ON machine.id = machine
                 ORDER BY benchmark.id, machine.id, min_time_ns"
            ))?;
            let rows = statement.query_map((), |row| {
                Ok(Tuning {
                    benchmark: benchmark_at(row, 0)?,
                    machine: machine_at(row, BENCHMARK_WIDTH)?,
                    floor: Duration::from_nanos(row.get::<_, i64>("min_time_ns")?.cast_unsigned()),
                    iterations: row.get::<_, i64>("iterations")?.cast_unsigned(),
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// Stores tuned iterations, unless the store already has some.
pub(super) fn insert_if_new(connection: &Connection, tuning: &Tuning) -> Result<(), StoreError> {
    insert(connection, "IGNORE", tuning)
}

fn insert(connection: &Connection, on_conflict: &str, tuning: &Tuning) -> Result<(), StoreError> {
    let benchmark = intern::benchmark(connection, &tuning.benchmark)?;
    let machine = intern::machine(connection, &tuning.machine)?;
    let (floor, iterations) = (stored_floor(tuning.floor), tuning.iterations.cast_signed());
    connection
        .prepare_cached(&format!("INSERT OR {on_conflict} INTO tuning VALUES (?, ?, ?, ?)"))?
        .execute(params![benchmark, machine, floor, iterations])?;
    Ok(())
}

fn stored_floor(floor: Duration) -> i64 {
    nanoseconds::from_duration(floor).cast_signed()
}
