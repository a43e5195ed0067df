//! Finds the project that a command line names, and resolves experiment settings from command lines, `bench.toml` and
//! defaults. It is here and not in `measure`, which must not know the command line.

use crate::{
    cli::{DiagnoseArgs, ExperimentArgs, LayoutArgs, MeasureArgs, ProjectArgs, TargetArgs},
    config::{BenchToml, BuildOptions, BuildSettings, Purpose, SamplingConfigs, StoppingRule},
    error::Result,
    harness::Filter,
    measure::ExperimentSettings,
    project::Project,
};

/// Finds the project of a command that compiles nothing.
pub fn stored_project(args: &ProjectArgs) -> Result<Project> {
    Project::find(args.manifest_path.as_deref(), &args.config)
}

/// Finds the project of a command that compiles, with the benchmarks of `--command`.
pub fn project_of(target: &TargetArgs) -> Result<Project> {
    let mut project = stored_project(&target.project)?;
    project.file.run_only(&target.commands);
    Ok(project)
}

impl ExperimentSettings {
    /// Resolves flags, file and defaults for this purpose. [`BenchToml::mode`] resolves the mode of a comparison.
    pub fn resolve(file: &BenchToml, typed: &ExperimentArgs, purpose: Purpose) -> Self {
        let ExperimentArgs { patterns, exact, measure, layout, target, compile, .. } = typed;
        let all =
            Self::assemble(file, (patterns, *exact), (target, compile), (measure, layout, purpose));
        Self { filter: all.filter.within(typed.partition), ..all }
    }

    /// Settings for all benchmarks of these bench targets, for a command that compiles and traces, without layouts and
    /// without measuring.
    pub fn for_tracing(file: &BenchToml, target: &TargetArgs, compile: &BuildOptions) -> Self {
        let (measure, layout) = (MeasureArgs::default(), LayoutArgs::default());
        let purpose =
            Purpose::Comparison { mode: file.mode(None), patience: StoppingRule::default() };
        Self::assemble(file, (&[], false), (target, compile), (&measure, &layout, purpose))
    }

    /// Settings for a diagnosis, which has its own sample sizes: those of the file are for comparisons.
    pub fn for_diagnosis(file: &BenchToml, typed: &DiagnoseArgs) -> Self {
        let DiagnoseArgs { filter, layout, target, compile, effort, .. } = typed;
        let purpose = Purpose::OneVersion;
        let all = Self::assemble(
            file,
            (&filter.patterns(), filter.exact),
            (target, compile),
            (&MeasureArgs::default(), layout, purpose),
        );
        Self {
            efforts: SamplingConfigs::uniform(effort.typed(), purpose),
            deadline: effort.deadline.or(all.deadline),
            cpu: effort.cpu,
            ..all
        }
    }

    fn assemble(
        file: &BenchToml,
        (patterns, exact): (&[String], bool),
        (target, compile): (&TargetArgs, &BuildOptions),
        (measure, layout, purpose): (&MeasureArgs, &LayoutArgs, Purpose),
    ) -> Self {
        let efforts = SamplingConfigs::resolve(file, measure.options(purpose.mode()), purpose);
        Self {
            builds: BuildSettings::resolve(file, compile.in_layout(layout.layout)),
            targets: target.into(),
            filter: Filter::new(patterns, exact, &target.package, &target.bench),
            deadline: efforts.common().deadline,
            efforts,
            mode: purpose.mode(),
            parallel: file.parallel(measure.sampling.parallel),
            cpu: measure.cpu,
            diagnosis: None,
        }
    }
}
