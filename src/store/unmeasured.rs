//! Benchmarks of an experiment that were not measured, because they do the same in all of its versions.

use rusqlite::{Connection, params, types::Type};

use super::{
    ExperimentId, Store,
    columns::{BENCHMARK, BENCHMARK_WIDTH, benchmark_at},
    error::Error,
    intern,
    record::refuse_if_finished,
};
use crate::{
    failure::Result,
    model::{Benchmark, Sameness},
};

impl Store<'_> {
    /// Stores that a benchmark of the experiment was not measured, because it does the same in all versions.
    /// What was stored of it before is replaced.
    pub fn record_unmeasured(
        &self,
        experiment: ExperimentId,
        benchmark: &Benchmark,
        verdict: Sameness,
    ) -> Result<()> {
        self.write("store what was not measured in", |connection| {
            refuse_if_finished(connection, experiment)?;
            insert(connection, experiment, benchmark, verdict)
        })
    }

    /// The benchmarks of an experiment that were not measured, because they do the same in all versions, in
    /// the order in which the store met them.
    pub fn unmeasured(&self, experiment: ExperimentId) -> Result<Vec<(Benchmark, Sameness)>> {
        self.read("read what was not measured from", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {BENCHMARK}, verdict
                 FROM unmeasured_benchmark JOIN benchmark ON benchmark.id = benchmark
                 WHERE experiment = ? ORDER BY benchmark.id"
            ))?;
            let rows = statement.query_map([experiment.0], |row| {
                Ok((benchmark_at(row, 0)?, sameness_at(row, BENCHMARK_WIDTH)?))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

pub(super) fn insert(
    connection: &Connection,
    experiment: ExperimentId,
    benchmark: &Benchmark,
    verdict: Sameness,
) -> Result<(), Error> {
    let benchmark = intern::benchmark(connection, benchmark)?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO unmeasured_benchmark VALUES (?, ?, ?)")?
        .execute(params![experiment.0, benchmark, verdict.name()])?;
    Ok(())
}

fn sameness_at(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Sameness> {
    let name: String = row.get(column)?;
    Sameness::from_name(&name).ok_or_else(|| {
        let unknown = format!("`{name}` is no reason not to measure");
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, unknown.into())
    })
}
