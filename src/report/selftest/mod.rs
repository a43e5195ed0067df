//! The report of `selftest`: whether verdicts of this machine can be trusted, and the kind of its
//! noise.

mod document;
pub(super) mod json;
mod tables;
mod words;

use std::{rc::Rc, time::Duration};

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{
    compare::Warning,
    error::{Exit, Result},
    model::{BenchTarget, Benchmark, FailedTarget, Machine, Mode, SampleSizes, Version},
    shell::CommandLine,
    stats::{Criteria, Proportion},
    verdict::fitness::Fitness,
};

/// The confidence of the intervals of rates.
pub const CONFIDENCE: f64 = 0.95;

/// The evaluation of a machine by comparisons of a version with itself.
#[derive(Clone, Debug)]
pub struct SelftestReport {
    /// The version compared with itself.
    pub version: Version,
    /// The machine that measured.
    pub machine: Machine,
    /// The criteria of the verdicts.
    pub criteria: Criteria,
    /// The number of times that everything was compared.
    pub repetitions: usize,
    /// The benchmarks that were measured.
    pub benchmarks: Vec<Benchmark>,
    /// Benchmarks that were not measured, because they execute something for which the compiler
    /// generates different code in the two versions.
    pub left_out: Vec<Benchmark>,
    /// Bench targets that are the same programs in both versions.
    pub same_programs: Vec<BenchTarget>,
    /// The results by mode; the first is the mode that `compare` uses.
    pub modes: Vec<ModeResult>,
    /// The results of Criterion.rs on the same code, if requested.
    pub criterion: Option<CriterionResult>,
    /// Reasons why the results are less certain.
    pub warnings: Vec<Warning>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<FailedTarget>,
    /// Writes the suggested commands.
    pub command_line: Rc<dyn CommandLine>,
}

/// The results of one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeResult {
    /// The mode of the executions.
    pub mode: Mode,
    /// The sample sizes of each comparison, for benchmarks without their own.
    pub sample_sizes: SampleSizes,
    /// The duration of linking and measuring.
    pub duration: Duration,
    /// The evaluation of the machine in this mode.
    pub fitness: Fitness,
}

/// The results of Criterion.rs on unchanged code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CriterionResult {
    /// The benchmarks, in all repetitions, that it reported as changed.
    pub changed: Proportion,
    /// The number reported as regressed.
    pub regressed: usize,
    /// The number reported as improved.
    pub improved: usize,
    /// The duration of its runs.
    pub duration: Duration,
}

impl SelftestReport {
    /// The mode that most numbers are of, if there are several.
    fn first_mode_text(&self) -> String {
        match self.modes.as_slice() {
            [first, _, ..] => format!(", {}", name_of(first.mode)),
            _ => String::new(),
        }
    }

    /// The exit code: a regression if the first mode is not fit.
    pub fn exit(&self) -> Exit {
        let is_fit = self.modes.first().is_some_and(|first| first.fitness.is_fit());
        if is_fit { Exit::Success } else { Exit::Regression }
    }
}

impl ModeResult {
    /// The share of rows reported as changed.
    pub const fn reported(&self) -> Proportion {
        let Fitness { regressed, improved, rows, .. } = &self.fitness;
        Proportion { count: *regressed + *improved, of: *rows }
    }
}

/// The name of a mode for people.
pub const fn name_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Interleaved => "interleaved",
        Mode::Sequential => "sequential",
    }
}

impl Report for SelftestReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
    }
}

#[cfg(test)]
mod tests;
