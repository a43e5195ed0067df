//! The seeds of an experiment's two stages.
//!
//! The layouts of the first stage follow from the seed in the settings, so that experiments share builds.
//! Those of the second stage are drawn anew in each experiment: with the same layouts every time, a
//! misleading layout would mislead every repetition.

use super::Runner;
use crate::model::{Benchmark, LayoutSeed, Looks, Stage};

impl Runner<'_> {
    /// After how many builds a benchmark is judged.
    pub fn looks(&self, benchmark: &Benchmark) -> Looks {
        self.settings.efforts.of(benchmark).looks
    }

    /// The layout seeds of the first stage: as many as any of these benchmarks has builds.
    pub fn first_seeds(&self, benchmarks: &[Benchmark]) -> Vec<LayoutSeed> {
        let most = benchmarks.iter().map(|benchmark| self.looks(benchmark).most);
        LayoutSeed::list(self.settings.builds.seed, most.max().unwrap_or_default())
    }

    /// Those of the builds that every one of these benchmarks has at its first look.
    pub fn first_look(&self, benchmarks: &[Benchmark]) -> Vec<LayoutSeed> {
        let fewest = benchmarks.iter().map(|benchmark| self.looks(benchmark).first);
        LayoutSeed::list(self.settings.builds.seed, fewest.min().unwrap_or_default())
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

/// What the layouts (in the second stage) and the order of executions of a stage are drawn from: the seed
/// in the settings and, from the second stage on, the identity of the experiment.
pub(super) fn stage_seed(seed: u64, identity: &str, stage: Stage) -> u64 {
    if stage == Stage::First {
        return seed;
    }
    let mut hasher = blake3::Hasher::new_derive_key("cargo-rbench second stage v1");
    hasher.update(&seed.to_le_bytes());
    hasher.update(identity.as_bytes());
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
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
