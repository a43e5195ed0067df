//! The report of `selftest`: whether this machine is fit to judge, and what its noise is like.

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
    error::{Error, Exit, Result},
    model::{BenchTarget, Benchmark, Machine, Mode, SampleSizes, Version},
    shell::CommandLine,
    stats::{Criteria, Proportion},
    verdict::fitness::Fitness,
};

/// The confidence of the intervals of rates.
pub const CONFIDENCE: f64 = 0.95;

/// What a version that was compared with itself tells of the machine.
#[derive(Clone, Debug)]
pub struct SelftestReport {
    /// The version.
    pub version: Version,
    /// The machine.
    pub machine: Machine,
    /// How it was judged.
    pub criteria: Criteria,
    /// How often everything was compared.
    pub repetitions: usize,
    /// The benchmarks that were measured.
    pub benchmarks: Vec<Benchmark>,
    /// Benchmarks that execute something of which the compiler made other code in both versions, and which were not
    /// measured.
    pub left_out: Vec<Benchmark>,
    /// Bench targets that are the same programs in both versions.
    pub same_programs: Vec<BenchTarget>,
    /// The ways of measuring; the first one is that which `compare` uses.
    pub modes: Vec<ModeResult>,
    /// What Criterion.rs says of the same, if that was asked for.
    pub criterion: Option<CriterionResult>,
    /// What makes this less sure.
    pub warnings: Vec<Warning>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<(BenchTarget, Error)>,
    /// What writes the commands that are advised.
    pub command_line: Rc<dyn CommandLine>,
}

/// What one way of measuring gave.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeResult {
    /// The way.
    pub mode: Mode,
    /// How much was measured in each comparison, as far as no benchmark has its own numbers.
    pub sample_sizes: SampleSizes,
    /// How long linking and measuring took.
    pub duration: Duration,
    /// What follows from it.
    pub fitness: Fitness,
}

/// What Criterion.rs said of code that did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CriterionResult {
    /// Of how many benchmarks, in all repetitions, it said that their performance has changed.
    pub changed: Proportion,
    /// How many of these have regressed, as it says.
    pub regressed: usize,
    /// How many have improved, as it says.
    pub improved: usize,
    /// How long it took.
    pub duration: Duration,
}

impl SelftestReport {
    /// `, in turns`: the way that most numbers are of, where there are several.
    fn first_mode_text(&self) -> String {
        match self.modes.as_slice() {
            [first, _, ..] => format!(", {}", name_of(first.mode)),
            _ => String::new(),
        }
    }

    /// How the command ends: as if something regressed, where the first way is not fit.
    pub fn exit(&self) -> Exit {
        let is_fit = self.modes.first().is_some_and(|way| way.fitness.is_fit());
        if is_fit { Exit::Success } else { Exit::Regression }
    }
}

impl ModeResult {
    /// How many rows were reported as changed.
    pub const fn reported(&self) -> Proportion {
        let Fitness { regressed, improved, rows, .. } = &self.fitness;
        Proportion { count: *regressed + *improved, of: *rows }
    }
}

/// A way of measuring, as people read it.
pub const fn name_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Interleaved => "in turns",
        Mode::Sequential => "one after the other",
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
