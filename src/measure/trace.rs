//! Traces of benchmarks: one execution of each version, kept for as long as its compilation is.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{ListedVersion, Runner, version::VersionFiles};
use crate::{
    builds::{ListedExecutable, files, this_executable},
    elf::{Digest, LinkedFunction, Name, instance_of},
    error::{Context, Error, Exit, Result},
    harness::{Conditions, Executable, Harness},
    impact::{IncompleteTrace, Trace},
    model::{BenchTarget, Benchmark, Execution, ExecutionRequest, HarnessKind, Outcome, Series},
    process::trace::{CLOCK, CLOCKS, Observed, Plan, Tracing, VARIABLES},
};

/// Raise this when something else is traced.
const RULES: u32 = 4;

/// The longest warm-up of a traced execution.
const WARM_UP: Duration = Duration::from_millis(1);

/// How many times as slow the processor seems to a benchmark whose own code asks for more time than is requested. So it
/// executes a fraction of what it asks for: for 3 s, about as much as others do.
const SLOWNESS: u32 = 50;

/// A trace as it is kept.
#[derive(Serialize, Deserialize)]
struct TraceCacheEntry {
    rules: u32,
    /// A digest of what decides, besides the version, which way an execution takes: how the harness runs it, what
    /// is requested, the processor, and the variables that it asked for.
    conditions: Digest,
    trace: Trace,
}

/// A bench target of a version whose benchmarks can be traced.
pub(super) struct Traceable<'v> {
    version: &'v ListedVersion,
    listed: ListedExecutable,
    /// Whether the benchmark that was traced last asks for more time than was requested.
    asks_for_more: Cell<bool>,
    files: VersionFiles,
    /// The program that traces.
    tracer: PathBuf,
    place: TempDir,
    /// The lines of the kernel that tell what the processor can do.
    processor: BTreeSet<String>,
}

