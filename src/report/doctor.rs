//! The report of `doctor`: sources of noise on a machine, what matters first.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    document::{Block, Document, Item, Medium, Text},
    json,
    quantity::count,
    style::Role,
};
use crate::{
    error::Result,
    model::{Finding, Machine, Severity, findings_summary},
};

/// The sources of noise on a machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoctorReport {
    machine: Machine,
    /// The findings that matter to comparisons, in a few words; null if there are none.
    summary: Option<String>,
    findings: Vec<Finding>,
}

impl DoctorReport {
    pub fn new(machine: Machine, findings: Vec<Finding>) -> Self {
        Self { machine, summary: findings_summary(&findings), findings }
    }

    fn findings_where(&self, is_wanted: impl Fn(&Finding) -> bool) -> Vec<&Finding> {
        self.findings.iter().filter(|finding| is_wanted(finding)).collect()
    }
}

impl Report for DoctorReport {
    fn document(&self, _medium: Medium) -> Document {
        let mut document = Document::new("doctor").titled(self.machine.to_string());
        let matter = self.findings_where(|finding| finding.matters);
        let checks = count(self.findings.len(), "check");
        let result = match matter.len() {
            0 => format!("nothing here matters to comparisons ({checks})"),
            1 => format!("1 of {checks} matters to comparisons"),
            several => format!("{several} of {checks} matter to comparisons"),
        };
        document.add(Block::paragraph([Text::new().styled(Role::Head, result)]));
        let rest = |is: fn(&Severity) -> bool| {
            self.findings_where(|one| !one.matters && is(&one.severity))
        };
        for (head, findings) in [
            ("matters to comparisons", matter),
            (
                "you can change it, but comparisons hardly need it",
                rest(|grade| matches!(grade, Severity::User(_))),
            ),
            ("handled by rbench", rest(|grade| matches!(grade, Severity::Rbench(_)))),
            (
                "cannot be changed on this machine",
                rest(|grade| matches!(grade, Severity::Never(_))),
            ),
        ] {
            if let Some(list) = Block::list(findings.into_iter().map(explained)) {
                document.add([Block::heading(head), list]);
            }
        }
        let fine =
            self.findings_where(|finding| !finding.matters && finding.severity == Severity::Ok);
        let fine: Vec<String> =
            fine.iter().map(|Finding { check, found, .. }| format!("{check}: {found}")).collect();
        if !fine.is_empty() {
            document.add(Block::paragraph([format!("fine: {}", fine.join("; "))]));
        }
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

fn explained(Finding { check, found, severity: grade, matters }: &Finding) -> Item {
    let role = if *matters { Role::Doubtful } else { Role::Head };
    let found = Text::new().styled(role, *check).then(format!(": {found}"));
    match grade {
        Severity::Ok => found.into(),
        Severity::User(command) => {
            Item::new(found, Block::paragraph([Text::new().command(command)]))
        }
        Severity::Rbench(advice) | Severity::Never(advice) => {
            found.then(format!("; {advice}")).into()
        }
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
            Finding::never("virtual-machine", "yes", "other machines on the host add noise"),
            Finding::ok("swap", "none"),
        ];
        DoctorReport::new(machine(), findings)
    }

    #[test]
    fn doctor_lists_important_findings_first() {
        let text = style::plain(&report("on").text(PLAIN_COLUMNS));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn faultless_machine_gets_one_sentence() {
        let report = DoctorReport::new(machine(), vec![Finding::ok("swap", "none")]);
        let text = style::plain(&report.text(PLAIN_COLUMNS));
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
