//! The resolved settings of an experiment.

use std::time::Duration;

use crate::{
    config::{BuildSettings, SamplingConfigs},
    harness::Filter,
    model::{DiagnosisSettings, Mode},
};

/// The settings of an experiment, resolved from flags, `bench.toml` and defaults.
#[derive(Clone, Debug)]
pub struct ExperimentSettings {
    pub builds: BuildSettings,
    pub efforts: SamplingConfigs,
    /// The mode for two versions; a single version is always measured sequentially.
    pub mode: Mode,
    /// The benchmarks to measure, and with them the bench targets to compile.
    pub filter: Filter,
    /// The deadline of one execution; derived from its request when absent.
    pub deadline: Option<Duration>,
    /// The number of benchmarks to execute at once, where they can be interleaved.
    pub parallel: u32,
    pub cpu: Option<usize>,
    /// The diagnosis that this experiment is part of, if any.
    pub diagnosis: Option<DiagnosisSettings>,
}
