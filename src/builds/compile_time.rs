//! Compiles a version again, as often as wanted, to measure the time of compiling.
//!
//! The packages of the repository are compiled and linked from scratch, by the same command as always; their
//! dependencies are compiled already. Nothing is kept. The linker's inputs are not recorded: that takes time too.

use std::time::{Duration, Instant};

use super::{
    build_env::{BuildEnv, Source},
    compilation::{Compilation, Instance},
    compile::{Job, WantedTarget, pass_answers, seed_dependencies},
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

/// The time of one compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileTime {
    /// From the start of cargo to its end.
    pub wall: Duration,
    /// The CPU time of cargo and of everything it started.
    pub cpu: Duration,
}

impl BuildEnv<'_> {
    /// Compiles the packages of the repository once more, beside their compiled dependencies in `compiled`, a
    /// compilation of the same version and filter. No other thread may start processes meanwhile: their CPU time would
    /// be counted too.
    ///
    /// Fails with a compiler cache in `RUSTC_WRAPPER`, which would be measured instead of the compiler.
    pub fn time_compilation(
        &self,
        source: Source<'_>,
        filter: &TargetFilter,
        compiled: &Compilation,
    ) -> Result<CompileTime> {
        let version = source.version.to_string();
        let what = || format!("cannot measure the time of compiling {version}");
        self.restore(source)?;
        let WantedTarget { mut context, key, .. } = self.wanted(source, filter, Instance::Timed)?;
        let wrapper =
            self.configs.program("rustc-wrapper", &context.environment, &context.directory);
        if let Some(wrapper) = wrapper {
            return Err(Error::new(Exit::Usage, what())
                .cause(format!("{} may keep what it has compiled", wrapper.display()))
                .hint(format!("turn it off: {RUSTC_WRAPPER}= cargo rbench compare …")));
        }
        context.environment.remove(RECIPES_VARIABLE);
        let sysroot = tool::sysroot(&context)?;
        let workspace = self.workspace(source, compiled, filter)?;
        let chosen = workspace.bench_targets(filter, &version)?;
        let home = self.cache_dirs.compilation(&key);
        files::remove_directory(&home)?;
        files::create_directory(&home.join("target"))?;
        files::point(&home.join("src"), source.checkout)?;
        pass_answers(&compiled.home, &home);
        let packages = workspace.path_packages(&self.cache_dirs.source_path());
        seed_dependencies(&compiled.home, &home, &packages)?;
        self.activate(&home)?;
        let job = Job { source, context, sysroot, home, log: self.cache_dirs.log(&key) };
        let cpu_time = || cpu_time_of_children().context(Exit::Build, what);
        let (start, before) = (Instant::now(), cpu_time()?);
        self.run_cargo(&job, &chosen)?;
        let (wall, cpu) = (start.elapsed(), cpu_time()?.saturating_sub(before));
        self.activate(&compiled.home)?;
        files::remove_directory(&job.home)?;
        Ok(CompileTime { wall, cpu })
    }
}
