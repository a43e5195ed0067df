//! What an experiment gives, stored piece by piece.

use rusqlite::{Connection, params};

use super::{
    ExperimentId, Store,
    block::{self, Entry},
    error::Error,
    intern,
    rows::{bytes_at, stage_number},
};
use crate::{
    code::Digest,
    failure::{Failure, Result},
    model::{BenchTarget, Benchmark, Execution, Layout, LayoutSeed, Turn},
};

/// How many values one block holds, about: 1 MB. Reading one execution reads its block.
const BLOCK_VALUES: usize = 1 << 17;

impl Store<'_> {
    /// Stores which builds versions of the experiment have: each with the index of its version, its
    /// bench target, seed, layout and digest. One that is there is replaced.
    pub fn record_builds<'a>(
        &self,
        experiment: ExperimentId,
        builds: impl IntoIterator<Item = (usize, &'a BenchTarget, LayoutSeed, Layout, Digest)>,
    ) -> Result<()> {
        self.write("store builds", |connection| {
            refuse_if_finished(connection, experiment)?;
            for (version, target, seed, layout, digest) in builds {
                insert_build(connection, experiment, version, target, seed, layout, &digest)?;
            }
            Ok(())
        })
    }

    /// Stores that a version of the experiment cannot be built.
    pub fn record_unbuildable(
        &self,
        experiment: ExperimentId,
        version: usize,
        failure: &Failure,
    ) -> Result<()> {
        self.write("store a failure", |connection| {
            refuse_if_finished(connection, experiment)?;
            set_unbuildable(connection, experiment, version, &failure.to_string())
        })
    }

    /// Stores what came of one execution: all measurements and resources, or why it failed. It is on
    /// the disk when this returns. An execution of the same turn is replaced.
    pub fn record_execution(
        &self,
        experiment: ExperimentId,
        benchmark: &Benchmark,
        turn: Turn,
        outcome: Result<&Execution, &Failure>,
    ) -> Result<()> {
        self.record_executions(experiment, [(benchmark, turn, outcome)])
    }

    /// Stores what came of many executions: of all, or of none.
    pub fn record_executions<'a>(
        &self,
        experiment: ExperimentId,
        executions: impl IntoIterator<Item = (&'a Benchmark, Turn, Result<&'a Execution, &'a Failure>)>,
    ) -> Result<()> {
        self.write("store an execution", |connection| {
            refuse_if_finished(connection, experiment)?;
            for (benchmark, turn, outcome) in executions {
                let reason = outcome.err().map(ToString::to_string).unwrap_or_default();
                let outcome = outcome.map_err(|_| reason.as_str());
                insert_execution(connection, experiment, benchmark, turn, outcome)?;
            }
            Ok(())
        })
    }
}

fn refuse_if_finished(connection: &Connection, experiment: ExperimentId) -> Result<(), Error> {
    let mut statement =
        connection.prepare_cached("SELECT finished IS NULL FROM experiment WHERE id = ?")?;
    match statement.query_row([experiment.0], |row| row.get(0)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::Unusable(format!("experiment {experiment} is finished"))),
        Err(rusqlite::Error::QueryReturnedNoRows) => {
            Err(Error::Unusable(format!("there is no experiment {experiment}")))
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) fn insert_build(
    connection: &Connection,
    experiment: ExperimentId,
    version: usize,
    target: &BenchTarget,
    seed: LayoutSeed,
    layout: Layout,
    digest: &Digest,
) -> Result<(), Error> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO build VALUES (?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            experiment.0,
            version,
            target.package,
            target.target,
            seed.get(),
            layout.to_string(),
            digest.as_bytes(),
        ])?;
    Ok(())
}

pub(super) fn set_unbuildable(
    connection: &Connection,
    experiment: ExperimentId,
    version: usize,
    reason: &str,
) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE experiment_version SET failure = ? WHERE experiment = ? AND position = ?",
        )?
        .execute(params![reason, experiment.0, version])?;
    Ok(())
}

/// Stores an execution, or why it failed, in the place of what its turn had.
pub(super) fn insert_execution(
    connection: &Connection,
    experiment: ExperimentId,
    benchmark: &Benchmark,
    turn: Turn,
    outcome: Result<&Execution, &str>,
) -> Result<(), Error> {
    if let Some(defect) = outcome.ok().and_then(Execution::defect) {
        return Err(Error::Unusable(format!("of {benchmark}, {defect}")));
    }
    let benchmark = intern::benchmark(connection, benchmark)?;
    let Turn { version, stage, round, seed } = turn;
    let key = params![experiment.0, benchmark, version, stage_number(stage), round, seed.get()];
    for table in ["execution", "failed_execution"] {
        connection
            .prepare_cached(&format!(
                "DELETE FROM {table} WHERE (experiment, benchmark, position, stage, round, seed)
                     = (?, ?, ?, ?, ?, ?)"
            ))?
            .execute(key)?;
    }
    match outcome {
        Ok(execution) => {
            let entry = Entry { round, seed, execution: execution.clone() };
            let block = block::encode(&[entry]);
            connection
                .prepare_cached("INSERT INTO execution VALUES (?, ?, ?, ?, ?, ?, ?)")?
                .execute(&[key, params![block]].concat()[..])?;
        }
        Err(reason) => {
            connection
                .prepare_cached("INSERT INTO failed_execution VALUES (?, ?, ?, ?, ?, ?, ?)")?
                .execute(&[key, params![reason]].concat()[..])?;
        }
    }
    Ok(())
}

/// Puts the executions of an experiment, each of which has a block of its own, together.
pub(super) fn gather(connection: &Connection, experiment: ExperimentId) -> Result<(), Error> {
    let mut groups = connection.prepare_cached(
        "SELECT DISTINCT benchmark, position, stage FROM execution WHERE experiment = ?",
    )?;
    let groups: Vec<[i64; 3]> = groups
        .query_map([experiment.0], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?
        .collect::<rusqlite::Result<_>>()?;
    for [benchmark, position, stage] in groups {
        let mut blocks = connection.prepare_cached(
            "SELECT block FROM execution
             WHERE experiment = ? AND benchmark = ? AND position = ? AND stage = ?",
        )?;
        let mut rows = blocks.query(params![experiment.0, benchmark, position, stage])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.extend(block::decode(bytes_at(row, 0)?)?);
        }
        // As statistics want them; and like seeds stand together.
        entries.sort_by_key(|entry| (entry.seed, entry.round));
        for (part, entries) in parts(&entries).into_iter().enumerate() {
            connection
                .prepare_cached(
                    "INSERT INTO block (id, experiment, benchmark, position, stage, part, block)
                     SELECT 1 + max(coalesce(max(id), 0), ?2 << 40), ?1, ?2, ?3, ?4, ?5, ?6
                     FROM block WHERE id BETWEEN ?2 << 40 AND (?2 + 1 << 40) - 1",
                )?
                .execute(params![
                    experiment.0,
                    benchmark,
                    position,
                    stage,
                    part,
                    block::encode(entries)
                ])?;
        }
    }
    connection
        .prepare_cached("DELETE FROM execution WHERE experiment = ?")?
        .execute([experiment.0])?;
    Ok(())
}

/// The executions in parts of one block each.
fn parts(entries: &[Entry]) -> Vec<&[Entry]> {
    let mut values = 0;
    let mut start = 0;
    let mut parts = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let more: usize = entry.execution.series.iter().map(|series| series.values.len()).sum();
        if values > 0 && values + more > BLOCK_VALUES {
            parts.push(&entries[start..index]);
            (start, values) = (index, 0);
        }
        values += more;
    }
    parts.push(&entries[start..]);
    parts
}
