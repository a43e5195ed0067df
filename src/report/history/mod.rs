//! The report of `history`: benchmarks over the stored versions, each version compared with the one
//! before it.

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
    /// The criteria of the verdicts.
    pub criteria: Criteria,
    /// True for one line per benchmark instead of all of its versions.
    pub overview: bool,
    /// True to show only events.
    pub changes_only: bool,
    /// True to show only benchmarks that are suspected to have become slower.
    pub worst_only: bool,
    /// The paths, as typed, that limit the report to changes of files below them; none for all.
    pub paths: Vec<String>,
    /// The number of stored versions that are not shown.
    pub hidden: usize,
    /// The number of experiments left out because they are not finished.
    pub unfinished: usize,
    /// True if the clone is shallow, so that the order of some versions is unknown.
    pub shallow: bool,
    /// The benchmarks, one for each metric.
    pub benchmarks: Vec<BenchmarkHistory>,
    /// The suspected changes, oldest first.
    pub events: Vec<Event>,
    /// Writes the suggested commands.
    pub command_line: Rc<dyn CommandLine>,
}

/// One benchmark in one metric over the stored versions.
#[derive(Clone, Debug)]
pub struct BenchmarkHistory {
    /// The benchmark measured.
    pub benchmark: Benchmark,
    /// The metric of the values.
    pub metric: Metric,
    /// The variance between experiments; `None` if it is not needed, no version was measured twice,
    /// or the compared experiments had different conditions.
    pub sessions: Option<SessionVariance>,
    /// The change-point analysis of its values.
    pub series: Series,
    /// The versions, oldest first; none if only events are shown.
    pub versions: Vec<HistoryRow>,
}

/// A version of a benchmark's history.
#[derive(Clone, Debug)]
pub struct HistoryRow {
    /// The version measured.
    pub version: Version,
    /// True if the repository still has it.
    pub in_repository: bool,
    /// The start of its experiment.
    pub measured: SystemTime,
    /// The machine that measured it.
    pub machine: Machine,
    /// The compiler, from `rustc -vV`.
    pub toolchain: String,
    /// The values, if it was measured.
    pub summary: Option<Summary>,
    /// The interleaving of its executions; `None` if nothing was measured, or in different modes.
    pub interleaving: Option<Interleaving>,
    /// The reason why it was not measured.
    pub failure: Option<Unmeasured>,
    /// True if it was measured on the same machine and with the same settings as the newest
    /// version.
    pub like_newest: bool,
    /// The comparison with the version before it, if there is one.
    pub against: Option<ReferenceVersion>,
}

/// A version compared with the one before it.
#[derive(Clone, Debug)]
pub struct ReferenceVersion {
    /// The version before it.
    pub version: Version,
    /// The relation of their measurements.
    pub relation: Relation,
    /// The verdict on the two versions.
    pub row: DecidedRow,
}

/// The relation of the measurements of two versions. Conditions are the machine, the settings and
/// the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// In one experiment.
    SameExperiment,
    /// In two experiments under the same conditions.
    AcrossExperiments,
    /// Under different conditions.
    DifferentConditions,
}

impl HistoryReport {
    /// The warnings, as sentences.
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
    /// The kind shown in place of a missing value.
    const fn without_value(&self) -> VerdictKind {
        match self.failure {
            Some(Unmeasured::Skipped(_)) => VerdictKind::Skipped,
            _ => VerdictKind::Failed,
        }
    }
}

impl ReferenceVersion {
    /// True if the verdict compares results of two experiments.
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
