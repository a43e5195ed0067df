//! Experiments: begun, found again, finished.

use std::{
    collections::HashSet,
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, Row, params};

use super::{
    ExperimentId, Store,
    error::Error,
    intern,
    rows::{
        BENCHMARK_COLUMNS, BENCHMARK_WIDTH, MACHINE_COLUMNS, TURN_COLUMNS, benchmark_at,
        machine_at, turn_at,
    },
};
use crate::{
    failure::Result,
    model::{Benchmark, Dimensions, ExperimentPlan, PlannedVersion, Turn, Version},
};

/// An experiment as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Its id in this store.
    pub id: ExperimentId,
    /// What it is called in every store that has it.
    pub identity: String,
    /// What it is.
    pub plan: ExperimentPlan,
    /// For each version of the plan, why it could not be built, if it could not.
    pub unbuildable: Vec<Option<String>>,
    /// When it began.
    pub begun: SystemTime,
    /// When it was finished, if it is.
    pub finished: Option<SystemTime>,
}

/// An experiment that can be continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The experiment.
    pub id: ExperimentId,
    /// The executions that gave measurements.
    pub done: HashSet<(Benchmark, Turn)>,
    /// The executions that failed.
    pub failed: HashSet<(Benchmark, Turn)>,
}

impl Store<'_> {
    /// Begins an experiment.
    pub fn begin(&self, plan: &ExperimentPlan) -> Result<ExperimentId> {
        let now = SystemTime::now();
        self.write("begin an experiment", |connection| {
            insert(connection, &new_identity(connection)?, plan, now)
        })
    }

    /// The newest unfinished experiment that has this plan, with what is done of it.
    pub fn find_unfinished(&self, plan: &ExperimentPlan) -> Result<Option<Unfinished>> {
        self.read("look for an unfinished experiment", |connection| {
            let newest_first = unfinished(connection)?;
            let same = |experiment: &&Experiment| experiment.plan.differences(plan).is_empty();
            let Some(Experiment { id, .. }) = newest_first.iter().find(same) else {
                return Ok(None);
            };
            let turns = |table| turns(connection, table, *id);
            Ok(Some(Unfinished {
                id: *id,
                done: turns("execution")?,
                failed: turns("failed_execution")?,
            }))
        })
    }

    /// Every experiment that was begun and not finished, newest first: what
    /// [`differences`](ExperimentPlan::differences) a plan has to them tells why it continues none.
    pub fn unfinished(&self) -> Result<Vec<Experiment>> {
        self.read("look for unfinished experiments", unfinished)
    }

    /// Every experiment, in the order in which they began.
    pub fn experiments(&self) -> Result<Vec<Experiment>> {
        self.read("list the experiments", |connection| {
            select(connection, "TRUE ORDER BY experiment.begun, experiment.id")
        })
    }

    /// Ends an experiment: nothing is added to it any more, and it takes less room. Doing it again does
    /// nothing.
    pub fn finish(&self, experiment: ExperimentId) -> Result<()> {
        self.write("finish the experiment", |connection| {
            finish(connection, experiment, SystemTime::now())
        })
    }
}

/// What an experiment is called wherever it is copied to: random, because two processes can begin the
/// same one within one tick of the clock.
fn new_identity(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT lower(hex(randomblob(16)))", (), |row| row.get(0))
}

