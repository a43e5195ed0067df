//! Builds as values: the request, and the resulting builds of a version.

use std::{collections::BTreeSet, path::Path};

use rayon::prelude::*;

use super::{compilation::Compilation, link::LinkedBuild};
use crate::{
    code::{self, Agreement, Digest},
    failure::Result,
    model::{BenchTarget, Layout, LayoutSeed, Strategy, TargetFilter},
};

/// Which builds of a version to make.
#[derive(Clone, Debug)]
pub struct BuildRequest {
    /// Which bench targets, as they were compiled.
    pub filter: TargetFilter,
    /// Which of these are linked; all when absent.
    pub only: Option<BTreeSet<BenchTarget>>,
    /// How functions are arranged.
    pub layout: Layout,
    /// Where builds come from.
    pub strategy: Strategy,
    /// One build for each of these seeds.
    pub seeds: Vec<LayoutSeed>,
}

/// The builds of a version.
#[derive(Clone, Debug)]
pub struct VersionBuilds {
    /// The strategy that was carried out: never `auto`.
    pub strategy: Strategy,
    /// Why this strategy.
    pub reason: String,
    /// The compilations: one for all builds, or one for each.
    pub compilations: Vec<Compilation>,
    /// Every bench target with its builds, in the order of the seeds.
    pub targets: Vec<TargetBuilds>,
}

/// The builds of one bench target.
#[derive(Clone, Debug)]
pub struct TargetBuilds {
    /// The target.
    pub target: BenchTarget,
    /// The layout that was made: another than the requested one where that cannot be made.
    pub layout: Layout,
    /// Its builds, in the order of the seeds.
    pub builds: Vec<LinkedBuild>,
}

impl VersionBuilds {
    /// The builds of a bench target.
    pub fn target(&self, target: &BenchTarget) -> Option<&TargetBuilds> {
        self.targets.iter().find(|builds| builds.target == *target)
    }

    /// The directory of the compilation that build `index` comes from, which must be the active one
    /// when the build is executed.
    pub fn home_of(&self, index: usize) -> &Path {
        let own = self.compilations.get(index).or_else(|| self.compilations.first());
        own.map_or(Path::new(""), |compilation| &compilation.home)
    }

    /// Adds builds, of the bench targets that it has already or of all.
    pub(super) fn add(&mut self, linked: Vec<TargetBuilds>) {
        if self.targets.is_empty() {
            self.targets = linked;
            return;
        }
        for (target, linked) in self.targets.iter_mut().zip(linked) {
            target.builds.extend(linked.builds);
        }
    }

    /// Whether both have the same bench targets with the same machine code in every build.
    pub fn is_same_machine_code(&self, other: &Self) -> bool {
        let digests = |builds: &Self| -> Vec<_> {
            builds.targets.iter().map(|one| (one.target.clone(), one.digest())).collect()
        };
        digests(self) == digests(other)
    }
}

impl TargetBuilds {
    /// How many builds are really different programs: what counts as the number of builds.
    pub fn distinct(&self) -> usize {
        self.builds.iter().map(|build| build.record.digest).collect::<BTreeSet<_>>().len()
    }

    /// How far each build agrees with the one of another version that has the same seed: about the places
    /// of the functions that both have.
    pub fn agreements(&self, other: &Self) -> Result<Vec<Agreement>> {
        let pairs: Vec<_> = self.builds.iter().zip(&other.builds).collect();
        let agreement = |(own, others): &(&LinkedBuild, &LinkedBuild)| {
            Ok(code::agreement(&own.placement()?, &others.placement()?))
        };
        pairs.par_iter().map(agreement).collect()
    }

    /// How far two builds of this version agree, if there are two.
    pub fn between_seeds(&self) -> Result<Option<Agreement>> {
        let [one, other, ..] = self.builds.as_slice() else { return Ok(None) };
        Ok(Some(code::agreement(&one.placement()?, &other.placement()?)))
    }

    /// One digest over all builds, in order: equal for two versions if and only if, for every
    /// seed, they are the same machine code at the same places.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        for build in &self.builds {
            hasher.update(build.record.digest.as_bytes());
        }
        hasher.finalize().into()
    }
}
