//! The report of `explain`: where the instructions went that a version of a benchmark executes more or less.

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

/// So many functions are shown to people.
const MOST: usize = 20;

/// A difference below this is one of rounding: nobody executes a thousandth of an instruction.
const NOTHING: f64 = 1e-3;

impl ExplainedBenchmark {
    /// The functions that differ in what they executed, the most important ones.
    fn shown(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.different().take(MOST)
    }

    /// The functions that differ in what they executed themselves, that are a reason, or that were called more or less
    /// often.
    fn different(&self) -> impl Iterator<Item = &FunctionDifference> {
        self.explanation.functions.iter().filter(|function| {
            let [base, head] = function.calls();
            let is_reason = function.code.differs() && function.attributed().abs() >= NOTHING;
            is_reason || [function.own(), head - base].iter().any(|one| one.abs() >= NOTHING)
        })
    }

    /// How many instructions more all functions that are not shown executed themselves, and how many functions these are.
    fn others(&self) -> (usize, f64) {
        let others: Vec<f64> = self.different().skip(MOST).map(FunctionDifference::own).collect();
        (others.len(), others.iter().sum())
    }

    /// How many instructions more no function with other machine code is the reason of.
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
