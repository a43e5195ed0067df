//! The report of `doctor` for people: what matters first.

use super::DoctorReport;
use crate::{
    model::{Finding, Severity},
    report::{
        document::{Block, Document, Item, Text},
        quantity::count,
        style::Role,
    },
};

impl DoctorReport {
    pub(super) fn write_document(&self) -> Document {
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
            ("rbench deals with it", rest(|grade| matches!(grade, Severity::Rbench(_)))),
            ("nobody can change it here", rest(|grade| matches!(grade, Severity::Never(_)))),
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

    fn findings_where(&self, is_wanted: impl Fn(&Finding) -> bool) -> Vec<&Finding> {
        self.findings.iter().filter(|finding| is_wanted(finding)).collect()
    }
}

/// A finding, and the advice on it.
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
