//! What is measured, and how.

use std::time::Duration;

use crate::{
    cli::{
        CompileArgs, DiagnoseArgs, ExperimentArgs, ExplainArgs, LayoutArgs, MeasureArgs, TargetArgs,
    },
    config::{self, BenchToml, BuildSettings, Purpose, SamplingConfigs, StoppingRule},
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

impl ExperimentSettings {
    /// What flags, file and defaults say together for this purpose: [`BenchToml::mode`] says how two
    /// versions are interleaved.
    pub fn resolve(file: &BenchToml, typed: &ExperimentArgs, purpose: Purpose) -> Self {
        let ExperimentArgs { patterns, exact, measure, layout, target, compile, .. } = typed;
        let all =
            Self::assemble(file, (patterns, *exact), (target, compile), (measure, layout, purpose));
        Self { filter: all.filter.within(typed.partition), ..all }
    }

    /// What file and defaults say of all benchmarks of these bench targets, for a command that compiles and
    /// traces, and neither lays out nor measures.
    pub fn for_tracing(file: &BenchToml, target: &TargetArgs, compile: &CompileArgs) -> Self {
        let (measure, layout) = (MeasureArgs::default(), LayoutArgs::default());
        let purpose =
            Purpose::Comparison { mode: file.mode(None), patience: StoppingRule::default() };
        Self::assemble(file, (&[], false), (target, compile), (&measure, &layout, purpose))
    }

    /// The same for one benchmark whose functions are counted.
    pub fn for_explanation(file: &BenchToml, typed: &ExplainArgs) -> Self {
        let ExplainArgs { target, compile, exact, .. } = typed;
        let pattern = [typed.benchmark().to_owned()];
        Self {
            filter: Filter::new(&pattern, *exact, &target.package, &target.bench),
            ..Self::for_tracing(file, target, compile)
        }
    }

    /// How a diagnosis measures: with its own numbers, whatever the file says of comparisons.
    pub fn for_diagnosis(file: &BenchToml, typed: &DiagnoseArgs) -> Self {
        let DiagnoseArgs { filter, layout, target, compile, effort, .. } = typed;
        let purpose = Purpose::OneVersion;
        let measure = MeasureArgs::default();
        Self {
            efforts: SamplingConfigs::uniform(effort.typed(), purpose),
            deadline: effort
                .deadline
                .or(SamplingConfigs::resolve(file, &measure, purpose).common().deadline),
            cpu: effort.cpu,
            ..Self::assemble(
                file,
                (&filter.patterns(), filter.exact),
                (target, compile),
                (&measure, layout, purpose),
            )
        }
    }

    fn assemble(
        file: &BenchToml,
        (patterns, exact): (&[String], bool),
        (target, compile): (&TargetArgs, &CompileArgs),
        (measure, layout, purpose): (&MeasureArgs, &LayoutArgs, Purpose),
    ) -> Self {
        let efforts = SamplingConfigs::resolve(file, measure, purpose);
        Self {
            builds: BuildSettings::resolve(file, compile, layout),
            targets: config::target_filter(target),
            filter: Filter::new(patterns, exact, &target.package, &target.bench),
            deadline: efforts.common().deadline,
            efforts,
            mode: purpose.mode(),
            parallel: file.parallel(measure.effort.parallel),
            cpu: measure.cpu,
            diagnosis: None,
        }
    }
}
