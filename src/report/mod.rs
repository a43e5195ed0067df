//! Turns results into text and JSON. Pure: each report takes a value and returns a string, and
//! prints nothing.

mod accepted;
pub mod bisect;
pub mod build;
pub mod clean;
pub mod compare;
mod date;
pub mod diagnose;
pub mod diff;
pub mod doctor;
pub mod document;
pub mod exec;
pub mod explain;
mod form;
pub mod history;
mod html;
mod impact;
mod json;
pub mod list;
pub mod markdown;
pub mod names;
pub mod plan;
mod prose;
pub mod quantity;
mod reason;
pub mod render;
#[cfg(test)]
mod schemas;
pub mod selftest;
pub mod sentence;
mod shares;
pub mod show;
pub mod style;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;
pub mod verdict;

pub use accepted::idle_note;
pub use form::{Format, PLAIN_COLUMNS, Report};
pub use json::SCHEMA_VERSION;

use crate::escape;
