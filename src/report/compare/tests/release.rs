//! A head that is also compared with a release.

use super::*;

/// Unchanged since the base, and slower since the release.
fn drifted() -> [ComparisonReport; 2] {
    let row = |factors: &[f64]| decided_row("parse/1", 812.0, factors, 0.01, 0.002);
    let criteria = Criteria { comparisons: 2, ..Criteria::default() };
    let rows = vec![row(&[1.004])];
    let with_base = Outcome { criteria, rows, ..nothing() };
    let with_release = Outcome {
        base: version("v1.2.0", 'c'),
        criteria,
        rows: vec![row(&[1.083, 1.081])],
        ..nothing()
    };
    [with_base, with_release].map(shown)
}

fn both(reports: &[ComparisonReport; 2]) -> CompareReport<'_> {
    CompareReport::new(reports).unwrap()
}

#[test]
fn release_comparison_has_a_section() {
    let reports = drifted();
    let text = style::plain(&both(&reports).text(PLAIN_COLUMNS));
    insta::assert_snapshot!("release_text", text);
    insta::assert_snapshot!("release_markdown", both(&reports).markdown());
}

#[test]
fn release_comparison_is_nested_in_json() {
    let reports = drifted();
    assert_keeps("compare", &both(&reports));
    let json = both(&reports).json().unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["benchmarks"][0]["verdict"], "unchanged");
    let also = &json["also_base"];
    assert_eq!((&also["base"]["revision"], &also["head"]), (&"v1.2.0".into(), &json["head"]));
    assert_eq!(also["benchmarks"][0]["verdict"], "regressed");
}

#[test]
fn comment_fits_two_full_comparisons() {
    let mut report = report();
    for index in 0..1000 {
        let id = format!("{}{index}", "long".repeat(25));
        let unchanged = decided_row(&id, 240.8, &[1.0], 0.02, 0.003);
        let regressed = decided_row(&id, 812.0, &[1.4, 1.38], 0.01, 0.01);
        report.outcome.rows.extend([
            unchanged,
            regressed,
            identical(&id),
            failed(&id, "`".repeat(1000)),
        ]);
        report.outcome.added.push(benchmark(&id));
        report.outcome.removed.push(removed(benchmark(&id)));
        report.outcome.warnings.push(Warning::FunctionsUnknown { reason: id });
    }
    report.outcome.idle = vec![idle(&"long".repeat(25)).remove(0); 20];
    let reports = [report.clone(), report];
    let markdown = both(&reports).markdown();
    assert!(markdown.len() < 65_536, "{} bytes", markdown.len());
    assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count());
    assert_eq!(markdown.matches("#### Also against").count(), 1);
}

#[test]
fn release_comparison_is_harmless() {
    let mut reports = drifted();
    let also = &mut reports[1].outcome;
    also.base.revision = HOSTILE.to_owned();
    also.rows.push(accepted(HOSTILE, 0.5, HOSTILE));
    assert_harmless(&both(&reports));
}
