//! Tuned iterations per measurement, stored once per benchmark, machine and minimum time.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use super::{columns::MACHINE, intern, open::Store, read::BENCHMARK_ID};
use crate::{
    error::Result,
    model::{Benchmark, Machine, nanoseconds},
};

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
            let benchmark = intern::benchmark(connection, benchmark)?;
            let machine = intern::machine(connection, machine)?;
            connection
                .prepare_cached("INSERT OR REPLACE INTO tuning VALUES (?, ?, ?, ?)")?
                .execute(params![
                    benchmark,
                    machine,
                    stored_floor(floor),
                    iterations.cast_signed()
                ])?;
            Ok(())
        })
    }
}

fn stored_floor(floor: Duration) -> i64 {
    nanoseconds::from_duration(floor).cast_signed()
}
