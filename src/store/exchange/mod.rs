//! Exports a store as JSON Lines, and imports such lines: all of them, or none. They are a public interface, described in
//! docs/exchange-format.md. Values of the model use the names that the model gives them.

use std::{
    collections::HashSet,
    io::{BufRead, Read, Write},
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::{
    RecordedBuild, StoredExecution, StoredExperiment,
    columns::ExperimentId,
    error::StoreError,
    experiment,
    open::Store,
    read, record,
    tuning::{self, Tuning},
};
use crate::{
    error::{Context, Exit, Result},
    model::{
        AbsentBenchmark, Benchmark, Execution, ExperimentPlan, Machine, PlannedBenchmark,
        PlannedVersion, SampleSizes, SkipReason, Slot, Unmeasured, Version, nanoseconds,
    },
};

/// The first line's identification of the format.
const FORMAT: &str = "rbench-results";

/// The version of the format; raised when a line gets another meaning or a new field.
const SCHEMA_VERSION: u32 = 1;

/// The most iterations per nanosecond of minimum time: each takes at least a tenth of a nanosecond, and measurements
/// longer than four times the minimum time are tuned again.
const MOST_PER_NANOSECOND: u64 = 40;

/// The most iterations that the resolution of the clock alone can require.
const MOST_WITHOUT_FLOOR: u64 = 1000;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Header {
        format: String,
        schema_version: u32,
        rbench: String,
    },
    Experiment(Box<ExperimentLine>),
    Build(RecordedBuild),
    Unmeasured {
        benchmark: Benchmark,
        verdict: SkipReason,
    },
    Absent(AbsentBenchmark),
    Execution(Box<ExecutionLine>),
    Error {
        benchmark: Benchmark,
        slot: Slot,
        reason: String,
    },
    Skip {
        benchmark: Benchmark,
        slot: Slot,
        reason: String,
    },
    Tuning(TuningLine),
    End {
        lines: usize,
        /// The CRC-32 of all bytes before this line, in hex. Other programs may leave it out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checksum: Option<String>,
    },
}

