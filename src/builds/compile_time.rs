//! Compiles a version again, as often as wanted, to measure the time of compiling.
//!
//! The packages of the repository are compiled and linked from scratch, by the same command as always; their
//! dependencies are compiled already. Nothing is kept. The linker's inputs are not recorded: that takes time too.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{
    Workspace,
    build_env::{BuildEnv, Source},
    cargo::Chosen,
    compilation::{Compilation, Instance},
    compile::{Job, WantedTarget, seed_dependencies},
    files, tool,
    wrapper::RECIPES_VARIABLE,
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::TargetFilter,
    process::cpu_time_of_children,
};

/// The variable with a program that runs rustc, or does not run it if it has the result already.
const RUSTC_WRAPPER: &str = "RUSTC_WRAPPER";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileTime {
    /// From the start of cargo to its end.
    pub wall: Duration,
    /// The CPU time of cargo and of everything it started.
    pub cpu: Duration,
}

/// A version that is to be compiled again, with what need not be asked for each time.
pub struct TimedCompilation<'a> {
    build_env: &'a BuildEnv<'a>,
    job: Job<'a>,
    chosen: Chosen,
    /// The compilation of the same version whose dependencies are used.
    compiled: PathBuf,
    workspace: Workspace,
}

impl<'a> TimedCompilation<'a> {
    /// Prepares to compile the packages of the repository again, beside their compiled dependencies in `compiled`, a
    /// compilation of the same version and filter.
    ///
    /// Fails with a compiler cache in `RUSTC_WRAPPER`, which would be measured instead of the compiler.
    pub fn new(
        build_env: &'a BuildEnv<'a>,
        source: Source<'a>,
        filter: &TargetFilter,
        compiled: &Compilation,
    ) -> Result<Self> {
        let WantedTarget { mut context, key, .. } =
            build_env.wanted(source, filter, Instance::Timed)?;
        let configs = &build_env.configs;
        let wrapper = configs.program("rustc-wrapper", &context.environment, &context.directory);
        if let Some(wrapper) = wrapper {
            return Err(Error::new(Exit::Usage, what(source))
                .cause(format!("{} may keep what it has compiled", wrapper.display()))
                .hint(format!("turn it off: {RUSTC_WRAPPER}= cargo rbench compare …")));
        }
        context.environment.remove(RECIPES_VARIABLE);
        let sysroot = tool::sysroot(&context)?;
        let workspace = build_env.workspace(source, compiled, filter)?;
        let chosen = workspace.bench_targets(filter, &source.version.to_string())?;
        let home = build_env.cache_dirs.compilation(&key);
        let job = Job { source, context, sysroot, home, log: build_env.cache_dirs.log(&key) };
        let compiled = compiled.home.clone();
        Ok(Self { build_env, job, chosen, compiled, workspace })
    }

    /// Compiles once. No other thread may start processes meanwhile: their CPU time would be counted too.
    pub fn run(&self) -> Result<CompileTime> {
        let Self { build_env, job, chosen, compiled, workspace } = self;
        build_env.restore(job.source)?;
        files::remove_directory(&job.home)?;
        build_env.begin(&job.home, job.source, Some(compiled))?;
        let packages = workspace.path_packages(&build_env.cache_dirs.source_path());
        seed_dependencies(compiled, &job.home, &packages)?;
        let cpu_time = || cpu_time_of_children().context(Exit::Build, || what(job.source));
        let (start, before) = (Instant::now(), cpu_time()?);
        build_env.run_cargo(job, chosen)?;
        let (wall, cpu) = (start.elapsed(), cpu_time()?.saturating_sub(before));
        build_env.activate(compiled)?;
        files::remove_directory(&job.home)?;
        Ok(CompileTime { wall, cpu })
    }
}

fn what(source: Source<'_>) -> String {
    format!("cannot measure the time of compiling {}", source.version)
}
