//! The two measurements of a selftest: two versions that differ in a function that nothing calls,
//! like two commits whose change does not concern a benchmark; and stock Criterion.rs, with the
//! executables that cargo makes, its own measurements and its own verdicts.

use std::path::Path;

use super::{ListedTarget, ListedVersion, Runner};
use crate::{
    error::{Error, Exit, Result},
    harness::{Baseline, Said, criterion_by_itself},
    model::{Benchmark, HarnessKind, Name, Version},
};

/// Source text appended to the root of each bench target, with other numbers in each version.
///
/// It needs neither `unsafe`, which crates may forbid, nor the standard library. `#[used]` keeps it
/// in the object; since Rust 1.89, which passes that on to the linker, in the program too.
///
/// Both versions have it, with the same name and the same size before compilation: rustc decides by
/// sizes which functions are compiled together, and one function more changed the code of many
/// others. Only the numbers differ, and with them the size of its machine code.
const FUNCTION: &str = r"
#[allow(dead_code, missing_docs, unused)]
#[doc(hidden)]
#[inline(never)]
fn function_that_nothing_calls(seed: u64) -> u64 {
    let mut state = seed;
    let mut round = 0;
    while round < seed % 1009 {
        state = (state ^ (state >> 29)).wrapping_mul(FIRST);
        state = (state ^ (state >> 31)).wrapping_mul(SECOND);
        state = (state ^ (state >> 27)).wrapping_add(THIRD);
        state = (state ^ (state >> 33)).wrapping_mul(FOURTH);
        state = (state ^ (state >> 23)).wrapping_add(FIFTH);
        state = (state ^ (state >> 25)).wrapping_mul(SIXTH);
        round += 1;
    }
    state
}

#[allow(dead_code, missing_docs, unused)]
#[doc(hidden)]
#[used]
static FUNCTION_THAT_NOTHING_CALLS: fn(u64) -> u64 = function_that_nothing_calls;
";

/// The placeholders of the numbers in [`FUNCTION`].
const NAMES: [&str; 6] = ["FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH", "SIXTH"];

/// Small numbers fit into the instructions that compute with them, and large ones need further
/// instructions.
const NUMBERS: [[u64; 6]; 2] = [
    [3, 5, 7, 9, 11, 13],
    [
        0xbf58_476d_1ce4_e5b9,
        0x94d0_49bb_1331_11eb,
        0x9e37_79b9_7f4a_7c15,
        0xff51_afd7_ed55_8ccd,
        0xc4ce_b9fe_1a85_ec53,
        0xd6e8_feb8_6659_fd93,
    ],
];

/// The function with these numbers.
fn function(numbers: [u64; 6]) -> String {
    let numbers = NAMES.iter().zip(numbers);
    numbers
        .fold(FUNCTION.to_owned(), |text, (name, number)| text.replace(name, &number.to_string()))
}

impl Runner<'_> {
    /// Makes the two versions. Does not change the user's repository.
    pub fn that_differ_in_an_unused_function(&self, version: &Version) -> Result<[Version; 2]> {
        let [small, large] = NUMBERS.map(function);
        Ok([
            self.with(version, &small, "an unused function")?,
            self.with(version, &large, "another one")?,
        ])
    }

    /// The version with `text` appended to the root source files of its bench targets.
    fn with(&self, version: &Version, text: &str, what: &str) -> Result<Version> {
        let revision = format!("{} with {what}", version.revision);
        let roots = &self.project.bench_roots;
        let added = self.project.repository.with_appended(version, roots, text, &revision)?;
        added.ok_or_else(|| {
            Error::new(
                Exit::Usage,
                format!("cannot add a function to the bench targets of {version}"),
            )
            .cause("none of their source files is a plain file of this version")
        })
    }
}

impl ListedVersion {
    /// Its bench targets that use Criterion.rs.
    fn criterion_targets(&self) -> impl Iterator<Item = &ListedTarget> {
        self.listing.targets.iter().filter(|one| one.harness.kind() == HarnessKind::Criterion)
    }

    /// The benchmarks of its bench targets that use Criterion.rs.
    pub fn benchmarks_by_criterion(&self) -> Vec<Benchmark> {
        self.criterion_targets().flat_map(|target| target.benchmarks.iter().cloned()).collect()
    }
}

impl Runner<'_> {
    /// Runs each bench target of a version that uses Criterion.rs, as `cargo bench` does, with the
    /// files of Criterion.rs in `home`, and returns the verdicts on these benchmarks. Each target
    /// has its own directory there, since two may have benchmarks of the same name.
    pub fn run_criterion(
        &self,
        version: &ListedVersion,
        benchmarks: &[Benchmark],
        home: &Path,
        baseline: Baseline,
    ) -> Result<Vec<(Benchmark, Said)>> {
        self.build_env.activate(&version.compilation.home)?;
        let mut all = Vec::new();
        for (index, target) in version.criterion_targets().enumerate() {
            let meant: Vec<&Benchmark> =
                target.benchmarks.iter().filter(|one| benchmarks.contains(one)).collect();
            if meant.is_empty() {
                continue;
            }
            let names: Vec<Name> = meant.iter().map(|one| one.name.clone()).collect();
            let home = home.join(index.to_string());
            let said =
                criterion_by_itself(&target.executable, &names, &home, baseline, &self.conditions)?;
            for (name, said) in said {
                let benchmark = meant.iter().find(|one| one.name.id == name.id);
                all.extend(benchmark.map(|one| ((*one).clone(), said)));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_differ_only_in_their_numbers() {
        let [small, large] = NUMBERS.map(function);
        let differ = small.lines().zip(large.lines()).filter(|(one, other)| one != other);
        let differ: Vec<_> = differ.collect();
        assert_eq!((differ.len(), small.lines().count()), (6, large.lines().count()));
        assert!(differ.iter().all(|(one, _)| one.contains(".wrapping_")));
        assert!(NAMES.iter().all(|name| !large.contains(name)), "{large}");
    }
}
