//! Documents: finished experiments as JSON Lines, in which they leave a store and enter another one, completely or not
//! at all. They are a public interface, described in docs/shared.md. Values of the model use the names that the model
//! gives them.

use std::{
    collections::HashSet,
    io::{BufRead, Read, Write},
    mem::take,
    time::{Duration, SystemTime},
};

use flate2::{
    Compression,
    read::{ZlibDecoder, ZlibEncoder},
};
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::{
    RecordedBuild, StoredExecution, StoredExperiment,
    columns::ExperimentId,
    encoding::Values,
    error::{Damage, StoreError},
    experiment,
    open::Store,
    read, record,
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::{
        AbsentBenchmark, Benchmark, Execution, ExecutionRequest, ExperimentPlan, Machine, Metric,
        PlannedBenchmark, PlannedVersion, Resources, SampleSizes, Schedule, Series, SkipReason,
        Slot, Throughput, Unmeasured, Version, nanoseconds,
    },
};

/// The first line's identification of the format.
const FORMAT: &str = "rbench-results";

/// The version of the format; raised when a line gets another meaning or a new field.
const SCHEMA_VERSION: u32 = 1;

/// The level of compression: higher ones take twice the time and save a percent.
const COMPRESSION: Compression = Compression::new(6);

/// The largest compressed document, in bytes.
pub const LARGEST_DOCUMENT: usize = 64 << 20;

/// The largest document without compression, in bytes: it is held in memory, and a few kB can expand to gigabytes.
const LARGEST_TEXT: usize = 256 << 20;

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
    finished_ns: i64,
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
#[serde(deny_unknown_fields)]
struct ExecutionLine {
    benchmark: Benchmark,
    slot: Slot,
    request: ExecutionRequest,
    metrics: Vec<SeriesLine>,
    throughput: Vec<Throughput>,
    warm_up_ns: Option<u64>,
    resources: Resources,
    schedule: Schedule,
    #[serde(default)]
    alone: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SeriesLine {
    #[serde(flatten)]
    metric: Metric,
    #[serde(flatten)]
    values: Values,
}

impl ExecutionLine {
    fn new(benchmark: Benchmark, slot: Slot, execution: Execution) -> Self {
        let line =
            |series: Series| SeriesLine { values: Values::from(&series), metric: series.metric };
        Self {
            benchmark,
            slot,
            request: execution.asked,
            metrics: execution.series.into_iter().map(line).collect(),
            throughput: execution.throughput,
            warm_up_ns: execution.warm_up.map(nanoseconds::from_duration),
            resources: execution.resources,
            schedule: execution.schedule,
            alone: execution.alone,
        }
    }

    fn execution(self) -> Result<Execution, Damage> {
        let series = |line: SeriesLine| line.values.series(line.metric);
        Ok(Execution {
            asked: self.request,
            series: self.metrics.into_iter().map(series).collect::<Result<_, _>>()?,
            throughput: self.throughput,
            warm_up: self.warm_up_ns.map(Duration::from_nanos),
            resources: self.resources,
            schedule: self.schedule,
            alone: self.alone,
            incidents: Vec::new(),
        })
    }
}

impl ExperimentLine {
    fn new(stored: StoredExperiment, finished: SystemTime) -> Self {
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
            finished_ns: nanoseconds::from_time(finished),
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

    /// The plan, and for each of its versions the error message if it could not be built.
    fn plan(self) -> (ExperimentPlan, Vec<Option<String>>) {
        let version = |VersionLine { version, toolchain, failure }| {
            (PlannedVersion { version, toolchain }, failure)
        };
        let (versions, unbuildable) = self.versions.into_iter().map(version).unzip();
        let plan = ExperimentPlan {
            versions,
            benchmarks: self.benchmarks,
            machine: self.machine.into(),
            rbench: self.rbench,
            settings: self.settings.into(),
            settings_key: self.settings_key.into(),
            sample_sizes: self.sample_sizes,
            seed: self.seed,
        };
        (plan, unbuildable)
    }
}

/// Writes lines, counts them, and computes their checksum.
struct Lines<'w> {
    out: &'w mut dyn Write,
    written: usize,
    checksum: crc32fast::Hasher,
}

impl<'w> Lines<'w> {
    fn begin(out: &'w mut dyn Write) -> Result<Self> {
        let mut lines = Self { out, written: 0, checksum: crc32fast::Hasher::new() };
        lines.write(&Line::Header {
            format: FORMAT.to_owned(),
            schema_version: SCHEMA_VERSION,
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
        })?;
        Ok(lines)
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let what = || "cannot write the results";
        let mut text = serde_json::to_vec(line).context(Exit::Usage, what)?;
        text.push(b'\n');
        self.checksum.update(&text);
        self.out.write_all(&text).context(Exit::Usage, what)?;
        self.written += 1;
        Ok(())
    }

