//! The builds of versions for programs.

use serde::Serialize;

use super::{BuildReport, TargetAgreement, compiled_now};
use crate::{
    build::{LinkedBuild, TargetBuilds, VersionBuilds},
    code::{self, Digest},
    failure::Result,
    model::{self, BenchTarget, Layout, Strategy},
    report::json::{Version, document},
};

#[derive(Serialize)]
struct Builds<'r> {
    layout: Layout,
    seed: u64,
    versions: Vec<VersionFields<'r>>,
    agreements: Vec<Agreement<'r>>,
}

#[derive(Serialize)]
struct VersionFields<'r> {
    version: Version<'r>,
    strategy: Strategy,
    reason: &'r str,
    /// Whether anything was compiled just now.
    compiled: bool,
    /// How long cargo ran for the first compilation, whenever that was.
    compile_seconds: f64,
    /// How many compilations the builds come from.
    compilations: usize,
    targets: Vec<TargetFields<'r>>,
}

#[derive(Serialize)]
struct TargetFields<'r> {
    #[serde(flatten)]
    target: &'r BenchTarget,
    /// The layout that was made: another than requested where that cannot be made.
    layout: Layout,
    /// How many of the builds are different programs.
    distinct: usize,
    /// One digest over all builds: equal for versions with the same machine code.
    digest: Digest,
    builds: Vec<Build>,
}

#[derive(Serialize)]
struct Build {
    seed: u32,
    digest: Digest,
    size_bytes: u64,
    link_seconds: f64,
    /// Whether it was linked just now.
    fresh: bool,
    executable: String,
}

#[derive(Serialize)]
struct Agreement<'r> {
    base: Version<'r>,
    head: Version<'r>,
    #[serde(flatten)]
    target: &'r BenchTarget,
    identical: bool,
    common: usize,
    same_address: f64,
    same_phase: f64,
    same_order: f64,
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
                .map(code::Agreement::same_phase_share),
        }
    }
}
