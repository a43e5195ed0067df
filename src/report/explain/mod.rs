//! The report of `diff --explain`: the functions that account for a change in a benchmark's instructions.

mod document;
#[cfg(test)]
mod tests;
mod words;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    document::{Document, Medium},
    json,
};
use crate::{
    callgrind::FunctionDifference,
    compare::ExplainedBenchmark,
    error::Result,
    impact::Impact,
    model::{Benchmark, DependencyChange, Version},
};

/// The maximum number of functions shown to people.
const MOST: usize = 20;

/// The difference below which it is rounding: nothing executes a thousandth of an instruction.
const NOTHING: f64 = 1e-3;

/// The sources of the difference in a benchmark's instructions, for programs.
#[derive(Serialize, JsonSchema)]
pub(super) struct Explained<'r> {
    base: &'r Version,
    head: &'r Version,
    #[serde(flatten)]
    benchmark: &'r Benchmark,
    /// The instructions of one iteration in the base.
    #[schemars(range(min = 0))]
    base_instructions: f64,
    /// The instructions of one iteration in the head.
    #[schemars(range(min = 0))]
    head_instructions: f64,
    /// The additional instructions that no function with different machine code accounts for: other
    /// input, or another environment.
    unattributed: f64,
    /// The functions that either version executed during the measurement, those that explain most
    /// first. All numbers are of one iteration.
    functions: Vec<FunctionFields<'r>>,
    /// The impact, including set-up.
    impact: &'r Impact,
    /// The external packages whose version differs between base and head.
    dependencies: &'r [DependencyChange],
}

/// A function in both versions, with its differences. Over all functions, the sums of `caused` and
/// of `self` are the difference of the totals.
#[derive(Serialize, JsonSchema)]
struct FunctionFields<'r> {
    #[serde(flatten)]
    function: &'r FunctionDifference,
    /// The additional instructions that it accounts for: if its code differs, its own and those of
    /// the functions that it calls and whose code does not differ.
    caused: f64,
    /// The additional instructions that it executes itself.
    #[serde(rename = "self")]
    own: f64,
    /// The additional instructions that it executes together with its callees.
    inclusive: f64,
}

impl<'r> From<&'r FunctionDifference> for FunctionFields<'r> {
    fn from(function: &'r FunctionDifference) -> Self {
        Self {
            function,
            caused: function.attributed(),
            own: function.own(),
            inclusive: function.inclusive(),
        }
    }
}

impl ExplainedBenchmark {
    /// The most important functions whose executed instructions differ.
    fn shown(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.different().take(MOST)
    }

    /// The functions that executed a different number of instructions themselves, account for a
    /// difference, or were called more or less often.
    fn different(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.explanation.functions.iter().filter(|function| {
            let [base, head] = function.calls();
            let is_reason = function.code.differs() && function.attributed().abs() >= NOTHING;
            is_reason || [function.own(), head - base].iter().any(|one| one.abs() >= NOTHING)
        })
    }

    /// The number of functions not shown, and the additional instructions that they executed
    /// themselves.
    fn others(&self) -> (usize, f64) {
        let others: Vec<f64> = self.different().skip(MOST).map(FunctionDifference::own).collect();
        (others.len(), others.iter().sum())
    }

    /// The additional instructions that no function with different machine code accounts for.
    fn without_reason(&self) -> f64 {
        let functions = self.explanation.functions.iter();
        functions
            .filter(|function| !function.code.differs())
            .map(FunctionDifference::attributed)
            .sum()
    }
}

impl Report for ExplainedBenchmark {
    fn document(&self, medium: Medium) -> Document {
        self.write_document(medium)
    }

    fn json(&self) -> Result<String> {
        json::document(&Explained {
            base: &self.base,
            head: &self.head,
            benchmark: &self.benchmark,
            base_instructions: self.explanation.base,
            head_instructions: self.explanation.head,
            unattributed: self.without_reason(),
            functions: self.explanation.functions.iter().map(FunctionFields::from).collect(),
            impact: &self.reach,
            dependencies: &self.dependencies,
        })
    }
}
