//! The report of `doctor`: sources of noise on a machine, what matters first.

mod document;
pub(super) mod json;

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{
    error::Result,
    model::{Finding, Machine},
};

/// The sources of noise found on a machine.
#[derive(Clone, Debug)]
pub struct DoctorReport {
    /// The machine examined.
    pub machine: Machine,
    /// The finding of each check.
    pub findings: Vec<Finding>,
}

impl Report for DoctorReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        PLAIN_COLUMNS, style,
        testing::{HOSTILE, assert_harmless, assert_keeps, machine},
    };

    fn report(found: &str) -> DoctorReport {
        let findings = vec![
            Finding::ok("interleaving", "two processes ran interleaved"),
            Finding::user("load", "1.51 per core", "ps -eo pcpu,comm").that_matters(),
            Finding::user("smt", found, "echo off | sudo tee /sys/devices/system/cpu/smt/control"),
            Finding::rbench("turbo", "on", "interleaved versions have the same clock rates"),
            Finding::never("virtual-machine", "yes", "other machines on the host disturb"),
            Finding::ok("swap", "none"),
        ];
        DoctorReport { machine: machine(), findings }
    }

    #[test]
    fn doctor_lists_important_findings_first() {
        let text = style::plain(&report("on").text(PLAIN_COLUMNS));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn faultless_machine_gets_one_sentence() {
        let findings = vec![Finding::ok("swap", "none")];
        let text = DoctorReport { findings, ..report("on") }.text(PLAIN_COLUMNS);
        let text = style::plain(&text);
        assert!(text.contains("\nnothing here matters to comparisons (1 check)\n"), "{text}");
    }

    #[test]
    fn json_has_every_check() {
        assert_keeps("doctor", &report("on"));
        insta::assert_snapshot!(report("on").json().unwrap());
    }

    #[test]
    fn kernel_files_are_harmless() {
        assert_harmless(&report(HOSTILE));
    }
}
