//! Traces of benchmarks: one execution of each version, cached for as long as its compilation is.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, mem,
    panic::resume_unwind,
    path::{Path, PathBuf},
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use rbench_code::{
    elf::{self, Digest, LinkedFunction, counter_reads, instance_of},
    impact::{IncompleteTrace, Needs, Trace},
};
use serde::{Deserialize, Serialize};
use tracing::debug;

use super::{
    ListedVersion, Runner,
    outside::now,
    separate::{outside_of, remove_created},
    version::VersionFiles,
};
use crate::{
    builds::{ListedExecutable, files, this_executable},
    error::{Context, Exit, Result},
    harness::{Conditions, Executable, Harness, HarnessFacts},
    machine::one_of_each_core,
    model::{BenchTarget, Benchmark, Execution, ExecutionRequest, Name, Outcome, Series, Setup},
    process::{
        self, Scratch,
        trace::{
            CLOCK, CLOCKS, Observation, Observed, Plan, READS_CLOCK_OFTEN, Tracing, VARIABLES,
            parse_report, with_breakpoints,
        },
    },
    secrets,
};

/// Version of the tracing rules. Raise it when traces record something else, so that cached ones
/// are not used.
const RULES: u32 = 14;

const TRACES: &str = "traces";

/// The longest warm-up of a traced execution.
const WARM_UP: Duration = Duration::from_millis(1);

/// Factor by which the processor seems slower to a benchmark whose own code asks for more time than
/// requested. Such a benchmark executes a fraction of its request: for 3 s, about as much as others
/// do.
const SLOWNESS: u32 = 50;

/// The maximum length of the ids of benchmarks that are executed together, in bytes: the kernel
/// limits an argument to 128 KiB, and ids are longer as regular expressions.
const LONGEST_IDS: usize = 32 << 10;

/// The reason why there is no trace of a benchmark that failed under the tracer.
const FAILS: &str = "it fails when it is traced";

pub(super) fn has_failed(trace: &Trace) -> bool {
    trace.gaps.contains(&IncompleteTrace::Untraced(FAILS.to_owned()))
}

fn untraceable(reason: &str) -> String {
    format!("it cannot be traced: {reason}")
}

/// True if a benchmark cannot be traced with a clock that runs faster.
fn reads_clock_often(trace: &Trace) -> bool {
    trace.gaps.contains(&IncompleteTrace::Untraced(untraceable(READS_CLOCK_OFTEN)))
}

#[derive(Serialize, Deserialize)]
struct TraceCacheEntry {
    rules: u32,
    /// Digest of everything besides the version that decides the path of an execution: how the
    /// harness runs it, the request, the processor, and the environment variables that it read.
    conditions: Digest,
    trace: Trace,
}

/// The files that the benchmarks of a compilation in `home` were seen to read, by their paths below the build path.
pub(super) fn files_read(home: &Path) -> BTreeSet<PathBuf> {
    let entries = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten();
    let traces = entries(&home.join("recipes")).flat_map(|recipe| {
        entries(&recipe.path().join(TRACES)).map(|kept| kept.path()).collect::<Vec<_>>()
    });
    let traces = traces.filter_map(|path| files::read_json::<TraceCacheEntry>(&path));
    traces.flat_map(|kept| kept.trace.files.into_keys()).collect()
}

/// A bench target of a version, ready to be traced.
pub(super) struct Traceable<'v> {
    version: &'v ListedVersion,
    listed: ListedExecutable,
    files: VersionFiles,
    /// Addresses of the instructions that read the processor's time-stamp counter.
    counter_reads: Vec<u64>,
    /// The lines of `/proc/cpuinfo` that list the processor's features.
    processor: BTreeSet<String>,
}

struct Subject<'v> {
    benchmark: &'v Benchmark,
    harness: &'v dyn Harness,
    executable: Executable,
    request: ExecutionRequest,
    /// True to execute as much as is measured, with the real clock.
    is_complete: bool,
    /// Its set-up in words; empty if it has none.
    setup: String,
}

