//! The builds of one stage: one for each version, bench target and layout seed.

use super::{ListedVersion, Runner};
use crate::{
    build::{BuildRequest, Compilation, Source, TargetBuilds, VersionBuilds},
    code::Digest,
    failure::Result,
    model::{BenchTarget, LayoutSeed},
};

/// The builds of one stage.
pub struct Builds {
    /// The seeds of their layouts, the same for all versions.
    pub seeds: Vec<LayoutSeed>,
    /// For each version, in the order of the experiment, one build of each bench target for each seed.
    pub versions: Vec<VersionBuilds>,
}

impl Runner<'_> {
    /// The builds of all versions with these seeds.
    pub fn link(&self, versions: &[ListedVersion], seeds: Vec<LayoutSeed>) -> Result<Builds> {
        let request = BuildRequest {
            filter: self.settings.targets.clone(),
            layout: self.settings.builds.layout,
            strategy: self.settings.builds.strategy,
            seeds: seeds.clone(),
        };
        let sources: Vec<(Source<'_>, &Compilation)> =
            versions.iter().map(|version| (version.source(), &version.compilation)).collect();
        Ok(Builds { seeds, versions: self.workshop.link_versions(&sources, &request)? })
    }
}

impl Builds {
    /// Every build of a bench target of one version: its seed, and the program that it is.
    pub fn programs(&self, version: usize, target: &BenchTarget) -> Vec<(LayoutSeed, Digest)> {
        let builds = self.versions.get(version).and_then(|version| version.target(target));
        let builds = builds.map(|target| target.builds.as_slice()).unwrap_or_default();
        builds.iter().map(|build| (build.seed, build.record.digest)).collect()
    }

    /// The bench targets of which fewer builds differ than there are, with how many differ: each once.
    pub fn with_equal_builds(&self) -> Vec<(BenchTarget, usize)> {
        let mut found: Vec<(BenchTarget, usize)> = Vec::new();
        for builds in self.versions.iter().flat_map(|version| &version.targets) {
            let distinct = TargetBuilds::distinct(builds);
            let entry = (builds.target.clone(), distinct);
            if distinct < self.seeds.len() && !found.contains(&entry) {
                found.push(entry);
            }
        }
        found
    }
}
