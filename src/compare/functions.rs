//! The functions of two versions by bench target.

use rbench_code::elf::FunctionSet;

use crate::{
    error::{Error, Exit, Result},
    measure::{ListedVersion, Runner},
    model::{BenchTarget, Benchmark},
};

/// The functions of each bench target of two versions: base and head.
pub struct Functions(pub [Vec<(BenchTarget, FunctionSet)>; 2]);

impl Functions {
    pub fn load(runner: &Runner<'_>, [base, head]: &[ListedVersion; 2]) -> Result<Self> {
        Ok(Self([runner.functions(base)?, runner.functions(head)?]))
    }

    /// The results of `compare` for each bench target that both versions have, with the functions
    /// of base and head.
    pub fn compare_targets<T>(
        &self,
        compare: impl Fn(&BenchTarget, &FunctionSet, &FunctionSet) -> T,
    ) -> Vec<T> {
        let Self([base, head]) = self;
        let compare = |(target, base): &(BenchTarget, FunctionSet)| {
            let (_, head) = head.iter().find(|(other, _)| other == target)?;
            Some(compare(target, base, head))
        };
        base.iter().filter_map(compare).collect()
    }

    /// The functions of a bench target in base and head; `None` unless both versions have it.
    pub fn target_functions(&self, target: &BenchTarget) -> Option<[&FunctionSet; 2]> {
        let Self([base, head]) = self;
        let of = |version: &'_ [(BenchTarget, FunctionSet)]| {
            version.iter().position(|(other, _)| other == target)
        };
        Some([&base[of(base)?].1, &head[of(head)?].1])
    }

    /// The functions of a benchmark's bench target in base and head.
    pub(super) fn sets_of(&self, benchmark: &Benchmark) -> Result<[&FunctionSet; 2]> {
        let target = benchmark.bench_target();
        self.target_functions(&target).ok_or_else(|| {
            Error::new(Exit::Internal, format!("the functions of {target} are not known"))
        })
    }

    /// The bench targets that only the base has, and those that only the head has.
    pub fn unmatched_targets(&self) -> [Vec<BenchTarget>; 2] {
        let Self([base, head]) = self;
        let only_in = |one: &[(BenchTarget, FunctionSet)], other: &[(BenchTarget, FunctionSet)]| {
            let is_alone = |target: &&BenchTarget| other.iter().all(|(known, _)| known != *target);
            one.iter().map(|(target, _)| target).filter(is_alone).cloned().collect()
        };
        [only_in(base, head), only_in(head, base)]
    }
}