    fn experiment(&mut self, store: &Store<'_>, experiment: StoredExperiment) -> Result<()> {
        let Some(finished) = experiment.finished else { return Ok(()) };
        let id = experiment.id;
        self.write(&Line::Experiment(ExperimentLine::new(experiment, finished).into()))?;
        for build in store.builds(id)? {
            self.write(&Line::Build(build))?;
        }
        for (benchmark, verdict) in store.unmeasured(id)? {
            self.write(&Line::Unmeasured { benchmark, verdict })?;
        }
        for absent in store.absent(id)? {
            self.write(&Line::Absent(absent))?;
        }
        for benchmark in store.benchmarks_of(id)? {
            for StoredExecution { slot, outcome, .. } in store.rows(&benchmark, &[id])? {
                let benchmark = benchmark.clone();
                self.write(&match outcome {
                    Ok(execution) => {
                        Line::Execution(ExecutionLine::new(benchmark, slot, execution).into())
                    }
                    Err(Unmeasured::Failed(reason)) => Line::Error { benchmark, slot, reason },
                    Err(Unmeasured::Skipped(reason)) => Line::Skip { benchmark, slot, reason },
                })?;
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        let checksum = Some(shown(&self.checksum));
        self.write(&Line::End { lines: self.written, checksum })?;
        self.out.flush().context(Exit::Usage, || "cannot write the results")
    }
}

impl Store<'_> {
    /// Writes all finished experiments to `out`, as JSON lines.
    pub fn export(&self, out: &mut dyn Write) -> Result<()> {
        let mut lines = Lines::begin(out)?;
        for experiment in self.experiments()? {
            lines.experiment(self, experiment)?;
        }
        lines.end()
    }

    /// The document of one finished experiment: its lines, compressed.
    pub fn document(&self, experiment: &StoredExperiment) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut lines = Lines::begin(&mut text)?;
        lines.experiment(self, experiment.clone())?;
        lines.end()?;
        let mut document = Vec::new();
        ZlibEncoder::new(&*text, COMPRESSION)
            .read_to_end(&mut document)
            .context(Exit::Internal, || "cannot compress a document")?;
        if document.len() > LARGEST_DOCUMENT || text.len() > LARGEST_TEXT {
            let what = format!("cannot send experiment {}", experiment.identity);
            return Err(Error::new(Exit::Usage, what).cause(format!(
                "it has {} MB, and other machines would not read more than {}",
                text.len() / 1_000_000,
                LARGEST_TEXT / 1_000_000
            )));
        }
        Ok(document)
    }
}

/// The longest line in bytes: longer than any execution, and short enough to be held in memory.
const LONGEST_LINE: usize = 64 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub experiments: usize,
    /// Experiments that the store already had.
    pub known: usize,
    pub executions: usize,
}

impl Imported {
    pub const fn add(&mut self, other: Self) {
        self.experiments += other.experiments;
        self.known += other.known;
        self.executions += other.executions;
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'i> {
    /// Only those that were finished at this time or later.
    pub since: Option<SystemTime>,
    /// The only one that there may be, by its identity: a document under a foreign name is refused.
    pub identity: Option<&'i str>,
}

impl Store<'_> {
    /// Imports what [`export`](Self::export) wrote; `name` is the file's name in messages. Existing data stays as it
    /// is, so a second import changes nothing.
    ///
    /// If any line is invalid, nothing is imported, and the error names the line.
    pub fn import(
        &self,
        from: &mut dyn BufRead,
        name: &str,
        selection: Selection<'_>,
    ) -> Result<Imported> {
        self.write(&format!("import {name} into"), |connection| {
            let imported = Imported::default();
            let mut import = Import { connection, selection, current: None, imported };
            import.all(from)?;
            Ok(import.imported)
        })
    }

