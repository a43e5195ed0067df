//! Reads `.rbench/accepted.toml`, the slowdowns that were accepted on purpose; errors name the line.
//!
//! Like `bench.toml`, the file is read from the working tree, whichever versions are compared; in a job, from the base.

mod edit;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de::Error as _};
use toml::Spanned;

use super::{bench_toml::read_if_present, values};
use crate::{
    error::{Error, Exit, Result},
    model::{Benchmark, Metric},
};

/// The file's words for an infinite change, which is one from a count of 0, and for an infinite ceiling.
const FROM_NOTHING: &str = "from 0";
const NO_CEILING: &str = "any size";

#[derive(Clone, Debug, Default)]
pub struct AcceptedToml {
    path: PathBuf,
    text: String,
    entries: Vec<AcceptedEntry>,
}

/// One accepted slowdown of one benchmark in one metric.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedEntry {
    pub package: String,
    pub bench: String,
    pub benchmark: String,
    /// The metric that became worse.
    #[serde(deserialize_with = "metric")]
    pub metric: Metric,
    /// The commit that is accepted, in hex.
    #[serde(deserialize_with = "commit")]
    pub commit: String,
    /// The base of the comparison, in hex.
    #[serde(deserialize_with = "commit")]
    pub base: String,
    /// The measured relative change: 0.05 is 5 %; infinite if the base counted 0.
    #[serde(deserialize_with = "change")]
    pub change: f64,
    /// The largest relative change that passes: 0.05 is 5 %; infinite if any change passes.
    #[serde(deserialize_with = "ceiling")]
    pub ceiling: f64,
    /// The user's reason, on one line.
    #[serde(deserialize_with = "reason")]
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    #[serde(default)]
    accepted: Vec<Spanned<AcceptedEntry>>,
}

impl AcceptedToml {
    /// The path of the file in the workspace.
    pub const NAME: &str = ".rbench/accepted.toml";

    /// Reads the file of a workspace, if there is one.
    pub fn read(workspace: &Path) -> Result<Self> {
        let path = workspace.join(Self::NAME);
        let text = read_if_present(&path)?.unwrap_or_default();
        Self::parse(text, path)
    }

    /// The path of the file, even if there is none yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn entries(&self) -> &[AcceptedEntry] {
        &self.entries
    }

    /// Parses the text of a file; errors name its path.
    pub fn parse(text: String, path: PathBuf) -> Result<Self> {
        let refusal = |cause: String| {
            Error::new(Exit::Usage, format!("cannot use {}", path.display()))
                .cause(cause)
                .hint("repair it by hand, or remove the entry and accept the change again")
        };
        let tables: Tables = toml::from_str(&text).map_err(|error| refusal(error.to_string()))?;
        let line = |entry: &Spanned<AcceptedEntry>| {
            text.get(..entry.span().start).unwrap_or_default().matches('\n').count() + 1
        };
        for (index, entry) in tables.accepted.iter().enumerate() {
            let same =
                |other: &&Spanned<AcceptedEntry>| other.get_ref().key() == entry.get_ref().key();
            if let Some(other) = tables.accepted[..index].iter().find(same) {
                let [line, other] = [line(entry), line(other)];
                return Err(refusal(format!(
                    "line {line}: this benchmark of this commit is in line {other} already"
                )));
            }
        }
        let entries = tables.accepted.into_iter().map(Spanned::into_inner).collect();
        Ok(Self { path, text, entries })
    }
}

impl AcceptedEntry {
    pub fn applies_to(&self, benchmark: &Benchmark, metric: &Metric) -> bool {
        self.names_benchmark(benchmark) && self.metric == *metric
    }

    /// True if the entry is for this benchmark, in any metric.
    pub fn names_benchmark(&self, benchmark: &Benchmark) -> bool {
        self.package == benchmark.package
            && self.bench == benchmark.target
            && self.benchmark == benchmark.name.id
    }

    /// The key that identifies an entry and sorts the file.
    fn key(&self) -> [&str; 5] {
        [&self.package, &self.bench, &self.benchmark, &self.metric.name, &self.commit]
    }
}

fn metric<'de, D: Deserializer<'de>>(value: D) -> Result<Metric, D::Error> {
    String::deserialize(value)?.parse().map_err(D::Error::custom)
}

fn change<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    share_or(FROM_NOTHING, value)
}

fn ceiling<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    share_or(NO_CEILING, value)
}

/// Parses a share, or infinity if the value is the word `infinite`.
fn share_or<'de, D: Deserializer<'de>>(infinite: &str, value: D) -> Result<f64, D::Error> {
    match String::deserialize(value)? {
        word if word == infinite => Ok(f64::INFINITY),
        share => values::share(&share).map_err(D::Error::custom),
    }
}

fn commit<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let id = String::deserialize(value)?;
    let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    if matches!(id.len(), 40 | 64) && id.bytes().all(is_digit) {
        return Ok(id);
    }
    Err(D::Error::custom("expected all digits of a commit, as `git rev-parse` prints them"))
}

fn reason<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    values::reason(&String::deserialize(value)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests;
