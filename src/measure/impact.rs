//! Impact analysis of the benchmarks of two versions: compares their code, files and variables
//! along the traces.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::PathBuf,
};

use rbench_code::{
    elf::{Digest, FunctionDiff, Name},
    impact::{Differences, FileState, FileUse, Impact, Trace, impact},
};
use tracing::{debug, info_span};

use super::{
    ListedTarget, ListedVersion, Runner,
    outside::KnownOutside,
    trace::{Traceable, has_failed},
    version::VersionFiles,
};
use crate::{
    error::{Exit, Result},
    model::{BenchTarget, Benchmark, CommandLineReader, Version},
};

impl Runner<'_> {
    /// The impact of the changes on benchmarks of both versions, in their order. With `each`, traces
    /// each benchmark by itself, so that the time of its iterations is known. `functions` has
    /// the differences of the functions of each bench target; nothing is known about a target that
    /// is missing there.
    pub fn impact(
        &self,
        versions: &[ListedVersion; 2],
        functions: &[(BenchTarget, FunctionDiff)],
        benchmarks: &[Benchmark],
        each: bool,
    ) -> Result<Impacts> {
        self.forget_needs();
        let compared = versions.each_ref().map(|version| &version.version);
        let differing = self.differing_files(compared);
        // The first iterations show nothing about a file that is read late.
        let without = match differing {
            _ if each => BTreeSet::new(),
            Some(FileUse::Data) => BTreeSet::new(),
            other => self.without_impact(versions, benchmarks, other.is_some())?,
        };
        let complete = are_complete(differing, each);
        let has_none = |benchmark: &Benchmark| without.contains(&benchmark.bench_target());
        let rest: Vec<Benchmark> =
            benchmarks.iter().filter(|one| !has_none(one)).cloned().collect();
        let Impacts { benchmarks: impacts, mut identical, failing } =
            self.impact_on_each(versions, functions, &rest, complete)?;
        let is_identical = |target: &&BenchTarget| have_same_variables(versions, target);
        identical.extend(without.iter().filter(is_identical).cloned());
        let mut impacts = impacts.into_iter();
        let of_benchmark = |benchmark| {
            let traced = if has_none(benchmark) { None } else { impacts.next() };
            traced.unwrap_or_default()
        };
        let benchmarks = benchmarks.iter().map(of_benchmark).collect();
        Ok(Impacts { benchmarks, identical, failing })
    }

    /// Those of these benchmarks of a version that fail under the tracer. The traces are kept for [`impact`](Self::impact)
    /// of these versions.
    pub(super) fn failing_in(
        &self,
        listed: &ListedVersion,
        benchmarks: Vec<Benchmark>,
        versions: [&Version; 2],
        each: bool,
    ) -> Result<Vec<Benchmark>> {
        let complete = are_complete(self.differing_files(versions), each);
        let Traced { traces, .. } = self.traces(listed, &benchmarks, None, complete)?;
        let failing = benchmarks.into_iter().zip(&traces).filter(|(_, trace)| has_failed(trace));
        Ok(failing.map(|(benchmark, _)| benchmark).collect())
    }

    /// The most that a process may do with a file that differs between the versions; `None` if none differs.
    fn differing_files(&self, [base, head]: [&Version; 2]) -> Option<FileUse> {
        if base.tree == head.tree {
            return (base.variant != head.variant).then_some(FileUse::Development);
        }
        let Ok(files) = self.project.repository.changed_files(base, head) else {
            return Some(FileUse::Data);
        };
        files.iter().map(|file| FileUse::of(file)).max()
    }

    /// The bench targets whose program is the same in both versions, and whose benchmarks, executed
    /// together, read nothing that differs. They need no traces of each benchmark: most commits
    /// have no effect on most targets, and a target may have a thousand benchmarks.
    ///
    /// Each executes only one iteration. So if any file differs, benchmarks that read files of the version at all
    /// are traced one by one.
    fn without_impact(
        &self,
        versions: &[ListedVersion; 2],
        benchmarks: &[Benchmark],
        files_differ: bool,
    ) -> Result<BTreeSet<BenchTarget>> {
        let files = self.files(versions);
        let mut without = BTreeSet::new();
        let (mut done, count) = (0, benchmarks.len());
        for target in targets_of(benchmarks) {
            let own = benchmarks.iter().filter(|benchmark| benchmark.bench_target() == target);
            let own: Vec<&Benchmark> = own.collect();
            let can_do_several =
                versions[0].target_of(own[0]).is_some_and(ListedTarget::can_observe_together);
            if own.len() == 1 || !can_do_several || self.project.file.setups().may_have(&target) {
                continue;
            }
            // The compilation of the base is the active one in the end, and is executed.
            let traceable = |version| self.traceable(version, &target);
            let [base, head] = versions;
            let (Ok(head), Ok(base)) = (traceable(head), traceable(base)) else { continue };
            let programs = [&base, &head].map(|one| self.program(&target, one));
            if !programs[0].is_same_in_all(&programs[1]) {
                continue;
            }
            // A variable may be read late, too.
            let same_program = TargetImpact::same_program(versions, &target);
            if !same_program.variables.is_empty() {
                continue;
            }
            let phase = info_span!("trace", version = %versions[0].version, together = own.len());
            self.observer.traced(&versions[0].version, done, count);
            let traces = phase.in_scope(|| self.trace_together(&base, &own))?;
            done += own.len();
            self.observer.traced(&versions[0].version, done, count);
            let Some(traces) = traces else { continue };
            let has_none = |trace: &Trace| {
                let traces = [trace, &head.with_own_files(trace)];
                !(files_differ && trace.files.iter().any(is_input))
                    && impact(&same_program.differences(&files, traces), traces).is_nothing()
            };
            if traces.iter().all(has_none) {
                debug!("nothing that differs is read by any benchmark of {target}");
                without.insert(target);
            }
        }
        Ok(without)
    }

    /// The impact on benchmarks of both versions by the traces of each.
    fn impact_on_each(
        &self,
        versions: &[ListedVersion; 2],
        functions: &[(BenchTarget, FunctionDiff)],
        benchmarks: &[Benchmark],
        complete: bool,
    ) -> Result<Impacts> {
        let [base, head] = versions;
        let in_base = self.traces(base, benchmarks, None, complete)?;
        let in_head = self.traces(head, benchmarks, Some(&in_base), complete)?;
        let traced = [in_base, in_head];
        let targets = targets_of(benchmarks);
        let differences = targets.into_iter().map(|target| {
            let diff = functions.iter().find(|(other, _)| *other == target);
            let of_target =
                TargetImpact::new(versions, &target, diff.map(|(_, diff)| diff), &traced);
            (target, of_target)
        });
        let differences: BTreeMap<BenchTarget, TargetImpact> = differences.collect();
        let identical = differences.iter().filter(|(target, differences)| {
            differences.is_same_program && have_same_variables(versions, target)
        });
        let identical = identical.map(|(target, _)| target.clone()).collect();
        let files = self.files(versions);
        let mut all = Vec::with_capacity(benchmarks.len());
        for (index, benchmark) in benchmarks.iter().enumerate() {
            let of_benchmark = traced.each_ref().map(|traced| &traced.traces[index]);
            let of_target = &differences[&benchmark.bench_target()];
            self.note_needs(benchmark, of_benchmark.map(|trace| trace.needs.clone()));
            self.note_outside(benchmark, KnownOutside::by_traces(of_benchmark));
            let differences = of_target.differences(&files, of_benchmark);
            let mut impact = impact(&differences, of_benchmark);
            impact.uncertainties.extend(self.unseen_setup(benchmark, of_benchmark));
            let Impact { functions, files, variables, uncertainties, .. } = &impact;
            let functions: Vec<&Name> = functions.iter().map(|function| &function.name).collect();
            debug!(
                unaffected = impact.is_nothing(),
                "{benchmark}: changed {functions:?}, files {files:?}, variables {variables:?}, doubts {uncertainties:?}"
            );
            all.push(impact);
        }
        let fails = |index: &usize| traced.iter().any(|one| has_failed(&one.traces[*index]));
        let failing = (0..benchmarks.len()).filter(fails).map(|index| benchmarks[index].clone());
        Ok(Impacts { benchmarks: all, identical, failing: failing.collect() })
    }

    /// The reason why a set-up may do something else in each version that no trace shows: a server answers, or what it
    /// prepared is gone when files are compared.
    fn unseen_setup(&self, benchmark: &Benchmark, traces: [&Trace; 2]) -> Option<String> {
        let setup = self.project.file.setups().of_benchmark(benchmark)?;
        let is_seen = setup.conclude.is_none() && traces.iter().all(|trace| trace.is_private);
        (!is_seen).then(|| "its set-up may do something else".to_owned())
    }

    /// Traces these benchmarks in a version, or takes the traces of another one where a program is
    /// the same in both.
    fn traces(
        &self,
        version: &ListedVersion,
        benchmarks: &[Benchmark],
        other: Option<&Traced>,
        complete: bool,
    ) -> Result<Traced> {
        let count = benchmarks.len();
        let _phase = info_span!("trace", version = %version.version, count).entered();
        self.observer.traced(&version.version, 0, count);
        let mut traces = vec![Trace::default(); count];
        let mut programs = BTreeMap::new();
        let mut done = 0;
        for target in targets_of(benchmarks) {
            let traceable = match self.traceable(version, &target) {
                Err(error) if error.exit() == Exit::Interrupted => return Err(error),
                traceable => traceable,
            };
            let program = traceable.as_ref().map(|one| self.program(&target, one));
            let program = program.unwrap_or_default();
            let same_program =
                other.filter(|other| other.programs[&target].is_same_in_all(&program));
            let is_its = |index: &usize| benchmarks[*index].bench_target() == target;
            let indices: Vec<usize> = (0..count).filter(is_its).collect();
            let mut progress = || {
                done += 1;
                self.observer.traced(&version.version, done, count);
            };
            match &traceable {
                Ok(traceable) => {
                    let with_other = |index: &usize| {
                        let benchmark = &benchmarks[*index];
                        // Each version has its own set-up.
                        let has_setup =
                            self.project.file.setups().of_benchmark(benchmark).is_some();
                        let other = same_program.filter(|_| !has_setup);
                        (benchmark, other.map(|other| &other.traces[*index]))
                    };
                    let own: Vec<_> = indices.iter().map(with_other).collect();
                    let found = self.trace(traceable, &own, complete, &mut progress)?;
                    for (index, trace) in indices.into_iter().zip(found) {
                        traces[index] = trace;
                    }
                }
                Err(error) => {
                    for index in indices {
                        traces[index] = Trace::none(error.what().to_owned());
                        progress();
                    }
                }
            }
            programs.insert(target, program);
        }
        Ok(Traced { traces, programs })
    }

    fn files(&self, versions: &[ListedVersion; 2]) -> [VersionFiles; 2] {
        let files = |version: &ListedVersion| version.files(self.build_env.cache_dirs.build_path());
        versions.each_ref().map(files)
    }

    fn program(&self, target: &BenchTarget, traceable: &Traceable<'_>) -> Program {
        // A program that runs others does what these do, and an implementation is only a part of its program.
        let is_alone = !self.project.file.runs_other_programs(target)
            && !traceable.version().is_implementation();
        Program {
            digest: is_alone.then(|| traceable.program()),
            functions: traceable.functions(),
            options: traceable.options().to_vec(),
        }
    }
}