    /// Imports a [`document`](Self::document).
    pub fn import_document(
        &self,
        document: &[u8],
        name: &str,
        selection: Selection<'_>,
    ) -> Result<Imported> {
        let error = |cause: String| {
            Error::new(Exit::Usage, format!("cannot decompress {name}")).cause(cause)
        };
        let mut text = Vec::new();
        ZlibDecoder::new(document)
            .take(LARGEST_TEXT as u64 + 1)
            .read_to_end(&mut text)
            .map_err(|_| error("it is no zlib data, or damaged".to_owned()))?;
        if text.len() > LARGEST_TEXT {
            return Err(error(format!("it expands to more than {} MiB", LARGEST_TEXT >> 20)));
        }
        self.import(&mut &text[..], name, selection)
    }
}

struct Import<'c> {
    connection: &'c Connection,
    selection: Selection<'c>,
    /// The experiment that the current lines belong to.
    current: Option<Current>,
    imported: Imported,
}

struct Current {
    id: ExperimentId,
    versions: usize,
    /// The time when it was finished in the store that exported it.
    finished: SystemTime,
    /// True if nothing may be added to it: it was stored before, or is not selected.
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
                    let expected = if let Line::End { checksum, .. } = &line {
                        checksum.clone()
                    } else {
                        None
                    };
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
                self.experiment(*line)?;
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
                let (benchmark, slot) = (line.benchmark.clone(), line.slot);
                let execution = line.execution().map_err(|Damage(reason)| reason)?;
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

    /// Stores the pending executions of the experiment whose lines have ended, and finishes it.
    fn close(&mut self) -> Result<(), StoreError> {
        self.store_new()?;
        if let Some(Current { id, finished, closed: false, .. }) = self.current {
            experiment::finish(self.connection, id, finished)?;
        }
        self.current = None;
        Ok(())
    }

    fn experiment(&mut self, mut line: ExperimentLine) -> Result<(), StoreError> {
        if line.versions.is_empty() {
            return Err("an experiment has no version".into());
        }
        if !is_identity(&line.identity) {
            return Err("an experiment has no identity of 32 lower-case hexadecimal digits".into());
        }
        if let Some(only) = self.selection.identity.filter(|only| *only != line.identity) {
            return Err(format!("the experiment is {}, not {only}", line.identity).into());
        }
        let planned = line.benchmarks.iter().map(|planned| planned.sample_sizes);
        if let Some(odd) = planned.chain([line.sample_sizes]).find(|all| !is_possible(*all)) {
            return Err(format!("{odd} are no builds, executions and measurements").into());
        }
        let known = "SELECT id FROM experiment WHERE identity = ?";
        let mut known = self.connection.prepare_cached(known)?;
        let known = known.query_row([&line.identity], |row| row.get(0)).optional()?;
        let (versions, finished) =
            (line.versions.len(), nanoseconds::system_time(line.finished_ns));
        let (id, closed) = if let Some(id) = known {
            // Also one that this machine has not finished: only its own executions belong to it.
            self.imported.known += 1;
            (ExperimentId(id), true)
        } else if self.selection.since.is_some_and(|since| finished < since) {
            (ExperimentId(0), true)
        } else {
            self.imported.experiments += 1;
            let started = nanoseconds::system_time(line.started_ns);
            let (identity, environment) = (take(&mut line.identity), line.environment.take());
            let (plan, unbuildable) = line.plan();
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

    /// Stores the collected executions, except those whose slots earlier lines fill.
    fn store_new(&mut self) -> Result<(), StoreError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let mut new = take(&mut current.new);
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

/// True for the 32 lower-case hexadecimal digits of an identity.
pub fn is_identity(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
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
