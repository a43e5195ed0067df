//! The report of `compare`: every benchmark of two versions with its verdict.

mod advice;
mod counted;
mod dependencies;
mod document;
mod html;
pub(super) mod json;
mod notes;
mod overall;
mod reach;
mod summary;
mod warning;

use std::{rc::Rc, time::SystemTime};

pub use advice::NextStep;
pub(super) use dependencies::dependencies_note;
pub(super) use html::page_of;
pub use overall::GeometricMean;
pub(super) use warning::{WarningFields, sentence as warning_sentence};

use super::{
    Report,
    document::{Document, Medium},
    explain::ExplainReport,
};
use crate::{
    code::FunctionDiff,
    failure::{Failure, Result},
    judge::{ExitPolicy, JudgedRow},
    machine::disturbance::Disturbance,
    model::{
        BenchTarget, Benchmark, DependencyChange, Dimensions, IdleAcceptance, Layout, Machine,
        Partition, Throughput, Version,
    },
    shell::CommandLine,
    stats::Criteria,
};

/// The comparison of two versions.
#[derive(Clone, Debug)]
pub struct ComparisonReport {
    /// The version that the other is compared with.
    pub base: Version,
    /// The version that is judged.
    pub head: Version,
    /// How benchmarks were judged.
    pub criteria: Criteria,
    /// What was requested of the experiment, as far as no benchmark has its own; absent where nothing was
    /// measured, and for stored results, which have their own in [`stored`](Self::stored).
    pub dimensions: Option<Dimensions>,
    /// The machine that measured.
    pub machine: Option<Machine>,
    /// For stored results, the experiments that they are from, oldest first; empty where the results were
    /// just measured.
    pub stored: Vec<StoredExperiment>,
    /// What makes the numbers less sure, as far as the rows do not tell it.
    pub warnings: Vec<Warning>,
    /// How the functions of each bench target differ that was measured because its programs differ.
    pub functions: Vec<(BenchTarget, FunctionDiff)>,
    /// The packages from elsewhere of which the versions use other versions, in the order of names; empty for
    /// stored results, of which that is not known.
    pub dependencies: Vec<DependencyChange>,
    /// Which part of all benchmarks this is about; absent where it is about all.
    pub partition: Option<Partition>,
    /// The benchmarks of both versions, a row for each metric, in the order of definition.
    pub rows: Vec<JudgedRow>,
    /// Where the instructions of benchmarks went that execute more or fewer, for the web page.
    pub explanations: Vec<ExplainReport>,
    /// The benchmarks that `explain` can explain here.
    pub explainable: Vec<Benchmark>,
    /// Which verdicts make the command fail.
    pub policy: ExitPolicy,
    /// Benchmarks that only the head has.
    pub added: Vec<Benchmark>,
    /// Benchmarks that only the base has.
    pub removed: Vec<Benchmark>,
    /// Slowdowns that were accepted, where that changes no verdict any more.
    pub idle: Vec<IdleAcceptance>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<(BenchTarget, Failure)>,
    /// The comparison of the same head with a release, if it was judged against one as well.
    pub also: Option<Box<Self>>,
    /// What of the machine mattered to measurements before they began, for people.
    pub machine_state: Option<String>,
    /// Whether all verdicts are explained, not only those that need a look.
    pub explains_all: bool,
    /// What writes the commands that are advised.
    pub command_line: Rc<dyn CommandLine>,
}

impl ComparisonReport {
    /// Adds what was counted of the same versions: its rows stand behind those of the same benchmark.
    pub fn add_counts(&mut self, counted: Self) {
        let place = |rows: &[JudgedRow], one: &JudgedRow| {
            rows.iter().rposition(|row| row.benchmark == one.benchmark)
        };
        for row in counted.rows.into_iter().filter(|row| row.metric.is_some()) {
            let place = place(&self.rows, &row).map_or(self.rows.len(), |place| place + 1);
            self.rows.insert(place, row);
        }
        self.stored.extend(counted.stored);
    }

