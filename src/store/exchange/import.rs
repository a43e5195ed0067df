//! Takes lines into a store: all of them, or none.

use std::io::BufRead;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    FORMAT, SCHEMA_VERSION,
    line::{BuildLine, ExecutionLine, ExperimentLine, FailureLine, Line, TuningLine, layout_seed},
};
use crate::{
    failure::Result,
    model::{BenchTarget, Benchmark, Execution, ExperimentPlan, PlannedVersion, Turn},
    store::{
        ExperimentId, Store,
        error::Error,
        experiment::{self, time},
        intern, record,
        rows::stage_number,
        tuning,
    },
};

/// What an import brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Experiments that were not there before.
    pub experiments: usize,
    /// Experiments that were there before.
    pub known: usize,
    /// Executions that were not there before.
    pub executions: usize,
}

impl Store<'_> {
    /// Takes everything that [`export`](Self::export) wrote somewhere. What is here already stays as it
    /// is; importing again changes nothing.
    ///
    /// If any line is not what it should be, nothing is imported, and the failure names the line.
    pub fn import(&self, from: &mut dyn BufRead) -> Result<Imported> {
        self.write("import results", |connection| {
            let mut import = Import { connection, current: None, imported: Imported::default() };
            import.all(from)?;
            Ok(import.imported)
        })
    }
}

/// An import that goes on.
struct Import<'c> {
    connection: &'c Connection,
    /// The experiment that lines belong to.
    current: Option<Current>,
    imported: Imported,
}

struct Current {
    id: ExperimentId,
    versions: usize,
    /// When it was finished where it comes from.
    finished: Option<i64>,
    /// It is finished here, so that nothing is added to it.
    closed: bool,
}

/// Why a line cannot be used; or why the store cannot take it.
enum Trouble {
    Line(String),
    Store(Error),
}

