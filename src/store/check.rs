//! Whether everything in a store can be read.

use rusqlite::Connection;

use super::{
    ExperimentId, Store,
    columns::{BENCHMARK, BENCHMARK_WIDTH, benchmark_at, bytes_at},
    encoding,
    error::Error,
};
use crate::failure::Result;

impl Store<'_> {
    /// Reads everything, and returns what is wrong with it; nothing if all is well.
    pub fn check(&self) -> Result<Vec<String>> {
        self.read("check", |connection| {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let findings = statement.query_map((), |row| row.get(0))?;
            let mut findings: Vec<String> = findings.collect::<rusqlite::Result<_>>()?;
            findings.retain(|finding| finding != "ok");
            let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
            let dangling = statement.query_map((), |row| {
                let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
                Ok(format!("a row of {table} names a row of {parent} that is not there"))
            })?;
            findings.extend(dangling.collect::<rusqlite::Result<Vec<_>>>()?);
            findings.extend(unreadable_executions(connection)?);
            Ok(findings)
        })
    }
}

fn unreadable_executions(connection: &Connection) -> Result<Vec<String>, Error> {
    let mut findings = Vec::new();
    let mut statement = connection.prepare(&format!(
        "SELECT {BENCHMARK}, experiment, bytes
         FROM executions JOIN benchmark ON benchmark.id = benchmark"
    ))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        if let Err(damage) = encoding::decode(bytes_at(row, BENCHMARK_WIDTH + 1)?) {
            let experiment = ExperimentId(row.get(BENCHMARK_WIDTH)?);
            findings.push(damage.of(&benchmark_at(row, 0)?, experiment).0);
        }
    }
    Ok(findings)
}
