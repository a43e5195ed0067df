//! What is tried: pairs of versions of which one knows the truth.

use crate::unrelated;

/// The functions that the benchmarks time, in each bench target; each has a file of its name.
pub const FUNCTIONS: [&str; 10] =
    ["chase", "find", "fnv", "format", "horner", "map", "numbers", "primes", "sort", "split"];

/// The tag of the version that all others are compared with.
pub const BASE: &str = "base";

/// What the head of a trial has that the base has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Code that no benchmark calls, another piece in each trial.
    Unrelated,
    /// This many percent more work in every function.
    More(usize),
}

/// How versions are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the defaults; a change of 1 % with a smaller `--min-effect` and more time.
    Usual,
    /// With ten builds and two executions of each, whatever they show.
    Fixed,
    /// The same, one execution after the other.
    Alone,
}

/// One comparison of a head with the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What the head has.
    pub change: Change,
    /// How it is compared.
    pub way: Way,
    /// The number among the trials of its kind, from 0.
    pub number: usize,
}

impl Trial {
    /// The trials of a kind.
    pub fn all(change: Change, way: Way, count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(move |number| Self { change, way, number })
    }

    /// The tag of the head.
    pub fn head(self) -> String {
        match self.change {
            Change::Unrelated => format!("unrelated-{:02}", self.number),
            Change::More(percent) => format!("more-{percent:02}"),
        }
    }

    /// The name of files about this trial.
    pub fn name(self) -> String {
        let way = match self.way {
            Way::Usual => "usual",
            Way::Fixed => "fixed",
            Way::Alone => "alone",
        };
        match self.change {
            Change::Unrelated => format!("{}-{way}", self.head()),
            Change::More(_) => format!("{}-{way}-{:02}", self.head(), self.number),
        }
    }

    /// The seed of the comparison: another one for each trial, so that no two share a layout.
    pub fn seed(self) -> u64 {
        let change = match self.change {
            Change::Unrelated => 1,
            Change::More(percent) => 100 + percent,
        };
        let way = match self.way {
            Way::Usual => 0,
            Way::Fixed => 1_000_000,
            Way::Alone => 2_000_000,
        };
        (way + 1000 * change + self.number) as u64
    }

    /// The flags with which it is compared, besides the seed.
    pub fn flags(self) -> &'static [&'static str] {
        match (self.way, self.change) {
            (Way::Usual, Change::More(1)) => &["--min-effect", "0.5%", "--budget", "5min"],
            (Way::Usual, _) => &[],
            (Way::Fixed, _) => &["--builds", "10", "--executions", "2"],
            (Way::Alone, _) => &["--builds", "10", "--executions", "2", "--mode", "sequential"],
        }
    }

    /// The files of the fixture that the head has other than the base; `base` reads the base's.
    pub fn edits<E>(self, base: &dyn Fn(&str) -> Result<String, E>) -> Result<Vec<Edit>, E> {
        let Change::More(percent) = self.change else {
            let text = unrelated::source(self.number);
            return Ok(vec![Edit { file: "src/unrelated.rs".to_owned(), text }]);
        };
        let mut edits = Vec::new();
        for function in FUNCTIONS {
            let file = format!("src/{function}.rs");
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

/// The function that a benchmark times: the last word of its id, whatever the harness puts before it.
pub fn function_of(id: &str) -> &str {
    id.rsplit(|character: char| !character.is_alphanumeric()).next().unwrap_or(id)
}

/// Where a function spends time in the standard library.
const SHARED: [(&str, &[&str]); 4] = [
    ("sort", &["core::slice::sort::"]),
    ("map", &["hashbrown::", "core::hash::"]),
    ("format", &["core::fmt::", "alloc::string::"]),
    ("split", &["core::str::"]),
];

/// Whether the code of this name is part of what is timed of a function of the fixture.
pub fn is_timed(function: &str, name: &str) -> bool {
    let mut shared = SHARED.iter().filter(|(owner, _)| *owner == function);
    name.contains(&format!("truth::{function}::{function}"))
        || shared.any(|(_, words)| words.iter().any(|word| name.contains(word)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_trials_share_a_name_or_a_seed_and_those_of_more_work_share_a_head() {
        let changes = [Change::Unrelated, Change::More(5), Change::More(2), Change::More(1)];
        let ways = [Way::Usual, Way::Fixed, Way::Alone];
        let kinds = changes.into_iter().flat_map(|change| ways.map(|way| (change, way)));
        let trials: Vec<Trial> =
            kinds.flat_map(|(change, way)| Trial::all(change, way, 100)).collect();
        let names: HashSet<String> = trials.iter().map(|trial| trial.name()).collect();
        let seeds: HashSet<u64> = trials.iter().map(|trial| trial.seed()).collect();
        let heads: HashSet<String> = trials.iter().map(|trial| trial.head()).collect();
        assert_eq!((names.len(), seeds.len()), (trials.len(), trials.len()));
        assert_eq!(heads.len(), 100 + 3);
    }

    /// The files that a trial changes where the base's are all alike, and their new text.
    fn edits(change: Change) -> Vec<Edit> {
        let base = |_: &str| Ok::<_, ()>("const WORK: usize = 100;\n".to_owned());
        Trial { change, way: Way::Usual, number: 3 }.edits(&base).unwrap()
    }

    #[test]
    fn every_function_gets_more_work_or_none() {
        let more = edits(Change::More(5));
        let files: HashSet<&str> = more.iter().map(|edit| edit.file.as_str()).collect();
        assert_eq!(files.len(), FUNCTIONS.len());
        assert!(more.iter().all(|edit| edit.text == "const WORK: usize = 105;\n"));
        let unrelated = edits(Change::Unrelated);
        assert_eq!(unrelated.len(), 1);
        assert_eq!(unrelated[0].file, "src/unrelated.rs");
    }

    #[test]
    fn the_function_of_a_benchmark_is_the_last_word_of_its_id() {
        assert_eq!(["map", "work/map", "work::map"].map(function_of), ["map"; 3]);
    }

    #[test]
    fn a_function_and_what_it_calls_are_timed_and_its_preparation_is_not() {
        assert!(is_timed("map", "truth::map::map") && is_timed("map", "<hashbrown::map::X>::get"));
        assert!(!is_timed("map", "truth::map::prepare") && !is_timed("map", "truth::fnv::fnv"));
        assert!(!is_timed("fnv", "hashbrown::map::get"));
    }
}