/// The impact of the changes between two versions on benchmarks.
pub struct Impacts {
    /// The impact on each benchmark, in their order.
    pub benchmarks: Vec<Impact>,
    /// The bench targets whose executables are the same program in both versions.
    pub identical: BTreeSet<BenchTarget>,
    /// The benchmarks that fail under the tracer in some version.
    pub failing: Vec<Benchmark>,
}

/// The traces of benchmarks in a version, in their order.
struct Traced {
    traces: Vec<Trace>,
    programs: BTreeMap<BenchTarget, Program>,
}

/// The executable of a bench target; without data if it cannot be traced.
#[derive(Default)]
struct Program {
    /// The digest of everything that it loads; `None` if that does not decide what it does.
    digest: Option<Digest>,
    functions: BTreeMap<u64, Name>,
    options: Vec<String>,
}

impl Program {
    /// True if both are known to be the same code and data, whose names may differ.
    fn is_same(&self, other: &Self) -> bool {
        self.digest.is_some() && self.digest == other.digest
    }

    /// True if their functions are the same by name too, so that a trace of one is one of the other.
    fn is_same_in_all(&self, other: &Self) -> bool {
        self.is_same(other) && self.functions.keys().eq(other.functions.keys())
    }
}

/// True if each benchmark is traced as long as it is measured: a file that differs may be read late.
fn are_complete(differing: Option<FileUse>, each: bool) -> bool {
    !each && differing == Some(FileUse::Data)
}

