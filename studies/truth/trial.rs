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
    One {
        /// 5 is 5 %.
        percent: usize,
    },
    /// This many percent more work in every function.
    Every {
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
        let number = self.number;
        match self.kind {
            Kind::Layout => format!("layout-{number:02}"),
            Kind::One { percent } => format!("one-plus-{percent:02}-{number:02}"),
            Kind::Every { percent } => format!("every-plus-{percent:02}-{number:02}"),
        }
    }

    /// The benchmarks whose work is larger.
    pub fn planted(self) -> &'static [&'static str] {
        let only = self.number % BENCHMARKS.len();
        match self.kind {
            Kind::Layout => &[],
            Kind::One { .. } => &BENCHMARKS[only..=only],
            Kind::Every { .. } => &BENCHMARKS,
        }
    }

    /// The seed of the comparison: another one for each trial, so that no two share a layout.
    pub fn seed(self) -> u64 {
        let kind = match self.kind {
            Kind::Layout => 1,
            Kind::One { percent } => 100 + percent,
            Kind::Every { percent } => 200 + percent,
        };
        (1000 * kind + self.number) as u64
    }

    /// The seed of the fresh builds that the estimators are confirmed with.
    pub fn fresh_seed(self) -> u64 {
        1_000_000 + self.seed()
    }

    /// The seed of the larger comparison that the first one's report asks for.
    pub fn larger_seed(self) -> u64 {
        2_000_000 + self.seed()
    }

    /// The files of the fixture that the head has other than the base; `base` reads the base's.
    pub fn edits<E>(self, base: &dyn Fn(&str) -> Result<String, E>) -> Result<Vec<Edit>, E> {
        let percent = match self.kind {
            Kind::Layout => {
                let text = unrelated::source(self.number);
                return Ok(vec![Edit { file: "src/unrelated.rs".to_owned(), text }]);
            }
            Kind::One { percent } | Kind::Every { percent } => percent,
        };
        let mut edits = Vec::new();
        for benchmark in self.planted() {
            let file = format!("src/{benchmark}.rs");
            let more = format!("const WORK: usize = {};", 100 + percent);
            let text = base(&file)?.replace("const WORK: usize = 100;", &more);
            edits.push(Edit { file, text });
        }
        Ok(edits)
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

    const KINDS: [Kind; 4] = [
        Kind::Layout,
        Kind::One { percent: 10 },
        Kind::One { percent: 5 },
        Kind::Every { percent: 5 },
    ];

    #[test]
    fn no_two_trials_share_a_name_or_a_seed() {
        let trials: Vec<Trial> = KINDS.iter().flat_map(|kind| Trial::all(*kind, 100)).collect();
        let names: HashSet<String> = trials.iter().map(|trial| trial.name()).collect();
        let seeds = trials.iter().flat_map(|one| [one.seed(), one.fresh_seed(), one.larger_seed()]);
        let seeds: HashSet<u64> = seeds.collect();
        assert_eq!((names.len(), seeds.len()), (trials.len(), 3 * trials.len()));
    }

    /// The files that a trial changes where the base's are all alike, and their new text.
    fn edits(kind: Kind, number: usize) -> Vec<(String, String)> {
        let base = |_: &str| Ok::<_, ()>("const WORK: usize = 100;\n".to_owned());
        let edits = Trial { kind, number }.edits(&base).unwrap();
        edits.into_iter().map(|edit| (edit.file, edit.text)).collect()
    }

    #[test]
    fn ten_trials_plant_each_function_once_and_change_its_file_alone() {
        let mut planted = HashSet::new();
        for number in 0..10 {
            let edits = edits(Kind::One { percent: 5 }, number);
            assert_eq!(edits.len(), 1);
            assert_eq!(edits[0].1, "const WORK: usize = 105;\n");
            planted.insert(edits[0].0.clone());
        }
        assert_eq!(planted.len(), 10);
    }

    #[test]
    fn every_function_is_planted_at_once_or_none() {
        assert_eq!(edits(Kind::Every { percent: 10 }, 3).len(), 10);
        let files: Vec<String> = edits(Kind::Layout, 3).into_iter().map(|edit| edit.0).collect();
        assert_eq!(files, ["src/unrelated.rs"]);
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
