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

/// One version and what is stored of it.
#[derive(Clone, Debug)]
pub struct ShowReport {
    /// The version.
    pub version: Version,
    /// How values are estimated.
    pub criteria: Criteria,
    /// The experiments that it was part of, oldest first.
    pub experiments: Vec<ShownExperiment>,
    /// The newest results of each benchmark, one for each metric.
    pub benchmarks: Vec<ShownBenchmark>,
    /// Whether people get every build, or one line for each benchmark.
    pub detailed: bool,
    /// What writes the commands that are suggested.
    pub command_line: Rc<dyn CommandLine>,
}

/// An experiment that a version was part of.
#[derive(Clone, Debug)]
pub struct ShownExperiment {
    /// By which it is known in every store.
    pub identity: String,
    /// When it began.
    pub started: SystemTime,
    /// When it was finished, if it is.
    pub finished: Option<SystemTime>,
    /// The version of rbench that made it.
    pub rbench: String,
    /// The machine that measured.
    pub machine: Machine,
    /// What `rustc -vV` said of the compiler.
    pub toolchain: String,
    /// All settings.
    pub settings: serde_json::Value,
    /// What was requested, as far as no benchmark has its own.
    pub sample_sizes: SampleSizes,
    /// What all seeds are drawn from.
    pub seed: u64,
    /// The versions that were measured with it.
    pub others: Vec<Version>,
    /// Why it could not be built, if it could not.
    pub failure: Option<String>,
}

/// The newest results of a benchmark in one metric.
#[derive(Clone, Debug)]
pub struct ShownBenchmark {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The index of the experiment in [`ShowReport::experiments`].
    pub experiment: usize,
    /// The stage that the values are of: the one that decides.
    pub stage: Stage,
    /// How the executions of that stage were interleaved; absent if there are none, or they were not all alike.
    pub interleaving: Option<Interleaving>,
    /// What that stage measured, and in which metric; absent where every execution failed.
    pub summary: Option<Summary>,
    /// Why executions failed, if some did: as they were reported.
    pub failures: Vec<String>,
    /// Why the benchmark chose not to run, if it did.
    pub skipped: Option<String>,
    /// Why it was not measured, if it does the same in all versions of the experiment.
    pub unmeasured: Option<SkipReason>,
    /// How much one iteration processes.
    pub throughput: Vec<Throughput>,
    /// The most memory that any execution had resident, in bytes.
    pub peak_memory: Option<u64>,
    /// Impact factors, where they were requested.
    pub impact: ImpactFactors,
    /// Reasons to examine it, if there are some.
    pub hints: Vec<Hint>,
    /// Every build, of the first stage and then of the second, where they were requested.
    pub builds: Vec<ShownBuild>,
}

/// The impact of starting the program and of building it on measurements; absent where that was not requested, or the
/// shape of the data does not allow it.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ImpactFactors {
    /// Of starting the program again.
    pub executions: Option<ImpactFactor>,
    /// Of building it again.
    pub builds: Option<ImpactFactor>,
}

impl ImpactFactors {
    /// By the bootstrap of the paper, drawn from this seed.
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
    /// The seed of its layout.
    pub seed: LayoutSeed,
    /// The stage that it is of.
    pub stage: Stage,
    /// Its layout, if that is stored.
    pub layout: Option<Layout>,
    /// The digest of its loadable sections, if that is stored.
    pub digest: Option<Digest>,
    /// The mean of the estimates of its executions, in the metric's unit.
    pub value: f64,
    /// The estimate of each execution, in the order of rounds.
    pub executions: Vec<f64>,
    /// Whether it is [slow](crate::stats::slow) beyond what the spread of the others makes likely.
    pub slow: bool,
    /// The most memory that any of its executions had resident, in bytes.
    pub peak_memory: Option<u64>,
    /// The CPU time of its executions.
    pub cpu_time: Duration,
}

impl ShownBenchmark {
    /// A benchmark that an experiment, the one with this index, did not measure, since it does the same in all
    /// of its versions.
    pub fn unmeasured(benchmark: &Benchmark, experiment: usize, sameness: SkipReason) -> Self {
        Self {
            benchmark: benchmark.clone(),
            experiment,
            stage: Stage::First,
            interleaving: None,
            summary: None,
            failures: Vec::new(),
            skipped: None,
            unmeasured: Some(sameness),
            throughput: Vec::new(),
            peak_memory: None,
            impact: ImpactFactors::default(),
            hints: Vec::new(),
            builds: Vec::new(),
        }
    }
}

impl ShowReport {
    /// The reports of one version in several kinds of metrics as one: the rows of a benchmark stand behind each other.
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

    /// Whether the newest results of any benchmark are failures.
    pub fn has_failures(&self) -> bool {
        self.benchmarks.iter().any(has_failed)
    }
}

/// Whether there are failures among the executions of a benchmark.
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
