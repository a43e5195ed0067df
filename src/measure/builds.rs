//! The builds of one stage: one for each version, bench target and layout seed.

use std::time::Duration;

use rbench_code::elf::Digest;
use tracing::info_span;

use super::{ListedVersion, Runner};
use crate::{
    builds::{BuildRequest, Compiled, TargetBuilds, VersionBuilds},
    error::Result,
    model::{BenchTarget, Benchmark, Layout, LayoutSeed, Slot, Stage, Strategy},
    store::RecordedBuild,
};

pub struct Builds {
    /// The seeds of their layouts, the same for all versions.
    pub seeds: Vec<LayoutSeed>,
    pub layout: Layout,
    /// For each version, in the order of the experiment, one build of each bench target for each seed.
    pub versions: Vec<VersionBuilds>,
}

impl Runner<'_> {
    /// Links builds of all versions with these seeds, for the bench targets of these benchmarks.
    pub fn link(
        &self,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
        seeds: Vec<LayoutSeed>,
    ) -> Result<Builds> {
        let _phase = info_span!("link", builds = seeds.len()).entered();
        let request = BuildRequest {
            only: Some(benchmarks.iter().map(Benchmark::bench_target).collect()),
            filter: self.settings.filter.targets().clone(),
            layout: self.settings.builds.layout,
            strategy: self.settings.builds.strategy,
            seeds: seeds.clone(),
        };
        let sources: Vec<Compiled<'_>> =
            versions.iter().map(|version| (version.source(), &version.compilation)).collect();
        let mut linked = self.build_env.link(&sources, &request)?;
        for (version, builds) in versions.iter().zip(&mut linked) {
            for builds in &mut builds.targets {
                if let Some(variables) = version.variables_digest(&builds.target) {
                    distinguish(builds, variables.as_bytes());
                }
                // Such a program can be anything in the repository, or read it.
                if self.project.file.runs_other_programs(&builds.target) {
                    distinguish(builds, version.version.identity().as_bytes());
                }
            }
        }
        Ok(Builds { seeds, layout: request.layout, versions: linked })
    }
}

/// Makes builds differ wherever something besides their programs decides what their processes do.
fn distinguish(builds: &mut TargetBuilds, by: &[u8]) {
    for build in &mut builds.builds {
        let digest = &mut build.record.digest;
        *digest = Digest::compute(&[digest.as_bytes(), by].concat());
    }
}

impl Builds {
    pub(super) fn slot(&self, stage: Stage, version: usize, build: usize, round: usize) -> Slot {
        let round = u32::try_from(round).unwrap_or(u32::MAX);
        Slot { version, stage, round, seed: self.seeds[build] }
    }

    pub fn programs(&self, version: usize, target: &BenchTarget) -> Vec<(LayoutSeed, Digest)> {
        let builds = self.versions.get(version).and_then(|version| version.target(target));
        let builds = builds.map(|target| target.builds.as_slice()).unwrap_or_default();
        builds.iter().map(|build| (build.seed, build.record.digest)).collect()
    }

    /// The average time to make one build of a bench target: to link it, and to compile it if each build is compiled.
    pub fn build_time(&self, target: &BenchTarget) -> Option<Duration> {
        let version = self.versions.first()?;
        let builds = &version.target(target)?.builds;
        let linking: Duration = builds.iter().map(|build| build.record.took()).sum();
        let compiling = match version.strategy {
            // One compilation makes a build of all bench targets.
            Strategy::Rebuild => {
                let all = version.compilations.iter().map(|one| one.record.took());
                all.sum::<Duration>().checked_div(u32::try_from(version.targets.len()).ok()?)?
            }
            Strategy::Auto | Strategy::Relink => Duration::ZERO,
        };
        (linking + compiling).checked_div(u32::try_from(builds.len()).ok()?)
    }

    /// The average time to make one build of each bench target in all versions: they hardly differ in that.
    pub fn build_times(&self) -> Vec<(BenchTarget, Duration)> {
        let versions = u32::try_from(self.versions.len()).unwrap_or(u32::MAX);
        let targets = self.versions.first().into_iter().flat_map(|version| &version.targets);
        let time = |TargetBuilds { target, .. }: &TargetBuilds| {
            Some((target.clone(), self.build_time(target)?.saturating_mul(versions)))
        };
        targets.filter_map(time).collect()
    }

    pub fn records(&self) -> Vec<RecordedBuild> {
        let mut records = Vec::new();
        for (version, of_version) in self.versions.iter().enumerate() {
            for target in &of_version.targets {
                records.extend(target.builds.iter().map(|build| {
                    let (target, layout) = (target.target.clone(), target.layout);
                    let (seed, digest) = (build.seed, build.record.digest);
                    RecordedBuild { version, target, seed, layout, digest }
                }));
            }
        }
        records
    }
}
