//! Starts, finds and finishes experiments in the store.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::SystemTime,
};

use rusqlite::{Connection, Row, params};

use super::{
    columns::{self, ExperimentId, MACHINE, execute, machine_at, query, stage_number},
    error::StoreError,
    open::Store,
    read,
};
use crate::{
    error::Result,
    model::{
        Benchmark, ExperimentPlan, Machine, PlannedBenchmark, PlannedVersion, SampleSizes, Slot,
        Stage, Variant, Version, nanoseconds,
    },
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredExperiment {
    pub id: ExperimentId,
    /// The id that is the same in every store that has the experiment.
    pub identity: String,
    pub plan: ExperimentPlan,
    /// For each version of the plan, the error message if it could not be built.
    pub unbuildable: Vec<Option<String>>,
    pub begun: SystemTime,
    /// The time when it was finished, if it is.
    pub finished: Option<SystemTime>,
    /// The state of the machine at the start, if it matters to measurements; for users.
    pub machine_state: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedExperiment {
    pub id: ExperimentId,
    pub done: HashSet<(Benchmark, Slot)>,
    pub failed: HashSet<(Benchmark, Slot)>,
}

#[derive(Clone, Copy)]
enum Which<'b> {
    /// All, with all benchmarks in their plans.
    All,
    /// All, with only these benchmarks in their plans.
    AllOn(&'b [Benchmark]),
    /// Those that are not finished, with all benchmarks in their plans.
    Unfinished,
    /// This one, with all benchmarks in its plan.
    One(ExperimentId),
}

impl Store<'_> {
    /// Starts an experiment. The display names of its benchmarks, and the titles and times of its commits, replace those
    /// stored before.
    pub fn begin(&self, plan: &ExperimentPlan) -> Result<ExperimentId> {
        let now = SystemTime::now();
        self.write("begin an experiment in", |connection| {
            for planned in &plan.benchmarks {
                columns::listed_benchmark_id(connection, &planned.benchmark)?;
            }
            for planned in &plan.versions {
                columns::resolved_version_id(connection, &planned.version)?;
            }
            insert(connection, &new_identity(connection)?, plan, now)
        })
    }

    /// The newest unfinished experiment with an equal plan, and its executions so far. If there is none, the
    /// [`differences`](ExperimentPlan::differences) to the plans of other unfinished
    /// [`experiments`](Self::experiments) give the reason.
    pub fn find_unfinished(&self, plan: &ExperimentPlan) -> Result<Option<UnfinishedExperiment>> {
        self.read("look for an unfinished experiment in", |connection| {
            let same = |other: &StoredExperiment| other.plan.differences(plan).is_empty();
            match select(connection, Which::Unfinished)?.into_iter().rfind(same) {
                Some(StoredExperiment { id, .. }) => unfinished(connection, id).map(Some),
                None => Ok(None),
            }
        })
    }

    /// All experiments, in the order of their start.
    pub fn experiments(&self) -> Result<Vec<StoredExperiment>> {
        self.read("list the experiments in", |connection| select(connection, Which::All))
    }

    /// One experiment, read without the others; `None` if it is not in the store.
    pub fn experiment(&self, id: ExperimentId) -> Result<Option<StoredExperiment>> {
        self.read("read an experiment of", |connection| {
            Ok(select(connection, Which::One(id))?.pop())
        })
    }

    /// All experiments, with only these benchmarks in their plans: to compare one of a hundred benchmarks, the others
    /// of a thousand plans are not needed.
    pub fn experiments_on(&self, benchmarks: &[Benchmark]) -> Result<Vec<StoredExperiment>> {
        self.read("list the experiments in", |connection| {
            select(connection, Which::AllOn(benchmarks))
        })
    }

    /// The finished experiments with their identities, the newest first.
    pub fn finished(&self) -> Result<Vec<(ExperimentId, String)>> {
        self.read("list the experiments in", |connection| {
            let select = "SELECT id, identity FROM experiment WHERE finished_ns IS NOT NULL
                 ORDER BY finished_ns DESC, id DESC";
            let row = |row: &Row<'_>| Ok((ExperimentId(row.get(0)?), row.get(1)?));
            Ok(query(connection, select, (), row)?)
        })
    }

    /// The experiments with executions of fresh builds, which confirm or refute what the first builds show.
    pub fn with_fresh_builds(&self) -> Result<HashSet<ExperimentId>> {
        self.read("list the experiments in", |connection| {
            let select = "SELECT DISTINCT experiment FROM executions WHERE stage = ?";
            let stage = stage_number(Stage::Second);
            Ok(query(connection, select, [stage], |row| Ok(ExperimentId(row.get(0)?)))?)
        })
    }

    /// The id that is the same in every store that has the experiment.
    pub fn identity(&self, experiment: ExperimentId) -> Result<String> {
        self.read("read an experiment of", |connection| {
            let mut statement =
                connection.prepare_cached("SELECT identity FROM experiment WHERE id = ?")?;
            Ok(statement.query_row([experiment.0], |row| row.get(0))?)
        })
    }

    /// Records the state of the machine that matters to the measurements of an experiment, for users.
    pub fn record_machine_state(&self, experiment: ExperimentId, state: &str) -> Result<()> {
        self.write("note the state of the machine in", |connection| {
            set_machine_state(connection, experiment, state)
        })
    }

    /// Finishes an experiment: nothing may be added to it from then on. Finishing it again does nothing.
    pub fn finish(&self, experiment: ExperimentId) -> Result<()> {
        self.write("finish the experiment in", |connection| {
            finish(connection, experiment, SystemTime::now())
        })
    }
}

/// A new id that is valid in every store: random, because two processes can start the same experiment within one tick
/// of the clock.
fn new_identity(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT lower(hex(randomblob(16)))", (), |row| row.get(0))
}

pub(super) fn insert(
    connection: &Connection,
    identity: &str,
    plan: &ExperimentPlan,
    begun: SystemTime,
) -> Result<ExperimentId, StoreError> {
    let SampleSizes { first_analysis, builds, executions, measurements } = plan.sample_sizes;
    let mut statement = connection.prepare_cached(
        "INSERT INTO experiment (identity, started_ns, machine, settings, rbench, builds, executions,
             measurements, first_look, seed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    statement.execute(params![
        identity,
        nanoseconds::from_time(begun),
        columns::machine_id(connection, &plan.machine)?,
        columns::settings_id(connection, plan)?,
        plan.rbench,
        builds,
        executions,
        measurements,
        first_analysis,
        plan.seed.cast_signed(),
    ])?;
    let experiment = connection.last_insert_rowid();
    let mut statement = connection.prepare_cached(
        "INSERT INTO planned_version (experiment, position, version, revision, toolchain)
             VALUES (?, ?, ?, ?, ?)",
    )?;
    for (position, PlannedVersion { version, toolchain }) in plan.versions.iter().enumerate() {
        statement.execute(params![
            experiment,
            position,
            columns::version_id(connection, version)?,
            version.revision,
            columns::toolchain_id(connection, toolchain)?,
        ])?;
    }
    let mut statement =
        connection.prepare_cached("INSERT INTO planned_benchmark VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    for (position, PlannedBenchmark { benchmark, sample_sizes: dimensions }) in
        plan.benchmarks.iter().enumerate()
    {
        statement.execute(params![
            experiment,
            position,
            columns::benchmark_id(connection, benchmark)?,
            dimensions.first_analysis,
            dimensions.builds,
            dimensions.executions,
            dimensions.measurements,
        ])?;
    }
    Ok(ExperimentId(experiment))
}

pub(super) fn set_machine_state(
    connection: &Connection,
    experiment: ExperimentId,
    state: &str,
) -> Result<(), StoreError> {
    let update = "UPDATE experiment SET machine_state = ? WHERE id = ?";
    Ok(execute(connection, update, params![state, experiment.0])?)
}

pub(super) fn finish(
    connection: &Connection,
    experiment: ExperimentId,
    when: SystemTime,
) -> Result<(), StoreError> {
    let update = "UPDATE experiment SET finished_ns = ? WHERE id = ? AND finished_ns IS NULL";
    Ok(execute(connection, update, params![nanoseconds::from_time(when), experiment.0])?)
}

/// Collects the finished and failed executions of an experiment.
fn unfinished(
    connection: &Connection,
    id: ExperimentId,
) -> Result<UnfinishedExperiment, StoreError> {
    let (mut done, mut failed) = (HashSet::new(), HashSet::new());
    for benchmark in read::benchmarks_of(connection, id)? {
        for row in read::rows(connection, &benchmark, &[id])? {
            let slots = if row.outcome.is_ok() { &mut done } else { &mut failed };
            slots.insert((benchmark.clone(), row.slot));
        }
    }
    Ok(UnfinishedExperiment { id, done, failed })
}

/// Reads these experiments, in the order of their start. Versions and benchmarks are read with one query each;
/// otherwise a thousand experiments would need thousands of queries.
fn select(connection: &Connection, which: Which<'_>) -> Result<Vec<StoredExperiment>, StoreError> {
    let [of_experiment, of_plan] = match which {
        Which::All | Which::AllOn(_) => ["TRUE"; 2].map(str::to_owned),
        Which::Unfinished => [
            "finished_ns IS NULL",
            "experiment IN (SELECT id FROM experiment WHERE finished_ns IS NULL)",
        ]
        .map(str::to_owned),
        Which::One(ExperimentId(id)) => {
            [format!("experiment.id = {id}"), format!("experiment = {id}")]
        }
    };

    let select = format!(
        "SELECT experiment.id, started_ns, finished_ns, rbench, builds, executions, measurements,
             first_look, seed, machine, settings, identity, machine_state
         FROM experiment WHERE {of_experiment} ORDER BY started_ns, experiment.id"
    );
    let conditions = Conditions::read(connection)?;
    let mut experiments: Vec<StoredExperiment> =
        query(connection, &select, (), |row| experiment_at(row, &conditions))?;
    let indices: HashMap<i64, usize> =
        experiments.iter().enumerate().map(|(index, one)| (one.id.0, index)).collect();

    let mut statement = connection.prepare_cached(&format!(
        "SELECT revision, commit_hash, tree, dirty, summary, time_s, toolchain, failure, experiment, variant, settings
         FROM planned_version JOIN version ON version.id = planned_version.version
         WHERE {of_plan} ORDER BY experiment, position"
    ))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let Some(index) = indices.get(&row.get(8)?) else { continue };
        let (version, failure) = version_at(row, &conditions)?;
        experiments[*index].plan.versions.push(version);
        experiments[*index].unbuildable.push(failure);
    }

    // The plans of a thousand commits name each benchmark a thousand times; reading all names once is faster.
    let known_benchmarks = read::benchmarks_by_id(connection)?;
    let of_benchmark = match which {
        Which::All | Which::Unfinished | Which::One(_) => "TRUE".to_owned(),
        Which::AllOn(only) => {
            let wanted = known_benchmarks.iter().filter(|(_, benchmark)| only.contains(benchmark));
            let ids: Vec<String> = wanted.map(|(id, _)| id.to_string()).collect();
            format!("benchmark IN ({})", ids.join(", "))
        }
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT benchmark, builds, executions, measurements, first_look, experiment
         FROM planned_benchmark WHERE {of_plan} AND {of_benchmark} ORDER BY experiment, position"
    ))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let Some(index) = indices.get(&row.get(5)?) else { continue };
        let benchmark = known(row, 0, &known_benchmarks)?.clone();
        let planned = PlannedBenchmark { benchmark, sample_sizes: sample_sizes_at(row, 1)? };
        experiments[*index].plan.benchmarks.push(planned);
    }
    Ok(experiments)
}

