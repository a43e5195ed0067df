//! What the programs under study said, read from their output.

use std::{collections::BTreeMap, error::Error};

use serde::{Deserialize, Serialize};

/// What `cargo rbench compare --format json` said, as far as this study needs it.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// The base.
    pub base: Version,
    /// The head.
    pub head: Version,
    /// What makes the numbers less sure.
    pub warnings: Vec<Warning>,
    /// A row for each benchmark.
    pub benchmarks: Vec<Row>,
}

/// A warning of a report.
#[derive(Clone, Debug, Deserialize)]
pub struct Warning {
    /// One word: `load`, `builds`, ...
    pub kind: String,
}

/// A version of a report.
#[derive(Clone, Debug, Deserialize)]
pub struct Version {
    /// Its commit.
    pub commit: Option<String>,
}

/// The verdict on one benchmark.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// The benchmark.
    pub id: String,
    /// One word.
    pub verdict: String,
    /// The change, where there is one.
    pub change: Option<Change>,
    /// What to add where that was not enough.
    pub advice: Option<Advice>,
}

/// What the report advises.
#[derive(Clone, Debug, Deserialize)]
pub struct Advice {
    /// `builds` or `executions`.
    pub more: String,
    /// How many in all.
    pub number: usize,
}

/// A relative change.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Change {
    /// 0.05 is 5 % more.
    pub estimate: f64,
}

/// One run of a comparison: how it ended, what it said, how long it took.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    /// The exit code.
    pub exit: i32,
    /// Seconds of wall time, builds included.
    pub seconds: f64,
    /// What was printed on standard output.
    pub output: serde_json::Value,
}

impl Answer {
    /// The report.
    pub fn report(&self) -> Result<Report, Box<dyn Error>> {
        Ok(Report::deserialize(&self.output)?)
    }
}

impl Report {
    /// The benchmarks with one of these verdicts.
    pub fn with_verdict(&self, verdicts: &[&str]) -> Vec<&str> {
        let rows = self.benchmarks.iter();
        rows.filter(|row| verdicts.contains(&row.verdict.as_str()))
            .map(|row| row.id.as_str())
            .collect()
    }
}

impl Row {
    /// The flags of `compare` that the report asks for, if it could not say enough of this benchmark.
    pub fn asked_for(&self) -> Option<[String; 2]> {
        let advice = self.advice.as_ref()?;
        Some([format!("--{}", advice.more), advice.number.to_string()])
    }
}

/// The functions that `cargo rbench diff --format json` calls changed.
pub fn changed_functions(diff: &serde_json::Value) -> Vec<String> {
    let targets = diff["targets"].as_array().into_iter().flatten();
    let changed = targets.flat_map(|target| target["changed"].as_array().into_iter().flatten());
    changed.filter_map(|function| Some(function["name"].as_str()?.to_owned())).collect()
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
    fn changed_functions_of_all_targets_are_named() {
        let diff = serde_json::json!({ "targets": [
            { "changed": [{ "name": "a::b" }], "added": [{ "name": "c" }] },
            { "changed": [{ "name": "d" }] },
        ] });
        assert_eq!(changed_functions(&diff), ["a::b", "d"]);
    }
}