impl Runner<'_> {
    /// A bench target of a version, ready to be traced. Its compilation becomes the active one.
    pub(super) fn traceable<'v>(
        &self,
        version: &'v ListedVersion,
        target: &BenchTarget,
    ) -> Result<Traceable<'v>> {
        let listed = self.workshop.listed_executable(&version.compilation, target)?;
        let place = tempfile::tempdir().context(Exit::Usage, || "cannot make a directory")?;
        let tracer = this_executable()?;
        let files = version.files(self.workshop.cache_dirs.build_path());
        let (asks_for_more, processor) = (Cell::new(false), processor());
        let traceable =
            Traceable { version, listed, asks_for_more, files, tracer, place, processor };
        let what = || "cannot write what is to be traced";
        let plan = serde_json::to_vec(&traceable.plan()).context(Exit::Internal, what)?;
        fs::write(traceable.plan_path(), plan).context(Exit::Usage, what)?;
        Ok(traceable)
    }

    /// The trace of a benchmark: kept from before, unless the files that it reads have changed, or of an
    /// execution now.
    pub(super) fn trace(&self, of: &Traceable<'_>, benchmark: &Benchmark) -> Result<Trace> {
        let target = of.version.target_of(benchmark).ok_or_else(|| {
            let what = format!("{benchmark} is not in {}", of.version.version);
            Error::new(Exit::Internal, what)
        })?;
        let executable = Executable { path: of.listed.path.clone(), ..target.executable.clone() };
        let request = self.traced_request(&*target.harness, &executable, benchmark)?;
        let conditions_of = |trace: &Trace| {
            let own = (&target.harness, &executable.variables);
            let all = format!("{own:?} {request:?} {:?} {:?}", inherited(trace), of.processor);
            Digest::compute(all.as_bytes())
        };
        let kept_in = of.kept_in(benchmark);
        if let Some(TraceCacheEntry { rules: RULES, conditions, trace }) =
            files::read_json(&kept_in)
            && trace.files == of.files.states(&trace.files)
            && conditions == conditions_of(&trace)
        {
            return Ok(trace);
        }
        let trace = self.execute_traced(of, &*target.harness, &executable, benchmark, &request)?;
        if !trace.gaps.iter().any(|gap| matches!(gap, IncompleteTrace::Untraced(_))) {
            let kept = TraceCacheEntry {
                rules: RULES,
                conditions: conditions_of(&trace),
                trace: trace.clone(),
            };
            files::write_json(&kept_in, &kept)?;
        }
        Ok(trace)
    }

    /// What a traced execution is asked to do: to measure as it will be measured, with the iterations that were
    /// found for it, but to warm up only as long as a harness must. What is executed then is executed when it
    /// measures too.
    fn traced_request(
        &self,
        harness: &dyn Harness,
        executable: &Executable,
        benchmark: &Benchmark,
    ) -> Result<ExecutionRequest> {
        let request = self.settings.efforts.for_benchmark(benchmark).request();
        let iterations = self.tune_by(harness, executable, benchmark, &request)?;
        Ok(ExecutionRequest { warm_up: request.warm_up.min(WARM_UP), iterations, ..request })
    }

    /// The trace of an execution, which takes seconds if the benchmark's own code asks for seconds. Benchmarks of one
    /// target mostly ask for the same, so it is in a hurry if the one before did; and executed again if this one
    /// does not: what follows the request is traced in all that it is asked to do.
    fn execute_traced(
        &self,
        of: &Traceable<'_>,
        harness: &dyn Harness,
        executable: &Executable,
        benchmark: &Benchmark,
        request: &ExecutionRequest,
    ) -> Result<Trace> {
        let execute = |request: &ExecutionRequest, slowness: u32| {
            self.execute_once_traced(of, harness, executable, benchmark, (request, slowness))
        };
        // With other harnesses, the clock does not decide how much is executed.
        let is_by_clock = harness.kind() == HarnessKind::Criterion;
        let asks_for_more = |execution: Option<Execution>| {
            is_by_clock && execution.is_some_and(|one| asks_for_more(request.least_time(), &one))
        };
        if of.asks_for_more.get() {
            let (trace, execution) = execute(&in_a_hurry(request), SLOWNESS)?;
            if asks_for_more(execution) {
                return Ok(trace);
            }
        }
        let (trace, execution) = execute(request, 1)?;
        of.asks_for_more.set(asks_for_more(execution));
        Ok(trace)
    }

    /// The trace of one execution on a processor that seems to it so many times as slow; and the execution, if it
    /// measured.
    fn execute_once_traced(
        &self,
        of: &Traceable<'_>,
        harness: &dyn Harness,
        executable: &Executable,
        benchmark: &Benchmark,
        (request, slowness): (&ExecutionRequest, u32),
    ) -> Result<(Trace, Option<Execution>)> {
        let _ = fs::remove_file(of.report_path());
        let (tracer, plan) = (of.tracer.clone(), of.plan_path());
        let tracing = Tracing { tracer, plan, ahead: slowness - 1 };
        let conditions = Conditions { tracing: Some(&tracing), ..self.conditions };
        let outcome = harness.execute(executable, &benchmark.name, request, &conditions);
        let observation = fs::read(of.report_path()).ok();
        let observation = observation.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let none = |reason: &str| Ok((Trace::none(reason.to_owned()), None));
        match (outcome, observation) {
            (Err(failure), _) if failure.exit() == Exit::Interrupted => Err(failure),
            (_, Some(Err::<Observed, String>(reason))) => {
                none(&format!("it cannot be traced: {reason}"))
            }
            (Ok(Outcome::Measured(execution)), Some(Ok(observed))) => {
                Ok((of.trace(observed), Some(execution)))
            }
            (Ok(Outcome::Measured(_)), None) => none("it was not traced"),
            (Ok(Outcome::Skipped(_)), _) => none("it chose not to run"),
            (Err(_), _) => none("it fails when it is traced"),
        }
    }
}

