//! Checks this machine for sources of noise. Read-only: it never changes a setting.
//!
//! All files are read below a root directory. Values that the kernel does not report give no finding that matters.

mod cpu;
mod finding;
mod kernel;
mod load;
pub mod probe;

use std::path::Path;

use self::finding::Root;
pub use self::finding::{Finding, Severity};
use super::state::MachineState;

/// Runs all checks of the machine that the files below `root` describe.
pub fn examine(root: &Path) -> Vec<Finding> {
    let state = MachineState::read(root);
    let root = Root::new(root);
    let mut findings = cpu::findings(&root, &state);
    findings.extend(kernel::findings(&root));
    findings.extend(load::findings(&root, &state));
    findings
}

/// The findings that matter to comparisons, in a few words; none if there are none.
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
