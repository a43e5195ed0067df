//! Conversion of columns to values of the model. Checks every value, since a damaged file may hold anything that the
//! column's type allows. Rows that many experiments share are looked up by their content, or inserted.

use std::fmt;

use rusqlite::{Connection, OptionalExtension, Params, Row, ToSql, params, types::Type};
use serde::{Deserialize, Serialize};

use crate::model::{
    Benchmark, ExperimentPlan, Layout, LayoutSeed, Machine, Name, Stage, Variant, Version,
};

/// The id of an experiment in one store; other stores give it other ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExperimentId(pub(super) i64);

impl fmt::Display for ExperimentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

pub(super) fn query<T, C: FromIterator<T>>(
    connection: &Connection,
    query: &str,
    parameters: impl Params,
    value: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<C> {
    connection.prepare_cached(query)?.query_map(parameters, value)?.collect()
}

/// Runs a statement that gives no results.
pub(super) fn execute(
    connection: &Connection,
    statement: &str,
    parameters: impl Params,
) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute(parameters)?;
    Ok(())
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

/// The id of the row whose first `keys` columns have these values. If there is none, inserts a row with all values.
fn intern(
    connection: &Connection,
    table: &str,
    columns: &[&str],
    keys: usize,
    values: &[&dyn ToSql],
) -> rusqlite::Result<i64> {
    let matches: Vec<String> =
        columns[..keys].iter().map(|column| format!("{column} = ?")).collect();
    let find = format!("SELECT id FROM {table} WHERE {}", matches.join(" AND "));
    let mut find = connection.prepare_cached(&find)?;
    if let Some(id) = find.query_row(&values[..keys], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let marks = vec!["?"; values.len()].join(", ");
    let make = format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "));
    execute(connection, &make, values)?;
    Ok(connection.last_insert_rowid())
}

pub(super) fn machine_id(connection: &Connection, machine: &Machine) -> rusqlite::Result<i64> {
    let columns = ["installation", "cpu", "cores", "memory_bytes", "os", "architecture", "class"];
    let Machine { cpu, cores, memory, os, architecture, id: installation, class } = machine;
    let memory = memory.cast_signed();
    let values = params![installation, cpu, cores, memory, os, architecture, class];
    intern(connection, "machine", &columns, columns.len(), values)
}

pub(super) fn toolchain_id(connection: &Connection, version: &str) -> rusqlite::Result<i64> {
    intern(connection, "toolchain", &["version"], 1, params![version])
}

pub(super) fn settings_id(connection: &Connection, plan: &ExperimentPlan) -> rusqlite::Result<i64> {
    let values = params![plan.settings_key, plan.settings];
    intern(connection, "settings", &["key", "json"], 2, values)
}

pub(super) fn version_id(connection: &Connection, version: &Version) -> rusqlite::Result<i64> {
    let columns = ["commit_hash", "tree", "dirty", "variant", "settings", "summary", "time_s"];
    let Version { tree, dirty, summary, time, .. } = version;
    let commit = version.commit.as_deref().unwrap_or_default();
    let variant = version.variant.as_ref();
    let (name, settings) = variant.map_or(("", ""), |Variant { name, settings }| (name, settings));
    let values = params![commit, tree, dirty, name, settings, summary, time];
    intern(connection, "version", &columns, 5, values)
}

/// Like [`version_id`], and updates what git says about the commit: an import may have said something else.
pub(super) fn resolved_version_id(
    connection: &Connection,
    resolved: &Version,
) -> rusqlite::Result<i64> {
    let id = version_id(connection, resolved)?;
    let Version { summary, time, .. } = resolved;
    execute(
        connection,
        "UPDATE version SET (summary, time_s) = (?2, ?3) WHERE id = ?1 AND (summary, time_s) IS NOT (?2, ?3)",
        params![id, summary, time],
    )?;
    Ok(id)
}

pub(super) fn benchmark_id(
    connection: &Connection,
    benchmark: &Benchmark,
) -> rusqlite::Result<i64> {
    let columns = ["package", "target", "name", "\"group\"", "function", "parameter"];
    let Benchmark { package, target, name } = benchmark;
    let values = params![package, target, name.id, name.group, name.function, name.parameter];
    intern(connection, "benchmark", &columns, 3, values)
}

/// Like [`benchmark_id`], and updates the names for display. Only what this machine lists may do so: not an import.
pub(super) fn listed_benchmark_id(
    connection: &Connection,
    listed: &Benchmark,
) -> rusqlite::Result<i64> {
    let id = benchmark_id(connection, listed)?;
    let Name { group, function, parameter, .. } = &listed.name;
    execute(
        connection,
        "UPDATE benchmark SET (\"group\", function, parameter) = (?2, ?3, ?4)
         WHERE id = ?1 AND (\"group\", function, parameter) IS NOT (?2, ?3, ?4)",
        params![id, group, function, parameter],
    )?;
    Ok(id)
}
