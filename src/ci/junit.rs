//! Writes a comparison as `JUnit` XML, with a test case for each benchmark.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::{
    error::{Context as _, Exit, Result},
    model::BenchTarget,
    report::{
        compare::{Comparison, Row},
        quantity::changed,
    },
    verdict::VerdictKind,
};

/// Maps verdicts to test results: regressions are failures, failed benchmarks are errors, and
/// undecided ones are skipped, each with its reason.
pub fn junit(comparison: &Comparison) -> Result<String> {
    let mut report = Report::new("cargo rbench");
    for one in comparison.both() {
        let names = one.names();
        let against = if std::ptr::eq(one, comparison) {
            String::new()
        } else {
            format!(" (since {})", one.base.short())
        };
        let mut suites: BTreeMap<BenchTarget, TestSuite> = BTreeMap::new();
        let mut add = |target: BenchTarget, case: TestCase| {
            let name = format!("{}::{}{against}", target.package, target.target);
            suites.entry(target).or_insert_with(|| TestSuite::new(name)).add_test_case(case);
        };
        for row in &one.benchmarks {
            let target = row.benchmark.bench_target();
            let mut case = TestCase::new(row.name(&names), status(row));
            case.set_classname(format!("{}::{}", target.package, target.target));
            add(target, case);
        }
        for failed in &one.failed_targets {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(failed.error.to_string());
            add(failed.target.clone(), TestCase::new("benchmarks can be listed", status));
        }
        report.add_test_suites(suites.into_values());
    }
    report.to_string().context(Exit::Internal, || "cannot write JUnit XML")
}

fn status(row: &Row) -> TestCaseStatus {
    let mut status = match row.verdict {
        VerdictKind::Regressed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        VerdictKind::Failed => TestCaseStatus::non_success(NonSuccessKind::Error),
        VerdictKind::Inconclusive | VerdictKind::NotComparable | VerdictKind::Skipped => {
            TestCaseStatus::skipped()
        }
        _ => return TestCaseStatus::success(),
    };
    let change = row.estimate().map_or_else(String::new, |share| format!(" {}", changed(share)));
    status.set_message(format!("{}{change}", row.verdict.name()));
    status.set_type(row.verdict.name());
    status.set_description(row.reason.text.clone());
    status
}
