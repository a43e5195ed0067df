//! The pairs of versions under test, whose true difference is known.

use crate::unrelated;

/// The functions that the benchmarks time, in each bench target. Each has a file of the same name.
pub const FUNCTIONS: [&str; 10] =
    ["chase", "find", "fnv", "format", "horner", "map", "numbers", "primes", "sort", "split"];

/// The tag of the version that all others are compared with.
pub const BASE: &str = "base";

/// The difference between base and head of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Code that no benchmark calls, different in each trial.
    Unrelated,
    /// This many percent more work in every function.
    More(usize),
}

/// The settings of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The defaults; a change of 1 % with a smaller `--min-effect` and more time.
    Usual,
    /// Ten builds and two executions of each, whatever the interim results.
    Fixed,
    /// The same, sequentially.
    Alone,
}

/// One comparison of a head with the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    pub change: Change,
    pub way: Way,
    /// The number among the trials of its kind, from 0.
    pub number: usize,
}

impl Trial {
    pub fn all(change: Change, way: Way, count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(move |number| Self { change, way, number })
    }

    pub fn head(self) -> String {
        match self.change {
            Change::Unrelated => format!("unrelated-{:02}", self.number),
            Change::More(percent) => format!("more-{percent:02}"),
        }
    }

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

    /// The seed of the comparison, different for each trial, so that no two share a layout.
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

    /// The flags of the comparison, except for the seed.
    pub fn flags(self) -> &'static [&'static str] {
        match (self.way, self.change) {
            (Way::Usual, Change::More(1)) => &["--min-effect", "0.5%", "--budget", "5min"],
            (Way::Usual, _) => &[],
            (Way::Fixed, _) => &["--builds", "10", "--executions", "2"],
            (Way::Alone, _) => &["--builds", "10", "--executions", "2", "--mode", "sequential"],
        }
    }

    /// The files of the fixture that differ in the head; `base` reads the base's.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub file: String,
    pub text: String,
}

/// The function that a benchmark times: the last word of its id, whatever the harness puts before
/// it.
pub fn function_of(id: &str) -> &str {
    id.rsplit(|character: char| !character.is_alphanumeric()).next().unwrap_or(id)
}

/// The parts of the standard library in which a function spends time.
const SHARED: [(&str, &[&str]); 4] = [
    ("sort", &["core::slice::sort::"]),
    ("map", &["hashbrown::", "core::hash::"]),
    ("format", &["core::fmt::", "alloc::string::"]),
    ("split", &["core::str::"]),
];

/// True if code with this name is part of the timed code of a function of the fixture.
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
    fn trials_have_unique_names_and_seeds_and_share_heads() {
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

    /// The edits of a trial on a base whose files all have the same text.
    fn edits(change: Change) -> Vec<Edit> {
        let base = |_: &str| Ok::<_, ()>("const WORK: usize = 100;\n".to_owned());
        Trial { change, way: Way::Usual, number: 3 }.edits(&base).unwrap()
    }

    #[test]
    fn functions_get_more_work_or_none() {
        let more = edits(Change::More(5));
        let files: HashSet<&str> = more.iter().map(|edit| edit.file.as_str()).collect();
        assert_eq!(files.len(), FUNCTIONS.len());
        assert!(more.iter().all(|edit| edit.text == "const WORK: usize = 105;\n"));
        let unrelated = edits(Change::Unrelated);
        assert_eq!(unrelated.len(), 1);
        assert_eq!(unrelated[0].file, "src/unrelated.rs");
    }

    #[test]
    fn function_of_a_benchmark_is_the_last_word_of_its_id() {
        assert_eq!(["map", "work/map", "work::map"].map(function_of), ["map"; 3]);
    }

    #[test]
    fn function_and_callees_are_timed_but_not_its_preparation() {
        assert!(is_timed("map", "truth::map::map") && is_timed("map", "<hashbrown::map::X>::get"));
        assert!(!is_timed("map", "truth::map::prepare") && !is_timed("map", "truth::fnv::fnv"));
        assert!(!is_timed("fnv", "hashbrown::map::get"));
    }
}
