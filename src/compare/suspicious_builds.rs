//! Checks of builds before they are measured.

use std::collections::BTreeSet;

use super::Warning;
use crate::{
    elf::Agreement,
    error::Result,
    measure::Builds,
    model::{BenchTarget, Benchmark, Layout},
    store::RecordedBuild,
    verdict::count_builds,
};

/// Least share of common functions at the same address. With less, the layout is part of the
/// difference between two versions.
const ENOUGH: f64 = 0.99;

/// Warnings for bench targets with fewer distinct builds than `requested`.
pub fn equal(builds: &[RecordedBuild], requested: usize) -> Vec<Warning> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        elf::Digest,
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
            equal(&[builds(BASE, ["a", "a", "a"]), builds(HEAD, head)].concat(), 3)
        };
        assert_eq!(warnings(["x", "y", "z"]), []);
        let two = Warning::EqualBuilds { target: target(), distinct: 2, requested: 3 };
        assert_eq!(warnings(["x", "x", "z"]), [two]);
    }
}
