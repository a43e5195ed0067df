//! The report of `show`: the stored results of one version.

mod document;
pub(super) mod json;
pub(super) mod range;

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

pub use range::{RangeComparison, RangeReport};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    document::{Document, Medium},
    json as of_json,
};
use crate::{
    diagnosis::Hint,
    elf::Digest,
    error::Result,
    model::{
        Benchmark, Layout, LayoutSeed, Machine, SampleSizes, SkipReason, Stage, Throughput, Version,
    },
    shell::CommandLine,
    stats::{
        Criteria, Estimator, Measurements, Random, Summary,
        impact::{Bootstrap, ImpactFactor},
    },
    verdict::Interleaving,
};

/// One version and its stored results.
#[derive(Clone, Debug)]
pub struct ShowReport {
    /// The version shown.
    pub version: Version,
    /// The criteria of the estimates.
    pub criteria: Criteria,
    /// The experiments that it was part of, oldest first.
    pub experiments: Vec<ShownExperiment>,
    /// The newest results of each benchmark, one for each metric.
    pub benchmarks: Vec<ShownBenchmark>,
    /// True to show every build instead of one line for each benchmark.
    pub detailed: bool,
    /// Writes the suggested commands.
    pub command_line: Rc<dyn CommandLine>,
}

/// An experiment that a version was part of.
#[derive(Clone, Debug)]
pub struct ShownExperiment {
    /// Its identity, which is the same in every store.
    pub identity: String,
    /// The start of the experiment.
    pub started: SystemTime,
    /// The end of the experiment; `None` if it is unfinished.
    pub finished: Option<SystemTime>,
    /// The version of rbench that made it.
    pub rbench: String,
    /// The machine that measured.
    pub machine: Machine,
    /// The compiler, from `rustc -vV`.
    pub toolchain: String,
    /// All settings.
    pub settings: serde_json::Value,
    /// The requested sample sizes, for benchmarks without their own.
    pub sample_sizes: SampleSizes,
    /// The seed from which all others are drawn.
    pub seed: u64,
    /// The other versions of the experiment.
    pub others: Vec<Version>,
    /// The reason why the version could not be built.
    pub failure: Option<String>,
}

/// The newest results of a benchmark in one metric.
#[derive(Clone, Debug)]
pub struct ShownBenchmark {
    /// The benchmark measured.
    pub benchmark: Benchmark,
    /// The index of the experiment in [`ShowReport::experiments`].
    pub experiment: usize,
    /// The stage of the values: the one that decides.
    pub stage: Stage,
    /// The interleaving of the executions of that stage; `None` if there are none, or in different
    /// modes.
    pub interleaving: Option<Interleaving>,
    /// The values of that stage, with their metric; `None` if every execution failed.
    pub summary: Option<Summary>,
    /// The errors of failed executions, as reported.
    pub failures: Vec<String>,
    /// The reason why the benchmark chose not to run.
    pub skipped: Option<String>,
    /// The reason why it was not measured, if it behaves the same in all versions of the
    /// experiment.
    pub unmeasured: Option<SkipReason>,
    /// The amount of work of one iteration.
    pub throughput: Vec<Throughput>,
    /// The peak resident memory over all executions, in bytes.
    pub peak_memory: Option<u64>,
    /// Impact factors, if requested.
    pub impact: ImpactFactors,
    /// Reasons to examine it.
    pub hints: Vec<Hint>,
    /// Every build, of the first stage and then of the second, if requested.
    pub builds: Vec<ShownBuild>,
}

/// The impact of starting and of building the program on measurements; `None` if not requested, or
/// the shape of the data does not allow it.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ImpactFactors {
    /// The impact of starting the program again.
    pub executions: Option<ImpactFactor>,
    /// The impact of building it again.
    pub builds: Option<ImpactFactor>,
}

impl ImpactFactors {
    /// Estimates the factors by the bootstrap of the paper, drawn from this seed.
    pub fn estimate(data: &Measurements, estimator: Estimator, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let bootstrap = Bootstrap::default();
        Self {
            executions: ImpactFactor::execution_impact(data, &bootstrap, &mut random).ok(),
            builds: ImpactFactor::build_impact(data, estimator, &bootstrap, &mut random).ok(),
        }
    }
}

/// One build of a version.
#[derive(Clone, Debug)]
pub struct ShownBuild {
    /// The layout seed.
    pub seed: LayoutSeed,
    /// The stage of the build.
    pub stage: Stage,
    /// The layout, if it is stored.
    pub layout: Option<Layout>,
    /// The digest of its loadable sections, if it is stored.
    pub digest: Option<Digest>,
    /// The mean of the estimates of its executions, in the metric's unit.
    pub value: f64,
    /// The estimate of each execution, in the order of rounds.
    pub executions: Vec<f64>,
    /// True if it is [slow](crate::stats::slow), beyond the spread of the other builds.
    pub slow: bool,
    /// The peak resident memory over its executions, in bytes.
    pub peak_memory: Option<u64>,
    /// The CPU time of its executions.
    pub cpu_time: Duration,
}

impl ShownBenchmark {
    /// A benchmark that the experiment with this index skipped, because it behaves the same in all
    /// of its versions.
    pub fn unmeasured(benchmark: &Benchmark, experiment: usize, reason: SkipReason) -> Self {
        Self {
            benchmark: benchmark.clone(),
            experiment,
            stage: Stage::First,
            interleaving: None,
            summary: None,
            failures: Vec::new(),
            skipped: None,
            unmeasured: Some(reason),
            throughput: Vec::new(),
            peak_memory: None,
            impact: ImpactFactors::default(),
            hints: Vec::new(),
            builds: Vec::new(),
        }
    }
}

impl ShowReport {
    /// Joins the reports of one version in several kinds of metrics. The rows of a benchmark stand
    /// together.
    pub fn together(reports: impl IntoIterator<Item = Self>) -> Option<Self> {
        reports.into_iter().reduce(Self::with)
    }

    fn with(mut self, other: Self) -> Self {
        let known = self.experiments.len();
        self.experiments.extend(other.experiments);
        for mut row in other.benchmarks {
            row.experiment += known;
            let of_it = |one: &ShownBenchmark| one.benchmark == row.benchmark;
            let place = self.benchmarks.iter().rposition(of_it);
            let is_told = row.unmeasured.is_some() && place.is_some();
            let place = place.map_or(self.benchmarks.len(), |place| place + 1);
            if !is_told {
                self.benchmarks.insert(place, row);
            }
        }
        self
    }

    /// True if the newest results of any benchmark are failures.
    pub fn has_failures(&self) -> bool {
        self.benchmarks.iter().any(has_failed)
    }
}

/// True if any execution of the benchmark failed.
fn has_failed(shown: &ShownBenchmark) -> bool {
    !shown.failures.is_empty()
}

impl Report for ShowReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        of_json::document(&self.fields())
    }
}

#[cfg(test)]
mod tests;
