//! Examines the machine for what makes measurements less sure: reads, and changes nothing.
//!
//! All files are read below a root directory. What the kernel does not tell is nothing to complain of.

mod cpu;
mod kernel;
mod load;
pub mod probe;
mod root;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::root::Root;
use super::state::MachineState;

/// What was found by one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the check, for programs and people: `governor`.
    pub check: &'static str,
    /// What is there: `powersave (driver intel_pstate)`.
    pub found: String,
    /// What follows.
    pub grade: Grade,
    /// Whether it may change or blur what a comparison says, as rbench makes comparisons.
    pub matters: bool,
}

/// What can be done about what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grade {
    /// Nothing has to be.
    Ok,
    /// rbench can, or does: how.
    Rbench(String),
    /// Only the user can: the command, or where there is none, what to do.
    User(String),
    /// Nobody can on this machine: why.
    Never(String),
}

impl Finding {
    /// All is well.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, found: found.into(), grade: Grade::Ok, matters: false }
    }

    /// rbench deals with it.
    pub fn rbench(check: &'static str, found: impl Into<String>, how: impl Into<String>) -> Self {
        Self { grade: Grade::Rbench(how.into()), ..Self::ok(check, found) }
    }

    /// Only the user can deal with it.
    pub fn user(check: &'static str, found: impl Into<String>, what: impl Into<String>) -> Self {
        Self { grade: Grade::User(what.into()), ..Self::ok(check, found) }
    }

    /// Nobody can deal with it here.
    pub fn never(check: &'static str, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self { grade: Grade::Never(why.into()), ..Self::ok(check, found) }
    }

    /// The same, and it matters to comparisons.
    #[must_use]
    pub fn that_matters(self) -> Self {
        Self { matters: true, ..self }
    }
}

/// All checks of the machine that the files below `root` describe.
pub fn examine(root: &Path) -> Vec<Finding> {
    let state = MachineState::read(root);
    let root = Root::new(root);
    let mut findings = cpu::findings(&root, &state);
    findings.extend(kernel::findings(&root));
    findings.extend(load::findings(&root, &state));
    findings
}

/// What of the findings matters to comparisons, in a few words; none if that is nothing.
pub fn summary(findings: &[Finding]) -> Option<String> {
    let parts = findings.iter().filter(|finding| finding.matters);
    let parts: Vec<String> =
        parts.map(|finding| format!("{}: {}", finding.check, finding.found)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The [`summary`] of this machine now.
pub fn summary_now() -> Option<String> {
    summary(&examine(Path::new("/")))
}
