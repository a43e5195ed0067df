//! What all reports have in common: one document for people, in three forms, and JSON for programs.

use super::{
    document::{Document, Medium},
    render,
};
use crate::error::Result;
pub use crate::model::Format;

/// The report of a command: one document for people, in three forms, and JSON for programs.
pub trait Report {
    /// The report for people.
    fn document(&self, medium: Medium) -> Document;

    /// The report for programs: a JSON document, the same for every reader. Its shape is public,
    /// see `schemas/`.
    fn json(&self) -> Result<String>;

    /// The report for a terminal of this width, with escape sequences for [roles](super::style::Role).
    fn text(&self, columns: usize) -> String {
        render::text(&self.document(Medium::Terminal { columns }), columns)
    }

    /// The report for pull requests.
    fn markdown(&self) -> String {
        render::markdown(&self.document(Medium::Markdown))
    }

    /// The report for a browser: a page that needs no network.
    fn html(&self) -> Result<String> {
        render::html(&self.document(Medium::Page), &self.json()?)
    }
}

/// The width of text that is not for a terminal.
pub const PLAIN_COLUMNS: usize = 100;

impl Format {
    /// Renders a report in this form; `columns` is the width of text.
    pub fn render(self, report: &dyn Report, columns: usize) -> Result<String> {
        match self {
            Self::Text => Ok(report.text(columns)),
            Self::Markdown => Ok(report.markdown()),
            Self::Json => report.json(),
            Self::Html => report.html(),
        }
    }
}