pub(super) fn insert(
    connection: &Connection,
    identity: &str,
    plan: &ExperimentPlan,
    begun: SystemTime,
) -> Result<ExperimentId, Error> {
    let Dimensions { builds, executions, measurements } = plan.dimensions;
    let mut statement = connection.prepare_cached(
        "INSERT INTO experiment (identity, begun, machine, settings, rbench, builds, executions,
             measurements, seed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    statement.execute(params![
        identity,
        nanoseconds(begun),
        intern::machine(connection, &plan.machine)?,
        intern::settings(connection, plan)?,
        plan.rbench,
        builds,
        executions,
        measurements,
        plan.seed.cast_signed(),
    ])?;
    let experiment = connection.last_insert_rowid();
    let mut statement = connection.prepare_cached(
        "INSERT INTO experiment_version (experiment, position, version, revision, toolchain)
             VALUES (?, ?, ?, ?, ?)",
    )?;
    for (position, PlannedVersion { version, toolchain }) in plan.versions.iter().enumerate() {
        statement.execute(params![
            experiment,
            position,
            intern::version(connection, version)?,
            version.revision,
            intern::toolchain(connection, toolchain)?,
        ])?;
    }
    Ok(ExperimentId(experiment))
}

pub(super) fn finish(
    connection: &Connection,
    experiment: ExperimentId,
    when: SystemTime,
) -> Result<(), Error> {
    super::record::gather(connection, experiment)?;
    connection
        .prepare_cached("UPDATE experiment SET finished = ? WHERE id = ? AND finished IS NULL")?
        .execute(params![nanoseconds(when), experiment.0])?;
    Ok(())
}

fn unfinished(connection: &Connection) -> Result<Vec<Experiment>, Error> {
    select(
        connection,
        "experiment.finished IS NULL ORDER BY experiment.begun DESC, experiment.id DESC",
    )
}

/// The experiments that fulfil a condition.
pub(super) fn select(connection: &Connection, condition: &str) -> Result<Vec<Experiment>, Error> {
    let mut experiments = connection.prepare_cached(&format!(
        "SELECT experiment.id, begun, finished, rbench, builds, executions, measurements, seed,
             {MACHINE_COLUMNS}, key, json, identity
         FROM experiment JOIN machine ON machine.id = machine JOIN settings ON settings.id = settings
         WHERE {condition}"
    ))?;
    let mut versions = connection.prepare_cached(
        "SELECT revision, commit_hash, tree, dirty, summary, time, toolchain.version, failure
         FROM experiment_version JOIN version ON version.id = experiment_version.version
             JOIN toolchain ON toolchain.id = toolchain
         WHERE experiment = ? ORDER BY position",
    )?;
    let rows = experiments.query_map((), experiment_at)?;
    let complete = |experiment: rusqlite::Result<Experiment>| {
        let mut experiment = experiment?;
        for version in versions.query_map([experiment.id.0], version_at)? {
            let (version, failure) = version?;
            experiment.plan.versions.push(version);
            experiment.unbuildable.push(failure);
        }
        Ok(experiment)
    };
    rows.map(complete).collect()
}

fn experiment_at(row: &Row<'_>) -> rusqlite::Result<Experiment> {
    Ok(Experiment {
        id: ExperimentId(row.get(0)?),
        identity: row.get(16)?,
        begun: time(row.get(1)?),
        finished: row.get::<_, Option<i64>>(2)?.map(time),
        unbuildable: Vec::new(),
        plan: ExperimentPlan {
            versions: Vec::new(),
            rbench: row.get(3)?,
            dimensions: Dimensions {
                builds: row.get(4)?,
                executions: row.get(5)?,
                measurements: row.get(6)?,
            },
            seed: row.get::<_, i64>(7)?.cast_unsigned(),
            machine: machine_at(row, 8)?,
            settings_key: row.get(14)?,
            settings: row.get(15)?,
        },
    })
}

fn version_at(row: &Row<'_>) -> rusqlite::Result<(PlannedVersion, Option<String>)> {
    let commit: String = row.get(1)?;
    let version = Version {
        revision: row.get(0)?,
        commit: Some(commit).filter(|commit| !commit.is_empty()),
        tree: row.get(2)?,
        dirty: row.get(3)?,
        summary: row.get(4)?,
        time: row.get(5)?,
    };
    Ok((PlannedVersion { version, toolchain: row.get(6)? }, row.get(7)?))
}

/// The benchmark and turn of each row of a table of executions.
fn turns(
    connection: &Connection,
    table: &str,
    experiment: ExperimentId,
) -> Result<HashSet<(Benchmark, Turn)>, Error> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {BENCHMARK_COLUMNS}, {TURN_COLUMNS} FROM {table}
             JOIN benchmark ON benchmark.id = benchmark
         WHERE experiment = ?"
    ))?;
    let mut rows = statement.query([experiment.0])?;
    let mut turns = HashSet::new();
    while let Some(row) = rows.next()? {
        turns.insert((benchmark_at(row, 0)?, turn_at(row, BENCHMARK_WIDTH)?));
    }
    Ok(turns)
}

/// Nanoseconds since 1970; 0 before, and the year 2262 after.
pub(super) fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

pub(super) fn time(nanoseconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds.max(0).cast_unsigned())
}
