//! Which builds count: equal programs are one build, however often they were linked.

use std::collections::{BTreeMap, HashMap};

use crate::{
    code::Digest,
    model::{BuildValues, Layout},
    stats::judged::counted_as,
};

/// Seed, layout and program of a build.
pub type Linked = (u64, Layout, Digest);

/// The builds with equal programs put together: what is the same in all versions is one build, however
/// often it was linked. Where builds are alike as asked for, each counts.
pub fn counted<const N: usize>(
    mut values: [BuildValues; N],
    builds: [&[Linked]; N],
) -> [BuildValues; N] {
    let natural = builds.iter().copied().flatten().any(|(_, layout, _)| *layout == Layout::Natural);
    if natural || builds.iter().any(|builds| builds.is_empty()) {
        return values;
    }
    let digest = |builds: &[Linked], seed: u64| {
        builds.iter().find(|(other, ..)| *other == seed).map(|(.., digest)| *digest)
    };
    let seeds: Vec<u64> = builds[0].iter().map(|(seed, ..)| *seed).collect();
    // A seed that a version lacks is a program of its own.
    let programs: Vec<_> = seeds
        .iter()
        .map(|seed| {
            let digests = builds.map(|builds| digest(builds, *seed));
            (digests, digests.iter().any(Option::is_none).then_some(*seed))
        })
        .collect();
    let counts_for: HashMap<u64, u64> = seeds
        .iter()
        .copied()
        .zip(counted_as(&programs).into_iter().map(|index| seeds[index]))
        .collect();
    for values in &mut values {
        let mut merged: BTreeMap<u64, Vec<Vec<f64>>> = BTreeMap::new();
        for (seed, executions) in std::mem::take(values) {
            let seed = counts_for.get(&seed).copied().unwrap_or(seed);
            merged.entry(seed).or_default().extend(executions);
        }
        *values = merged.into_iter().collect();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(seeds: &[u64]) -> BuildValues {
        seeds.iter().map(|seed| (*seed, vec![vec![*seed as f64]])).collect()
    }

    fn builds(programs: &[(u64, &str)], layout: Layout) -> Vec<Linked> {
        let build = |(seed, program): &(u64, &str)| (*seed, layout, Digest::of(program.as_bytes()));
        programs.iter().map(build).collect()
    }

    #[test]
    fn equal_programs_of_both_versions_are_one_build() {
        let base = builds(&[(1, "a"), (2, "a"), (3, "b")], Layout::Matched);
        let head = builds(&[(1, "x"), (2, "x"), (3, "x")], Layout::Matched);
        let [of_base, of_head] = counted([values(&[1, 2, 3]), values(&[1, 2, 3])], [&base, &head]);
        assert_eq!(of_base, [(1, vec![vec![1.0], vec![2.0]]), (3, vec![vec![3.0]])]);
        assert_eq!(of_head, of_base);
    }

    #[test]
    fn natural_and_unknown_builds_count_each() {
        let natural = builds(&[(1, "a"), (2, "a")], Layout::Natural);
        assert_eq!(counted([values(&[1, 2])], [&natural]), [values(&[1, 2])]);
        assert_eq!(counted([values(&[1, 2])], [&[]]), [values(&[1, 2])]);
    }
}