/// True for an opened file or directory that is no library of the program: of the checkout, or made by a build script.
fn is_input((path, state): (&PathBuf, &FileState)) -> bool {
    let is_opened = !matches!(state, FileState::Absent | FileState::Directory(None));
    let is_library = || path.components().any(|part| part.as_os_str() == "deps");
    is_opened && (path.starts_with("src") || !is_library())
}

fn have_same_variables(versions: &[ListedVersion; 2], target: &BenchTarget) -> bool {
    let [base, head] = versions.each_ref().map(|version| version.variables_digest(target));
    base == head
}

fn targets_of(benchmarks: &[Benchmark]) -> BTreeSet<BenchTarget> {
    benchmarks.iter().map(Benchmark::bench_target).collect()
}

/// True if a function belongs to one of these crates, or is a method of one of their types.
fn belongs_to(function: &str, crates: &BTreeSet<String>) -> bool {
    let is_root = |(end, _): (usize, &str)| {
        let before = &function[..end];
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_');
        let start = start.map_or(0, |last| last + 1);
        !before[..start].ends_with("::") && crates.contains(&before[start..])
    };
    function.match_indices("::").any(is_root)
}

/// The differences of a bench target between two versions.
#[derive(Default)]
struct TargetImpact {
    /// True if its executable is the same program in both.
    is_same_program: bool,
    functions: FunctionDiff,
    /// The functions of the workspace that both versions have under one symbol.
    common: BTreeMap<u64, Name>,
    variables: BTreeSet<String>,
    /// The variables among them that a variant or cargo's configuration sets.
    configured: BTreeSet<String>,
    everywhere: Vec<String>,
    /// The functions among them with which only the harness reads its command line, by instance.
    command_line: BTreeSet<u64>,
}

