//! Finds the project that a command line names, and resolves experiment settings from command lines, `bench.toml` and
//! defaults. It is here and not in `measure`, which must not know the command line.

use crate::{
    cli::{DiagnoseArgs, ExperimentArgs, LayoutArgs, MeasureArgs, ProjectArgs, TargetArgs},
    config::{BuildOptions, BuildSettings, Purpose, SamplingConfigs, StoppingRule},
    error::Result,
    harness::Filter,
    machine,
    measure::ExperimentSettings,
    model::{Members, TargetFilter},
    process,
    project::Project,
};

/// Finds the project of a command that compiles nothing.
pub fn stored_project(args: &ProjectArgs) -> Result<Project> {
    Project::find(args.manifest_path.as_deref(), &args.config)
}

/// Finds the project of a command that compiles, with the benchmarks of `--command`.
pub fn project_of(target: &TargetArgs) -> Result<Project> {
    let mut project = stored_project(&target.project)?;
    project.file.run_only(&target.commands, target.stdin.as_deref(), &target.statuses);
    Ok(project)
}

/// The number of benchmarks to execute at once: the chosen one, or what suits the machine; at most one for each CPU.
fn parallel(chosen: Option<u32>, cpu: Option<usize>) -> u32 {
    let cpus = cpu.map_or_else(process::cpus, |cpu| Ok(vec![cpu])).unwrap_or_default();
    let most = u32::try_from(cpus.len().max(1)).unwrap_or(u32::MAX);
    chosen.unwrap_or_else(|| machine::default_parallel(&cpus)).min(most)
}

/// The bench targets, or the programs, that the flags select in this project. As for cargo, the name of a package is
/// one of the whole workspace; so is that of a program.
pub fn selected_targets(project: &Project, flags: &TargetArgs) -> TargetFilter {
    if let Some(packed) = &project.packed {
        return packed.targets.clone();
    }
    let names_all = flags.workspace || !flags.package.is_empty() || !flags.commands.is_empty();
    TargetFilter {
        members: if names_all { Members::All } else { project.members.clone() },
        packages: flags.package.clone(),
        excluded: flags.exclude.clone(),
        benches: flags.bench.clone(),
        programs: flags.commands.iter().map(|command| command.program.clone()).collect(),
        ..TargetFilter::default()
    }
}

/// The same for stored results, which know packages by name alone.
pub fn stored_targets(project: &Project, flags: &TargetArgs) -> TargetFilter {
    let mut targets = selected_targets(project, flags);
    if let Members::One(member) = &targets.members {
        targets.packages.push(member.name.clone());
    }
    targets
}

impl ExperimentSettings {
    /// Resolves flags, file and defaults for this purpose. `BenchToml::mode` resolves the mode of a comparison.
    pub fn resolve(project: &Project, typed: &ExperimentArgs, purpose: Purpose) -> Self {
        let ExperimentArgs { patterns, exact, measure, layout, target, compile, .. } = typed;
        let all = Self::assemble(
            project,
            (patterns, *exact),
            (target, compile),
            (measure, layout, purpose),
        );
        Self { filter: all.filter.within(typed.partition), ..all }
    }

    /// Settings for all benchmarks of these bench targets, for a command that compiles and traces, without layouts and
    /// without measuring.
    pub fn for_tracing(project: &Project, target: &TargetArgs, compile: &BuildOptions) -> Self {
        let (measure, layout) = (MeasureArgs::default(), LayoutArgs::default());
        let mode = project.file.mode(None);
        let purpose = Purpose::Comparison { mode, stopping: StoppingRule::default() };
        Self::assemble(project, (&[], false), (target, compile), (&measure, &layout, purpose))
    }

    /// Settings for a diagnosis, which has its own sample sizes: those of the file are for comparisons.
    pub fn for_diagnosis(project: &Project, typed: &DiagnoseArgs) -> Self {
        let DiagnoseArgs { filter, layout, target, compile, effort, .. } = typed;
        let purpose = Purpose::OneVersion;
        let all = Self::assemble(
            project,
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
        project: &Project,
        (patterns, exact): (&[String], bool),
        (target, compile): (&TargetArgs, &BuildOptions),
        (measure, layout, purpose): (&MeasureArgs, &LayoutArgs, Purpose),
    ) -> Self {
        let file = &project.file;
        let mut builds = BuildSettings::resolve(file, compile.in_layout(layout.layout));
        if let Some(packed) = &project.packed {
            builds.compile = packed.settings.clone();
        }
        let efforts = SamplingConfigs::resolve(file, measure.options(purpose.mode()), purpose);
        Self {
            builds,
            filter: Filter::new(patterns, exact, selected_targets(project, target)),
            deadline: efforts.common().deadline,
            efforts,
            mode: purpose.mode(),
            parallel: parallel(file.parallel(), measure.cpu),
            cpu: measure.cpu,
            diagnosis: None,
        }
    }
}
