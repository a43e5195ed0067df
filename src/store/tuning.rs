//! Iterations per measurement, tuned once per benchmark and machine.

use rusqlite::{OptionalExtension, params};

use super::{Store, intern};
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
            let benchmark = intern::benchmark(connection, benchmark)?;
            let machine = intern::machine(connection, machine)?;
            connection
                .prepare_cached("INSERT OR REPLACE INTO tuning VALUES (?, ?, ?)")?
                .execute(params![benchmark, machine, iterations.cast_signed()])?;
            Ok(())
        })
    }
}
