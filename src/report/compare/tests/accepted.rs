//! Accepted slowdowns in a report.

use super::*;
use crate::model::{Acceptance, AcceptedChange, Idle, IdleAcceptance};

/// A benchmark 40 % slower, accepted up to `ceiling`.
pub(super) fn accepted(id: &str, ceiling: f64, reason: &str) -> DecidedRow {
    let row = decided_row(id, 812.0, &[1.4, 1.38], 0.01, 0.01);
    let change = AcceptedChange { commit: "c".repeat(40), reason: reason.to_owned() };
    let acceptance = Acceptance { ceiling, changes: vec![change] };
    let stage = row.decisive().unwrap().assessment.clone();
    let verdict = row.verdict.clone().under(acceptance, &stage, &Criteria::default());
    DecidedRow { verdict, ..row }
}

/// Entries of a benchmark that change no verdict any more, one for each reason.
pub(super) fn idle(id: &str) -> Vec<IdleAcceptance> {
    let of = |why| IdleAcceptance {
        benchmark: benchmark(id),
        metric: Metric::wall(),
        commit: "c".repeat(40),
        why,
    };
    [Idle::NotInHistory, Idle::NoBenchmark, Idle::Recovered].map(of).into()
}

#[test]
fn acceptance_has_its_reason_and_passes_to_its_ceiling() {
    let rows = vec![accepted("slow", 0.5, "checks | more"), accepted("slower", 0.02, "more")];
    let report = shown(Outcome { rows, idle: idle("old"), ..nothing() });
    assert_eq!(exit(&report.outcome, false, true), Exit::Regression);
    insta::assert_snapshot!("accepted_text", plain(&report));
    insta::assert_snapshot!("accepted_markdown", report.markdown());
    let report = shown(Outcome { rows: vec![accepted("slow", 0.5, "why")], ..nothing() });
    assert_eq!(exit(&report.outcome, false, true), Exit::Success);
}
