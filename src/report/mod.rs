//! Turns results into text and JSON. Pure: each report takes a value and returns a string, and
//! prints nothing.

pub mod bisect;
pub mod build;
pub mod clean;
pub mod compare;
pub mod diagnose;
pub mod diff;
pub mod doctor;
pub mod document;
pub mod exec;
pub mod explain;
pub mod history;
mod html;
pub mod impact;
mod json;
pub mod list;
pub mod names;
pub mod plan;
pub mod quantity;
pub mod queue;
pub mod render;
pub mod selftest;
pub mod sentence;
pub mod show;
pub mod site;
pub mod style;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;

pub use html::file_name;
pub use json::SCHEMA_VERSION;
pub use sentence::idle_note;

pub use crate::model::Format;

use self::document::{Document, Medium};
use crate::{error::Result, escape};

/// The report of a command: one document for people, in three forms, and JSON for programs.
pub trait Report {
    /// The report for people.
    fn document(&self, medium: Medium) -> Document;

    /// The report for programs: a JSON document, the same for every reader. Its shape is public,
    /// see `schemas/`.
    fn json(&self) -> Result<String>;

    /// The report for a terminal of this width, with escape sequences for [roles](style::Role).
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

#[cfg(test)]
mod schemas;
