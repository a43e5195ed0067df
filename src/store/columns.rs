//! Conversion of columns to values of the model. Checks every value, since a damaged file may hold anything that the
//! column's type allows.

use std::fmt;

use rusqlite::{Row, types::Type};
use serde::{Deserialize, Serialize};

use crate::model::{Benchmark, Layout, LayoutSeed, Machine, Name, Stage};

/// The id of an experiment in one store; other stores give it other ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExperimentId(pub(super) i64);

impl fmt::Display for ExperimentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The columns that [`benchmark_at`] reads.
pub(super) const BENCHMARK: &str = "benchmark.package, benchmark.target, benchmark.name,
     benchmark.\"group\", benchmark.function, benchmark.parameter";

/// The number of columns in [`BENCHMARK`].
pub(super) const BENCHMARK_WIDTH: usize = 6;

/// The columns that [`machine_at`] reads.
pub(super) const MACHINE: &str = "cpu, cores, memory_bytes, os, architecture, installation, class";

/// Reads the benchmark whose columns begin at `first`.
pub(super) fn benchmark_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Benchmark> {
    Ok(Benchmark {
        package: row.get(first)?,
        target: row.get(first + 1)?,
        name: Name {
            id: row.get(first + 2)?,
            group: row.get(first + 3)?,
            function: row.get(first + 4)?,
            parameter: row.get(first + 5)?,
        },
    })
}

/// Reads the machine whose columns begin at `first`.
pub(super) fn machine_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Machine> {
    Ok(Machine {
        cpu: row.get(first)?,
        cores: row.get(first + 1)?,
        memory: row.get::<_, i64>(first + 2)?.cast_unsigned(),
        os: row.get(first + 3)?,
        architecture: row.get(first + 4)?,
        id: row.get(first + 5)?,
        class: row.get(first + 6)?,
    })
}

pub(super) fn stage_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Stage> {
    match row.get(column)? {
        1 => Ok(Stage::First),
        2 => Ok(Stage::Second),
        other => Err(rusqlite::Error::IntegralValueOutOfRange(column, other)),
    }
}

/// The stored number of a stage.
pub(super) const fn stage_number(stage: Stage) -> i64 {
    match stage {
        Stage::First => 1,
        Stage::Second => 2,
    }
}

pub(super) fn seed_at(row: &Row<'_>, column: usize) -> rusqlite::Result<LayoutSeed> {
    let number: u32 = row.get(column)?;
    LayoutSeed::new(number)
        .ok_or(rusqlite::Error::IntegralValueOutOfRange(column, i64::from(number)))
}

pub(super) fn layout_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Layout> {
    let name: String = row.get(column)?;
    Layout::from_name(&name).ok_or_else(|| {
        let unknown = format!("there is no layout `{name}`");
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, unknown.into())
    })
}

/// Borrows the bytes of a column without copying them.
pub(super) fn bytes_at<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    let value = row.get_ref(column)?;
    value.as_blob().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, Box::new(error))
    })
}
