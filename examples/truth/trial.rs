//! What is tried: pairs of versions of which one knows the truth.

use crate::unrelated;

/// The benchmarks of the fixture; each has a file and a function of its name.
pub const BENCHMARKS: [&str; 10] =
    ["chase", "find", "fnv", "format", "horner", "map", "numbers", "primes", "sort", "split"];

/// The tag of the version that all others are compared with.
pub const BASE: &str = "base";

/// What the head of a trial has that the base has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Code that no benchmark calls.
    Layout,
    /// This many percent more work in one function.
    Planted {
        /// 5 is 5 %.
        percent: usize,
    },
}

/// One comparison of a head with the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What the head has.
    pub kind: Kind,
    /// The number among the trials of its kind, from 0.
    pub number: usize,
}

impl Trial {
    /// The trials of a kind.
    pub fn all(kind: Kind, count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(move |number| Self { kind, number })
    }

    /// The name of the tag of the head, and of files about this trial.
    pub fn name(self) -> String {
        match self.kind {
            Kind::Layout => format!("layout-{:02}", self.number),
            Kind::Planted { percent } => format!("plus-{percent:02}-percent-{:02}", self.number),
        }
    }

    /// The benchmark whose work is larger, if there is one.
    pub fn planted(self) -> Option<&'static str> {
        match self.kind {
            Kind::Layout => None,
            Kind::Planted { .. } => Some(BENCHMARKS[self.number % BENCHMARKS.len()]),
        }
    }

    /// The seed of the comparison: another one for each trial, so that no two share a layout.
    pub fn seed(self) -> u64 {
        let kind = match self.kind {
            Kind::Layout => 0,
            Kind::Planted { percent } => percent as u64,
        };
        1000 * (kind + 1) + self.number as u64
    }

    /// The seed of the fresh builds that the estimators are confirmed with.
    pub fn fresh_seed(self) -> u64 {
        1_000_000 + self.seed()
    }

    /// The file of the fixture that the head has other than the base, and how to make it from the
    /// base's.
    pub fn edit<E>(self, base: &dyn Fn(&str) -> Result<String, E>) -> Result<Edit, E> {
        match (self.kind, self.planted()) {
            (Kind::Planted { percent }, Some(benchmark)) => {
                let file = format!("src/{benchmark}.rs");
                let text = base(&file)?.replace(
                    "const WORK: usize = 100;",
                    &format!("const WORK: usize = {};", 100 + percent),
                );
                Ok(Edit { file, text })
            }
            _ => Ok(Edit {
                file: "src/unrelated.rs".to_owned(),
                text: unrelated::source(self.number),
            }),
        }
    }
}

/// A file and its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Relative to the project.
    pub file: String,
    /// All of it.
    pub text: String,
}

/// Functions that run before anything is timed, or never: their code may change without effect.
const UNTIMED: [&str; 4] =
    ["::prepare", "work::benchmarks", "truth::unrelated::", "::call_once{{vtable.shim}}"];

/// Where a benchmark spends time outside of its own function.
const SHARED: [(&str, &[&str]); 4] = [
    ("sort", &["core::slice::sort::"]),
    ("map", &["hashbrown::", "core::hash::"]),
    ("format", &["core::fmt::", "alloc::string::"]),
    ("split", &["core::str::"]),
];

/// The benchmarks in whose timed code one of these functions takes part. A function that nothing is
/// known about counts for all.
pub fn benchmarks_using(changed: &[String]) -> Vec<&'static str> {
    let timed: Vec<&String> =
        changed.iter().filter(|name| !UNTIMED.iter().any(|word| name.contains(word))).collect();
    let owners = |name: &str| -> Vec<&'static str> {
        let own = |benchmark: &str| name.contains(&format!("truth::{benchmark}::"));
        let shared = |benchmark: &str| {
            let of_benchmark = SHARED.iter().filter(|(owner, _)| *owner == benchmark);
            of_benchmark.flat_map(|(_, words)| *words).any(|word| name.contains(word))
        };
        let owners: Vec<_> = BENCHMARKS
            .into_iter()
            .filter(|benchmark| own(benchmark) || shared(benchmark))
            .collect();
        if owners.is_empty() { BENCHMARKS.to_vec() } else { owners }
    };
    let using = |benchmark: &&str| timed.iter().any(|name| owners(name).contains(benchmark));
    BENCHMARKS.into_iter().filter(using).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const KINDS: [Kind; 3] =
        [Kind::Layout, Kind::Planted { percent: 10 }, Kind::Planted { percent: 5 }];

    #[test]
    fn no_two_trials_share_a_name_or_a_seed() {
        let trials: Vec<Trial> = KINDS.iter().flat_map(|kind| Trial::all(*kind, 100)).collect();
        let names: HashSet<String> = trials.iter().map(|trial| trial.name()).collect();
        let seeds: HashSet<u64> =
            trials.iter().flat_map(|trial| [trial.seed(), trial.fresh_seed()]).collect();
        assert_eq!((names.len(), seeds.len()), (trials.len(), 2 * trials.len()));
    }

    #[test]
    fn ten_planted_trials_plant_each_function_once_and_change_its_file_alone() {
        let mut planted = HashSet::new();
        for trial in Trial::all(Kind::Planted { percent: 5 }, 10) {
            let edit =
                trial.edit(&|_| Ok::<_, ()>("const WORK: usize = 100;\n".to_owned())).unwrap();
            assert_eq!(edit.text, "const WORK: usize = 105;\n");
            assert_eq!(edit.file, format!("src/{}.rs", trial.planted().unwrap()));
            planted.insert(edit.file);
        }
        assert_eq!(planted.len(), 10);
    }

    #[test]
    fn what_is_not_timed_touches_no_benchmark_and_what_is_unknown_touches_all() {
        let using = |name: &str| benchmarks_using(&[name.to_owned()]);
        assert_eq!(using("truth::map::prepare"), [""; 0]);
        assert_eq!(using("truth::map::map"), ["map"]);
        assert_eq!(using("core::slice::sort::unstable::quicksort::quicksort"), ["sort"]);
        assert_eq!(using("alloc::raw_vec::grow"), BENCHMARKS);
    }
}