/// The machines, settings and toolchains of all experiments, by their ids: few rows, which many experiments share.
struct Conditions {
    machines: BTreeMap<i64, Arc<Machine>>,
    /// The key and the JSON.
    settings: BTreeMap<i64, [Arc<str>; 2]>,
    toolchains: BTreeMap<i64, String>,
}

impl Conditions {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let machines = format!("SELECT id, {MACHINE} FROM machine");
        let machine = |row: &Row<'_>| Ok((row.get(0)?, Arc::new(machine_at(row, 1)?)));
        let settings = |row: &Row<'_>| Ok((row.get(0)?, [row.get(1)?, row.get(2)?]));
        let toolchain = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(Self {
            machines: query(connection, &machines, (), machine)?,
            settings: query(connection, "SELECT id, key, json FROM settings", (), settings)?,
            toolchains: query(connection, "SELECT id, version FROM toolchain", (), toolchain)?,
        })
    }
}

/// Looks up the id in this column.
fn known<'k, T>(
    row: &Row<'_>,
    column: usize,
    all: &'k BTreeMap<i64, T>,
) -> rusqlite::Result<&'k T> {
    let id = row.get(column)?;
    all.get(&id).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, id))
}

fn experiment_at(row: &Row<'_>, conditions: &Conditions) -> rusqlite::Result<StoredExperiment> {
    let [settings_key, settings] = known(row, 10, &conditions.settings)?.clone();
    Ok(StoredExperiment {
        id: ExperimentId(row.get(0)?),
        identity: row.get(11)?,
        machine_state: row.get(12)?,
        begun: nanoseconds::system_time(row.get(1)?),
        finished: row.get::<_, Option<i64>>(2)?.map(nanoseconds::system_time),
        unbuildable: Vec::new(),
        plan: ExperimentPlan {
            versions: Vec::new(),
            benchmarks: Vec::new(),
            rbench: row.get(3)?,
            sample_sizes: sample_sizes_at(row, 4)?,
            seed: row.get::<_, i64>(8)?.cast_unsigned(),
            machine: known(row, 9, &conditions.machines)?.clone(),
            settings_key,
            settings,
        },
    })
}

fn version_at(
    row: &Row<'_>,
    conditions: &Conditions,
) -> rusqlite::Result<(PlannedVersion, Option<String>)> {
    let commit: String = row.get(1)?;
    let version = Version {
        revision: row.get(0)?,
        commit: Some(commit).filter(|commit| !commit.is_empty()),
        tree: row.get(2)?,
        dirty: row.get(3)?,
        summary: row.get(4)?,
        time: row.get(5)?,
        variant: Some(Variant { name: row.get(9)?, settings: row.get(10)? })
            .filter(|variant| !variant.name.is_empty()),
    };
    let toolchain = known(row, 6, &conditions.toolchains)?.clone();
    Ok((PlannedVersion { version, toolchain }, row.get(7)?))
}

fn sample_sizes_at(row: &Row<'_>, first: usize) -> rusqlite::Result<SampleSizes> {
    Ok(SampleSizes {
        builds: row.get(first)?,
        executions: row.get(first + 1)?,
        measurements: row.get(first + 2)?,
        first_analysis: row.get(first + 3)?,
    })
}
