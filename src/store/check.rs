//! Finds damage of the file, which SQLite itself does not notice: a disk can return other bytes than were written.
//!
//! Each row has a checksum of its columns, which SQLite computes with a function of the schema when it writes the row.
//! Together with SQLite's check of its own structure, and the text of the schema, they cover all bytes on which an answer
//! depends. Executions are checked when they are read, so that those of other benchmarks remain readable.

use std::{fs, path::Path};

use rusqlite::Connection;

use super::{error::StoreError, schema};

/// The size in bytes from which the structure of a file is not checked when it is opened: SQLite reads a gigabyte in
/// some seconds.
const LARGE: u64 = 64 << 20;

/// The table whose rows are checked when they are read.
pub(super) const READ_LATER: &str = "executions";

/// An expression that is true for a sound row of the table of executions.
pub(super) const SOUND_EXECUTIONS: &str =
    "checksum IS rbench_checksum(benchmark, experiment, version, stage, part, bytes)";

/// Fails if the file is damaged, apart from the bytes of executions.
pub(super) fn refuse_damage(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let is_large = fs::metadata(path).is_ok_and(|file| file.len() > LARGE);
    let findings = findings(connection, !is_large)?;
    findings.into_iter().next().map_or(Ok(()), |finding| Err(StoreError::Damaged(finding)))
}

/// Everything that is wrong with the file, apart from the bytes of executions. `everywhere` includes the structure of
/// their table.
pub(super) fn findings(
    connection: &Connection,
    everywhere: bool,
) -> Result<Vec<String>, StoreError> {
    if !schema::is_current(connection)? {
        return Ok(vec!["its tables are not those of this version of rbench".to_owned()]);
    }
    let texts = |query: &str| -> Result<Vec<String>, StoreError> {
        let mut statement = connection.prepare(query)?;
        let rows = statement.query_map((), |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    let mut tables = texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    tables.retain(|table| table != READ_LATER);
    let mut findings = Vec::new();
    if everywhere {
        findings.extend(texts("PRAGMA integrity_check")?);
    } else {
        for table in &tables {
            findings.extend(texts(&format!("PRAGMA integrity_check('{table}')"))?);
        }
    }
    findings.retain(|finding| finding != "ok");
    for table in &tables {
        // 0 are the columns that are not generated.
        let columns = texts(&format!(
            "SELECT group_concat('\"' || name || '\"') FROM pragma_table_xinfo('{table}') WHERE hidden = 0"
        ))?;
        let damaged: usize = connection.query_row(
            &format!(
                "SELECT count(*) FROM {table} WHERE checksum IS NOT rbench_checksum({})",
                columns.concat()
            ),
            (),
            |row| row.get(0),
        )?;
        if damaged > 0 {
            findings.push(format!("{damaged} rows of {table} have a wrong checksum"));
        }
        findings.extend(dangling(connection, table)?);
    }
    Ok(findings)
}

/// The rows of a table that name a row that is not there.
pub(super) fn dangling(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare(&format!("PRAGMA foreign_key_check('{table}')"))?;
    let dangling = statement.query_map((), |row| {
        let parent: String = row.get(2)?;
        Ok(format!("a row of {table} names a row of {parent} that is not there"))
    })?;
    Ok(dangling.collect::<rusqlite::Result<_>>()?)
}
