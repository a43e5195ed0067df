//! What a check of the machine found.

use schemars::JsonSchema;
use serde::Serialize;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The name of the check, for programs and people: `governor`.
    pub check: &'static str,
    /// The state of the machine: `powersave (driver intel_pstate)`.
    pub found: String,
    /// The consequence.
    #[serde(flatten)]
    pub severity: Severity,
    /// True if it may bias or blur the comparisons of rbench.
    pub matters: bool,
}

impl Finding {
    /// A finding that needs no action.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, found: found.into(), severity: Severity::Ok, matters: false }
    }

    /// A finding that rbench handles.
    pub fn rbench(check: &'static str, found: impl Into<String>, how: impl Into<String>) -> Self {
        Self { severity: Severity::Rbench(how.into()), ..Self::ok(check, found) }
    }

    /// A finding that only the user can fix.
    pub fn user(check: &'static str, found: impl Into<String>, what: impl Into<String>) -> Self {
        Self { severity: Severity::User(what.into()), ..Self::ok(check, found) }
    }

    /// A finding that cannot be changed on this machine.
    pub fn never(check: &'static str, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self { severity: Severity::Never(why.into()), ..Self::ok(check, found) }
    }

    /// Marks the finding as relevant to comparisons.
    #[must_use]
    pub fn that_matters(self) -> Self {
        Self { matters: true, ..self }
    }
}

/// The action that a finding needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "grade", content = "advice", rename_all = "kebab-case")]
pub enum Severity {
    /// None.
    Ok,
    /// Handled by rbench, in this way.
    Rbench(String),
    /// Only the user can fix it: with this command, or else by this action.
    User(String),
    /// It cannot be changed on this machine, for this reason.
    Never(String),
}

/// The findings that matter to comparisons, in a few words; none if there are none.
pub fn findings_summary(findings: &[Finding]) -> Option<String> {
    let parts = findings.iter().filter(|finding| finding.matters);
    let parts: Vec<String> =
        parts.map(|finding| format!("{}: {}", finding.check, finding.found)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
