//! Writes a comparison as `JUnit` XML, with a test case for each benchmark.

use std::collections::BTreeMap;

use askama::Template;

use crate::{
    error::{Context as _, Exit, Result},
    escape::{escape_untrusted, escape_untrusted_lines},
    model::BenchTarget,
    report::{
        compare::{Comparisons, Row},
        quantity::changed,
    },
    verdict::VerdictKind,
};

#[derive(Template)]
#[template(path = "junit.xml")]
struct Document {
    suites: Vec<Suite>,
}

struct Suite {
    name: String,
    class: String,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    problem: Option<Problem>,
}

/// The reason why a test case is no success.
struct Problem {
    element: &'static str,
    verdict: &'static str,
    message: String,
    text: String,
}

/// Maps verdicts to test results: regressions are failures, failed benchmarks are errors, and
/// undecided ones are skipped, each with its reason.
pub fn junit(comparison: &Comparisons) -> Result<String> {
    let mut suites = Vec::new();
    for (number, one) in comparison.both().enumerate() {
        let names = one.names();
        let mut targets: BTreeMap<BenchTarget, Vec<Case>> = BTreeMap::new();
        for row in &one.benchmarks {
            let name = escape_untrusted(&row.name(&names)).into_owned();
            let case = Case { name, problem: problem(row) };
            targets.entry(row.benchmark.bench_target()).or_default().push(case);
        }
        for unlisted in &one.failed_targets {
            let problem = Problem::new("error", VerdictKind::Failed, "", &unlisted.reason());
            let name = "benchmarks can be listed".to_owned();
            let case = Case { name, problem: Some(problem) };
            targets.entry(unlisted.failed.target.clone()).or_default().push(case);
        }
        let against =
            if number == 0 { String::new() } else { format!(" (since {})", one.base.short()) };
        suites.extend(targets.into_iter().map(|(target, cases)| {
            let class = format!("{}::{}", target.package, target.target);
            let class = escape_untrusted(&class).into_owned();
            Suite { name: format!("{class}{against}"), class, cases }
        }));
    }
    Document { suites }.render().context(Exit::Internal, || "cannot write JUnit XML")
}

impl Document {
    fn tests(&self) -> usize {
        self.suites.iter().map(|suite| suite.cases.len()).sum()
    }

    fn count(&self, element: &str) -> usize {
        self.suites.iter().map(|suite| suite.count(element)).sum()
    }
}

impl Suite {
    fn count(&self, element: &str) -> usize {
        let problems = self.cases.iter().filter_map(|case| case.problem.as_ref());
        problems.filter(|problem| problem.element == element).count()
    }
}

impl Problem {
    fn new(element: &'static str, verdict: VerdictKind, change: &str, reason: &str) -> Self {
        let verdict = verdict.name();
        let text = escape_untrusted_lines(reason).into_owned();
        Self { element, verdict, message: format!("{verdict}{change}"), text }
    }
}

fn problem(row: &Row) -> Option<Problem> {
    let element = match row.verdict {
        VerdictKind::Regressed => "failure",
        VerdictKind::Failed => "error",
        VerdictKind::Inconclusive | VerdictKind::NotComparable | VerdictKind::Skipped => "skipped",
        _ => return None,
    };
    let change = row.estimate().map_or_else(String::new, |share| format!(" {}", changed(share)));
    Some(Problem::new(element, row.verdict, &change, &row.reason.text))
}
