//! The report of `explain`: the functions that account for a change in a benchmark's instructions.

mod document;
mod html;
pub(super) mod json;
#[cfg(test)]
mod tests;
mod words;

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{callgrind::FunctionDifference, compare::ExplainedBenchmark, error::Result};

/// The maximum number of functions shown to people.
const MOST: usize = 20;

/// The difference below which it is rounding: nothing executes a thousandth of an instruction.
const NOTHING: f64 = 1e-3;

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
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
    }

    fn html(&self) -> Result<String> {
        self.write_html()
    }
}
