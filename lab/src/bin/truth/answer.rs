//! The answers of the programs under study, read from their output.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::trial::{function_of, is_timed};

/// The report of `cargo rbench compare --format json`, reduced to the fields of this study.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    pub base: Version,
    pub head: Version,
    pub machine: Option<Machine>,
    pub warnings: Vec<Warning>,
    pub benchmarks: Vec<Row>,
    /// The functions that differ, which rows name by index.
    executed: Vec<AffectedFunction>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: u32,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Warning {
    /// The kind, such as `load` or `stolen_time`.
    pub kind: String,
    /// The number in the warning, if it has one.
    pub value: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Version {
    pub commit: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Row {
    pub target: String,
    pub id: String,
    pub verdict: String,
    /// The change, if one was estimated.
    pub change: Option<Change>,
    /// The impact of the differences on the benchmark, if known.
    pub impact: Option<Impact>,
    /// The stages of the verdict: the first, and the second if there was one.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// True if machine code that it times differs, judging by the functions' names.
    #[serde(skip)]
    pub is_touched: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Change {
    /// The estimate: 0.05 is 5 % more.
    pub estimate: f64,
}

/// The impact of the differences on a benchmark.
#[derive(Clone, Debug, Deserialize)]
pub struct Impact {
    functions: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
struct AffectedFunction {
    name: String,
    while_measuring: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Stage {
    /// The standard error of the change's logarithm.
    pub log_standard_error: f64,
    /// The direction in which it was flagged, if it was.
    pub flagged: Option<String>,
}

impl Row {
    /// True if the verdict answers the question of the comparison.
    pub fn is_decided(&self) -> bool {
        ["unchanged", "regressed", "improved"].contains(&self.verdict.as_str())
    }

    /// True if the first stage required a second.
    pub fn is_flagged(&self) -> bool {
        self.stages.first().is_some_and(|stage| stage.flagged.is_some())
    }

    fn times_any_of(&self, executed: &[AffectedFunction]) -> bool {
        let indices = self.impact.iter().flat_map(|impact| &impact.functions);
        let mut functions = indices.filter_map(|index| executed.get(*index));
        // Counting begins at the first reading of the clock, which some harnesses take before their
        // set-up.
        functions.any(|one| one.while_measuring && is_timed(function_of(&self.id), &one.name))
    }
}

/// One run of a comparison: its output, and the state of the machine.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    /// Seconds of wall time, builds included.
    pub seconds: f64,
    /// The load average of the minute before it began.
    pub load_before: Option<f64>,
    /// The load average when it ended, its own processes included.
    pub load_after: Option<f64>,
    /// The share of the time of all CPUs that the host stole meanwhile.
    pub stolen: Option<f64>,
    pub output: serde_json::Value,
}

impl Answer {
    pub fn report(&self) -> Result<Report, Box<dyn Error>> {
        let mut report = Report::deserialize(&self.output)?;
        for row in &mut report.benchmarks {
            row.is_touched = row.times_any_of(&report.executed);
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_timed_code_touches_a_row() {
        let with = |id: &str, name: &str, while_measuring| {
            let executed = [AffectedFunction { name: name.to_owned(), while_measuring }];
            let impact = Some(Impact { functions: vec![0] });
            Row { id: id.to_owned(), impact, ..Row::default() }.times_any_of(&executed)
        };
        assert!(with("work/map", "truth::map::map", true));
        assert!(!with("work/map", "truth::map::map", false));
        assert!(!with("work/map", "by_divan::main", true));
        assert!(!Row::default().times_any_of(&[]));
    }
}
