//! What Criterion.rs prints about benchmarks that have a baseline.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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

impl Word {
    fn parse(line: &str) -> Option<Self> {
        match line {
            "Performance has regressed." => Some(Self::Regressed),
            "Performance has improved." => Some(Self::Improved),
            "Change within noise threshold." => Some(Self::Noise),
            "No change in performance detected." => Some(Self::NoChange),
            _ => None,
        }
    }
}

/// The verdicts by benchmark, each with the estimated change in %.
pub fn verdicts(output: &str) -> BTreeMap<String, (Word, f64)> {
    let mut verdicts = BTreeMap::new();
    let (mut name, mut percent) = (String::new(), 0.0);
    for line in output.lines() {
        if let Some((first, _)) = line.split_once("time:") {
            // A long name has a line of its own before this one.
            if !first.trim().is_empty() {
                first.trim().clone_into(&mut name);
            }
        } else if !line.starts_with(' ') && !line.is_empty() {
            line.trim().clone_into(&mut name);
        } else if let Some((_, change)) = line.split_once("change: [") {
            let middle = change.split_whitespace().nth(1).unwrap_or_default();
            percent = middle.trim_end_matches('%').replace('−', "-").parse().unwrap_or(0.0);
        } else if let Some(word) = Word::parse(line.trim()) {
            verdicts.insert(name.clone(), (word, percent));
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_get_the_verdict_below_their_time() {
        let output = "\
map                     time:   [1.0 µs 1.1 µs 1.2 µs]
                        change: [+1.0% +2.0% +3.0%] (p = 0.00 < 0.05)
                        Performance has regressed.
Found 3 outliers among 100 measurements (3.00%)
a benchmark with a name that is long
                        time:   [1.0 µs 1.1 µs 1.2 µs]
                        change: [−1.0% −0.5% +0.0%] (p = 0.50 > 0.05)
                        No change in performance detected.
split                   time:   [1.0 µs 1.1 µs 1.2 µs]
";
        let found = verdicts(output);
        assert_eq!(found.len(), 2);
        assert_eq!(found["map"], (Word::Regressed, 2.0));
        assert_eq!(found["a benchmark with a name that is long"], (Word::NoChange, -0.5));
    }
}
