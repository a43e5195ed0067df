//! Tries the prerequisites of comparisons on this machine, with one of rbench's own benchmarks:
//! interleaving, and traced executions.

use std::{ffi::OsStr, fs, path::PathBuf, process::Command, time::Duration};

use super::{
    diagnosis::control,
    interleaving_support::{Both, ProcessUse, Sharing, SupportTable, both},
    missing_files::observe,
    subject::{BuiltProgram, InVersion, Obstacle},
};
use crate::{
    builds::run_tool_or,
    error::{Context as _, Error, Exit, Result},
    harness::{Conditions, Executable, Harness as _, Native},
    model::{ExecutionRequest, InterleavingUnavailable, Name},
    process::{
        self, Scratch,
        interleaving::{LIBRARY_FLAGS, LIBRARY_SOURCE, SLICE},
    },
};

/// A benchmark to interleave where this program itself cannot be.
const CONTROL: &str = r#"fn main() -> std::process::ExitCode {
    rbench_harness::run(|suite: &mut rbench_harness::Suite<'_>| {
        let step = |sum: u64, number: u64| (sum ^ number).wrapping_mul(3);
        suite.bench("control", |bencher| bencher.iter(|| (0..1000).fold(rbench_harness::black_box(1), step)));
    })
}
"#;

/// A benchmark that takes a few milliseconds, in a directory that is removed with the value.
pub struct Trial<'t> {
    executable: Executable,
    name: Name,
    request: ExecutionRequest,
    place: Scratch,
    conditions: Conditions<'t>,
}

impl<'t> Trial<'t> {
    /// Fails without a temporary directory.
    pub fn new(conditions: Conditions<'t>) -> Result<Self> {
        let place = Scratch::new()?;
        let executable = Executable { directory: place.path().to_owned(), ..control()? };
        let request = ExecutionRequest {
            measurements: 5,
            warm_up: Duration::from_millis(1),
            min_time: Duration::from_millis(1),
            iterations: None,
            seed: 1,
        };
        Ok(Self { executable, name: Name::plain("control"), request, place, conditions })
    }

    /// Interleaves two processes with a library that this compiler makes; returns why that is
    /// unavailable, if it is.
    pub fn interleaving(&self, rustc: &OsStr) -> Result<Option<InterleavingUnavailable>> {
        // Nothing is preloaded into a statically linked program, as this one is in a release.
        let executable =
            if cfg!(target_env = "musl") { self.compiled(rustc)? } else { self.executable.clone() };
        self.interleaved(rustc, executable)
    }

    fn interleaved(
        &self,
        rustc: &OsStr,
        executable: Executable,
    ) -> Result<Option<InterleavingUnavailable>> {
        let library = self.library(rustc)?;
        let cpus = process::cpus()?;
        let support = SupportTable {
            library: &library,
            build_path: self.place.path(),
            cpus: &cpus,
            conditions: self.conditions,
            period: None,
        };
        let version = InVersion { harness: &Native, builds: Vec::new(), library: None };
        let home = self.place.path().to_owned();
        let build = BuiltProgram { executable, home };
        let half = || ProcessUse { version: &version, build: &build };
        let sharing = Sharing::Cpu(cpus.first().copied().unwrap_or_default());
        let halves = [half(), half()];
        let attempts = support.execute(&self.name, &self.request, &halves, sharing, SLICE, None)?;
        Ok(match both(attempts)? {
            Both::Measured(_) | Both::Obstacle(Obstacle::Threads | Obstacle::Interference(_)) => {
                None
            }
            Both::Obstacle(Obstacle::Unavailable(reason)) => Some(reason),
            Both::Failed(_) | Both::Skipped(..) => Some(InterleavingUnavailable::FailsInterleaved),
        })
    }

    /// A benchmark of the same name that this compiler makes, with rbench's harness.
    fn compiled(&self, rustc: &OsStr) -> Result<Executable> {
        let what = || "cannot compile a benchmark".to_owned();
        let place = self.place.path();
        fs::create_dir_all(place.join("src")).context(Exit::Build, what)?;
        for (path, text) in
            rbench_harness::sources::FILES.into_iter().chain([("control.rs", CONTROL)])
        {
            fs::write(place.join(path), text).context(Exit::Build, what)?;
        }
        let compile = |arguments: &str| {
            let mut command = Command::new(rustc);
            command.args(["--edition", "2024", "-O"]).args(arguments.split(' ')).current_dir(place);
            // The harness says its version.
            command.env("CARGO_PKG_VERSION", env!("CARGO_PKG_VERSION"));
            run_tool_or(&mut command, Exit::Build, what)
        };
        compile("--crate-type rlib --crate-name rbench_harness src/lib.rs")?;
        compile("--extern rbench_harness=librbench_harness.rlib control.rs")?;
        Ok(Executable { path: place.join("control"), ..self.executable.clone() })
    }

    fn library(&self, rustc: &OsStr) -> Result<PathBuf> {
        let what = || "cannot compile the interleaving library".to_owned();
        let source = self.place.path().join("interleaving.rs");
        let library = self.place.path().join("interleaving.so");
        fs::write(&source, LIBRARY_SOURCE).context(Exit::Build, what)?;
        let mut command = Command::new(rustc);
        command.args(LIBRARY_FLAGS.split(' ')).arg("-o").args([&library, &source]);
        run_tool_or(&mut command, Exit::Build, what)?;
        Ok(library)
    }

    /// Executes the benchmark under the tracer; fails with the reason where that is impossible.
    pub fn tracing(&self) -> Result<()> {
        let execute = |conditions: &Conditions<'_>| {
            Native.execute(&self.executable, &self.name, &self.request, conditions)
        };
        match observe(self.executable.path.clone(), &self.conditions, execute)? {
            (outcome, None | Some(Ok(_))) => outcome.map(drop),
            (_, Some(Err(reason))) => {
                Err(Error::new(Exit::Internal, "cannot trace an execution").cause(reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::testing::leaves_descendants;

    #[test]
    fn compiled_benchmark_is_interleaved() {
        // Those of another test would be taken for its own.
        let _alone = leaves_descendants();
        let interrupt = process::Interrupt::new().unwrap();
        let trial = Trial::new(Conditions::new(&interrupt)).unwrap();
        let rustc = OsStr::new("rustc");
        let executable = trial.compiled(rustc).unwrap();
        assert_eq!(trial.interleaved(rustc, executable).unwrap(), None);
    }
}
