//! What is measured, and how.

use std::time::Duration;

use crate::{
    cli::{CompileArgs, DiagnoseArgs, ExperimentArgs, LayoutArgs, MeasureArgs, TargetArgs},
    failure::Result,
    harness::Filter,
    model::{DiagnosisSettings, Interleave, TargetFilter},
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
    /// What is measured for a diagnosis, if it is for one.
    pub diagnosis: Option<DiagnosisSettings>,
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
        Ok(Self::of(file, (patterns, *exact), (target, compile), (measure, layout, interleave)))
    }

    /// What file and defaults say of all benchmarks of these bench targets, for a command that compiles and
    /// traces, and neither lays out nor measures.
    pub fn of_tracing(file: &BenchToml, target: &TargetArgs, compile: &CompileArgs) -> Self {
        let (measure, layout) = (MeasureArgs::default(), LayoutArgs::default());
        let interleave = file.interleave(None);
        Self::of(file, (&[], false), (target, compile), (&measure, &layout, interleave))
    }

    /// How a diagnosis measures: with its own numbers, whatever the file says of comparisons.
    pub fn of_diagnosis(file: &BenchToml, typed: &DiagnoseArgs) -> Self {
        let DiagnoseArgs { filter, layout, target, compile, effort, .. } = typed;
        let interleave = Interleave::Executions;
        let measure = MeasureArgs::default();
        Self {
            efforts: Efforts::of_all(effort.typed(), interleave),
            deadline: effort
                .deadline
                .or(Efforts::resolve(file, &measure, interleave).common().deadline),
            cpu: effort.cpu,
            ..Self::of(
                file,
                (&filter.patterns(), filter.exact),
                (target, compile),
                (&measure, layout, interleave),
            )
        }
    }

    fn of(
        file: &BenchToml,
        (patterns, exact): (&[String], bool),
        (target, compile): (&TargetArgs, &CompileArgs),
        (measure, layout, interleave): (&MeasureArgs, &LayoutArgs, Interleave),
    ) -> Self {
        let efforts = Efforts::resolve(file, measure, interleave);
        Self {
            builds: BuildSettings::resolve(file, compile, layout),
            targets: settings::target_filter(target),
            filter: Filter::new(patterns, exact, &target.package, &target.bench),
            deadline: efforts.common().deadline,
            efforts,
            interleave,
            cpu: measure.cpu,
            diagnosis: None,
        }
    }
}
