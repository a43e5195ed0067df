//! Warnings about the reliability of a comparison.

use std::collections::BTreeSet;

use rbench_code::elf::Agreement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    measure::Builds,
    model::{BenchTarget, Benchmark, Disturbance, Layout, Throughput},
    store::RecordedBuild,
    verdict::count_builds,
};

/// A reason to trust a comparison less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
// In place, because reports add a text.
#[schemars(inline)]
pub enum Warning {
    /// Fewer builds of a bench target differ, in any of the versions, than were requested.
    EqualBuilds {
        /// The bench target.
        target: BenchTarget,
        /// The number of distinct builds.
        distinct: usize,
        /// The number of requested builds.
        requested: usize,
    },
    /// Functions that both versions have are not at the same addresses in both.
    OtherAddresses {
        /// The bench target.
        target: BenchTarget,
        /// The layout of its builds.
        layout: Layout,
        /// The smallest share, over the builds, of common functions that have the same address.
        share: f64,
    },
    /// Functions have another alignment or belong to another group of sections in the head, or options that place code
    /// differ. The layout gives both versions the same places, so the effect of this difference is not compared.
    PlacementNotCompared {
        /// The bench target.
        target: BenchTarget,
        /// The number of functions in both versions that differ so.
        functions: usize,
        /// True if link options that may place code differ.
        options: bool,
    },
    /// Benchmarks of the head get other ids each time they are listed, and so cannot be compared.
    ChangingIds {
        /// The ids of one listing.
        ids: Vec<String>,
    },
    /// Cargo ignores settings of one version only.
    IgnoredSettings {
        /// Its sentences.
        sentences: Vec<String>,
        /// True if they are settings of the head.
        in_head: bool,
    },
    /// The functions of the two versions could not be compared.
    FunctionsUnknown {
        /// The reason.
        reason: String,
    },
    /// Benchmarks report that an iteration processes another amount in the head than in the base.
    DifferentWork {
        /// The benchmarks concerned.
        benchmarks: Vec<ChangedWork>,
    },
    /// Code of both versions got variables that look like secrets, because bench.toml names them.
    SecretsPassed {
        /// The names of the variables.
        names: Vec<String>,
    },
    /// The report has no verdict on any benchmark in both versions.
    NothingCompared,
    /// In a job, the base decides about criteria, sandbox and variables; the head has other settings.
    SettingsOfBase {
        /// The keys of `bench.toml` that differ in the head, or the file itself.
        differing: Vec<String>,
        /// The files of the base that cannot be used, so that the defaults decide.
        unusable: Vec<String>,
    },
    /// Stored results of different experiments are compared.
    AcrossExperiments {
        /// The number of benchmarks concerned.
        benchmarks: usize,
    },
    /// Stored results of different experiments cannot be compared.
    NotComparableAcrossExperiments {
        /// The number of benchmarks concerned.
        benchmarks: usize,
    },
    /// Stored results of different machines or settings are compared, because the user allowed it.
    DifferentConditions {
        /// The differences, as texts for people.
        reasons: Vec<String>,
    },
    /// Something disturbs, or disturbed, the measurements.
    #[serde(untagged)]
    Disturbance(Disturbance),
}

/// A benchmark with another amount of work in the head than in the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedWork {
    /// The name of the benchmark.
    pub name: String,
    /// The amounts that one iteration processes in base and head.
    pub work: [Throughput; 2],
}

impl Warning {
    /// True if verdicts would be misread without it, or are missing because of it: a reader must
    /// act. False if all verdicts hold.
    pub const fn is_urgent(&self) -> bool {
        matches!(
            self,
            Self::ChangingIds { .. }
                | Self::PlacementNotCompared { .. }
                | Self::DifferentWork { .. }
                | Self::NothingCompared
                | Self::SettingsOfBase { .. }
                | Self::NotComparableAcrossExperiments { .. }
                | Self::DifferentConditions { .. }
        )
    }

    /// Adds those that are not among `warnings`. Of disturbances, one of each kind is enough.
    pub fn add_all(new: impl IntoIterator<Item = Self>, warnings: &mut Vec<Self>) {
        new.into_iter().for_each(|one| one.add_to(warnings));
    }

