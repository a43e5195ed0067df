//! The report of `compare`: every benchmark of two versions with its verdict.

mod advice;
mod changes;
mod comparison;
mod counted;
mod document;
mod html;
mod impact;
mod notes;
mod overall;
mod sizes;
mod summary;
mod table;
pub(super) mod variants;
pub(super) mod versus;
mod warning;

use std::rc::Rc;

pub use changes::changes_texts;
pub use comparison::{Comparison, Row};
pub(super) use html::page_of;
pub use impact::{ImpactRow, impact_notes};
pub(super) use notes::dependencies_note;
pub use overall::GeometricMean;
pub use table::table;
pub use variants::VariantsReport;
pub use versus::VersusReport;
pub use warning::WarningFields;
pub(super) use warning::{cause as warning_cause, sentence as warning_sentence};

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{compare::Outcome, error::Result, shell::CommandLine, verdict::ExitPolicy};

/// The report on a comparison of two versions.
#[derive(Clone, Debug)]
pub struct ComparisonReport {
    /// The outcome of the comparison. The comparison with a release is in [`also`](Self::also).
    pub outcome: Outcome,
    /// The report on the comparison of the same head with a release, if there was one.
    pub also: Option<Box<Self>>,
    /// The verdicts that make the command fail.
    pub policy: ExitPolicy,
    /// True to give the reason for every verdict, not only for those worth a check.
    pub explains_all: bool,
    /// True to suggest commands. They need a project that still exists after the report.
    pub suggests: bool,
    /// Writes the suggested commands.
    pub command_line: Rc<dyn CommandLine>,
}

impl ComparisonReport {
    /// The report on an outcome.
    pub fn new(
        mut outcome: Outcome,
        policy: ExitPolicy,
        command_line: Rc<dyn CommandLine>,
    ) -> Self {
        let also = outcome.also.take();
        let also = also.map(|also| Self::new(*also, policy.clone(), command_line.clone()));
        Self {
            outcome,
            also: also.map(Box::new),
            policy,
            explains_all: false,
            suggests: true,
            command_line,
        }
    }

    /// Gives the reason for every verdict if `all` is set, including the comparison with a release.
    #[must_use]
    pub fn explaining_all(mut self, all: bool) -> Self {
        self.explains_all = all;
        self.also = self.also.map(|also| Box::new(also.explaining_all(all)));
        self
    }
}

impl Report for ComparisonReport {
    fn document(&self, medium: Medium) -> Document {
        self.write_document(medium)
    }

    fn json(&self) -> Result<String> {
        self.comparison().to_json()
    }

    fn html(&self) -> Result<String> {
        self.write_html()
    }
}

#[cfg(test)]
mod tests;