/// A checksum as the end line has it.
fn shown(checksum: &crc32fast::Hasher) -> String {
    format!("{:08x}", checksum.clone().finalize())
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentLine {
    identity: String,
    started_ns: i64,
    finished_ns: Option<i64>,
    machine: Machine,
    rbench: String,
    settings: String,
    settings_key: String,
    sample_sizes: SampleSizes,
    seed: u64,
    versions: Vec<VersionLine>,
    benchmarks: Vec<PlannedBenchmark>,
    environment: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionLine {
    version: Version,
    toolchain: String,
    /// The error message, if it could not be built.
    failure: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ExecutionLine {
    benchmark: Benchmark,
    slot: Slot,
    #[serde(flatten)]
    execution: Execution,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TuningLine {
    benchmark: Benchmark,
    machine: Machine,
    min_time_ns: u64,
    iterations: u64,
}

/// An experiment from another store.
struct ImportedExperiment {
    identity: String,
    plan: ExperimentPlan,
    /// For each version of the plan, the error message if it could not be built.
    unbuildable: Vec<Option<String>>,
    started: SystemTime,
    finished: Option<SystemTime>,
    environment: Option<String>,
}

impl From<StoredExperiment> for ExperimentLine {
    fn from(stored: StoredExperiment) -> Self {
        let StoredExperiment { plan, unbuildable, .. } = stored;
        let versions = plan.versions.into_iter().zip(unbuildable);
        let version = |(PlannedVersion { version, toolchain }, failure)| VersionLine {
            version,
            toolchain,
            failure,
        };
        Self {
            identity: stored.identity,
            started_ns: nanoseconds::from_time(stored.begun),
            finished_ns: stored.finished.map(nanoseconds::from_time),
            machine: (*plan.machine).clone(),
            rbench: plan.rbench,
            settings: plan.settings.to_string(),
            settings_key: plan.settings_key.to_string(),
            sample_sizes: plan.sample_sizes,
            seed: plan.seed,
            versions: versions.map(version).collect(),
            benchmarks: plan.benchmarks,
            environment: stored.machine_state,
        }
    }
}

impl From<ExperimentLine> for ImportedExperiment {
    fn from(line: ExperimentLine) -> Self {
        let version = |VersionLine { version, toolchain, failure }| {
            (PlannedVersion { version, toolchain }, failure)
        };
        let (versions, unbuildable) = line.versions.into_iter().map(version).unzip();
        Self {
            identity: line.identity,
            plan: ExperimentPlan {
                versions,
                benchmarks: line.benchmarks,
                machine: line.machine.into(),
                rbench: line.rbench,
                settings: line.settings.into(),
                settings_key: line.settings_key.into(),
                sample_sizes: line.sample_sizes,
                seed: line.seed,
            },
            unbuildable,
            started: nanoseconds::system_time(line.started_ns),
            finished: line.finished_ns.map(nanoseconds::system_time),
            environment: line.environment,
        }
    }
}

impl From<Tuning> for TuningLine {
    fn from(Tuning { benchmark, machine, floor, iterations }: Tuning) -> Self {
        Self { benchmark, machine, min_time_ns: nanoseconds::from_duration(floor), iterations }
    }
}

impl TuningLine {
    /// The tuning of this line; `None` if these iterations would last far longer than the minimum time requires,
    /// because a benchmark that used them would not end.
    fn tuning(self) -> Option<Tuning> {
        let Self { benchmark, machine, min_time_ns, iterations } = self;
        let most = min_time_ns.saturating_mul(MOST_PER_NANOSECOND).max(MOST_WITHOUT_FLOOR);
        let floor = Duration::from_nanos(min_time_ns);
        (iterations <= most).then_some(Tuning { benchmark, machine, floor, iterations })
    }
}

/// Writes lines, counts them, and computes their checksum.
struct Lines<'w> {
    out: &'w mut dyn Write,
    written: usize,
    checksum: crc32fast::Hasher,
}

impl Lines<'_> {
    fn write(&mut self, line: &Line) -> Result<()> {
        let what = || "cannot write the exported results";
        let mut text = serde_json::to_vec(line).context(Exit::Usage, what)?;
        text.push(b'\n');
        self.checksum.update(&text);
        self.out.write_all(&text).context(Exit::Usage, what)?;
        self.written += 1;
        Ok(())
    }
}

impl Store<'_> {
    /// Writes the complete content of the store to `out`, as JSON lines.
    pub fn export(&self, out: &mut dyn Write) -> Result<()> {
        let mut lines = Lines { out, written: 0, checksum: crc32fast::Hasher::new() };
        lines.write(&Line::Header {
            format: FORMAT.to_owned(),
            schema_version: SCHEMA_VERSION,
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
        })?;
        for experiment in self.experiments()? {
            let id = experiment.id;
            lines.write(&Line::Experiment(Box::new(experiment.into())))?;
            for build in self.builds(id)? {
                lines.write(&Line::Build(build))?;
            }
            for (benchmark, verdict) in self.unmeasured(id)? {
                lines.write(&Line::Unmeasured { benchmark, verdict })?;
            }
            for absent in self.absent(id)? {
                lines.write(&Line::Absent(absent))?;
            }
            for measured in self.measured_metrics(id)? {
                let benchmark = measured.benchmark;
                for StoredExecution { slot, outcome, .. } in self.rows(&benchmark, &[id])? {
                    let benchmark = benchmark.clone();
                    lines.write(&match outcome {
                        Ok(execution) => {
                            Line::Execution(Box::new(ExecutionLine { benchmark, slot, execution }))
                        }
                        Err(Unmeasured::Failed(reason)) => Line::Error { benchmark, slot, reason },
                        Err(Unmeasured::Skipped(reason)) => Line::Skip { benchmark, slot, reason },
                    })?;
                }
            }
        }
        for tuning in self.all_tuned()? {
            lines.write(&Line::Tuning(tuning.into()))?;
        }
        let checksum = Some(shown(&lines.checksum));
        let end = Line::End { lines: lines.written, checksum };
        lines.write(&end)?;
        lines.out.flush().context(Exit::Usage, || "cannot write the exported results")
    }
}

/// The longest line in bytes: longer than any execution, and short enough to be held in memory.
const LONGEST_LINE: usize = 64 << 20;

/// The result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Experiments that were new to the store.
    pub experiments: usize,
    /// Experiments that the store already had.
    pub known: usize,
    /// Executions that were new to the store.
    pub executions: usize,
}

impl Store<'_> {
    /// Imports everything that [`export`](Self::export) wrote; `name` is the file's name in messages. Existing data
    /// stays as it is, so a second import changes nothing.
    ///
    /// If any line is invalid, nothing is imported, and the error names the line.
    pub fn import(&self, from: &mut dyn BufRead, name: &str) -> Result<Imported> {
        self.write(&format!("import {name} into"), |connection| {
            let mut import = Import { connection, current: None, imported: Imported::default() };
            import.all(from)?;
            Ok(import.imported)
        })
    }
}

/// An import in progress.
struct Import<'c> {
    connection: &'c Connection,
    /// The experiment that the current lines belong to.
    current: Option<Current>,
    imported: Imported,
}

