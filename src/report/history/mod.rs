//! The report of `history`: benchmarks over the stored versions, each version compared with the one before
//! it.

mod compared;
mod document;
mod html;
mod html_row;
pub(super) mod json;
mod series;
pub(super) mod sparkline;

use std::{rc::Rc, time::SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
pub use series::{CommitPlace, Event, Series, SuspectedChange};

use super::{
    Report,
    document::{Document, Medium},
    names::Names,
    quantity::count,
};
use crate::{
    error::Result,
    model::{Benchmark, Machine, Metric, Unmeasured, Version},
    shell::CommandLine,
    stats::{Criteria, SessionVariance, Summary, Verdict},
    verdict::{DecidedRow, Interleaving, VerdictKind},
};

/// Benchmarks over the stored versions.
#[derive(Clone, Debug)]
pub struct HistoryReport {
    /// How benchmarks were judged.
    pub criteria: Criteria,
    /// Whether people get one line for each benchmark, or all of its versions.
    pub overview: bool,
    /// Whether only events are shown.
    pub changes_only: bool,
    /// Whether only benchmarks are shown that are suspected to have become slower.
    pub worst_only: bool,
    /// The paths, as typed, to which the report is limited: to what changed where files there did; none for all.
    pub paths: Vec<String>,
    /// How many stored versions are not shown.
    pub hidden: usize,
    /// How many experiments are left out because they are not finished.
    pub unfinished: usize,
    /// Whether the clone is shallow, so that the order of some versions is not known.
    pub shallow: bool,
    /// The benchmarks, one for each metric.
    pub benchmarks: Vec<BenchmarkHistory>,
    /// What is suspected to have changed, oldest first.
    pub events: Vec<Event>,
    /// What writes the commands that are suggested.
    pub command_line: Rc<dyn CommandLine>,
}

/// One benchmark in one metric over the stored versions.
#[derive(Clone, Debug)]
pub struct BenchmarkHistory {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// What was measured.
    pub metric: Metric,
    /// How much it varies between experiments; absent where nothing needs it, no version was measured twice,
    /// or the experiments that are compared were not all made under one set of conditions.
    pub sessions: Option<SessionVariance>,
    /// What the course of its values says.
    pub series: Series,
    /// The versions, oldest first; none if only events are shown.
    pub versions: Vec<HistoryRow>,
}

/// A version of a benchmark's history.
#[derive(Clone, Debug)]
pub struct HistoryRow {
    /// The version.
    pub version: Version,
    /// Whether the repository still has it.
    pub in_repository: bool,
    /// When its experiment began.
    pub measured: SystemTime,
    /// On which machine.
    pub machine: Machine,
    /// What `rustc -vV` said of the compiler.
    pub toolchain: String,
    /// What was measured, if it was.
    pub summary: Option<Summary>,
    /// How the executions that were measured were interleaved; absent where nothing was measured, or they were
    /// not all alike.
    pub interleaving: Option<Interleaving>,
    /// Why there is nothing, if there is not.
    pub failure: Option<Unmeasured>,
    /// Whether it was measured on the same machine and with the same settings as the newest version.
    pub like_newest: bool,
    /// How it differs from the version before it; absent where there is none.
    pub against: Option<ReferenceVersion>,
}

/// A version compared with the one before it.
#[derive(Clone, Debug)]
pub struct ReferenceVersion {
    /// The version before it.
    pub version: Version,
    /// How the two were measured.
    pub relation: Relation,
    /// How they differ.
    pub row: DecidedRow,
}

/// How two versions were measured. Conditions are the machine, the settings and the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// In one experiment, interleaved.
    SameExperiment,
    /// In two experiments under the same conditions.
    AcrossExperiments,
    /// Under different conditions.
    DifferentConditions,
}

impl HistoryReport {
    /// What a reader must know, as sentences.
    fn warnings(&self) -> Vec<String> {
        let is_different = |row: &HistoryRow| {
            row.against.as_ref().is_some_and(|against| {
                against.relation == Relation::DifferentConditions
                    && against.row.decisive().is_some()
            })
        };
        let different = self.rows().any(is_different).then(|| {
            "results from different machines, compilers or settings are compared, because of \
             --ignore-environment"
                .to_owned()
        });
        let shallow = self.shallow.then(|| {
            "this clone is shallow and lacks older commits: git fetch --unshallow".to_owned()
        });
        let unfinished = (self.unfinished > 0).then(|| {
            let verb = if self.unfinished == 1 { "is" } else { "are" };
            let experiments = count(self.unfinished, "experiment");
            format!(
                "{experiments} {verb} unfinished and left out; rerun the interrupted command to \
                 resume"
            )
        });
        [different, shallow, unfinished].into_iter().flatten().collect()
    }

    fn rows(&self) -> impl DoubleEndedIterator<Item = &HistoryRow> {
        self.benchmarks.iter().flat_map(|benchmark| &benchmark.versions)
    }

    fn names(&self) -> Names<'_> {
        Names::new(self.benchmarks.iter().map(|history| &history.benchmark))
    }
}

impl HistoryRow {
    /// What is said in place of a value where there is none.
    const fn without_value(&self) -> VerdictKind {
        match self.failure {
            Some(Unmeasured::Skipped(_)) => VerdictKind::Skipped,
            _ => VerdictKind::Failed,
        }
    }
}

impl ReferenceVersion {
    /// Whether the verdict is about results of two experiments.
    fn is_across(&self) -> bool {
        self.relation != Relation::SameExperiment
            && !matches!(
                self.row.verdict,
                Verdict::Identical | Verdict::Unaffected | Verdict::Skipped { .. }
            )
    }
}

impl Report for HistoryReport {
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

#[cfg(test)]
mod tests;