    /// A comparison without benchmarks yet.
    pub fn new(
        base: Version,
        head: Version,
        criteria: Criteria,
        command_line: Rc<dyn CommandLine>,
    ) -> Self {
        Self {
            base,
            head,
            criteria,
            dimensions: None,
            machine: None,
            stored: Vec::new(),
            warnings: Vec::new(),
            functions: Vec::new(),
            dependencies: Vec::new(),
            partition: None,
            rows: Vec::new(),
            explanations: Vec::new(),
            explainable: Vec::new(),
            policy: ExitPolicy::default(),
            added: Vec::new(),
            removed: Vec::new(),
            idle: Vec::new(),
            also: None,
            machine_state: None,
            explains_all: false,
            failed_targets: Vec::new(),
            command_line,
        }
    }

    /// Whether every verdict is explained, also of the comparison with a release.
    pub fn explain_all(&mut self, all: bool) {
        self.explains_all = all;
        if let Some(also) = &mut self.also {
            also.explain_all(all);
        }
    }

    /// Which verdicts make the command fail, also of the comparison with a release.
    pub fn fail_by(&mut self, policy: &ExitPolicy) {
        self.policy = policy.clone();
        if let Some(also) = &mut self.also {
            also.fail_by(policy);
        }
    }

    /// Warns of what disturbs, or disturbed, the measurements: of each kind once.
    pub fn add_disturbances(&mut self, disturbances: impl IntoIterator<Item = Disturbance>) {
        for disturbance in disturbances {
            let kind = std::mem::discriminant(&disturbance);
            let is_known = self.warnings.iter().any(|warning| {
                matches!(warning, Warning::Disturbance(known) if std::mem::discriminant(known) == kind)
            });
            if !is_known {
                self.warnings.push(Warning::Disturbance(disturbance));
            }
        }
    }
}

impl Report for ComparisonReport {
    fn document(&self, medium: Medium) -> Document {
        self.write_document(medium)
    }

    fn json(&self) -> Result<String> {
        self.write_json()
    }

    fn html(&self) -> Result<String> {
        self.write_html()
    }
}

/// An experiment whose stored results are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredExperiment {
    /// By which it is known in every store: [`StoredExperiment::identity`](crate::store::StoredExperiment::identity).
    pub identity: String,
    /// When it began.
    pub begun: SystemTime,
    /// What was requested of it.
    pub dimensions: Dimensions,
}

/// Something that makes a comparison less sure.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Something that disturbs, or disturbed, the measurements.
    Disturbance(Disturbance),
    /// Fewer builds of a bench target differ, in any of the versions, than were requested.
    EqualBuilds {
        /// The bench target.
        target: BenchTarget,
        /// How many differ.
        distinct: usize,
        /// How many were requested.
        requested: usize,
    },
    /// Functions that both versions have do not stand at the same addresses in both.
    OtherAddresses {
        /// The bench target.
        target: BenchTarget,
        /// The layout of its builds.
        layout: Layout,
        /// The smallest share, over the builds, of common functions that have the same address.
        share: f64,
    },
    /// Benchmarks of the head have other ids each time that they are listed, and so can be compared with
    /// nothing.
    ChangingIds {
        /// The ids of one listing.
        ids: Vec<String>,
    },
    /// The functions of the two versions could not be compared.
    FunctionsUnknown {
        /// Why.
        reason: String,
    },
    /// Benchmarks say that an iteration processes another amount in the head than in the base.
    DifferentWork {
        /// Their names and the amounts of both versions.
        benchmarks: Vec<(String, [Throughput; 2])>,
    },
    /// The report says nothing of any benchmark in both versions.
    NothingCompared,
    /// Stored results of different experiments are compared.
    AcrossExperiments {
        /// How many benchmarks it is about.
        benchmarks: usize,
    },
    /// Stored results of different experiments cannot be compared.
    NotComparableAcrossExperiments {
        /// How many benchmarks it is about.
        benchmarks: usize,
    },
    /// Stored results of different machines or settings are compared, because the user allowed it.
    DifferentConditions {
        /// What differs, for people.
        reasons: Vec<String>,
    },
}

#[cfg(test)]
mod tests;