struct Current {
    id: ExperimentId,
    versions: usize,
    /// The time when it was finished in the store that exported it.
    finished: Option<SystemTime>,
    /// True if it is finished here, so that nothing may be added to it.
    closed: bool,
    /// The benchmark of the last lines, and its executions that are not stored yet.
    benchmark: Option<Benchmark>,
    new: Vec<(Slot, Result<Execution, Unmeasured>)>,
}

impl Import<'_> {
    fn all(&mut self, from: &mut dyn BufRead) -> Result<(), StoreError> {
        let mut text = Vec::new();
        let mut before = crc32fast::Hasher::new();
        let mut ended = false;
        for number in 1.. {
            let taken = match next_line(from, &mut text) {
                Ok(true) if ended => Err(StoreError::from("there is something after the end line")),
                Ok(true) => parse(&text, number).and_then(|line| {
                    let expected = checksum(&line);
                    let is_last = self.line(line, number)?;
                    check(expected, &before)?;
                    before.update(&text);
                    Ok(is_last)
                }),
                Ok(false) if ended => return Ok(()),
                Ok(false) => Err("the file ends before its end line: it is cut off".into()),
                Err(error) => Err(error),
            };
            ended = taken.map_err(|error| error.at_line(number))?;
        }
        Ok(())
    }

    /// Handles one line; returns true for the last line.
    fn line(&mut self, line: Line, number: usize) -> Result<bool, StoreError> {
        match line {
            Line::Header { format, schema_version, rbench } => {
                check_header(&format, schema_version, &rbench)?;
            }
            Line::Experiment(line) => {
                self.close()?;
                self.experiment((*line).into())?;
            }
            Line::Build(build) => {
                let &mut Current { id, closed, .. } = self.current(build.version)?;
                if !closed {
                    record::insert_build(self.connection, id, &build)?;
                }
            }
            Line::Unmeasured { benchmark, verdict } => {
                let &mut Current { id, closed, .. } = self.current(0)?;
                if !closed {
                    record::insert_unmeasured(self.connection, id, &benchmark, verdict)?;
                }
            }
            Line::Absent(absent) => {
                let &mut Current { id, closed, .. } = self.current(absent.version)?;
                if !closed {
                    record::insert_absent(self.connection, id, &absent)?;
                }
            }
            Line::Execution(line) => {
                let ExecutionLine { benchmark, slot, execution } = *line;
                if let Some(defect) = execution.defect() {
                    return Err(defect.into());
                }
                self.execution(benchmark, slot, Ok(execution))?;
            }
            Line::Error { benchmark, slot, reason } => {
                self.execution(benchmark, slot, Err(Unmeasured::Failed(reason)))?;
            }
            Line::Skip { benchmark, slot, reason } => {
                self.execution(benchmark, slot, Err(Unmeasured::Skipped(reason)))?;
            }
            Line::Tuning(line) => {
                if let Some(tuned) = line.tuning() {
                    if tuned.iterations == 0 {
                        return Err("a benchmark is tuned to no iteration".into());
                    }
                    tuning::insert_if_new(self.connection, &tuned)?;
                }
            }
            Line::End { lines, .. } if lines.checked_add(1) == Some(number) => {
                self.close()?;
                return Ok(true);
            }
            Line::End { lines, .. } => {
                let came = number - 1;
                return Err(format!("{lines} lines were exported, but there are {came}").into());
            }
        }
        Ok(false)
    }

    /// Stores the pending executions of the experiment whose lines have ended, and finishes it if the exporting store
    /// had finished it.
    fn close(&mut self) -> Result<(), StoreError> {
        self.store_new()?;
        if let Some(Current { id, finished: Some(finished), closed: false, .. }) = self.current {
            experiment::finish(self.connection, id, finished)?;
        }
        self.current = None;
        Ok(())
    }

    fn experiment(&mut self, imported: ImportedExperiment) -> Result<(), StoreError> {
        let ImportedExperiment { identity, plan, unbuildable, started, finished, environment } =
            imported;
        if plan.versions.is_empty() {
            return Err("an experiment has no version".into());
        }
        if identity.len() != 32 || !identity.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err("an experiment has no identity of 32 hexadecimal digits".into());
        }
        let planned = plan.benchmarks.iter().map(|planned| planned.sample_sizes);
        if let Some(odd) = planned.chain([plan.sample_sizes]).find(|all| !is_possible(*all)) {
            return Err(format!("{odd} are no builds, executions and measurements").into());
        }
        let mut known = self.connection.prepare_cached(
            "SELECT id, finished_ns IS NOT NULL FROM experiment WHERE identity = ?",
        )?;
        let known =
            known.query_row([&identity], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (id, closed) = if let Some((id, closed)) = known {
            self.imported.known += 1;
            (ExperimentId(id), closed)
        } else {
            self.imported.experiments += 1;
            let id = experiment::insert(self.connection, &identity, &plan, started)?;
            if let Some(state) = environment {
                experiment::set_machine_state(self.connection, id, &state)?;
            }
            for (version, failure) in unbuildable.iter().enumerate() {
                if let Some(reason) = failure {
                    record::set_unbuildable(self.connection, id, version, reason)?;
                }
            }
            (id, false)
        };
        let versions = plan.versions.len();
        self.current =
            Some(Current { id, versions, finished, closed, benchmark: None, new: Vec::new() });
        Ok(())
    }

    /// The experiment that a line about one of its versions belongs to.
    fn current(&mut self, version: usize) -> Result<&mut Current, StoreError> {
        match &mut self.current {
            None => Err("it comes before any experiment".into()),
            Some(Current { versions, .. }) if version >= *versions => {
                Err(format!("version {version} of an experiment with {versions}").into())
            }
            Some(current) => Ok(current),
        }
    }

    /// Collects the executions of a benchmark to store them together, which is faster than one by one.
    fn execution(
        &mut self,
        benchmark: Benchmark,
        slot: Slot,
        outcome: Result<Execution, Unmeasured>,
    ) -> Result<(), StoreError> {
        if self.current(slot.version)?.benchmark.as_ref() != Some(&benchmark) {
            self.store_new()?;
        }
        let current = self.current(slot.version)?;
        current.benchmark = Some(benchmark);
        current.new.push((slot, outcome));
        Ok(())
    }

    /// Stores the collected executions, except those whose slots are already filled.
    fn store_new(&mut self) -> Result<(), StoreError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let mut new = std::mem::take(&mut current.new);
        let Some(benchmark) = current.benchmark.take().filter(|_| !current.closed) else {
            return Ok(());
        };
        let there = read::rows(self.connection, &benchmark, &[current.id])?;
        let mut there: HashSet<Slot> = there.into_iter().map(|row| row.slot).collect();
        new.retain(|(slot, _)| there.insert(*slot));
        self.imported.executions += new.len();
        record::add_executions(self.connection, current.id, &benchmark, new)
    }
}

