//! Turns results into text and JSON. Pure: each report takes a value and returns a string, and
//! prints nothing.

pub(crate) mod bisect;
pub(crate) mod build;
pub(crate) mod clean;
pub mod compare;
pub mod diagnose;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod document;
pub(crate) mod exec;
pub(crate) mod explain;
mod export;
pub mod history;
mod html;
pub(crate) mod impact;
mod json;
pub(crate) mod list;
pub(crate) mod names;
pub(crate) mod quantity;
pub(crate) mod render;
pub(crate) mod selftest;
pub(crate) mod sentence;
pub(crate) mod site;
pub(crate) mod style;
pub(crate) mod table;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod version;

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

pub use export::{ExportedValue, no_values};
pub use html::file_name;
pub use json::SCHEMA_VERSION;
pub use sentence::idle_note;

pub use crate::model::Format;

use self::document::{Document, Medium};
use crate::{error::Result, escape};

/// The report of a command: one document for people, in three forms, and JSON for programs.
pub trait Report {
    fn document(&self, medium: Medium) -> Document;

    /// The report for programs: a JSON document, the same for every reader. Its shape is public,
    /// see `schemas/`.
    fn json(&self) -> Result<String>;

    /// The report as pictures in SVG, each with what its file's name has before the extension; only one has any.
    fn pictures(&self) -> Result<Vec<(&'static str, String)>> {
        Ok(Vec::new())
    }

    /// The values of the version that the report is about: in a comparison, of the head. `None`: it has no such values.
    fn values(&self) -> Option<Vec<ExportedValue>> {
        None
    }

    /// The report for a terminal of this width, with escape sequences for the roles of texts.
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
            Self::Bmf => export::bencher(&report.values().ok_or_else(no_values)?),
            Self::Gab => export::action(&report.values().ok_or_else(no_values)?),
            Self::Svg => {
                let pictures = report.pictures()?;
                Ok(pictures.into_iter().next().map_or_else(String::new, |(_, picture)| picture))
            }
        }
    }
}

/// Groups values by their keys, both in the order of their first appearance.
fn grouped<K: Clone + Eq + Hash, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (key, value) in pairs {
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The values without repetitions, in the order of their first appearance.
fn distinct<T: Clone + Eq + Hash>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut met = HashSet::new();
    values.into_iter().filter(|value| met.insert(value.clone())).collect()
}

#[cfg(test)]
mod schemas;
