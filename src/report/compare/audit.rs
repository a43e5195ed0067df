//! The sentences about the audit: skipped benchmarks that were measured all the same.

use super::ComparisonReport;
use crate::{
    compare::Audited,
    report::quantity::{count, exact, range},
    verdict::AUDIT_ERROR_RATE,
};

impl ComparisonReport {
    /// The result of the audit: no difference, or a defect of rbench.
    pub(super) fn audit_lines(&self) -> Vec<String> {
        let Some(Audited { skipped, measured, differing, traces }) = &self.outcome.audit else {
            return Vec::new();
        };
        let names = self.names();
        let mut lines = Vec::new();
        let skipped = count(*skipped, "skipped benchmark");
        let mut audited = format!("audit: {} of {skipped} measured", measured.len());
        if differing.is_empty() {
            let of_audit = self.outcome.rows.iter().filter(|row| measured.contains(&row.benchmark));
            let stages = of_audit.filter_map(|row| row.decisive());
            let changes =
                stages.map(|stage| (stage.assessment.change.low, stage.assessment.change.high));
            let all = changes.reduce(|(low, high), (other_low, other_high)| {
                (low.min(other_low), high.max(other_high))
            });
            audited += ": none is shown to differ";
            if let Some((low, high)) = all {
                audited += &format!(" (intervals within {})", range(low, high));
            }
        } else {
            let list = self.list(differing.iter().map(|benchmark| names.name(benchmark)));
            audited += &format!(", and these differ, confirmed by fresh builds: {list}");
        }
        lines.push(audited);
        if !differing.is_empty() {
            let traces: Vec<String> =
                traces.iter().map(|path| path.display().to_string()).collect();
            lines.push(format!(
                "this is a bug in rbench (by chance, at most {} of audits show it), and other skipped benchmarks are in \
                 doubt: measure them with --no-skip, and please report it with the repository, the log, the store and the \
                 traces in {}",
                exact(AUDIT_ERROR_RATE),
                traces.join(" and ")
            ));
        }
        lines
    }
}
