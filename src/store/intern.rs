//! Rows that many experiments share: looked up by their content, or inserted.

use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::error::StoreError;
use crate::model::{Benchmark, ExperimentPlan, Machine, Name, Variant, Version};

/// The id of the row whose first `keys` columns have these values. If there is none, inserts a row with all values.
fn id(
    connection: &Connection,
    table: &str,
    columns: &[&str],
    keys: usize,
    values: &[&dyn ToSql],
) -> Result<i64, StoreError> {
    let matches: Vec<String> =
        columns[..keys].iter().map(|column| format!("{column} = ?")).collect();
    let find = format!("SELECT id FROM {table} WHERE {}", matches.join(" AND "));
    let mut find = connection.prepare_cached(&find)?;
    if let Some(id) = find.query_row(&values[..keys], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let marks = vec!["?"; values.len()].join(", ");
    let make = format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "));
    connection.prepare_cached(&make)?.execute(values)?;
    Ok(connection.last_insert_rowid())
}

pub(super) fn machine(connection: &Connection, machine: &Machine) -> Result<i64, StoreError> {
    let columns = ["installation", "cpu", "cores", "memory_bytes", "os", "architecture", "class"];
    let Machine { cpu, cores, memory, os, architecture, id: installation, class } = machine;
    let memory = memory.cast_signed();
    let values = params![installation, cpu, cores, memory, os, architecture, class];
    id(connection, "machine", &columns, columns.len(), values)
}

pub(super) fn toolchain(connection: &Connection, version: &str) -> Result<i64, StoreError> {
    id(connection, "toolchain", &["version"], 1, params![version])
}

pub(super) fn settings(connection: &Connection, plan: &ExperimentPlan) -> Result<i64, StoreError> {
    let values = params![plan.settings_key, plan.settings];
    id(connection, "settings", &["key", "json"], 2, values)
}

pub(super) fn version(connection: &Connection, version: &Version) -> Result<i64, StoreError> {
    let columns = ["commit_hash", "tree", "dirty", "variant", "settings", "summary", "time_s"];
    let Version { tree, dirty, summary, time, .. } = version;
    let commit = version.commit.as_deref().unwrap_or_default();
    let variant = version.variant.as_ref();
    let (name, settings) = variant.map_or(("", ""), |Variant { name, settings }| (name, settings));
    let values = params![commit, tree, dirty, name, settings, summary, time];
    id(connection, "version", &columns, 5, values)
}

pub(super) fn benchmark(connection: &Connection, benchmark: &Benchmark) -> Result<i64, StoreError> {
    let columns = ["package", "target", "name", "\"group\"", "function", "parameter"];
    let Benchmark { package, target, name } = benchmark;
    let values = params![package, target, name.id, name.group, name.function, name.parameter];
    id(connection, "benchmark", &columns, 3, values)
}

/// Like [`benchmark`], and updates the names for display.
pub(super) fn listed_benchmark(
    connection: &Connection,
    listed: &Benchmark,
) -> Result<i64, StoreError> {
    let id = benchmark(connection, listed)?;
    let Name { group, function, parameter, .. } = &listed.name;
    connection
        .prepare_cached(
            "UPDATE benchmark SET (\"group\", function, parameter) = (?2, ?3, ?4)
             WHERE id = ?1 AND (\"group\", function, parameter) IS NOT (?2, ?3, ?4)",
        )?
        .execute(params![id, group, function, parameter])?;
    Ok(id)
}
