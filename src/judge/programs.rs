//! Which builds count: equal programs are one build, however often they were linked.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    code::Digest,
    model::{BenchTarget, Layout, LayoutSeed},
    store::RecordedBuild,
};

/// The build whose executions each build's executions count for, by layout seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    representatives: BTreeMap<LayoutSeed, LayoutSeed>,
}

impl Programs {
    /// From all builds of an experiment, those of one bench target.
    ///
    /// Two seeds that gave the same program in every version are one build: the first of them. Where
    /// builds are alike on request ([`Layout::Natural`]), each counts.
    pub fn of(builds: &[RecordedBuild], target: &BenchTarget) -> Self {
        let mut programs: BTreeMap<LayoutSeed, BTreeMap<usize, Digest>> = BTreeMap::new();
        for build in builds.iter().filter(|build| build.target == *target) {
            if build.layout == Layout::Natural {
                return Self::default();
            }
            programs.entry(build.seed).or_default().insert(build.version, build.digest);
        }
        let versions: BTreeSet<usize> =
            programs.values().flat_map(BTreeMap::keys).copied().collect();
        let mut first: BTreeMap<&BTreeMap<usize, Digest>, LayoutSeed> = BTreeMap::new();
        let mut representatives = BTreeMap::new();
        for (seed, of_versions) in &programs {
            // A seed that a version lacks is a program of its own.
            let is_complete = of_versions.len() == versions.len();
            let known = is_complete.then(|| *first.entry(of_versions).or_insert(*seed));
            representatives.insert(*seed, known.unwrap_or(*seed));
        }
        Self { representatives }
    }

    /// The seed of the build that executions of this build count for.
    pub fn representative(&self, seed: LayoutSeed) -> LayoutSeed {
        self.representatives.get(&seed).copied().unwrap_or(seed)
    }
}

/// How many builds of a bench target count, of those that were linked.
pub fn count_builds(builds: &[RecordedBuild], target: &BenchTarget) -> usize {
    let programs = Programs::of(builds, target);
    let own = builds.iter().filter(|build| build.target == *target);
    own.map(|build| programs.representative(build.seed)).collect::<BTreeSet<_>>().len()
}

/// Whether two versions are the same programs: in all builds of the one that has fewer, since only one of
/// them may have been measured again on fresh builds.
pub fn are_identical(base: &[(LayoutSeed, Digest)], head: &[(LayoutSeed, Digest)]) -> bool {
    let (fewer, more) = if base.len() < head.len() { (base, head) } else { (head, base) };
    !fewer.is_empty() && fewer.iter().all(|build| more.contains(build))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(number: u32) -> LayoutSeed {
        LayoutSeed::new(number).unwrap()
    }

    fn target() -> BenchTarget {
        BenchTarget { package: "p".to_owned(), target: "t".to_owned() }
    }

    fn builds(version: usize, layout: Layout, programs: &[(u32, &str)]) -> Vec<RecordedBuild> {
        let build = |(number, program): &(u32, &str)| RecordedBuild {
            version,
            target: target(),
            seed: seed(*number),
            layout,
            digest: Digest::of(program.as_bytes()),
        };
        programs.iter().map(build).collect()
    }

    #[test]
    fn equal_programs_of_all_versions_are_one_build() {
        let mut all = builds(0, Layout::Matched, &[(1, "a"), (2, "a"), (3, "b")]);
        all.extend(builds(1, Layout::Matched, &[(1, "x"), (2, "x"), (3, "x")]));
        let programs = Programs::of(&all, &target());
        let representatives = [1, 2, 3, 4].map(|number| programs.representative(seed(number)));
        assert_eq!(representatives, [1, 1, 3, 4].map(seed));
        assert_eq!(count_builds(&all, &target()), 2);
    }

    #[test]
    fn builds_that_are_alike_on_request_and_builds_of_one_version_alone_count_each() {
        let natural = builds(0, Layout::Natural, &[(1, "a"), (2, "a")]);
        assert_eq!(Programs::of(&natural, &target()).representative(seed(2)), seed(2));
        assert_eq!(count_builds(&natural, &target()), 2);
        let mut lacking = builds(0, Layout::Matched, &[(1, "a"), (2, "a")]);
        lacking.extend(builds(1, Layout::Matched, &[(1, "x")]));
        assert_eq!(Programs::of(&lacking, &target()).representative(seed(2)), seed(2));
    }

    #[test]
    fn versions_are_identical_if_every_build_that_both_have_is_the_same_program() {
        let programs = |list: &[(u32, &str)]| -> Vec<(LayoutSeed, Digest)> {
            list.iter().map(|(n, program)| (seed(*n), Digest::of(program.as_bytes()))).collect()
        };
        let [base, fresh] =
            [programs(&[(1, "a"), (2, "b")]), programs(&[(1, "a"), (2, "b"), (3, "c")])];
        assert!(are_identical(&base, &fresh) && are_identical(&fresh, &base));
        assert!(!are_identical(&base, &programs(&[(1, "a"), (2, "x")])));
        assert!(!are_identical(&base, &[]) && !are_identical(&[], &[]));
    }
}
