//! Which benchmarks of two versions are measured: those that reach something that differs.

use super::{functions::Functions, warning::Warning};
use crate::{
    elf::{FunctionDiff, FunctionSet},
    error::Result,
    impact::Impact,
    measure::{Builds, ListedVersion, Runner},
    model::{BenchTarget, Benchmark, SkipReason},
    verdict::are_identical,
};

/// The benchmarks of two versions, and which of them are measured.
pub struct Selection {
    /// The benchmarks that both versions have, in the head's order.
    pub common: Vec<Benchmark>,
    /// Those of them that are measured.
    pub measured: Vec<Benchmark>,
    /// What each of the common ones reaches.
    reach: Vec<Impact>,
    /// How the functions of each bench target differ, as far as they can be compared.
    functions: Vec<(BenchTarget, FunctionDiff)>,
}

impl Selection {
    /// Compares functions, and traces what has not been traced yet. With `all`, benchmarks are measured that
    /// reach nothing that differs, too.
    pub fn new(
        runner: &Runner<'_>,
        versions: &[ListedVersion; 2],
        all: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self> {
        Self::select(runner, versions, common_benchmarks(versions), all, warnings)
    }

    /// The same, of these benchmarks that both versions have.
    pub fn select(
        runner: &Runner<'_>,
        versions: &[ListedVersion; 2],
        common: Vec<Benchmark>,
        all: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self> {
        let functions = functions_that_differ(runner, versions, warnings);
        let reach = runner.impact(versions, &functions, &common)?;
        let is_measured = |(_, reach): &(&Benchmark, &Impact)| all || !reach.is_nothing();
        let measured = common.iter().zip(&reach).filter(is_measured);
        let measured = measured.map(|(benchmark, _)| benchmark.clone()).collect();
        Ok(Self { common, measured, reach, functions })
    }

    /// These benchmarks, all of which are measured, whatever they reach.
    pub fn from_benchmarks(benchmarks: Vec<Benchmark>) -> Self {
        let measured = benchmarks.clone();
        Self { common: benchmarks, measured, reach: Vec::new(), functions: Vec::new() }
    }

    /// What one of the common benchmarks reaches.
    pub fn impact(&self, benchmark: &Benchmark) -> Option<&Impact> {
        let place = self.common.iter().position(|other| other == benchmark)?;
        self.reach.get(place)
    }

    /// The benchmarks whose bench targets are linked: what is measured, and what may be the same program.
    pub fn linked(&self) -> Vec<Benchmark> {
        let may_be_identical = |benchmark: &Benchmark| {
            let target = benchmark.bench_target();
            let diff = self.functions.iter().find(|(other, _)| *other == target);
            diff.is_none_or(|(_, diff)| diff.is_empty())
        };
        let is_linked = |one: &&Benchmark| self.measured.contains(one) || may_be_identical(one);
        self.common.iter().filter(is_linked).cloned().collect()
    }

    /// The benchmarks that are not measured, since they reach nothing that differs.
    pub fn unaffected(&self) -> Vec<(Benchmark, SkipReason)> {
        let is_unmeasured = |benchmark: &&Benchmark| !self.measured.contains(benchmark);
        let unmeasured = self.common.iter().filter(is_unmeasured);
        unmeasured.map(|benchmark| (benchmark.clone(), SkipReason::Unaffected)).collect()
    }

    /// The same, where it is known which of them are the same machine code. What was not linked is known to differ.
    pub fn unmeasured(&self, builds: &Builds) -> Vec<(Benchmark, SkipReason)> {
        let sameness = |benchmark: &Benchmark| {
            let target = benchmark.bench_target();
            let [base, head] = [0, 1].map(|version| builds.programs(version, &target));
            if are_identical(&base, &head) { SkipReason::Identical } else { SkipReason::Unaffected }
        };
        let unaffected = self.unaffected().into_iter();
        unaffected.map(|(one, _)| (one.clone(), sameness(&one))).collect()
    }

    /// How functions differ in the bench targets that are measured, of those that `is_told` wants.
    pub fn reported_functions(
        &self,
        is_told: impl Fn(&BenchTarget) -> bool,
    ) -> Vec<(BenchTarget, FunctionDiff)> {
        let is_measured =
            |target: &BenchTarget| self.measured.iter().any(|one| one.bench_target() == *target);
        let told = self.functions.iter().filter(|(one, _)| is_measured(one) && is_told(one));
        told.cloned().collect()
    }
}

/// The benchmarks that both versions have, in the head's order.
pub fn common_benchmarks([base, head]: &[ListedVersion; 2]) -> Vec<Benchmark> {
    let base = base.benchmarks();
    head.benchmarks().into_iter().filter(|benchmark| base.contains(benchmark)).collect()
}

/// The benchmarks of one version that the other lacks.
pub fn benchmarks_only_in(one: &ListedVersion, other: &ListedVersion) -> Vec<Benchmark> {
    let others = other.benchmarks();
    one.benchmarks().into_iter().filter(|benchmark| !others.contains(benchmark)).collect()
}

/// How the functions of each bench target of both versions differ. That they cannot be compared is no reason
/// not to measure.
fn functions_that_differ(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    warnings: &mut Vec<Warning>,
) -> Vec<(BenchTarget, FunctionDiff)> {
    match Functions::load(runner, versions) {
        Ok(functions) => functions
            .compare_targets(|target, base, head| (target.clone(), FunctionSet::diff(base, head))),
        Err(failure) => {
            let reason = failure.what().to_owned();
            warnings.push(Warning::FunctionsUnknown { reason });
            Vec::new()
        }
    }
}
