//! The two versions of a selftest: they differ in a function that nothing calls, like two commits
//! whose change does not concern a benchmark.

use super::Runner;
use crate::{
    error::{Error, Exit, Result},
    model::Version,
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
