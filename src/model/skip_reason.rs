//! The reasons why a benchmark is not measured: it behaves the same, or one version does not have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BenchTarget, Benchmark};

/// Why a benchmark needs no measurement: it behaves the same in all versions of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The executables do not differ at all.
    Identical,
    /// The machine code that it executes and the data that it reads do not differ.
    Unaffected,
}

names!(SkipReason { Identical = "identical", Unaffected = "unaffected", });

/// Why one of two versions lacks a benchmark of the other.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// Its bench target lists other benchmarks.
    Undefined,
    /// It is marked to be ignored.
    Ignored,
    /// The version has no such bench target.
    NoTarget,
    /// Its bench target has lost `harness = false`: libtest runs it instead, which finds no benchmark.
    NoHarness,
    /// Its bench target lists no benchmark.
    EmptyTarget,
    /// Its bench target needs features that are off.
    Features,
    /// Its package is not among the selected ones.
    Unselected,
    /// Its bench target could not be listed.
    Unlisted,
    /// No result of it is stored.
    NotStored,
}

impl Absence {
    /// The reason for people, about the version that lacks the benchmark.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Undefined => "not defined",
            Self::Ignored => "ignored",
            Self::NoTarget => "no such bench target",
            Self::NoHarness => "the bench target has no `harness = false`",
            Self::EmptyTarget => "the bench target lists no benchmark",
            Self::Features => "the bench target needs features that are off",
            Self::Unselected => "the package is not selected",
            Self::Unlisted => "the bench target cannot be listed",
            Self::NotStored => "no result is stored",
        }
    }
}

/// A benchmark that a version of an experiment lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsentBenchmark {
    pub benchmark: Benchmark,
    /// The index of the version that lacks it.
    pub version: usize,
    pub absence: Absence,
}

/// A benchmark of the base that the head lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedBenchmark {
    /// The benchmark.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// Why the head lacks it.
    pub absence: Absence,
    /// The benchmark that only the head has and that is probably the same, with another name or in another bench
    /// target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<Benchmark>,
}

impl RemovedBenchmark {
    /// The removed benchmarks, each with the added one that is probably the same: the only one with the same id, or
    /// the only added one of a bench target in which only this one is no longer defined.
    pub fn with_renames(removed: Vec<(Benchmark, Absence)>, added: &[Benchmark]) -> Vec<Self> {
        let only = |is_meant: &dyn Fn(&Benchmark) -> bool| {
            let mut found = added.iter().filter(|one| is_meant(one));
            found.next().filter(|_| found.next().is_none()).cloned()
        };
        let undefined: Vec<BenchTarget> = removed
            .iter()
            .filter(|(_, absence)| *absence == Absence::Undefined)
            .map(|(one, _)| one.bench_target())
            .collect();
        let renamed = |benchmark: &Benchmark| {
            let target = benchmark.bench_target();
            if added.iter().any(|one| one.name == benchmark.name) {
                return only(&|one| one.name == benchmark.name);
            }
            let is_alone = undefined.iter().filter(|one| **one == target).count() == 1;
            only(&|one| one.bench_target() == target).filter(|_| is_alone)
        };
        let with_rename = |(benchmark, absence): (Benchmark, Absence)| {
            let renamed = renamed(&benchmark).filter(|_| absence != Absence::Ignored);
            Self { benchmark, absence, renamed }
        };
        removed.into_iter().map(with_rename).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Name;

    #[test]
    fn skip_reason_is_found_by_its_exchanged_name() {
        for reason in SkipReason::ALL {
            assert_eq!(SkipReason::from_name(reason.name()), Some(reason));
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
        assert_eq!(SkipReason::from_name("unchanged"), None);
    }

    #[test]
    fn renames_are_proposed_only_where_they_are_obvious() {
        let benchmark = |target: &str, id: &str| Benchmark {
            package: "p".to_owned(),
            target: target.to_owned(),
            name: Name::plain(id),
        };
        let renamed = |removed: &[(&str, &str)], added: &[(&str, &str)]| {
            let removed =
                removed.iter().map(|(target, id)| (benchmark(target, id), Absence::Undefined));
            let added: Vec<_> = added.iter().map(|(target, id)| benchmark(target, id)).collect();
            let all = RemovedBenchmark::with_renames(removed.collect(), &added).into_iter();
            all.map(|one| one.renamed.map(|new| format!("{}/{}", new.target, new.name.id)))
                .collect::<Vec<_>>()
        };
        assert_eq!(renamed(&[("t", "a")], &[("u", "a"), ("t", "b")]), [Some("u/a".to_owned())]);
        assert_eq!(renamed(&[("t", "a")], &[("t", "b"), ("u", "c")]), [Some("t/b".to_owned())]);
        assert_eq!(renamed(&[("t", "a")], &[("u", "a"), ("v", "a")]), [None]);
        assert_eq!(renamed(&[("t", "a"), ("t", "b")], &[("t", "c")]), [None, None]);
    }
}
