//! What the programs under study said, read from their output.

use std::{collections::BTreeMap, error::Error};

use serde::{Deserialize, Serialize};

use crate::trial::{function_of, is_timed};

/// What `cargo rbench compare --format json` said, as far as this study needs it.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// The base.
    pub base: Version,
    /// The head.
    pub head: Version,
    /// Where it was measured.
    pub machine: Option<Machine>,
    /// What makes the numbers less sure.
    pub warnings: Vec<Warning>,
    /// A row for each benchmark.
    pub benchmarks: Vec<Row>,
}

/// The machine of a report.
#[derive(Clone, Debug, Deserialize)]
pub struct Machine {
    /// The model of its CPU.
    pub cpu: String,
    /// How many CPUs it has.
    pub cores: u32,
}

/// A warning of a report.
#[derive(Clone, Debug, Deserialize)]
pub struct Warning {
    /// One word: `load`, `stolen_time`, ...
    pub kind: String,
    /// The number in it, if it is about one.
    pub value: Option<f64>,
}

/// A version of a report.
#[derive(Clone, Debug, Deserialize)]
pub struct Version {
    /// Its commit.
    pub commit: Option<String>,
}

/// The verdict on one benchmark.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Row {
    /// The bench target.
    pub target: String,
    /// The benchmark.
    pub id: String,
    /// One word.
    pub verdict: String,
    /// The change, where there is one.
    pub change: Option<Change>,
    /// What of the differences it executes, where that is known.
    pub reach: Option<Reach>,
    /// What was judged: the first stage, and the second where there was one.
    pub stages: Vec<Stage>,
}

/// A relative change.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Change {
    /// 0.05 is 5 % more.
    pub estimate: f64,
}

/// What a benchmark reaches.
#[derive(Clone, Debug, Deserialize)]
pub struct Reach {
    functions: Vec<Reached>,
}

#[derive(Clone, Debug, Deserialize)]
struct Reached {
    name: String,
    while_measuring: bool,
}

/// One stage of a verdict.
#[derive(Clone, Debug, Deserialize)]
pub struct Stage {
    /// The standard error of the change's logarithm.
    pub log_standard_error: f64,
    /// In which direction it was flagged, if it was.
    pub flagged: Option<String>,
}

impl Row {
    /// Whether the verdict is about the change, and so whoever asked has an answer.
    pub fn is_decided(&self) -> bool {
        ["unchanged", "regressed", "improved"].contains(&self.verdict.as_str())
    }

    /// Whether the first stage wanted a second.
    pub fn is_flagged(&self) -> bool {
        self.stages.first().is_some_and(|stage| stage.flagged.is_some())
    }

    /// Whether machine code differs that it times, as far as names tell.
    pub fn is_touched(&self) -> bool {
        let mut functions = self.reach.iter().flat_map(|reach| &reach.functions);
        // From the first reading of the clock on, which some harnesses take before their set-up.
        functions.any(|one| one.while_measuring && is_timed(function_of(&self.id), &one.name))
    }
}

/// One run of a comparison: what it said, and what the machine was like.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    /// Seconds of wall time, builds included.
    pub seconds: f64,
    /// How many processes wanted to run, over the minute before it began.
    pub load_before: Option<f64>,
    /// The same when it ended, its own processes included.
    pub load_after: Option<f64>,
    /// The share of the time of all CPUs that the host gave to others meanwhile.
    pub stolen: Option<f64>,
    /// What was printed on standard output.
    pub output: serde_json::Value,
}

impl Answer {
    /// The report.
    pub fn report(&self) -> Result<Report, Box<dyn Error>> {
        Ok(Report::deserialize(&self.output)?)
    }
}

/// What criterion says about a benchmark that it has a baseline of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Word {
    /// `Performance has regressed.`
    Regressed,
    /// `Performance has improved.`
    Improved,
    /// `Change within noise threshold.`
    Noise,
    /// `No change in performance detected.`
    NoChange,
}

/// The words that criterion printed, by benchmark.
pub fn criterion_words(output: &str) -> BTreeMap<String, Word> {
    let mut words = BTreeMap::new();
    let mut benchmark = None;
    for line in output.lines() {
        if let Some((name, _)) = line.split_once("time:").filter(|_| !line.starts_with(' ')) {
            benchmark = Some(name.trim().to_owned());
        }
        let word = match line.trim() {
            "Performance has regressed." => Word::Regressed,
            "Performance has improved." => Word::Improved,
            "Change within noise threshold." => Word::Noise,
            "No change in performance detected." => Word::NoChange,
            _ => continue,
        };
        if let Some(benchmark) = benchmark.take() {
            words.insert(benchmark, word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_benchmark_gets_the_word_below_its_time() {
        let output = "\
map                     time:   [1.0 µs 1.1 µs 1.2 µs]
                        change: [+1.0% +2.0% +3.0%] (p = 0.00 < 0.05)
                        Performance has regressed.
Found 3 outliers among 100 measurements (3.00%)
sort                    time:   [1.0 µs 1.1 µs 1.2 µs]
                        change: [-1.0% +0.0% +1.0%] (p = 0.50 > 0.05)
                        No change in performance detected.
split                   time:   [1.0 µs 1.1 µs 1.2 µs]
";
        let words = criterion_words(output);
        assert_eq!(words.len(), 2);
        assert_eq!((words["map"], words["sort"]), (Word::Regressed, Word::NoChange));
    }

    #[test]
    fn only_code_that_is_timed_touches_a_row() {
        let with = |id: &str, name: &str, while_measuring| {
            let functions = vec![Reached { name: name.to_owned(), while_measuring }];
            Row { id: id.to_owned(), reach: Some(Reach { functions }), ..Row::default() }
        };
        assert!(with("work/map", "truth::map::map", true).is_touched());
        assert!(!with("work/map", "truth::map::map", false).is_touched());
        assert!(!with("work/map", "by_divan::main", true).is_touched());
        assert!(!Row::default().is_touched());
    }
}
