//! Errors for users, with the operation, the cause and hints; and the exit codes.

use std::fmt;

/// The exit code of the process. It is a public interface: docs/reference.md lists the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything requested was done, and no regression was found.
    Success = 0,
    /// At least one benchmark regressed, or a self-test found that verdicts on this machine are
    /// unreliable.
    Regression = 1,
    /// The command line or a configuration file asks for something impossible.
    Usage = 2,
    /// A version could not be checked out, compiled or linked.
    Build = 3,
    /// A benchmark failed: crashed, hung, or gave no valid measurements.
    Benchmark = 4,
    /// Some verdict is inconclusive, and the caller asked for this exit code.
    Inconclusive = 5,
    /// A defect of rbench itself.
    Internal = 70,
    Interrupted = 130,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The result of everything that can fail for a reason the user should read.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error for the user: the failed operation, its causes and hints, and the exit code.
///
/// ```
/// use cargo_rbench::error::{Exit, Error};
///
/// let error = Error::new(Exit::Usage, "cannot find revision `v9` in /repo")
///     .cause("no reference or commit has that name")
///     .hint("list the tags with: git tag");
/// assert_eq!(
///     error.to_string(),
///     "cannot find revision `v9` in /repo\n  no reference or commit has that name\n\
///      hint: list the tags with: git tag"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    exit: Exit,
    what: String,
    causes: Vec<String>,
    hints: Vec<String>,
    command: Option<String>,
}

impl Error {
    /// An error of the operation `what`, a fragment that reads well after `error: `.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into(), causes: Vec::new(), hints: Vec::new(), command: None }
    }

    /// Adds a cause. It may have several lines; each is shown indented.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// Adds a cause that explains the others, before them.
    #[must_use]
    pub fn first_cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.insert(0, cause.into());
        self
    }

    /// Adds the next step that most probably helps, before the others.
    #[must_use]
    pub fn first_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.insert(0, hint.into());
        self
    }

    /// Adds a next step that the user can take.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds the first of these things as indented causes, and the number of the others.
    #[must_use]
    pub fn listing<T: fmt::Display>(mut self, things: &[T], most: usize) -> Self {
        self.causes.extend(things.iter().take(most).map(|thing| format!("  {thing}")));
        if things.len() > most {
            self.causes.push(format!("  and {} more", things.len() - most));
        }
        self
    }

    /// Adds the exact command of the process that failed. It is not displayed: it may be long, and
    /// its files may be gone.
    #[must_use]
    pub fn with_command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// The exact command of the process that failed, for verbose output.
    pub fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// The exit code of a process that ends with this error.
    pub const fn exit(&self) -> Exit {
        self.exit
    }

    /// The first cause, or else the operation that failed: the reason in one line.
    pub fn reason(&self) -> &str {
        self.causes.first().unwrap_or(&self.what)
    }

    /// The next steps that the user can take.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The operation that failed, without causes and hints.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for line in self.causes.iter().flat_map(|cause| cause.lines()) {
            if line.is_empty() {
                f.write_str("\n")?;
            } else {
                write!(f, "\n  {line}")?;
            }
        }
        for hint in &self.hints {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Converts an error of a library to an [`Error`] that names the failed operation.
pub trait Context<T> {
    /// Adds the exit code and the operation; the error and its sources become causes.
    fn context<S: Into<String>>(self, exit: Exit, what: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: std::error::Error> Context<T> for std::result::Result<T, E> {
    fn context<S: Into<String>>(self, exit: Exit, what: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| {
            let mut failure = Error::new(exit, what()).cause(error.to_string());
            let mut source = error.source();
            while let Some(cause) = source {
                failure = failure.cause(cause.to_string());
                source = cause.source();
            }
            failure
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_adds_the_operation_to_an_io_error() {
        let error = std::fs::read("/no/such/file")
            .context(Exit::Build, || "cannot read the link recipe")
            .unwrap_err();
        assert_eq!(error.exit(), Exit::Build);
        assert_eq!(
            error.to_string(),
            "cannot read the link recipe\n  No such file or directory (os error 2)"
        );
    }

    #[test]
    fn display_indents_causes_and_ends_with_hints() {
        let error =
            Error::new(Exit::Internal, "cannot link").hint("try again").cause("first\n\nsecond");
        assert_eq!(error.to_string(), "cannot link\n  first\n\n  second\nhint: try again");
    }
}