impl TargetImpact {
    /// The differences of a target whose program is the same in both, whatever made it, and however
    /// it names its functions.
    fn same_program([base, head]: &[ListedVersion; 2], target: &BenchTarget) -> Self {
        let variables = variables_that_differ(base.variables(target), head.variables(target));
        let is_configured = |name: &&String| base.configures(name) || head.configures(name);
        let configured = variables.iter().filter(is_configured).cloned().collect();
        Self { is_same_program: true, variables, configured, ..Self::default() }
    }

    /// The differences that concern a benchmark with these traces.
    fn differences(&self, files: &[VersionFiles; 2], traces: [&Trace; 2]) -> Differences<'_> {
        Differences {
            functions: &self.functions,
            common: &self.common,
            files: VersionFiles::that_differ(files.each_ref(), traces.map(|trace| &trace.files)),
            variables: &self.variables,
            configured: &self.configured,
            everywhere: &self.everywhere,
            command_line: &self.command_line,
        }
    }

    fn new(
        versions: &[ListedVersion; 2],
        target: &BenchTarget,
        functions: Option<&FunctionDiff>,
        traced: &[Traced; 2],
    ) -> Self {
        let [base, head] = versions;
        let [in_base, in_head] = traced.each_ref().map(|one| &one.programs[target]);
        let same_program = Self::same_program(versions, target);
        if in_base.is_same(in_head) {
            return same_program;
        }
        let mut everywhere = Vec::new();
        if base.compilation.record.rustc != head.compilation.record.rustc {
            everywhere.push("another compiler made it".to_owned());
        }
        if in_base.options != in_head.options {
            everywhere.push("it is linked with other options".to_owned());
        }
        match functions {
            None => everywhere.push("its functions cannot be compared".to_owned()),
            Some(diff) if diff.incomplete => {
                everywhere.push("some of its functions cannot be compared".to_owned());
            }
            Some(diff) => {
                everywhere
                    .extend(diff.elsewhere.iter().map(|phrase| format!("{phrase} may differ")));
            }
        }
        // Only those of the workspace: durations decide what a harness does.
        let is_common = |(instance, name): &(&u64, &Name)| {
            in_head.functions.contains_key(instance) && belongs_to(name.as_str(), &base.crates)
        };
        let common = in_base.functions.iter().filter(is_common);
        Self {
            is_same_program: false,
            functions: functions.cloned().unwrap_or_default(),
            common: common.map(|(instance, name)| (*instance, name.clone())).collect(),
            everywhere,
            command_line: functions
                .map(|diff| command_line(versions, target, diff))
                .unwrap_or_default(),
            ..same_program
        }
    }
}