    fn add_to(self, warnings: &mut Vec<Self>) {
        let is_known = warnings.iter().any(|known| match (known, &self) {
            (Self::Disturbance(known), Self::Disturbance(one)) => {
                std::mem::discriminant(known) == std::mem::discriminant(one)
            }
            _ => *known == self,
        });
        if !is_known {
            warnings.push(self);
        }
    }
}

/// Least share of common functions at the same address. With less, the layout is part of the
/// difference between two versions.
const ENOUGH: f64 = 0.99;

/// Warnings for bench targets with fewer distinct builds than `requested`.
pub fn equal_builds(builds: &[RecordedBuild], requested: usize) -> Vec<Warning> {
    let targets: BTreeSet<&BenchTarget> = builds.iter().map(|build| &build.target).collect();
    let warning = |target: &BenchTarget| {
        let (target, distinct) = (target.clone(), count_builds(builds, target));
        (distinct < requested).then_some(Warning::EqualBuilds { target, distinct, requested })
    };
    targets.into_iter().filter_map(warning).collect()
}

/// Warns where functions should have the same addresses in all versions, but do not: in any build
/// of the bench targets of these benchmarks. Each target is named once.
pub fn warn_of_addresses(
    builds: &Builds,
    benchmarks: &[Benchmark],
    warnings: &mut Vec<Warning>,
) -> Result<()> {
    if builds.layout != Layout::SameAddress {
        return Ok(());
    }
    let targets: BTreeSet<BenchTarget> = benchmarks.iter().map(Benchmark::bench_target).collect();
    for target in targets {
        let is_of_target = |known: &Warning| matches!(known, Warning::OtherAddresses { target: other, .. } if *other == target);
        if warnings.iter().any(is_of_target) {
            continue;
        }
        let of_target: Vec<_> =
            builds.versions.iter().filter_map(|version| version.target(&target)).collect();
        let [base, heads @ ..] = of_target.as_slice() else { continue };
        let mut share = 1.0_f64;
        for head in heads {
            let agreements = base.agreements(head)?;
            share = agreements.iter().map(Agreement::same_address_share).fold(share, f64::min);
        }
        if share < ENOUGH {
            warnings.push(Warning::OtherAddresses { target, layout: base.layout, share });
        }
    }
    Ok(())
}

/// Warnings for the bench targets of these benchmarks whose versions place code by other rules, which the layout replaces
/// by its own.
pub fn other_placement(builds: &Builds, benchmarks: &[Benchmark]) -> Vec<Warning> {
    let targets: BTreeSet<BenchTarget> = benchmarks.iter().map(Benchmark::bench_target).collect();
    let warning = |target: BenchTarget| {
        let mut versions = builds.versions.iter().filter_map(|version| version.target(&target));
        let base = versions.next()?;
        let rules = base.other_rules(versions.next()?);
        let (functions, options) = (rules.functions, rules.options);
        let is_other = functions > 0 || options;
        is_other.then_some(Warning::PlacementNotCompared { target, functions, options })
    };
    targets.into_iter().filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use rbench_code::elf::Digest;

    use super::*;
    use crate::{
        model::{LayoutSeed, Stage},
        verdict::testing::{seeds, target},
    };

    const BASE: usize = 0;
    const HEAD: usize = 1;

    #[test]
    fn equal_ignores_builds_that_differ_in_one_version() {
        let seeds = &seeds(Stage::First)[..3];
        let builds = |version: usize, programs: [&str; 3]| -> Vec<RecordedBuild> {
            let build = |(seed, program): (&LayoutSeed, &str)| RecordedBuild {
                version,
                target: target(),
                seed: *seed,
                layout: Layout::SameOrder,
                digest: Digest::compute(program.as_bytes()),
            };
            seeds.iter().zip(programs).map(build).collect()
        };
        let warnings = |head| -> Vec<Warning> {
            equal_builds(&[builds(BASE, ["a", "a", "a"]), builds(HEAD, head)].concat(), 3)
        };
        assert_eq!(warnings(["x", "y", "z"]), []);
        let two = Warning::EqualBuilds { target: target(), distinct: 2, requested: 3 };
        assert_eq!(warnings(["x", "x", "z"]), [two]);
    }
}
