//! A program to run, as a value with its complete environment. It can be printed as a shell command.

use std::{ffi::OsString, fmt, path::PathBuf, process::Command};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::{
    counting::{CountedProcess, allocations},
    trace::Tracing,
};
use crate::{model::variables::is_of_harness, secrets, shell::quoted};

/// A program with its arguments, directory and environment.
///
/// Its `Display` is an equivalent command line for a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    pub program: PathBuf,
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// The file it reads as its standard input, relative to its directory; without one, its input is empty.
    pub input: Option<PathBuf>,
    pub directory: PathBuf,
    /// Variables in addition to those of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// Seed of a variable of random length, which shifts the child's initial stack.
    pub padding_seed: Option<u64>,
    /// The CPU to run on, with all threads, where the system supports pinning.
    pub cpu: Option<usize>,
    /// The launcher that starts the program, so that its peak memory is its own, however small. Without it, this
    /// process starts the program.
    pub launcher: Option<PathBuf>,
    /// Settings of the tracer, if the program is traced.
    pub tracing: Option<Tracing>,
    /// Settings for counting instructions, if they are counted.
    pub counting: Option<CountedProcess>,
    /// Settings for counting allocations, if they are counted.
    pub allocations: Option<allocations::Counting>,
}

impl Invocation {
    /// Sets the environment of `command`: that of code of a commit, plus the variable of random length.
    pub(super) fn apply_environment(&self, command: &mut Command) {
        command.env_clear().envs(inherited_by_executions());
        if let Some(seed) = self.padding_seed {
            command.env(PADDING_VARIABLE, "x".repeat(padding_length(seed)));
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cd {} &&", quoted(&self.directory))?;
        if !self.variables.is_empty() {
            f.write_str(" env")?;
        }
        for (name, value) in &self.variables {
            write!(f, " {}={}", name.display(), quoted(value))?;
        }
        write!(f, " {}", quoted(&self.program))?;
        for argument in &self.arguments {
            write!(f, " {}", quoted(argument))?;
        }
        if let Some(input) = &self.input {
            write!(f, " < {}", quoted(input))?;
        }
        Ok(())
    }
}

/// The variable whose length shifts the initial stack (Mytkowicz et al. 2009).
pub const PADDING_VARIABLE: &str = "RBENCH_PADDING";

/// Length of the padding variable's value for a seed, in bytes: 0 to 4095, a page. Must never change, as stored seeds
/// stand for these lengths.
pub fn padding_length(seed: u64) -> usize {
    let draw = ChaCha8Rng::seed_from_u64(seed).next_u32();
    usize::try_from(draw % 4096).unwrap_or(0)
}

/// The variables of rbench that executions of benchmarks and their set-ups inherit.
pub fn inherited_by_executions() -> Vec<(OsString, OsString)> {
    let mut variables = secrets::environment();
    variables.retain(|(name, _)| !is_of_harness(&name.to_string_lossy()));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invocation_displays_as_a_shell_command() {
        let invocation = Invocation {
            program: "/tmp/a b".into(),
            arguments: ["--bench", "it's", "größe"].map(OsString::from).to_vec(),
            directory: "/src".into(),
            variables: vec![("A".into(), "1 2".into())],
            ..Invocation::default()
        };
        let line = invocation.to_string();
        assert!(line.starts_with("cd /src && env A='1 2' '/tmp/a b' --bench "), "{line}");
        assert_eq!(
            shlex::split(&line).unwrap()[3..],
            ["env", "A=1 2", "/tmp/a b", "--bench", "it's", "größe"]
        );
    }

    #[test]
    fn padding_length_of_a_seed_never_changes() {
        assert_eq!([0, 1, 2].map(padding_length), [2924, 3505, 3013]);
        assert!((0..1000).all(|seed| padding_length(seed) < 4096));
    }
}