/// The functions that differ and with which the harness reads its command line, if both versions have the same package:
/// another one may leave other memory allocated when measuring begins.
fn command_line(
    [base, head]: &[ListedVersion; 2],
    target: &BenchTarget,
    diff: &FunctionDiff,
) -> BTreeSet<u64> {
    let readers = base.command_line(target);
    let readers = readers.iter().filter(|reader| head.command_line(target).contains(reader));
    let readers: Vec<&CommandLineReader> = readers.map(|(reader, _)| reader).collect();
    let sized = diff.removed.iter().chain(&diff.added).map(|one| (&one.name, one.instance));
    let changed = diff.changed.iter().map(|one| (&one.name, one.instance));
    let is_one = |name: &Name| readers.iter().any(|reader| reader.has(name.as_str()));
    sized.chain(changed).filter(|(name, _)| is_one(name)).map(|(_, instance)| instance).collect()
}

/// The names of variables whose values differ or that only one version has. The directory of a
/// build script's output is no difference: its files are compared where they are read.
fn variables_that_differ(
    base: &[(OsString, OsString)],
    head: &[(OsString, OsString)],
) -> BTreeSet<String> {
    let [base, head] = [base, head].map(placed);
    let only_in = |one: &BTreeSet<(String, String)>, other: &BTreeSet<(String, String)>| {
        one.difference(other).map(|(name, _)| name.clone()).collect::<Vec<String>>()
    };
    only_in(&base, &head).into_iter().chain(only_in(&head, &base)).collect()
}

/// The variables with `OUT_DIR` in place of the directory of the build script's output.
fn placed(variables: &[(OsString, OsString)]) -> BTreeSet<(String, String)> {
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let made = variables.iter().find(|(name, _)| name == "OUT_DIR").map(|(_, value)| text(value));
    let placed = |value: &OsString| match &made {
        Some(made) => text(value).replace(made, "OUT_DIR"),
        None => text(value),
    };
    variables.iter().map(|(name, value)| (text(name), placed(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn belongs_to_uses_crate_of_path_or_type() {
        let crates = BTreeSet::from(["own".to_owned(), "own_part".to_owned()]);
        for function in [
            "own::f",
            "own_part::f::{{closure}}",
            "<own::T as core::fmt::Debug>::fmt",
            "core::ptr::drop_in_place<own::T>",
            "<&mut own::T as core::iter::Iterator>::next",
        ] {
            assert!(belongs_to(function, &crates), "{function}");
        }
        for function in ["ceil", "own", "core::own::f", "known::f", "<std::io::Error>::drop", ""] {
            assert!(!belongs_to(function, &crates), "{function}");
        }
    }

    #[test]
    fn variables_differ_regardless_of_out_dir() {
        let variables = |pairs: &[(&str, &str)]| -> Vec<(OsString, OsString)> {
            pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
        };
        let base = variables(&[("OUT_DIR", "/at/x-1/out"), ("DATA", "/at/x-1/out/d"), ("A", "1")]);
        let head = variables(&[("OUT_DIR", "/at/x-2/out"), ("DATA", "/at/x-2/out/d"), ("A", "1")]);
        assert_eq!(variables_that_differ(&base, &head), BTreeSet::new());
        let head = variables(&[("OUT_DIR", "/at/x-2/out"), ("A", "2"), ("B", "3")]);
        let differ = ["A", "B", "DATA"].map(str::to_owned);
        assert_eq!(variables_that_differ(&base, &head), BTreeSet::from(differ));
    }
}