/// Whether a benchmark's own code asks for more than the requested time: it took several times as long, and not
/// because one iteration does.
fn asks_for_more(requested: Duration, execution: &Execution) -> bool {
    /// Criterion.rs takes up to twice the time where it finds no numbers of iterations that suit it better.
    const TIMES: u32 = 4;
    /// Who takes less need not hurry.
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

/// The same on a processor that seems so slow. The warm-up is as much longer, since the harness learns from it how long
/// an iteration takes. The time is in as few measurements as the harness takes: of an iteration that is slow, each has one
/// at least.
fn in_a_hurry(request: &ExecutionRequest) -> ExecutionRequest {
    let count = u32::try_from(request.measurements).unwrap_or(u32::MAX);
    ExecutionRequest {
        measurements: 1,
        warm_up: request.warm_up.saturating_mul(SLOWNESS),
        min_time: request.min_time.saturating_mul(count),
        ..request.clone()
    }
}

/// The variables of this environment that a traced execution asked for. Only their digest is kept, no values.
fn inherited(trace: &Trace) -> Vec<(OsString, OsString)> {
    let is_inherited = |name: &OsString| {
        trace.gaps.contains(&IncompleteTrace::AnyVariable)
            || name.to_str().is_some_and(|name| trace.variables.contains(name))
    };
    let mut inherited: Vec<_> =
        std::env::vars_os().filter(|(name, _)| is_inherited(name)).collect();
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
    /// The functions, by instance.
    pub(super) fn functions(&self) -> BTreeMap<u64, Name> {
        let of = |function: &LinkedFunction| -> Vec<(u64, Name)> {
            let name = |symbol| (instance_of(symbol), function.name.clone());
            function.symbols().map(name).collect()
        };
        self.listed.functions.iter().flat_map(of).collect()
    }

    /// The options that it is linked with.
    pub(super) fn options(&self) -> &[String] {
        &self.listed.options
    }

    fn plan(&self) -> Plan {
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
            variables: addresses_of(&VARIABLES),
            report: self.report_path(),
        }
    }

    fn plan_path(&self) -> PathBuf {
        self.place.path().join("plan.json")
    }

    fn report_path(&self) -> PathBuf {
        self.place.path().join("observed.json")
    }

    fn kept_in(&self, benchmark: &Benchmark) -> PathBuf {
        let name = Digest::compute(benchmark.name.id.as_bytes());
        self.listed.home.join("traces").join(format!("{name}.json"))
    }

    /// What was observed, in words that mean the same in every version.
    fn trace(&self, observed: Observed) -> Trace {
        let instances = |entered: &BTreeSet<usize>| {
            let functions = entered.iter().filter_map(|index| self.listed.functions.get(*index));
            functions.flat_map(LinkedFunction::symbols).map(instance_of).collect()
        };
        let mut files = BTreeMap::new();
        let read = observed.opened.iter().chain(&observed.programs).map(|path| (path, true));
        for (path, is_opened) in observed.looked_for.iter().map(|path| (path, false)).chain(read) {
            files.extend(self.files.find(path, is_opened));
        }
        let all = observed.in_set_up.union(&observed.while_measuring);
        let mut functions = all.filter_map(|index| self.listed.functions.get(*index));
        let reads_all =
            |function: &LinkedFunction| function.name.as_str().starts_with("std::env::vars");
        let mut gaps = Vec::new();
        if observed.unnamed > 0 {
            gaps.push(IncompleteTrace::Unnamed);
        }
        if !observed.programs.is_empty() || functions.any(reads_all) {
            gaps.push(IncompleteTrace::AnyVariable);
        }
        Trace {
            in_set_up: instances(&observed.in_set_up),
            while_measuring: instances(&observed.while_measuring),
            files,
            variables: observed.variables,
            gaps,
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

    /// Whether a benchmark asks for more that was asked to warm up for 1 ms and to take 10 measurements of 1 ms.
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
    fn who_warms_up_or_measures_for_much_longer_than_was_requested_asks_for_more() {
        assert!(!asks(1, 1.0, 100));
        assert!(!asks(1, 2.5, 100));
        assert!(asks(1, 50.0, 100));
        assert!(asks(500, 1.0, 100));
    }

    #[test]
    fn what_takes_a_moment_need_not_hurry() {
        assert!(!asks(100, 9.0, 100));
    }

    #[test]
    fn a_slow_iteration_asks_for_nothing() {
        assert!(!asks(1, 50.0, 1));
        assert!(asks(500, 50.0, 1));
    }
}
