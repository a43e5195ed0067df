//! Selects the benchmarks of two versions to measure: those on which the changes have an impact.

use std::{collections::BTreeSet, mem};

use rbench_code::{
    elf::{FunctionDiff, FunctionSet},
    impact::Impact,
};

use super::{functions::Functions, warning::Warning};
use crate::{
    error::Result,
    measure::{Builds, Impacts, ListedVersion, Runner},
    model::{BenchTarget, Benchmark, SkipReason},
    verdict::are_identical,
};

/// The benchmarks of two versions, and the selection of those to measure.
pub struct Selection {
    /// The benchmarks that both versions have, in the head's order.
    pub common: Vec<Benchmark>,
    pub measured: Vec<Benchmark>,
    /// The impact of the changes on each of the common benchmarks.
    impacts: Vec<Impact>,
    /// The differences of functions by bench target, where they can be compared.
    functions: Vec<(BenchTarget, FunctionDiff)>,
    /// The bench targets whose executables are the same program in both versions.
    identical: BTreeSet<BenchTarget>,
    /// Those to measure that fail under the tracer in some version.
    pub failing: Vec<Benchmark>,
}

impl Selection {
    /// Compares functions, and traces benchmarks that were not traced yet. With `all`, selects
    /// benchmarks without impact too.
    pub fn new(
        runner: &Runner<'_>,
        versions: &[ListedVersion; 2],
        all: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self> {
        Self::select(runner, versions, common_benchmarks(versions), all, warnings)
    }

    /// The same, restricted to these benchmarks, which both versions have.
    pub fn select(
        runner: &Runner<'_>,
        versions: &[ListedVersion; 2],
        common: Vec<Benchmark>,
        all: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self> {
        let functions = functions_that_differ(runner, versions, warnings);
        let Impacts { benchmarks: impacts, identical, failing } =
            runner.impact(versions, &functions, &common, all)?;
        let is_measured = |(_, impact): &(&Benchmark, &Impact)| all || !impact.is_nothing();
        let measured = common.iter().zip(&impacts).filter(is_measured);
        let measured = measured.map(|(benchmark, _)| benchmark.clone()).collect();
        Ok(Self { common, measured, impacts, functions, identical, failing })
    }

    /// Selects all of these benchmarks, without impact analysis.
    pub fn from_benchmarks(benchmarks: Vec<Benchmark>) -> Self {
        let measured = benchmarks.clone();
        Self {
            common: benchmarks,
            measured,
            impacts: Vec::new(),
            functions: Vec::new(),
            identical: BTreeSet::new(),
            failing: Vec::new(),
        }
    }

    /// Leaves out benchmarks, which are then neither linked nor measured nor skipped.
    pub fn leave_out(&mut self, benchmarks: &[Benchmark]) {
        let common = mem::take(&mut self.common).into_iter();
        let mut impacts = mem::take(&mut self.impacts).into_iter();
        for benchmark in common {
            let impact = impacts.next();
            if !benchmarks.contains(&benchmark) {
                self.common.push(benchmark);
                self.impacts.extend(impact);
            }
        }
        self.measured.retain(|one| !benchmarks.contains(one));
    }

    pub fn impact(&self, benchmark: &Benchmark) -> Option<&Impact> {
        let place = self.common.iter().position(|other| other == benchmark)?;
        self.impacts.get(place)
    }

    /// The benchmarks whose bench targets are linked: those to measure, and those whose programs
    /// may be identical in other layouts. Programs that are identical in the linker's default order
    /// need no builds.
    pub fn linked(&self) -> Vec<Benchmark> {
        let may_be_identical = |benchmark: &Benchmark| {
            let target = benchmark.bench_target();
            let diff = self.functions.iter().find(|(other, _)| *other == target);
            !self.identical.contains(&target) && diff.is_none_or(|(_, diff)| diff.is_empty())
        };
        let is_linked = |one: &&Benchmark| self.measured.contains(one) || may_be_identical(one);
        self.common.iter().filter(is_linked).cloned().collect()
    }

    /// The skipped benchmarks: the changes have no impact on them.
    pub fn unaffected(&self) -> Vec<(Benchmark, SkipReason)> {
        let is_unmeasured = |benchmark: &&Benchmark| !self.measured.contains(benchmark);
        let unmeasured = self.common.iter().filter(is_unmeasured);
        unmeasured.map(|benchmark| (benchmark.clone(), SkipReason::Unaffected)).collect()
    }

    /// The skipped benchmarks, with those marked that are the same machine code. Targets that were
    /// not linked are known to differ.
    pub fn unmeasured(&self, builds: &Builds) -> Vec<(Benchmark, SkipReason)> {
        let skip_reason = |benchmark: &Benchmark| {
            let target = benchmark.bench_target();
            let [base, head] = [0, 1].map(|version| builds.programs(version, &target));
            if self.identical.contains(&target) || are_identical(&base, &head) {
                SkipReason::Identical
            } else {
                SkipReason::Unaffected
            }
        };
        let unaffected = self.unaffected().into_iter();
        unaffected.map(|(one, _)| (one.clone(), skip_reason(&one))).collect()
    }

    /// The differences of functions in bench targets that are measured, are not identical, and that `is_reported` accepts.
    pub fn reported_functions(
        &self,
        is_reported: impl Fn(&BenchTarget) -> bool,
    ) -> Vec<(BenchTarget, FunctionDiff)> {
        let is_measured = |target: &BenchTarget| {
            !self.identical.contains(target)
                && self.measured.iter().any(|one| one.bench_target() == *target)
        };
        let reported =
            self.functions.iter().filter(|(one, _)| is_measured(one) && is_reported(one));
        reported.cloned().collect()
    }
}

/// The benchmarks that both versions have, in the head's order.
pub fn common_benchmarks([base, head]: &[ListedVersion; 2]) -> Vec<Benchmark> {
    let base = base.benchmarks();
    head.benchmarks().into_iter().filter(|benchmark| base.contains(benchmark)).collect()
}

/// The differences of functions in each bench target of both versions. If they cannot be compared,
/// that is only a warning: benchmarks are measured nevertheless.
fn functions_that_differ(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    warnings: &mut Vec<Warning>,
) -> Vec<(BenchTarget, FunctionDiff)> {
    match Functions::load(runner, versions) {
        Ok(functions) => functions
            .compare_targets(|target, base, head| (target.clone(), FunctionSet::diff(base, head))),
        Err(error) => {
            let reason = error.what().to_owned();
            warnings.push(Warning::FunctionsUnknown { reason });
            Vec::new()
        }
    }
}