/// True if rbench could have been asked for these sizes; beyond them, their product may overflow.
fn is_possible(SampleSizes { builds, executions, measurements, .. }: SampleSizes) -> bool {
    [builds, executions, measurements].iter().all(|number| *number <= 1_000_000)
}

/// Reads a line of bounded length into `text`; returns false at the end of the file.
fn next_line(from: &mut dyn BufRead, text: &mut Vec<u8>) -> Result<bool, StoreError> {
    text.clear();
    let limit = LONGEST_LINE as u64 + 1;
    let read = from.take(limit).read_until(b'\n', text).map_err(|error| error.to_string())?;
    if read > LONGEST_LINE {
        return Err(format!("it is longer than {} MiB", LONGEST_LINE >> 20).into());
    }
    Ok(read > 0)
}

fn parse(text: &[u8], number: usize) -> Result<Line, StoreError> {
    let line = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    match (&line, number) {
        (Line::Header { .. }, 1) => Ok(line),
        (Line::Header { .. }, _) => Err("there is another header".into()),
        (_, 1) => Err("it is not a header of exported results".into()),
        _ => Ok(line),
    }
}

/// The checksum of an end line, if it has one.
fn checksum(line: &Line) -> Option<String> {
    if let Line::End { checksum, .. } = line { checksum.clone() } else { None }
}

/// Checks all lines before the end line: a damaged byte may leave valid lines with other values.
fn check(expected: Option<String>, before: &crc32fast::Hasher) -> Result<(), StoreError> {
    if expected.is_some_and(|expected| expected != shown(before)) {
        return Err("its checksum is wrong: the file is damaged, or was edited; if it was edited on purpose, \
             remove `checksum` from this line"
            .into());
    }
    Ok(())
}

fn check_header(format: &str, schema_version: u32, rbench: &str) -> Result<(), StoreError> {
    if format != FORMAT {
        return Err(format!("the format is `{format}`, not `{FORMAT}`").into());
    }
    if schema_version != SCHEMA_VERSION {
        return Err(format!(
            "rbench {rbench} wrote schema {schema_version}; this one reads schema {SCHEMA_VERSION}"
        )
        .into());
    }
    Ok(())
}
