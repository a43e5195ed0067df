//! The benchmarks of a version: each bench target compiled, its harness found, its benchmarks listed.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use cargo_metadata::camino::Utf8Path;

use crate::{
    build::{Compilation, CompiledTarget, Event, SiteLock, Source, Workshop, Workspace},
    cli::{CompileArgs, FilterArgs, LayoutArgs, TargetArgs},
    console::Console,
    failure::{Exit, Failure, Result},
    harness::{self, Conditions, Executable, Filter, Harness},
    model::{BenchTarget, Benchmark, HarnessKind, TargetFilter, Version},
    process::launcher_beside,
    project::Project,
    settings::{self, BuildSettings, CommandTable},
};

/// A bench target that is ready to run, with its benchmarks.
pub struct Listed {
    /// The executable.
    pub executable: Executable,
    /// What lists and runs its benchmarks.
    pub harness: Box<dyn Harness>,
    /// The benchmarks that the filter means.
    pub benchmarks: Vec<Benchmark>,
}

/// The benchmarks of a version that a filter means.
pub struct Listing {
    /// The version.
    pub version: Version,
    /// Bench targets, with at least one benchmark each.
    pub targets: Vec<Listed>,
    /// Bench targets that could not be listed, and why.
    pub failures: Vec<(BenchTarget, Failure)>,
}

/// What is asked for.
pub struct Wanted<'a> {
    /// The version.
    pub version: &'a Version,
    /// The directory with its files.
    pub checkout: &'a Path,
    /// Which bench targets to compile.
    pub targets: TargetFilter,
    /// Which of their benchmarks are meant.
    pub filter: Filter,
}

/// What was typed about benchmarks of one version.
pub struct Request<'a> {
    /// The version.
    pub revision: &'a str,
    /// Which benchmarks.
    pub filter: &'a FilterArgs,
    /// Which bench targets.
    pub target: &'a TargetArgs,
    /// What cargo is told.
    pub compile: &'a CompileArgs,
}

/// Finds the benchmarks that are asked for, in the user's project. While the lock lives, the one path
/// leads to their compilation.
pub fn find(
    request: &Request<'_>,
    conditions: &Conditions<'_>,
    console: &Console,
) -> Result<(Listing, SiteLock)> {
    let Request { revision, filter, target, compile } = request;
    let project = Project::find(target.manifest_path.as_deref())?;
    let settings = BuildSettings::resolve(&project.file, compile, &LayoutArgs::default());
    let filter = Filter::new(&filter.patterns, filter.exact, &target.package, &target.bench)?;
    let lock = console.lock(&project.site)?;
    let watch = |event: Event<'_>| console.build_event(&event);
    let workshop = project.workshop(settings.compile, console.progress_columns(), &watch);
    let version = project.repository.resolve(revision)?;
    let checkout = project.checkout(&version, console)?;
    let targets = settings::target_filter(target);
    let wanted = Wanted { version: &version, checkout: &checkout, targets, filter };
    Ok((list(&project, &workshop, &wanted, conditions)?, lock))
}

/// Compiles the version and lists its benchmarks. A target that cannot be listed is a failure of its
/// own; that no benchmark is meant is one of all.
pub fn list(
    project: &Project,
    workshop: &Workshop<'_>,
    wanted: &Wanted<'_>,
    conditions: &Conditions<'_>,
) -> Result<Listing> {
    let source = Source { version: wanted.version, checkout: wanted.checkout };
    let (compilation, workspace) = workshop.compile_for_running(source, &wanted.targets)?;

    let mut targets = Vec::new();
    let mut failures = Vec::new();
    for compiled in &compilation.record.targets {
        let runnables = match runnables(project, &compilation, &workspace, compiled) {
            Ok(runnables) => runnables,
            Err(failure) => {
                failures.push((compiled.target.clone(), failure));
                continue;
            }
        };
        for (executable, harness) in runnables {
            match harness.list(&executable, conditions) {
                Ok(names) => targets.push(Listed {
                    benchmarks: names
                        .into_iter()
                        .map(|name| Benchmark {
                            package: executable.package.clone(),
                            target: executable.target.clone(),
                            name,
                        })
                        .collect(),
                    executable,
                    harness,
                }),
                Err(failure) if failure.exit() == Exit::Interrupted => return Err(failure),
                Err(failure) => failures.push((compiled.target.clone(), failure)),
            }
        }
    }
    choose(&mut targets, &wanted.filter, &failures)?;
    Ok(Listing { version: wanted.version.clone(), targets, failures })
}

