//! The report of `doctor` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::DoctorReport;
use crate::{
    error::Result,
    model::{Finding, Machine, Severity, findings_summary},
    report::json::document,
};

/// Sources of noise on this machine.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Doctor<'r> {
    machine: &'r Machine,
    /// The findings that matter to comparisons, in a few words; null if there are none.
    summary: Option<String>,
    findings: Vec<CheckFields<'r>>,
}

/// The result of a check.
#[derive(Serialize, JsonSchema)]
struct CheckFields<'r> {
    /// The name of the check.
    check: &'r str,
    found: &'r str,
    /// Who can fix it: `ok`: nothing has to be fixed; `rbench`: rbench handles it; `user`: only the user can; `never`:
    /// nobody can on this machine.
    #[schemars(extend("enum" = ["ok", "rbench", "user", "never"]))]
    grade: &'static str,
    /// True if it may change or blur the result of a comparison.
    matters: bool,
    /// The remedy of rbench, the user's command, or the reason why nothing can be done; null if all is
    /// well.
    advice: Option<&'r str>,
}

impl DoctorReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Doctor {
            machine: &self.machine,
            summary: findings_summary(&self.findings),
            findings: self.findings.iter().map(CheckFields::from).collect(),
        })
    }
}

impl<'r> From<&'r Finding> for CheckFields<'r> {
    fn from(finding: &'r Finding) -> Self {
        let Finding { check, found, severity: grade, matters } = finding;
        let (grade, advice) = match grade {
            Severity::Ok => ("ok", None),
            Severity::Rbench(how) => ("rbench", Some(how.as_str())),
            Severity::User(what) => ("user", Some(what.as_str())),
            Severity::Never(why) => ("never", Some(why.as_str())),
        };
        Self { check, found, grade, matters: *matters, advice }
    }
}
