//! What was found on a machine for people at a terminal.

use super::DoctorReport;
use crate::{
    machine::doctor::{Finding, Grade},
    report::{
        prose::filled,
        quantity::count,
        style::{self, paint},
        visible::visible,
    },
};

impl DoctorReport {
    pub(super) fn write_text(&self, columns: usize) -> String {
        let mut text = filled(&paint(style::HEAD, &self.machine.to_string()), columns);
        let matter = self.of(|finding| finding.matters);
        let checks = count(self.findings.len(), "check");
        let result = match matter.len() {
            0 => format!("nothing here matters to comparisons ({checks})"),
            1 => format!("1 of {checks} matters to comparisons"),
            several => format!("{several} of {checks} matter to comparisons"),
        };
        text += &filled(&paint(style::HEAD, &result), columns);
        let rest = |is: fn(&Grade) -> bool| self.of(|one| !one.matters && is(&one.grade));
        for (head, findings) in [
            ("matters to comparisons", matter),
            (
                "you can change it, but comparisons hardly need it",
                rest(|grade| matches!(grade, Grade::User(_))),
            ),
            ("rbench deals with it", rest(|grade| matches!(grade, Grade::Rbench(_)))),
            ("nobody can change it here", rest(|grade| matches!(grade, Grade::Never(_)))),
        ] {
            if findings.is_empty() {
                continue;
            }
            text += &format!("\n{}\n", paint(style::HEAD, head));
            for finding in findings {
                text += &explained(finding, columns);
            }
        }
        let fine = self.of(|finding| !finding.matters && finding.grade == Grade::Ok);
        let fine: Vec<String> =
            fine.iter().map(|Finding { check, found, .. }| format!("{check}: {found}")).collect();
        if !fine.is_empty() {
            text +=
                &format!("\n{}", filled(&visible(&format!("fine: {}", fine.join("; "))), columns));
        }
        text
    }

    fn of(&self, is_wanted: impl Fn(&Finding) -> bool) -> Vec<&Finding> {
        self.findings.iter().filter(|finding| is_wanted(finding)).collect()
    }
}

/// What was found, and what to do about it. A command stays in one line, to be copied.
fn explained(Finding { check, found, grade, matters }: &Finding, columns: usize) -> String {
    let style = if *matters { style::DOUBTFUL } else { style::HEAD };
    let found = format!("  {}: {}", paint(style, check), visible(found));
    match grade {
        Grade::Ok => filled(&found, columns),
        Grade::User(what) => filled(&found, columns) + &format!("    {}\n", visible(what)),
        Grade::Rbench(advice) | Grade::Never(advice) => {
            filled(&format!("{found}; {}", visible(advice)), columns)
        }
    }
}
