//! What is measured, and how.

use std::time::Duration;

use crate::{
    cli::ExperimentArgs,
    failure::Result,
    harness::Filter,
    model::{Interleave, TargetFilter},
    settings::{self, BenchToml, BuildSettings, Efforts},
};

/// What is measured, and how: flags, `bench.toml` and defaults together.
#[derive(Clone, Debug)]
pub struct ExperimentSettings {
    /// How versions are built.
    pub builds: BuildSettings,
    /// How much is spent on each benchmark.
    pub efforts: Efforts,
    /// How the executions of two versions are interleaved; of one version alone, always by executions.
    pub interleave: Interleave,
    /// Which bench targets are compiled.
    pub targets: TargetFilter,
    /// Which of their benchmarks are measured.
    pub filter: Filter,
    /// How long one execution may take; derived from what it is asked to do when absent.
    pub deadline: Option<Duration>,
    /// The CPU to run benchmarks on.
    pub cpu: Option<usize>,
}

impl ExperimentSettings {
    /// What flags, file and defaults say together of versions that are interleaved so:
    /// [`BenchToml::interleave`] says how two are.
    pub fn resolve(
        file: &BenchToml,
        typed: &ExperimentArgs,
        interleave: Interleave,
    ) -> Result<Self> {
        let ExperimentArgs { patterns, exact, measure, layout, target, compile, .. } = typed;
        let efforts = Efforts::resolve(file, measure, interleave);
        Ok(Self {
            builds: BuildSettings::resolve(file, compile, layout),
            targets: settings::target_filter(target),
            filter: Filter::new(patterns, *exact, &target.package, &target.bench),
            deadline: efforts.common().deadline,
            efforts,
            interleave,
            cpu: measure.cpu,
        })
    }
}
