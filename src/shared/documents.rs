//! A set of documents, one for each experiment, and what a database knows about each.

use std::{collections::HashSet, time::SystemTime};

use serde::Serialize;
use serde_json::Value;

use crate::{
    error::{Context as _, Exit, Result},
    model::{SkipReason, Version, nanoseconds},
    store::StoredExperiment,
};

/// A place with one document for each experiment. Identities are those of [`StoredExperiment`].
pub trait Documents {
    /// True if it does not answer any more, so that nothing else can be asked.
    fn is_lost(&self) -> bool {
        false
    }

    /// The experiments of these that it lacks.
    fn missing(&mut self, identities: &[String]) -> Result<HashSet<String>>;

    /// Adds the document of an experiment, which is durable when this returns. Only a database asks for the summary.
    /// Returns false, and changes nothing, if the experiment is there.
    fn add(
        &mut self,
        identity: &str,
        document: &[u8],
        summary: &dyn Fn() -> Result<Summary>,
    ) -> Result<bool>;

    /// The experiments that it has documents of. A database lists only those that were finished at `since` or later,
    /// the newest first.
    fn identities(&mut self, since: Option<SystemTime>) -> Result<Vec<String>>;

    /// The document of an experiment, as somebody else left it.
    fn document(&mut self, identity: &str) -> Result<Vec<u8>>;
}

/// Everything about an experiment that SQL can answer questions about.
#[derive(Debug)]
pub struct Summary {
    /// An [`About`] as JSON.
    pub(super) about: String,
    /// The comparison as JSON, if the experiment is one.
    pub(super) report: Option<String>,
}

impl Summary {
    /// The summary of an experiment and of its comparison, if it is one.
    pub fn new(about: &About<'_>, comparison: Option<&impl Serialize>) -> Result<Self> {
        let report = comparison.map(json).transpose()?;
        Ok(Self { about: json(about)?, report })
    }
}

/// JSON without NUL, which PostgreSQL cannot have in text.
fn json(value: &impl Serialize) -> Result<String> {
    fn replace_nul(value: &mut Value) {
        match value {
            Value::String(text) if text.contains('\0') => *text = text.replace('\0', "\u{fffd}"),
            Value::Array(values) => values.iter_mut().for_each(replace_nul),
            Value::Object(fields) => fields.values_mut().for_each(replace_nul),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(value)
        .context(Exit::Internal, || "cannot write the summary of an experiment")?;
    replace_nul(&mut value);
    Ok(value.to_string())
}

/// An experiment in a few words.
#[derive(Debug, Serialize)]
pub struct About<'e> {
    identity: &'e str,
    project: &'e str,
    class: &'e str,
    machine: String,
    kind: &'static str,
    settings_key: &'e str,
    rbench: &'e str,
    base: Option<&'e str>,
    head: &'e str,
    /// The time of the head's commit.
    head_s: Option<i64>,
    summary: &'e str,
    begun_ns: i64,
    finished_ns: i64,
    unaffected: usize,
    identical: usize,
}

impl<'e> About<'e> {
    /// Describes an experiment of a project that skipped benchmarks for these reasons.
    pub fn new(experiment: &'e StoredExperiment, project: &'e str, skipped: &[SkipReason]) -> Self {
        let StoredExperiment { plan, identity, begun, finished, .. } = experiment;
        let versions = plan.versions.iter().map(|planned| &planned.version);
        let revision = |version: &'e Version| match &version.commit {
            Some(commit) if !version.dirty => commit.as_str(),
            _ => &version.tree,
        };
        let head = versions.clone().next_back();
        let count = |reason| skipped.iter().filter(|one| **one == reason).count();
        Self {
            identity,
            project,
            class: &plan.machine.class,
            machine: format!("{} {}", plan.machine, plan.machine.id),
            kind: match plan.versions.len() {
                _ if plan.is_diagnosis() => "diagnosis",
                _ if plan.is_counting() => "counts",
                2 => "comparison",
                _ => "versions",
            },
            settings_key: &plan.settings_key,
            rbench: &plan.rbench,
            base: versions.clone().next().filter(|_| plan.versions.len() > 1).map(revision),
            head: head.map(revision).unwrap_or_default(),
            head_s: head.and_then(|head| head.time).filter(|seconds| *seconds >= 0),
            summary: head.map(|head| head.summary.as_str()).unwrap_or_default(),
            begun_ns: nanoseconds::from_time(*begun),
            finished_ns: nanoseconds::from_time(finished.unwrap_or(*begun)),
            unaffected: count(SkipReason::Unaffected),
            identical: count(SkipReason::Identical),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_has_no_nul() {
        let text = json(&["a\0b", "\\u0000"]).unwrap();
        assert_eq!(text, "[\"a\u{fffd}b\",\"\\\\u0000\"]");
    }
}
