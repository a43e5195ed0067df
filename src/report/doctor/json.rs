//! What was found on a machine for programs.

use serde::Serialize;

use super::DoctorReport;
use crate::{
    failure::Result,
    machine::doctor::{Finding, Grade, summary},
    report::json::{Machine, document},
};

#[derive(Serialize)]
struct Doctor<'r> {
    machine: Machine<'r>,
    summary: Option<String>,
    findings: Vec<OfCheck<'r>>,
}

#[derive(Serialize)]
struct OfCheck<'r> {
    check: &'r str,
    found: &'r str,
    grade: &'static str,
    matters: bool,
    advice: Option<&'r str>,
}

impl DoctorReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Doctor {
            machine: Machine::from(&self.machine),
            summary: summary(&self.findings),
            findings: self.findings.iter().map(OfCheck::from).collect(),
        })
    }
}

impl<'r> From<&'r Finding> for OfCheck<'r> {
    fn from(finding: &'r Finding) -> Self {
        let Finding { check, found, grade, matters } = finding;
        let (grade, advice) = match grade {
            Grade::Ok => ("ok", None),
            Grade::Rbench(how) => ("rbench", Some(how.as_str())),
            Grade::User(what) => ("user", Some(what.as_str())),
            Grade::Never(why) => ("never", Some(why.as_str())),
        };
        Self { check, found, grade, matters: *matters, advice }
    }
}
