//! What is measured, and how.

use std::time::Duration;

use crate::{
    config::{BuildSettings, SamplingConfigs},
    harness::Filter,
    model::{DiagnosisSettings, Mode, TargetFilter},
};

/// What is measured, and how: flags, `bench.toml` and defaults together.
#[derive(Clone, Debug)]
pub struct ExperimentSettings {
    /// How versions are built.
    pub builds: BuildSettings,
    /// How much is spent on each benchmark.
    pub efforts: SamplingConfigs,
    /// How the executions of two versions are interleaved; of one version alone, always by executions.
    pub mode: Mode,
    /// Which bench targets are compiled.
    pub targets: TargetFilter,
    /// Which of their benchmarks are measured.
    pub filter: Filter,
    /// How long one execution may take; derived from what it is asked to do when absent.
    pub deadline: Option<Duration>,
    /// Of how many benchmarks both versions are executed at once, as far as they take turns.
    pub parallel: u32,
    /// The CPU to run benchmarks on.
    pub cpu: Option<usize>,
    /// What is measured for a diagnosis, if it is for one.
    pub diagnosis: Option<DiagnosisSettings>,
}
