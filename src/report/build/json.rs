//! The report of `build` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{BuildReport, TargetAgreement, compiled_now};
use crate::{
    builds::{LinkedBuild, TargetBuilds, VersionBuilds},
    elf::{self, Digest},
    error::Result,
    model::{self, BenchTarget, Layout, Strategy},
    report::json::document,
};

/// The builds of some versions.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Builds<'r> {
    /// The requested layout.
    layout: Layout,
    /// All layout seeds are drawn from it.
    seed: u64,
    /// In the order requested.
    #[schemars(length(min = 1))]
    versions: Vec<VersionFields<'r>>,
    /// The agreement of each version with the one before it, for every bench target that both have.
    agreements: Vec<Agreement<'r>>,
}

/// A version and its builds.
#[derive(Serialize, JsonSchema)]
struct VersionFields<'r> {
    version: &'r model::Version,
    /// The strategy that was used.
    strategy: Strategy,
    /// The reason for this strategy.
    reason: &'r str,
    /// True if anything was compiled in this run.
    compiled: bool,
    /// The duration of the first compilation, in this run or an earlier one.
    #[schemars(range(min = 0))]
    compile_seconds: f64,
    /// The number of compilations that the builds come from.
    #[schemars(range(min = 1))]
    compilations: usize,
    #[schemars(length(min = 1))]
    targets: Vec<TargetFields<'r>>,
}

/// The builds of a bench target.
#[derive(Serialize, JsonSchema)]
struct TargetFields<'r> {
    #[serde(flatten)]
    target: &'r BenchTarget,
    /// The layout of the builds: another than requested if that cannot be made.
    layout: Layout,
    /// The number of builds that are different programs.
    #[schemars(range(min = 1))]
    distinct: usize,
    /// One digest over all builds: equal for versions with the same machine code.
    digest: Digest,
    /// In the order of seeds.
    #[schemars(length(min = 1))]
    builds: Vec<Build>,
}

/// One build.
#[derive(Serialize, JsonSchema)]
struct Build {
    #[schemars(range(min = 1))]
    seed: u32,
    /// Of its loadable sections.
    digest: Digest,
    size_bytes: u64,
    #[schemars(range(min = 0))]
    link_seconds: f64,
    /// True if it was linked in this run.
    fresh: bool,
    /// Its path.
    executable: String,
}

/// The agreement of the builds of two versions.
#[derive(Serialize, JsonSchema)]
struct Agreement<'r> {
    base: &'r model::Version,
    head: &'r model::Version,
    #[serde(flatten)]
    target: &'r BenchTarget,
    /// True if all builds are the same machine code at the same addresses.
    identical: bool,
    /// The number of functions that both versions have.
    common: usize,
    /// The smallest share, over the builds, of common functions with the same address.
    #[schemars(range(min = 0, max = 1))]
    same_address: f64,
    /// The smallest share, over the builds, of common functions with the same address modulo 64.
    #[schemars(range(min = 0, max = 1))]
    same_phase: f64,
    /// The smallest share, over the builds, of common functions in the same order.
    #[schemars(range(min = 0, max = 1))]
    same_order: f64,
    /// The share of functions with the same address modulo 64 in two builds of one version, for comparison.
    same_phase_between_seeds: Option<f64>,
}

impl BuildReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Builds {
            layout: self.layout,
            seed: self.seed,
            versions: self.versions.iter().map(VersionFields::from).collect(),
            agreements: self.agreements.iter().map(Agreement::from).collect(),
        })
    }
}

impl<'r> From<&'r (model::Version, VersionBuilds)> for VersionFields<'r> {
    fn from((version, builds): &'r (model::Version, VersionBuilds)) -> Self {
        let first = builds.compilations.first();
        Self {
            version: version.into(),
            strategy: builds.strategy,
            reason: &builds.reason,
            compiled: compiled_now(builds),
            compile_seconds: first.map_or(0.0, |first| first.record.took().as_secs_f64()),
            compilations: builds.compilations.len(),
            targets: builds.targets.iter().map(TargetFields::from).collect(),
        }
    }
}

impl<'r> From<&'r TargetBuilds> for TargetFields<'r> {
    fn from(target: &'r TargetBuilds) -> Self {
        Self {
            target: &target.target,
            layout: target.layout,
            distinct: target.distinct(),
            digest: target.digest(),
            builds: target.builds.iter().map(Build::from).collect(),
        }
    }
}

impl From<&LinkedBuild> for Build {
    fn from(build: &LinkedBuild) -> Self {
        Self {
            seed: build.seed.get(),
            digest: build.record.digest,
            size_bytes: build.record.size,
            link_seconds: build.record.took().as_secs_f64(),
            fresh: build.fresh,
            executable: build.executable.display().to_string(),
        }
    }
}

impl<'r> From<&'r TargetAgreement> for Agreement<'r> {
    fn from(agreement: &'r TargetAgreement) -> Self {
        Self {
            base: (&agreement.base).into(),
            head: (&agreement.head).into(),
            target: &agreement.target,
            identical: agreement.identical,
            common: agreement.common(),
            same_address: agreement.least_same_address(),
            same_phase: agreement.least_same_phase(),
            same_order: agreement.least_same_order(),
            same_phase_between_seeds: agreement
                .between_seeds
                .as_ref()
                .map(elf::Agreement::same_phase_share),
        }
    }
}