impl Runner<'_> {
    /// Prepares a bench target of a version for tracing. Makes its compilation the active one.
    pub(super) fn traceable<'v>(
        &self,
        version: &'v ListedVersion,
        target: &BenchTarget,
    ) -> Result<Traceable<'v>> {
        let listed = self.build_env.listed_executable(&version.compilation, target)?;
        let files = version.files(self.build_env.cache_dirs.build_path());
        // What cannot be read is not traced either.
        let executable = fs::read(&listed.path).unwrap_or_default();
        let counter_reads = counter_reads(&executable, &listed.functions).unwrap_or_default();
        Ok(Traceable { version, listed, files, counter_reads, processor: processor() })
    }

    /// The traces of benchmarks of one target, in their order: each from the cache unless a file
    /// that it reads has changed, otherwise from an execution now. Calls `traced` after each.
    ///
    /// Beside a benchmark can be its trace in another version in which the program and its
    /// functions are the same. Only the files that it reads can be different in this version, so it
    /// is not executed again.
    ///
    /// With `complete`, each executes at least as much as when it is measured: a file that differs may be read late.
    pub(super) fn trace(
        &self,
        of: &Traceable<'_>,
        benchmarks: &[(&Benchmark, Option<&Trace>)],
        complete: bool,
        traced: &mut dyn FnMut(),
    ) -> Result<Vec<Trace>> {
        let mut traces = vec![None; benchmarks.len()];
        let mut tracers = Tracers::new(of, self.conditions);
        let mut waiting = Vec::new();
        for (index, (benchmark, same_program)) in benchmarks.iter().enumerate() {
            self.conditions.interrupt.stop_between_executions()?;
            let subject = self.traced_subject(of, benchmark, complete)?;
            if let Some(known) = of.known(&subject, *same_program)? {
                traces[index] = Some(known);
                traced();
            } else {
                waiting.push((index, subject));
            }
            let is_last = index + 1 == benchmarks.len();
            if waiting.len() >= tracers.count() || (is_last && !waiting.is_empty()) {
                let (indices, subjects): (Vec<usize>, Vec<Subject<'_>>) = waiting.drain(..).unzip();
                let found = tracers.trace(&subjects)?;
                for ((index, subject), trace) in indices.into_iter().zip(&subjects).zip(found) {
                    of.keep(subject, &trace)?;
                    traces[index] = Some(trace);
                    traced();
                }
            }
        }
        Ok(traces.into_iter().flatten().collect())
    }

    /// Traces of all these benchmarks of a target together, each of several of which one iteration is executed, one
    /// after the other in one process. `None` if that cannot be done, or shows less than each benchmark by itself.
    ///
    /// They have files and variables, and no functions: those are the same where this is used, and threads that wait for
    /// each other in a loop take minutes with a breakpoint in it.
    ///
    /// A process in which others were executed before may spare a benchmark some of its set-up, so
    /// the traces are those of the whole, and are cached for none of them.
    pub(super) fn trace_together(
        &self,
        of: &Traceable<'_>,
        benchmarks: &[&Benchmark],
    ) -> Result<Option<Vec<Trace>>> {
        let mut traces = Vec::new();
        let Some(first) = benchmarks.first() else { return Ok(None) };
        let target = of.version.listed_target(first)?;
        let executable = Executable { path: of.listed.path.clone(), ..target.executable.clone() };
        let request = self.settings.efforts.for_benchmark(first).request();
        let request = ExecutionRequest { warm_up: WARM_UP, min_time: WARM_UP, ..request };
        let Ok(tracer) = Tracer::of_inputs(of, self.conditions) else { return Ok(None) };
        for names in by_length_of_ids(benchmarks) {
            self.conditions.interrupt.stop_between_executions()?;
            // One iteration need not hurry, and each reading of a clock that hurries stops the process.
            let Traced { trace, .. } = tracer.execute(1, |conditions| {
                target.harness.observe_together(&executable, &names, &request, conditions)
            })?;
            if trace.is_none() {
                return Ok(None);
            }
            traces.push(trace);
        }
        Ok(Some(traces))
    }

    /// The request of a traced execution: for as much time as the one that will be measured, with
    /// the tuned iterations, but in fewer measurements, and with the shortest warm-up that a harness
    /// allows. Code of the warm-up is executed by the measurements too.
    fn traced_subject<'v>(
        &self,
        of: &Traceable<'v>,
        benchmark: &'v Benchmark,
        is_complete: bool,
    ) -> Result<Subject<'v>> {
        let target = of.version.listed_target(benchmark)?;
        let executable = Executable { path: of.listed.path.clone(), ..target.executable.clone() };
        let harness = &*target.harness;
        let request = self.settings.efforts.for_benchmark(benchmark).request();
        let iterations = self.tune_by(harness, &executable, benchmark, &request)?;
        let request = if is_complete {
            // An execution on a busy machine makes fewer iterations in this time than one that is measured.
            let min_time = request.min_time.saturating_mul(2);
            ExecutionRequest { min_time, iterations, ..request }
        } else {
            let warm_up = request.warm_up.min(WARM_UP);
            in_few_measurements(&ExecutionRequest { warm_up, iterations, ..request })
        };
        let setup = self.project.file.setups().of_benchmark(benchmark);
        let setup = setup.map(Setup::words).unwrap_or_default();
        Ok(Subject { benchmark, harness, executable, request, is_complete, setup })
    }
}

