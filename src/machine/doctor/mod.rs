//! Examines the machine for what makes measurements less sure: reads, and changes nothing.
//!
//! All files are read below a root directory. What the kernel does not tell is nothing to complain of.

mod cpu;
mod finding;
mod kernel;
mod load;
pub mod probe;

use std::path::Path;

use self::finding::Root;
pub use self::finding::{Finding, Severity};
use super::state::MachineState;

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

#[cfg(test)]
mod tests;
