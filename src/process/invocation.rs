//! What to run, as a value that can be shown as a shell command.

use std::{ffi::OsString, fmt, path::PathBuf};

use super::{
    counting::{CountedProcess, allocations},
    trace::Tracing,
};
use crate::shell::quoted;

/// A program with its arguments, directory and environment.
///
/// Displayed, it is a line for a shell that does the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// Variables it gets beside those of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// Variables of this process that it does not get: those that begin with one of these.
    pub removed_prefixes: Vec<String>,
    /// The seed of a variable of random length, which moves the child's initial stack.
    pub padding_seed: Option<u64>,
    /// The CPU it runs on, all of its threads included, where the system can do that.
    pub cpu: Option<usize>,
    /// The launcher that shall start the program, so that the peak memory in its account is its own,
    /// however small; otherwise this process does.
    pub launcher: Option<PathBuf>,
    /// How the program is traced, if it is.
    pub tracing: Option<Tracing>,
    /// How what it executes is counted, if it is.
    pub counting: Option<CountedProcess>,
    /// How its allocations are counted, if they are.
    pub allocations: Option<allocations::Counting>,
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
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invocation_shows_as_a_line_to_retype() {
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
}