impl From<String> for Trouble {
    fn from(reason: String) -> Self {
        Self::Line(reason)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error {
            Error::Unusable(reason) => Self::Line(reason),
            error => Self::Store(error),
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Import<'_> {
    fn all(&mut self, from: &mut dyn BufRead) -> Result<(), Error> {
        let mut ended = false;
        let mut number = 0;
        for text in from.lines() {
            number += 1;
            let taken = text
                .map_err(|error| Trouble::Line(error.to_string()))
                .and_then(|text| parse(&text, number))
                .and_then(|line| self.take(line, number, &mut ended));
            taken.map_err(|trouble| match trouble {
                Trouble::Line(reason) => Error::Line { number, reason },
                Trouble::Store(error) => error,
            })?;
        }
        if ended {
            return Ok(());
        }
        let reason = "the file ends before its end line: it is not all that was exported";
        Err(Error::Line { number: number + 1, reason: reason.to_owned() })
    }

    fn take(&mut self, line: Line, number: usize, ended: &mut bool) -> Result<(), Trouble> {
        if *ended {
            return Err("there is something after the end line".to_owned().into());
        }
        match line {
            Line::Header { format, schema_version, rbench } => {
                check_header(&format, schema_version, &rbench)
            }
            Line::Experiment(line) => {
                self.close()?;
                self.experiment(line)
            }
            Line::Build(line) => self.build(line),
            Line::Execution(line) => self.execution(*line),
            Line::Failure(line) => self.failure(line),
            Line::Tuning(line) => self.tuning(line),
            Line::End { lines } if lines + 1 == number => {
                *ended = true;
                self.close()
            }
            Line::End { lines } => {
                Err(format!("{lines} lines were exported, and {} came", number - 1).into())
            }
        }
    }

    /// Finishes the experiment whose lines are over, if it was finished where it comes from.
    fn close(&mut self) -> Result<(), Trouble> {
        match self.current.take() {
            Some(Current { id, finished: Some(finished), closed: false, .. }) => {
                Ok(experiment::finish(self.connection, id, time(finished))?)
            }
            _ => Ok(()),
        }
    }

    fn experiment(&mut self, line: ExperimentLine) -> Result<(), Trouble> {
        if line.versions.is_empty() {
            return Err("an experiment has no version".to_owned().into());
        }
        let find = "SELECT id, finished IS NOT NULL FROM experiment WHERE identity = ?";
        let mut find = self.connection.prepare_cached(find)?;
        let known = find.query_row([&line.identity], |row| Ok((row.get(0)?, row.get(1)?)));
        let (versions, finished) = (line.versions.len(), line.finished);
        let (id, closed) = if let Some((id, closed)) = known.optional()? {
            self.imported.known += 1;
            (ExperimentId(id), closed)
        } else {
            self.imported.experiments += 1;
            (self.new_experiment(line)?, false)
        };
        self.current = Some(Current { id, versions, finished, closed });
        Ok(())
    }

    fn new_experiment(&self, line: ExperimentLine) -> Result<ExperimentId, Trouble> {
        let mut failures = Vec::new();
        let mut versions = Vec::new();
        for version in line.versions {
            failures.push(version.failure);
            versions
                .push(PlannedVersion { version: version.version, toolchain: version.toolchain });
        }
        let plan = ExperimentPlan {
            versions,
            machine: line.machine,
            rbench: line.rbench,
            settings: line.settings,
            settings_key: line.settings_key,
            dimensions: line.dimensions,
            seed: line.seed,
        };
        let id = experiment::insert(self.connection, &line.identity, &plan, time(line.begun))?;
        for (version, failure) in failures.iter().enumerate() {
            if let Some(reason) = failure {
                record::set_unbuildable(self.connection, id, version, reason)?;
            }
        }
        Ok(id)
    }

    /// The experiment that a line about one of its versions belongs to; `None` if it takes nothing.
    fn open_experiment(&self, version: usize) -> Result<Option<ExperimentId>, Trouble> {
        match &self.current {
            None => Err("it comes before any experiment".to_owned().into()),
            Some(current) if version >= current.versions => {
                let count = current.versions;
                Err(format!("version {version} of an experiment with {count}").into())
            }
            Some(current) => Ok((!current.closed).then_some(current.id)),
        }
    }

    fn build(&self, line: BuildLine) -> Result<(), Trouble> {
        let BuildLine { version, package, target, seed, layout, digest } = line;
        let seed = layout_seed(seed)?;
        if let Some(id) = self.open_experiment(version)? {
            let target = BenchTarget { package, target };
            record::insert_build(self.connection, id, version, &target, seed, layout, &digest)?;
        }
        Ok(())
    }

    fn execution(&mut self, line: ExecutionLine) -> Result<(), Trouble> {
        let (benchmark, turn, execution) = line.parts()?;
        if let Some(defect) = execution.defect() {
            return Err(defect.into());
        }
        self.outcome(&benchmark, turn, Ok(&execution))
    }

    fn failure(&mut self, line: FailureLine) -> Result<(), Trouble> {
        let FailureLine { benchmark, turn, reason } = line;
        self.outcome(&benchmark.into(), turn.try_into()?, Err(&reason))
    }

    /// Stores what came of an execution, if nothing of this turn is there.
    fn outcome(
        &mut self,
        benchmark: &Benchmark,
        turn: Turn,
        outcome: Result<&Execution, &str>,
    ) -> Result<(), Trouble> {
        let Some(id) = self.open_experiment(turn.version)? else { return Ok(()) };
        if !self.is_there(id, benchmark, turn)? {
            record::insert_execution(self.connection, id, benchmark, turn, outcome)?;
            self.imported.executions += 1;
        }
        Ok(())
    }

    fn is_there(
        &self,
        experiment: ExperimentId,
        benchmark: &Benchmark,
        turn: Turn,
    ) -> Result<bool, Trouble> {
        let benchmark = intern::benchmark(self.connection, benchmark)?;
        let there = ["execution", "failed_execution"].map(|table| {
            format!(
                "EXISTS (SELECT 1 FROM {table} WHERE
                     (experiment, benchmark, position, stage, round, seed)
                     = (?1, ?2, ?3, ?4, ?5, ?6))"
            )
        });
        let mut statement =
            self.connection.prepare_cached(&format!("SELECT {}", there.join(" OR ")))?;
        let Turn { version, stage, round, seed } = turn;
        let key = params![experiment.0, benchmark, version, stage_number(stage), round, seed.get()];
        Ok(statement.query_row(key, |row| row.get(0))?)
    }

    fn tuning(&self, line: TuningLine) -> Result<(), Trouble> {
        let TuningLine { benchmark, machine, iterations } = line;
        if iterations == 0 {
            return Err("a benchmark is tuned to no iteration".to_owned().into());
        }
        Ok(tuning::insert_if_new(self.connection, &benchmark.into(), &machine, iterations)?)
    }
}

fn parse(text: &str, number: usize) -> Result<Line, Trouble> {
    let line = serde_json::from_str(text).map_err(|error| Trouble::Line(error.to_string()))?;
    match (&line, number) {
        (Line::Header { .. }, 1) => Ok(line),
        (Line::Header { .. }, _) => Err("there is another header".to_owned().into()),
        (_, 1) => Err("it is no header of exported results".to_owned().into()),
        _ => Ok(line),
    }
}

fn check_header(format: &str, schema_version: u32, rbench: &str) -> Result<(), Trouble> {
    if format != FORMAT {
        return Err(format!("the format is `{format}`, not `{FORMAT}`").into());
    }
    if schema_version != SCHEMA_VERSION {
        return Err(format!(
            "rbench {rbench} wrote schema {schema_version}; this one reads up to {SCHEMA_VERSION}"
        )
        .into());
    }
    Ok(())
}
