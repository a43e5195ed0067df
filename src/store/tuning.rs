//! Iterations per measurement, tuned once per benchmark and machine.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    Store,
    error::Error,
    intern,
    rows::{BENCHMARK_COLUMNS, BENCHMARK_WIDTH, MACHINE_COLUMNS, benchmark_at, machine_at},
};
use crate::{
    failure::Result,
    model::{Benchmark, Machine},
};

impl Store<'_> {
    /// The iterations that a benchmark was tuned to on a machine.
    pub fn tuned(&self, benchmark: &Benchmark, machine: &Machine) -> Result<Option<u64>> {
        self.read("read the tuned iterations", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT iterations FROM tuning
                     JOIN benchmark ON benchmark.id = benchmark JOIN machine ON machine.id = machine
                 WHERE (package, benchmark.target, name) = (?, ?, ?)
                     AND (cpu, cores, memory, os, architecture, installation)
                         = (?, ?, ?, ?, ?, ?)",
            )?;
            let Benchmark { package, target, name } = benchmark;
            let Machine { cpu, cores, memory, os, architecture, id } = machine;
            let memory = memory.cast_signed();
            let key = params![package, target, name.id, cpu, cores, memory, os, architecture, id];
            let iterations = statement.query_row(key, |row| row.get::<_, i64>(0)).optional()?;
            Ok(iterations.map(i64::cast_unsigned))
        })
    }

    /// Stores the iterations that a benchmark was tuned to on a machine, in the place of those known.
    pub fn record_tuned(
        &self,
        benchmark: &Benchmark,
        machine: &Machine,
        iterations: u64,
    ) -> Result<()> {
        self.write("store the tuned iterations", |connection| {
            insert(connection, "REPLACE", benchmark, machine, iterations)
        })
    }

    /// All tuned iterations.
    pub(super) fn all_tuned(&self) -> Result<Vec<(Benchmark, Machine, u64)>> {
        self.read("read the tuned iterations", |connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {BENCHMARK_COLUMNS}, {MACHINE_COLUMNS}, iterations FROM tuning
                     JOIN benchmark ON benchmark.id = benchmark JOIN machine ON machine.id = machine
                 ORDER BY benchmark.id, machine.id"
            ))?;
            let rows = statement.query_map((), |row| {
                let iterations: i64 = row.get("iterations")?;
                let machine = machine_at(row, BENCHMARK_WIDTH)?;
                Ok((benchmark_at(row, 0)?, machine, iterations.cast_unsigned()))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// Stores the iterations that a benchmark was tuned to, unless some are known.
pub(super) fn insert_if_new(
    connection: &Connection,
    benchmark: &Benchmark,
    machine: &Machine,
    iterations: u64,
) -> Result<(), Error> {
    insert(connection, "IGNORE", benchmark, machine, iterations)
}

fn insert(
    connection: &Connection,
    on_conflict: &str,
    benchmark: &Benchmark,
    machine: &Machine,
    iterations: u64,
) -> Result<(), Error> {
    let benchmark = intern::benchmark(connection, benchmark)?;
    let machine = intern::machine(connection, machine)?;
    connection
        .prepare_cached(&format!("INSERT OR {on_conflict} INTO tuning VALUES (?, ?, ?)"))?
        .execute(params![benchmark, machine, iterations.cast_signed()])?;
    Ok(())
}