/// Executes benchmarks of one target under tracers, several at a time if they cannot notice each other.
///
/// Beside another one, a benchmark may find a port or a file in use and take another path than alone. So the first is
/// executed alone, and others beside each other only while none makes a system call that may concern other processes.
/// If one does, those that were executed beside it are executed again, alone, and so are all that follow.
struct Tracers<'t> {
    of: &'t Traceable<'t>,
    conditions: Conditions<'t>,
    /// Each executes one benchmark at a time; none before the first benchmark.
    all: Vec<Tracer<'t>>,
    /// The executable with breakpoints, from the second benchmark on.
    prepared: Option<PreparedExecutable>,
}

impl<'t> Tracers<'t> {
    /// The largest number of benchmarks that execute at a time. Each needs memory.
    const MOST: usize = 8;

    const fn new(of: &'t Traceable<'t>, conditions: Conditions<'t>) -> Self {
        Self { of, conditions, all: Vec::new(), prepared: None }
    }

    /// The number of benchmarks that are to be traced at a time.
    fn count(&self) -> usize {
        self.all.len().max(1)
    }

    /// Traces benchmarks, at most [`count`](Self::count).
    fn trace(&mut self, subjects: &[Subject<'_>]) -> Result<Vec<Trace>> {
        let is_first = self.all.is_empty();
        if is_first {
            match Tracer::new(self.of, self.conditions, None, None) {
                Ok(tracer) => self.all.push(tracer),
                // Measuring may need the same, and its error then has the hint.
                Err(error) => {
                    return Ok(vec![Trace::none(error.what().to_owned()); subjects.len()]);
                }
            }
        }
        let mut traced = self.trace_beside_each_other(subjects)?;
        let are_private = traced.iter().all(|traced| traced.trace.is_private);
        if is_first {
            self.prepare(subjects, are_private);
        } else if !are_private && subjects.len() > 1 {
            debug!("a benchmark may concern others: those that follow are traced alone");
            self.all.truncate(1);
            for (subject, traced) in subjects.iter().zip(&mut traced) {
                *traced = self.all[0].trace(subject)?;
            }
        }
        Ok(traced.into_iter().map(|traced| traced.trace).collect())
    }

    fn trace_beside_each_other(&mut self, subjects: &[Subject<'_>]) -> Result<Vec<Traced>> {
        thread::scope(|scope| {
            let each = self.all.iter_mut().zip(subjects);
            let running: Vec<_> =
                each.map(|(tracer, subject)| scope.spawn(|| tracer.trace(subject))).collect();
            let traced = running.into_iter().map(ScopedJoinHandle::join);
            traced.map(|traced| traced.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }

    /// Prepares for further benchmarks after the first: makes an executable with breakpoints, and a tracer for each CPU
    /// if benchmarks may be executed beside each other. If that fails, the first tracer goes on alone.
    fn prepare(&mut self, first: &[Subject<'_>], are_private: bool) {
        // A whole program may do what its name says.
        let has_own_name = first.iter().any(|one| one.harness.kind().is_program());
        self.prepared = if has_own_name { None } else { PreparedExecutable::new(self.of) };
        let cpus = match self.conditions.cpu {
            None if are_private && first.iter().all(|one| one.setup.is_empty()) => {
                // Times beside a benchmark on the same core would be no times alone.
                one_of_each_core(&process::cpus().unwrap_or_default())
            }
            _ => Vec::new(),
        };
        let cpus = if cpus.len() > 1 { cpus.into_iter().map(Some).collect() } else { vec![None] };
        let asks_for_more = self.all.iter().any(|tracer| tracer.asks_for_more);
        let prepared = self.prepared.as_ref().map(|prepared| prepared.0.as_path());
        let new = cpus.into_iter().take(Self::MOST).map(|cpu| {
            let tracer = Tracer::new(self.of, self.conditions, cpu, prepared)?;
            Ok(Tracer { asks_for_more, ..tracer })
        });
        if let Ok(new) = new.collect::<Result<Vec<_>>>() {
            debug!(at_a_time = new.len(), is_prepared = prepared.is_some(), "tracing the others");
            self.all = new;
        }
    }
}

/// A copy of an executable with breakpoints at all its functions, so that they are not set in each of its processes.
/// Removed with this value.
struct PreparedExecutable(PathBuf);

impl PreparedExecutable {
    /// `None` if it cannot be made: tracing only takes longer without it.
    fn new(of: &Traceable<'_>) -> Option<Self> {
        let original = &of.listed.path;
        let functions: Vec<u64> =
            of.listed.functions.iter().map(|function| function.address).collect();
        let bytes = with_breakpoints(fs::read(original).ok()?, &functions)?;
        // Beside the original, which may find libraries by its own place.
        let prepared = Self(of.path_with_breakpoints());
        files::write_whole(&prepared.0, &bytes).ok()?;
        fs::set_permissions(&prepared.0, fs::metadata(original).ok()?.permissions()).ok()?;
        Some(prepared)
    }
}

impl Drop for PreparedExecutable {
    fn drop(&mut self) {
        // The next one replaces it.
        let _ = fs::remove_file(&self.0);
    }
}

struct Traced {
    trace: Trace,
    /// The execution, if it measured.
    execution: Option<Execution>,
}

/// Executes benchmarks of one target under the tracer, one after the other.
struct Tracer<'t> {
    of: &'t Traceable<'t>,
    conditions: Conditions<'t>,
    /// The executable that traces: rbench itself.
    program: PathBuf,
    place: Scratch,
    /// The only CPU that it uses, if one was chosen.
    cpu: Option<usize>,
    /// The executable with breakpoints, if it has been prepared.
    prepared: Option<PathBuf>,
    /// True if the last traced benchmark asks for more time than was requested.
    asks_for_more: bool,
    /// False to observe only files and variables.
    observes_functions: bool,
}

impl<'t> Tracer<'t> {
    /// A tracer that observes only which files and variables are read, on any CPU.
    fn of_inputs(of: &'t Traceable<'t>, conditions: Conditions<'t>) -> Result<Self> {
        let tracer = Self { observes_functions: false, ..Self::new(of, conditions, None, None)? };
        tracer.write_plan()?;
        Ok(tracer)
    }

    /// A tracer that executes on this CPU, or on any.
    fn new(
        of: &'t Traceable<'t>,
        conditions: Conditions<'t>,
        cpu: Option<usize>,
        prepared: Option<&Path>,
    ) -> Result<Self> {
        let place = Scratch::new()?;
        let program = this_executable()?;
        let prepared = prepared.map(Path::to_owned);
        let tracer = Self {
            of,
            conditions,
            program,
            place,
            cpu,
            prepared,
            asks_for_more: false,
            observes_functions: true,
        };
        tracer.write_plan()?;
        Ok(tracer)
    }

    fn write_plan(&self) -> Result<()> {
        let mut plan = Plan { cpu: self.cpu, ..self.of.plan(self.report_path()) };
        if !self.observes_functions {
            plan.functions.clear();
        }
        if let Some(prepared) = &self.prepared {
            plan.original = Some(mem::replace(&mut plan.executable, files::real(prepared)));
        }
        let what = || "cannot write the tracing plan";
        let plan = serde_json::to_vec(&plan).context(Exit::Internal, what)?;
        fs::write(self.plan_path(), plan).context(Exit::Usage, what)
    }

    /// Traces an execution of the prepared executable, or of the original if that cannot be traced: a program that starts
    /// itself, for example, would meet breakpoints that nobody handles.
    fn trace(&mut self, subject: &Subject<'_>) -> Result<Traced> {
        let traced = self.trace_executable(subject)?;
        if !traced.trace.is_none() || self.prepared.take().is_none() {
            return Ok(traced);
        }
        self.write_plan()?;
        self.trace_executable(subject)
    }

    /// Traces an execution, which takes seconds if the benchmark's own code asks for seconds.
    /// Benchmarks of one target mostly ask for the same time, so this one starts in a hurry if the
    /// previous one asked for more. If it does not ask for more, it is executed again without
    /// hurry: benchmarks that follow the request are traced in all that they execute.
    fn trace_executable(&mut self, subject: &Subject<'_>) -> Result<Traced> {
        let request = &subject.request;
        if subject.is_complete {
            return self.execute_one(subject, request, 1);
        }
        let HarnessFacts { may_ask_for_time, traced_slowness, .. } = subject.harness.facts();
        let asks_for_more = |Traced { execution, .. }: &Traced| {
            let asks = |one: &Execution| asks_for_more(request.least_time(), one);
            may_ask_for_time && execution.as_ref().is_some_and(asks)
        };
        let mut is_private = true;
        if self.asks_for_more {
            let traced = self.execute_one(subject, &in_a_hurry(request), SLOWNESS)?;
            if asks_for_more(&traced) {
                return Ok(traced);
            }
            is_private = traced.trace.is_private;
        }
        let mut traced = self.execute_one(subject, request, traced_slowness)?;
        if reads_clock_often(&traced.trace) {
            traced = self.execute_one(subject, request, 1)?;
        }
        self.asks_for_more = asks_for_more(&traced);
        traced.trace.is_private &= is_private;
        Ok(traced)
    }

    /// Traces one execution of a benchmark on a processor that seems slower by this factor.
    fn execute_one(
        &self,
        subject: &Subject<'_>,
        request: &ExecutionRequest,
        slowness: u32,
    ) -> Result<Traced> {
        let Subject { benchmark, harness, executable, .. } = subject;
        let path = self.prepared.as_ref().unwrap_or(&executable.path).clone();
        let executable = Executable { path, ..executable.clone() };
        let mut traced = self.execute(slowness, |conditions| {
            harness.execute(&executable, &benchmark.name, request, conditions)
        })?;
        if harness.facts().measures_process {
            // All of it is measured, whether it reads the clock or not.
            let Trace { in_set_up, while_measuring, .. } = &mut traced.trace;
            while_measuring.append(in_set_up);
        }
        Ok(traced)
    }

    /// Traces what `execute` executes.
    fn execute(
        &self,
        slowness: u32,
        execute: impl FnOnce(&Conditions<'_>) -> Result<Outcome>,
    ) -> Result<Traced> {
        let _ = fs::remove_file(self.report_path());
        let (tracer, plan) = (self.program.clone(), self.plan_path());
        let tracing = Tracing { tracer, plan, ahead: slowness - 1 };
        let begin = now();
        let outcome = execute(&Conditions { tracing: Some(&tracing), ..self.conditions });
        let observation = fs::read(self.report_path()).ok();
        let observation: Option<Observation> =
            observation.and_then(|bytes| parse_report(&bytes).ok());
        if let Some(Ok(observed)) = &observation {
            remove_created(observed, &self.of.files, begin);
        }
        let none = |reason: &str| {
            // Not private: something may have failed because of another process.
            Ok(Traced { trace: Trace::none(reason.to_owned()), execution: None })
        };
        match (outcome, observation) {
            // A failure of a set-up is none of the benchmark.
            (Err(error), _) if matches!(error.exit(), Exit::Interrupted | Exit::Build) => {
                Err(error)
            }
            (_, Some(Err(reason))) => none(&untraceable(&reason)),
            (Ok(Outcome::Measured(execution)), Some(Ok(observed))) => {
                // Much slower, it shows little about its time. What waits was less slow than this assumes: it seems to
                // take less alone than it does, and executions alone then decide.
                let is_known = slowness < SLOWNESS;
                let iteration = execution.iteration_time().filter(|_| is_known);
                let median_iteration = execution.median_iteration().filter(|_| is_known);
                let warm_up = execution.warm_up.unwrap_or_default();
                let timed = warm_up.saturating_add(execution.measured_time()) / slowness;
                let needs = Needs {
                    iteration: iteration.map(|time| time / slowness),
                    median_iteration: median_iteration.map(|time| time / f64::from(slowness)),
                    memory: execution.resources.peak_memory,
                    other_clock: observed.other_clock,
                    // What waits does so in real time.
                    run_time: Some(execution.resources.wall),
                    set_up: is_known.then(|| execution.resources.wall.saturating_sub(timed)),
                    measurements: execution.measurements(),
                };
                let trace = Trace { needs, ..self.of.trace(observed) };
                Ok(Traced { trace, execution: Some(execution) })
            }
            (Ok(Outcome::Measured(_)), None) => none("it was not traced"),
            (Ok(Outcome::Skipped(_)), _) => none("it chose not to run"),
            (Err(_), _) => none(FAILS),
        }
    }

    fn plan_path(&self) -> PathBuf {
        self.place.path().join("plan.json")
    }

    fn report_path(&self) -> PathBuf {
        self.place.path().join("observed.json")
    }
}

/// The names of benchmarks in groups, in their order, whose ids fit into a command line.
fn by_length_of_ids(benchmarks: &[&Benchmark]) -> Vec<Vec<Name>> {
    let mut groups: Vec<Vec<Name>> = Vec::new();
    let mut length = 0;
    for Benchmark { name, .. } in benchmarks {
        length += name.id.len();
        match groups.last_mut() {
            Some(group) if length <= LONGEST_IDS => group.push(name.clone()),
            _ => {
                groups.push(vec![name.clone()]);
                length = name.id.len();
            }
        }
    }
    groups
}

/// True if a benchmark's own code asks for more than the requested time: it took several times as
/// long, and not because a single iteration does.
fn asks_for_more(requested: Duration, execution: &Execution) -> bool {
    /// Criterion.rs takes up to twice the time where no number of iterations fits better.
    const TIMES: u32 = 4;
    /// Shorter executions need not hurry.
    const SHORT: Duration = Duration::from_millis(200);
    let has_iterations =
        |series: &Series| series.iterations.iter().any(|iterations| *iterations > 1);
    let measured = match execution.series.first() {
        Some(series) if has_iterations(series) => execution.measured_time(),
        _ => Duration::ZERO,
    };
    let own = execution.warm_up.unwrap_or_default().saturating_add(measured);
    own > requested.saturating_mul(TIMES).max(SHORT)
}

/// The same request in few measurements, which take the same time together: as many iterations, unless a single one
/// takes longer than a measurement.
fn in_few_measurements(request: &ExecutionRequest) -> ExecutionRequest {
    /// The fewest that every harness takes.
    const FEW: usize = 10;
    let factor = u32::try_from(request.measurements / FEW).unwrap_or(u32::MAX).max(1);
    ExecutionRequest {
        measurements: request.measurements.min(FEW),
        min_time: request.min_time.saturating_mul(factor),
        iterations: request.iterations.map(|iterations| iterations.saturating_mul(factor.into())),
        ..request.clone()
    }
}

/// The same request for a processor that seems slower by [`SLOWNESS`]. The warm-up is longer by
/// that factor, because the harness learns the length of an iteration from it. The time is spent in
/// as few measurements as the harness allows: each one has at least one iteration, even if that is
/// slow.
fn in_a_hurry(request: &ExecutionRequest) -> ExecutionRequest {
    let count = u32::try_from(request.measurements).unwrap_or(u32::MAX);
    ExecutionRequest {
        measurements: 1,
        warm_up: request.warm_up.saturating_mul(SLOWNESS),
        min_time: request.min_time.saturating_mul(count),
        ..request.clone()
    }
}

/// The environment variables that a traced execution read. Only their digest is stored, never the
/// values.
fn inherited(trace: &Trace) -> Vec<(OsString, OsString)> {
    let is_inherited = |name: &OsString| {
        trace.gaps.contains(&IncompleteTrace::AnyVariable)
            || name.to_str().is_some_and(|name| trace.variables.contains(name))
    };
    let mut inherited: Vec<_> =
        secrets::environment().into_iter().filter(|(name, _)| is_inherited(name)).collect();
    inherited.sort();
    inherited
}

fn processor() -> BTreeSet<String> {
    let lines = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_lasting =
        |line: &&str| ["model name", "flags", "Features"].iter().any(|name| line.starts_with(name));
    lines.lines().filter(is_lasting).map(str::to_owned).collect()
}

impl Traceable<'_> {
    pub(super) const fn version(&self) -> &ListedVersion {
        self.version
    }

    pub(super) fn functions(&self) -> BTreeMap<u64, elf::Name> {
        let of = |function: &LinkedFunction| -> Vec<(u64, elf::Name)> {
            let name = |symbol| (instance_of(symbol), function.name.clone());
            function.symbols().map(name).collect()
        };
        self.listed.functions.iter().flat_map(of).collect()
    }

    pub(super) fn options(&self) -> &[String] {
        &self.listed.options
    }

    /// The digest of everything that its executable loads.
    pub(super) const fn program(&self) -> Digest {
        self.listed.program
    }

    /// The trace of a benchmark that needs no execution: the cached one if it is still valid, or
    /// else that of the same program in another version.
    fn known(&self, subject: &Subject<'_>, same_program: Option<&Trace>) -> Result<Option<Trace>> {
        if let Some(TraceCacheEntry { rules: RULES, conditions, trace }) =
            files::read_json(&self.kept_in(subject.benchmark))
            && trace.files == self.files.states(&trace.files)
            && conditions == self.conditions(subject, &trace)
        {
            return Ok(Some(trace));
        }
        let Some(other) = same_program else { return Ok(None) };
        let trace = self.with_own_files(other);
        // With other contents of files, it may take another path: no trace for later versions.
        if trace == *other {
            self.keep(subject, &trace)?;
        }
        Ok(Some(trace))
    }

    /// The trace of the same program in another version, as it would be in this one: only the files
    /// that it reads can be different.
    pub(super) fn with_own_files(&self, other: &Trace) -> Trace {
        Trace { files: self.files.states(&other.files), ..other.clone() }
    }

    fn keep(&self, subject: &Subject<'_>, trace: &Trace) -> Result<()> {
        if trace.is_none() {
            return Ok(());
        }
        let conditions = self.conditions(subject, trace);
        let kept = TraceCacheEntry { rules: RULES, conditions, trace: trace.clone() };
        files::write_json(&self.kept_in(subject.benchmark), &kept)
    }

    /// Digest of everything besides the version that decides the path of an execution.
    fn conditions(&self, subject: &Subject<'_>, trace: &Trace) -> Digest {
        let Subject { harness, executable, request, setup, .. } = subject;
        let own = (harness, &executable.variables, setup);
        let all = format!("{own:?} {request:?} {:?} {:?}", inherited(trace), self.processor);
        Digest::compute(all.as_bytes())
    }

    fn plan(&self, report: PathBuf) -> Plan {
        let addresses_of = |names: &[&str]| -> Vec<u64> {
            let is_one = |function: &&LinkedFunction| {
                function.symbols().any(|symbol| names.contains(&symbol))
            };
            self.listed.functions.iter().filter(is_one).map(|function| function.address).collect()
        };
        let executable = &self.listed.path;
        Plan {
            executable: executable.canonicalize().unwrap_or_else(|_| executable.clone()),
            functions: self.listed.functions.iter().map(|function| function.address).collect(),
            clocks: addresses_of(&CLOCKS),
            clock: addresses_of(&[CLOCK]),
            counter_reads: self.counter_reads.clone(),
            variables: addresses_of(&VARIABLES),
            report,
            ..Plan::default()
        }
    }

    fn path_with_breakpoints(&self) -> PathBuf {
        self.listed.path.with_extension("traced")
    }

    fn kept_in(&self, benchmark: &Benchmark) -> PathBuf {
        let name = Digest::compute(benchmark.name.id.as_bytes());
        self.listed.home.join(TRACES).join(format!("{name}.json"))
    }

    /// Converts an observation to names that mean the same in every version.
    fn trace(&self, observed: Observed) -> Trace {
        let outside = outside_of(&observed, &self.files);
        let instances = |entered: &BTreeSet<usize>| {
            let functions = entered.iter().filter_map(|index| self.listed.functions.get(*index));
            functions.flat_map(LinkedFunction::symbols).map(instance_of).collect()
        };
        let mut paths = files::RealPaths::default();
        let own =
            [&self.listed.path, &self.path_with_breakpoints()].map(|path| paths.resolve(path));
        let read = observed.opened.iter().chain(&observed.programs).map(|path| (path, true));
        let looked_for = observed.looked_for.iter().map(|path| (path, false));
        let mut files = BTreeMap::new();
        for (path, is_opened) in looked_for.chain(read) {
            let real = paths.resolve(path);
            let is_own = own.contains(&real);
            let (path, real) =
                if is_own { (&self.listed.path, own[0].clone()) } else { (path, real) };
            // Statically linked executables look for themselves without reading anything. One that opens itself may
            // execute or decode any of it, so that it is measured.
            if is_opened || !is_own {
                files.extend(self.files.find(path, real, is_opened));
            }
        }
        let all = observed.in_set_up.union(&observed.while_measuring);
        let mut functions = all.filter_map(|index| self.listed.functions.get(*index));
        let reads_all =
            |function: &LinkedFunction| function.name.as_str().starts_with("std::env::vars");
        let mut gaps = Vec::new();
        if observed.unnamed > 0 {
            gaps.push(IncompleteTrace::Unnamed);
        }
        let has_all = |path: &PathBuf| {
            path.starts_with("/proc") && path.file_name() == Some("environ".as_ref())
        };
        if !observed.programs.is_empty()
            || observed.opened.iter().any(has_all)
            || functions.any(reads_all)
        {
            gaps.push(IncompleteTrace::AnyVariable);
        }
        Trace {
            in_set_up: instances(&observed.in_set_up),
            while_measuring: instances(&observed.while_measuring),
            files,
            variables: observed.variables,
            gaps,
            needs: Needs::default(),
            is_private: !observed.is_noticeable,
            outside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Metric,
        testing::{execution, request},
    };

    /// Asks about a benchmark with a request of 1 ms of warm-up and 10 measurements of 1 ms.
    fn asks(warm_up: u64, milliseconds: f64, iterations: u64) -> bool {
        let asked = ExecutionRequest {
            measurements: 10,
            warm_up: Duration::from_millis(1),
            min_time: Duration::from_millis(1),
            ..request()
        };
        let series = Series {
            metric: Metric::wall(),
            values: vec![milliseconds * 1e6 / iterations as f64; 10],
            iterations: vec![iterations; 10],
            resolution: 0.0,
        };
        let warm_up = Some(Duration::from_millis(warm_up));
        let requested = asked.least_time();
        asks_for_more(requested, &Execution { warm_up, ..execution(asked, vec![series]) })
    }

    #[test]
    fn asks_for_more_if_warm_up_or_measurements_are_long() {
        assert!(!asks(1, 1.0, 100));
        assert!(!asks(1, 2.5, 100));
        assert!(asks(1, 50.0, 100));
        assert!(asks(500, 1.0, 100));
    }

    #[test]
    fn names_are_grouped_by_the_length_of_their_ids() {
        let benchmark = |id: String| Benchmark {
            package: "p".to_owned(),
            target: "t".to_owned(),
            name: Name::plain(id),
        };
        let sizes = |lengths: &[usize]| -> Vec<usize> {
            let all: Vec<Benchmark> =
                lengths.iter().map(|length| benchmark("x".repeat(*length))).collect();
            let groups = by_length_of_ids(&all.iter().collect::<Vec<_>>());
            groups.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(&[]), [] as [usize; 0]);
        assert_eq!(sizes(&[5, 5, LONGEST_IDS - 10]), [3]);
        assert_eq!(sizes(&[5, 5, LONGEST_IDS, 1]), [2, 1, 1]);
    }

    #[test]
    fn short_execution_need_not_hurry() {
        assert!(!asks(100, 9.0, 100));
    }

    #[test]
    fn slow_iteration_does_not_ask_for_more() {
        assert!(!asks(1, 50.0, 1));
        assert!(asks(500, 50.0, 1));
    }
}
