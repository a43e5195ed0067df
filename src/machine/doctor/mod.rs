//! Checks this machine for sources of noise. Read-only: it never changes a setting.
//!
//! All files are read below a root directory. Values that the kernel does not report give no finding that matters.

mod cpu;
mod kernel;
mod load;
pub mod probe;

use std::path::Path;

use super::{root::Root, state::MachineState};
use crate::model::{Finding, findings_summary};

/// Runs all checks of the machine that the files below `root` describe.
pub fn examine(root: &Path) -> Vec<Finding> {
    let state = MachineState::read(root);
    let root = Root::new(root);
    let mut findings = cpu::findings(&root, &state);
    findings.extend(kernel::findings(&root));
    findings.extend(load::findings(&root, &state));
    findings
}

/// The [summary](findings_summary) of this machine now.
pub fn summary_now() -> Option<String> {
    findings_summary(&examine(Path::new("/")))
}

#[cfg(test)]
mod tests;
