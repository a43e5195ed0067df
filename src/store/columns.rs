//! From columns to values; a column may hold anything that its type allows.

use std::fmt;

use rusqlite::{Row, types::Type};
use serde::{Deserialize, Serialize};

use crate::model::{Benchmark, Layout, LayoutSeed, Machine, Name, Stage};

/// An experiment of one store; another store has it under another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExperimentId(pub(super) i64);

impl fmt::Display for ExperimentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What [`benchmark_at`] reads.
pub(super) const BENCHMARK: &str = "benchmark.package, benchmark.target, benchmark.name,
     benchmark.\"group\", benchmark.function, benchmark.parameter";

/// How many columns these are.
pub(super) const BENCHMARK_WIDTH: usize = 6;

/// What [`machine_at`] reads.
pub(super) const MACHINE: &str = "cpu, cores, memory_bytes, os, architecture, installation";

/// The benchmark that begins at column `first`.
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

/// The machine that begins at column `first`.
pub(super) fn machine_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Machine> {
    Ok(Machine {
        cpu: row.get(first)?,
        cores: row.get(first + 1)?,
        memory: row.get::<_, i64>(first + 2)?.cast_unsigned(),
        os: row.get(first + 3)?,
        architecture: row.get(first + 4)?,
        id: row.get(first + 5)?,
    })
}

pub(super) fn stage_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Stage> {
    match row.get(column)? {
        1 => Ok(Stage::First),
        2 => Ok(Stage::Second),
        other => Err(rusqlite::Error::IntegralValueOutOfRange(column, other)),
    }
}

/// The number by which a stage is stored.
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

/// Bytes, where they lie.
pub(super) fn bytes_at<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    let value = row.get_ref(column)?;
    value.as_blob().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, Box::new(error))
    })
}
