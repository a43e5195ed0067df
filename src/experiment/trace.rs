//! Traces of benchmarks: one execution of each version, kept for as long as its compilation is.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{ListedVersion, Runner, version_files::VersionFiles};
use crate::{
    build::{ListedExecutable, files},
    code::{Digest, KeptFunction, Name, instance_of},
    failure::{Exit, Failure, OrFail, Result},
    harness::{Conditions, Executable, Harness, Outcome},
    model::{BenchTarget, Benchmark, ExecutionRequest},
    process::{
        launcher_beside,
        trace::{CLOCKS, Observed, Plan, Tracing, VARIABLES},
    },
    reach::{Gap, Trace},
};

/// Raise this when something else is traced.
const RULES: u32 = 3;

/// The longest warm-up of a traced execution.
const WARM_UP: Duration = Duration::from_millis(1);

/// A trace as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
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
    files: VersionFiles,
    /// The program that traces.
    tracer: Option<PathBuf>,
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
        let place = tempfile::tempdir().or_fail(Exit::Usage, || "cannot make a directory")?;
        let tracer = std::env::current_exe().ok().and_then(|rbench| launcher_beside(&rbench));
        let files = version.files(self.workshop.site.build_path());
        let traceable = Traceable { version, listed, files, tracer, place, processor: processor() };
        let what = || "cannot write what is to be traced";
        let plan = serde_json::to_vec(&traceable.plan()).or_fail(Exit::Internal, what)?;
        fs::write(traceable.plan_path(), plan).or_fail(Exit::Usage, what)?;
        Ok(traceable)
    }

    /// The trace of a benchmark: kept from before, unless the files that it reads have changed, or of an
    /// execution now.
    pub(super) fn trace(&self, of: &Traceable<'_>, benchmark: &Benchmark) -> Result<Trace> {
        let target = of.version.target_of(benchmark).ok_or_else(|| {
            let what = format!("{benchmark} is not in {}", of.version.version);
            Failure::new(Exit::Internal, what)
        })?;
        let executable = Executable { path: of.listed.path.clone(), ..target.executable.clone() };
        let request = self.traced_request(&*target.harness, &executable, benchmark)?;
        let conditions_of = |trace: &Trace| {
            let own = (&target.harness, &executable.variables);
            let all = format!("{own:?} {request:?} {:?} {:?}", inherited(trace), of.processor);
            Digest::of(all.as_bytes())
        };
        let kept_in = of.kept_in(benchmark);
        if let Some(Kept { rules: RULES, conditions, trace }) = files::read_json(&kept_in)
            && trace.files == of.files.states(&trace.files)
            && conditions == conditions_of(&trace)
        {
            return Ok(trace);
        }
        let trace = self.execute_traced(of, &*target.harness, &executable, benchmark, &request)?;
        if !trace.gaps.iter().any(|gap| matches!(gap, Gap::Untraced(_))) {
            let kept =
                Kept { rules: RULES, conditions: conditions_of(&trace), trace: trace.clone() };
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
        let request = self.settings.efforts.of(benchmark).request();
        let iterations = self.tune_by(harness, executable, benchmark, &request)?;
        Ok(ExecutionRequest { warm_up: request.warm_up.min(WARM_UP), iterations, ..request })
    }

    /// The trace of one execution.
    fn execute_traced(
        &self,
        of: &Traceable<'_>,
        harness: &dyn Harness,
        executable: &Executable,
        benchmark: &Benchmark,
        request: &ExecutionRequest,
    ) -> Result<Trace> {
        let Some(tracer) = &of.tracer else {
            return Ok(Trace::none(
                "rbench-launcher, which traces, is not beside rbench".to_owned(),
            ));
        };
        let _ = fs::remove_file(of.report_path());
        let tracing = Tracing { tracer: tracer.clone(), plan: of.plan_path() };
        let conditions = Conditions { tracing: Some(&tracing), ..self.conditions };
        let outcome = harness.execute(executable, &benchmark.name, request, &conditions);
        let observation = fs::read(of.report_path()).ok();
        let observation = observation.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let none = |reason: &str| Ok(Trace::none(reason.to_owned()));
        match (outcome, observation) {
            (Err(failure), _) if failure.exit() == Exit::Interrupted => Err(failure),
            (_, Some(Err::<Observed, String>(reason))) => {
                none(&format!("it cannot be traced: {reason}"))
            }
            (Ok(Outcome::Measured(_)), Some(Ok(observed))) => Ok(of.trace(observed)),
            (Ok(Outcome::Measured(_)), None) => none("it was not traced"),
            (Ok(Outcome::Skipped(_)), _) => none("it chose not to run"),
            (Err(_), _) => none("it fails when it is traced"),
        }
    }
}

/// The variables of this environment that a traced execution asked for. Only their digest is kept, no values.
fn inherited(trace: &Trace) -> Vec<(OsString, OsString)> {
    let is_inherited = |name: &OsString| {
        trace.gaps.contains(&Gap::AnyVariable)
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
        let of = |function: &KeptFunction| -> Vec<(u64, Name)> {
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
            let is_one =
                |function: &&KeptFunction| function.symbols().any(|symbol| names.contains(&symbol));
            self.listed.functions.iter().filter(is_one).map(|function| function.address).collect()
        };
        let executable = &self.listed.path;
        Plan {
            executable: executable.canonicalize().unwrap_or_else(|_| executable.clone()),
            functions: self.listed.functions.iter().map(|function| function.address).collect(),
            clocks: addresses_of(&CLOCKS),
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
        let name = Digest::of(benchmark.name.id.as_bytes());
        self.listed.home.join("traces").join(format!("{name}.json"))
    }

    /// What was observed, in words that mean the same in every version.
    fn trace(&self, observed: Observed) -> Trace {
        let instances = |entered: &BTreeSet<usize>| {
            let functions = entered.iter().filter_map(|index| self.listed.functions.get(*index));
            functions.flat_map(KeptFunction::symbols).map(instance_of).collect()
        };
        let mut files = BTreeMap::new();
        let read = observed.opened.iter().chain(&observed.programs).map(|path| (path, true));
        for (path, is_opened) in observed.looked_for.iter().map(|path| (path, false)).chain(read) {
            files.extend(self.files.find(path, is_opened));
        }
        let all = observed.in_set_up.union(&observed.while_measuring);
        let mut functions = all.filter_map(|index| self.listed.functions.get(*index));
        let reads_all =
            |function: &KeptFunction| function.name.as_str().starts_with("std::env::vars");
        let mut gaps = Vec::new();
        if observed.unnamed > 0 {
            gaps.push(Gap::Unnamed);
        }
        if !observed.programs.is_empty() || functions.any(reads_all) {
            gaps.push(Gap::AnyVariable);
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
