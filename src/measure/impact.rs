//! Impact analysis of the benchmarks of two versions: compares their code, files and variables
//! along the traces.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
};

use tracing::{debug, info_span};

use super::{ListedVersion, Runner, trace::Traceable, version::VersionFiles};
use crate::{
    elf::{Digest, FunctionDiff, Name},
    error::{Exit, Result},
    impact::{Differences, Impact, Trace, impact},
    model::{BenchTarget, Benchmark},
};

impl Runner<'_> {
    /// The impact of the changes on benchmarks of both versions, in their order. `functions` has
    /// the differences of the functions of each bench target; nothing is known about a target that
    /// is missing there.
    pub fn impact(
        &self,
        versions: &[ListedVersion; 2],
        functions: &[(BenchTarget, FunctionDiff)],
        benchmarks: &[Benchmark],
    ) -> Result<Impacts> {
        let [base, head] = versions;
        let in_base = self.traces(base, benchmarks, None)?;
        let in_head = self.traces(head, benchmarks, Some(&in_base))?;
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
            differences.is_same_program
                && base.variables_digest(target) == head.variables_digest(target)
        });
        let identical = identical.map(|(target, _)| target.clone()).collect();
        let files = || self.build_env.cache_dirs.build_path();
        let files = [&base.files(files()), &head.files(files())];
        let mut all = Vec::with_capacity(benchmarks.len());
        for (index, benchmark) in benchmarks.iter().enumerate() {
            let of_benchmark = traced.each_ref().map(|traced| &traced.traces[index]);
            let of_target = &differences[&benchmark.bench_target()];
            let differences = Differences {
                functions: &of_target.functions,
                common: &of_target.common,
                files: VersionFiles::that_differ(files, of_benchmark.map(|trace| &trace.files)),
                variables: &of_target.variables,
                everywhere: &of_target.everywhere,
            };
            let impact = impact(&differences, of_benchmark);
            let Impact { functions, files, variables, uncertainties } = &impact;
            let functions: Vec<&Name> = functions.iter().map(|function| &function.name).collect();
            debug!(
                unaffected = impact.is_nothing(),
                "{benchmark}: changed {functions:?}, files {files:?}, variables {variables:?}, doubts {uncertainties:?}"
            );
            all.push(impact);
        }
        Ok(Impacts { benchmarks: all, identical })
    }

    /// Traces these benchmarks in a version, or takes the traces of another one where a program is
    /// the same in both.
    fn traces(
        &self,
        version: &ListedVersion,
        benchmarks: &[Benchmark],
        other: Option<&Traced>,
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
            let same_program = other.filter(|other| {
                let known = &other.programs[&target];
                known.is_same(&program) && known.functions.keys().eq(program.functions.keys())
            });
            let is_its = |index: &usize| benchmarks[*index].bench_target() == target;
            let indices: Vec<usize> = (0..count).filter(is_its).collect();
            let mut progress = || {
                done += 1;
                self.observer.traced(&version.version, done, count);
            };
            match &traceable {
                Ok(traceable) => {
                    let with_other = |index: &usize| {
                        (&benchmarks[*index], same_program.map(|other| &other.traces[*index]))
                    };
                    let own: Vec<_> = indices.iter().map(with_other).collect();
                    let found = self.trace(traceable, &own, &mut progress)?;
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

    fn program(&self, target: &BenchTarget, traceable: &Traceable<'_>) -> Program {
        // A program that runs others does what these do.
        let is_alone = !self.project.file.runs_other_programs(target);
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
}

/// The traces of benchmarks in a version, in their order.
struct Traced {
    traces: Vec<Trace>,
    /// The executable of each bench target.
    programs: BTreeMap<BenchTarget, Program>,
}

/// The executable of a bench target; without data if it cannot be traced.
#[derive(Default)]
struct Program {
    /// The digest of everything that it loads; `None` if that does not decide what it does.
    digest: Option<Digest>,
    /// Its functions, by instance.
    functions: BTreeMap<u64, Name>,
    /// The options that it is linked with.
    options: Vec<String>,
}

impl Program {
    /// True if both are known to be the same code and data, whose names may differ.
    fn is_same(&self, other: &Self) -> bool {
        self.digest.is_some() && self.digest == other.digest
    }
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
    everywhere: Vec<String>,
}

impl TargetImpact {
    fn new(
        versions: &[ListedVersion; 2],
        target: &BenchTarget,
        functions: Option<&FunctionDiff>,
        traced: &[Traced; 2],
    ) -> Self {
        let [base, head] = versions;
        let variables = variables_that_differ(base.variables(target), head.variables(target));
        let [in_base, in_head] = traced.each_ref().map(|one| &one.programs[target]);
        if in_base.is_same(in_head) {
            // Whatever made it, and however it names its functions.
            return Self { is_same_program: true, variables, ..Self::default() };
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
            variables,
            everywhere,
        }
    }
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