/// Leaves only what the filter means.
fn choose(
    targets: &mut Vec<Listed>,
    filter: &Filter,
    failures: &[(BenchTarget, Failure)],
) -> Result<()> {
    let all: Vec<Benchmark> = targets.iter().flat_map(|target| target.benchmarks.clone()).collect();
    // Where targets failed, what is missing may be theirs: their failures say more.
    if let Err(failure) = filter.choose(all)
        && failures.is_empty()
    {
        return Err(failure);
    }
    for target in &mut *targets {
        target.benchmarks.retain(|benchmark| filter.matches(benchmark));
    }
    targets.retain(|target| !target.benchmarks.is_empty());
    Ok(())
}

/// The executable of a bench target with its harness, and once more for each command that
/// `bench.toml` runs it with.
fn runnables(
    project: &Project,
    compilation: &Compilation,
    workspace: &Workspace,
    compiled: &CompiledTarget,
) -> Result<Vec<(Executable, Box<dyn Harness>)>> {
    let executable = executable(compilation, workspace, compiled)?;
    let commands: Vec<&CommandTable> = project.file.commands_of(&compiled.target).collect();
    if !commands.is_empty() {
        let rbench = std::env::current_exe();
        let launcher = rbench.ok().and_then(|rbench| launcher_beside(&rbench));
        let command = |table: &CommandTable| -> (Executable, Box<dyn Harness>) {
            let command = harness::Command {
                id: table.id.clone(),
                program: table.program.as_ref().map(|program| executable.directory.join(program)),
                arguments: table.arguments.iter().map(OsString::from).collect(),
                launcher: launcher.clone(),
            };
            (executable.clone(), Box::new(command))
        };
        return Ok(commands.into_iter().map(command).collect());
    }
    let harness = harness_of(workspace, compiled, project.file.harness_of(&compiled.target))?;
    Ok(vec![(executable, harness)])
}

/// What the manifest and the resolved dependencies say about a target's harness.
fn harness_of(
    workspace: &Workspace,
    compiled: &CompiledTarget,
    configured: Option<HarnessKind>,
) -> Result<Box<dyn Harness>> {
    let (package, target) = workspace.package_and_target(compiled)?;
    let text = |path: &Utf8Path| fs::read_to_string(path).unwrap_or_default();
    let facts = harness::TargetFacts {
        metadata: workspace.metadata(),
        package,
        target,
        manifest: &text(&package.manifest_path),
        source: &text(&target.src_path),
    };
    harness::detect(&facts, configured)
}

fn executable(
    compilation: &Compilation,
    workspace: &Workspace,
    compiled: &CompiledTarget,
) -> Result<Executable> {
    let (package, _) = workspace.package_and_target(compiled)?;
    let mut variables = harness::package_variables(package);
    let own = compiled.executable.parent().map(PathBuf::from);
    let libraries: Vec<PathBuf> =
        own.into_iter().chain([compilation.record.sysroot.join("lib")]).collect();
    let inherited = std::env::var_os("LD_LIBRARY_PATH");
    variables.push(harness::library_path(&libraries, inherited.as_deref()));
    Ok(Executable {
        package: compiled.target.package.clone(),
        target: compiled.target.target.clone(),
        path: compiled.executable.clone(),
        directory: compiled.package_root.clone(),
        variables,
    })
}
