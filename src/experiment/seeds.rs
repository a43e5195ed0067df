//! The seeds of an experiment's two stages.
//!
//! The layouts of the first stage follow from the seed in the settings and, where two versions are compared, from
//! their trees: the same comparison finds its builds again and can be resumed, and another one shows other layouts. With
//! the same five layouts in every comparison, what these hide would be hidden for ever, since only a change that they
//! show is measured on fresh builds. Single versions keep the layouts of the seed, so that their history has the same.
//! Those of the second stage are drawn anew in each experiment, for the same reason.

use super::{ListedVersion, Runner};
use crate::model::{Benchmark, LayoutSeed, Looks, Stage, derive_seed, first_stage_seed};

impl Runner<'_> {
    /// After how many builds a benchmark is judged.
    pub fn looks(&self, benchmark: &Benchmark) -> Looks {
        self.settings.efforts.of(benchmark).looks
    }

    /// What the layouts of the first stage of an experiment with these versions, and the order of its executions, are
    /// drawn from.
    pub(super) fn seed(&self, versions: &[ListedVersion]) -> u64 {
        let trees: Vec<&str> = versions.iter().map(|listed| listed.version.tree.as_str()).collect();
        first_stage_seed(self.settings.builds.seed, &trees)
    }

    /// The layout seeds of the first stage: as many as any of these benchmarks has builds.
    pub fn first_seeds(
        &self,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
    ) -> Vec<LayoutSeed> {
        let most = benchmarks.iter().map(|benchmark| self.looks(benchmark).most);
        LayoutSeed::list(self.seed(versions), most.max().unwrap_or_default())
    }

    /// Those of the builds that every one of these benchmarks has at its first look.
    pub fn first_look(
        &self,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
    ) -> Vec<LayoutSeed> {
        let fewest = benchmarks.iter().map(|benchmark| self.looks(benchmark).first);
        LayoutSeed::list(self.seed(versions), fewest.min().unwrap_or_default())
    }

    /// So many layout seeds for the second stage of an experiment, none of which is one of the first stage.
    pub fn fresh_seeds(
        &self,
        identity: &str,
        first: &[LayoutSeed],
        wanted: usize,
    ) -> Vec<LayoutSeed> {
        // At most as many as there are in the first stage can be met again.
        let enough = u32::try_from(wanted.saturating_add(first.len())).unwrap_or(u32::MAX);
        let seed = stage_seed(self.settings.builds.seed, identity, Stage::Second);
        let mut seeds = LayoutSeed::list(seed, enough);
        seeds.retain(|seed| !first.contains(seed));
        seeds.truncate(wanted);
        seeds
    }
}

/// What the layouts (in the second stage) and the order of executions of a stage are drawn from: the seed of the
/// experiment and, from the second stage on, its identity.
pub(super) fn stage_seed(seed: u64, identity: &str, stage: Stage) -> u64 {
    if stage == Stage::First {
        return seed;
    }
    derive_seed("cargo-rbench second stage v1", &[&seed.to_le_bytes(), identity.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_stage_of_every_experiment_has_seeds_of_its_own() {
        let second = |identity| stage_seed(1, identity, Stage::Second);
        assert_eq!(stage_seed(1, "a", Stage::First), stage_seed(1, "b", Stage::First));
        assert_ne!(second("a"), second("b"));
        assert_ne!(second("a"), stage_seed(1, "a", Stage::First));
        assert_eq!(second("a"), second("a"), "an experiment that is resumed has the same");
    }
}
