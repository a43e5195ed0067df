//! The web page of a comparison.

use rbench_code::callgrind::Explanation;

use super::*;
use crate::compare::ExplainedBenchmark;

#[test]
fn page_has_every_benchmark_and_its_builds() {
    let page = report().html().unwrap();
    let kinds: Vec<&str> = page
        .split("<tbody class=")
        .skip(1)
        .map(|row| row.split(' ').next().unwrap_or_default())
        .collect();
    assert_eq!(
        kinds,
        [
            "regressed",
            "regressed",
            "failed",
            "improved",
            "incomparable",
            "inconclusive",
            "unchanged",
            "unchanged",
            "unchanged"
        ]
    );
    // Two stages of each of the three that changed, and one of each of the others with values.
    assert_eq!(page.matches("<figure class=p>").count(), 10);
    for part in ["<b>2</b> regressed", "same/1", "only in", "cargo rbench diff"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
}

#[test]
fn pairs_are_in_order_of_measurement() {
    let mut row = decided_row("a", 100.0, &[1.1], 0.01, 0.001);
    let page =
        |row: &DecidedRow| shown(Outcome { rows: vec![row.clone()], ..nothing() }).html().unwrap();
    assert!(!page(&row).contains("<figure class=t>"), "it is not known when they were measured");
    let builds = (1..4_u32).map(|seed| (u64::from(seed), [[100.0 + f64::from(seed)]]));
    let starts = [(1, 30.0), (2, 10.0), (3, 20.0)].into();
    let data = Measurements::new(Metric::wall(), builds).unwrap().with_starts(starts);
    let base = Summary::compute(&data, Estimator::Mean);
    let heads = [(1, 102.0), (2, 110.0), (3, 104.0)].map(|(seed, value)| (seed, [[value]]));
    let head = Measurements::new(Metric::wall(), heads).unwrap();
    let head = head.with_starts([(1, 31.0), (2, 11.0), (3, 21.0)].into());
    row.stages[0].summaries = [base, Summary::compute(&head, Estimator::Mean)];
    // The changes are +7.8, +1 and +1 % in this order: the line falls, and then is almost flat.
    let page = page(&row);
    let line = page.split("<path class=l d=\"").nth(1).and_then(|rest| rest.split('"').next());
    assert_eq!(line, Some("M57 2l113 54 113 0"), "{page}");
}

#[test]
fn explanation_is_in_the_row_of_instructions_only() {
    let counted = decided_row_in(&Metric::instructions(), "a", 100.0, &[1.5, 1.5], 0.0, 0.001);
    let other = decided_row_in(&Metric::instructions(), "b", 100.0, &[1.5, 1.5], 0.0, 0.001);
    let rows = vec![decided_row("a", 100.0, &[1.1], 0.01, 0.001), counted, other];
    let explained = ExplainedBenchmark {
        base: version("main", 'a'),
        head: version("HEAD", 'b'),
        benchmark: benchmark("a"),
        explanation: Explanation { base: 100.0, head: 150.0, functions: Vec::new() },
        impact: Impact::default(),
        dependencies: Vec::new(),
    };
    let report = shown(Outcome { rows, explanations: vec![explained], ..nothing() });
    let page = report.html().unwrap();
    let summary =
        "<summary>Where the instructions went: 100 -&#62; 150 instructions per iteration: +50";
    assert_eq!(page.matches(summary).count(), 1, "{page}");
    let (before, _) = page.split_once(summary).unwrap();
    assert!(
        before.rfind(">a (instructions)").unwrap() > before.rfind("<tbody").unwrap(),
        "{before}"
    );
}

#[test]
fn time_is_explained_in_its_row_below_the_table_and_for_programs() {
    let counted = decided_row_in(&Metric::instructions(), "a", 100.0, &[1.5, 1.5], 0.0, 0.001);
    let rows = vec![decided_row("a", 441.0, &[1.09, 1.09], 0.001, 0.0001), counted];
    let report = shown(Outcome { rows, time_explanations: vec![explained_time("a")], ..nothing() });
    let page = report.html().unwrap();
    assert_eq!(page.matches("<p>Where the time went: 441 ns").count(), 1, "{page}");
    assert_eq!(page.matches("<svg class=flame").count(), 1);
    let text = style::plain(&report.text(100));
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| *line == "a").unwrap_or_else(|| panic!("{text}"));
    assert!(
        lines[at + 1].starts_with("  441 ns -> 482 ns in sampled executions: +9.34 %"),
        "{text}"
    );
    assert!(lines[at + 2].starts_with("  slower because of lexer::next_token +28.1 ns"), "{text}");
    let markdown = report.markdown();
    assert!(markdown.contains("- `a`") && !markdown.contains("grow_one"), "{markdown}");
    assert_keeps("compare", &report);
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["times"][0]["lines"].as_array().unwrap().len(), 2);
}

#[test]
fn joint_conclusion_is_in_a_list_and_in_both_rows() {
    let counted =
        |factor| decided_row_in(&Metric::instructions(), "a", 100.0, &[factor, factor], 0.0, 0.0);
    let page = |time: f64, instructions: f64| {
        let timed = decided_row("a", 100.0, &[time, time], 0.01, 0.001);
        let allocated = decided_row_in(&Metric::allocations(), "a", 100.0, &[1.0], 0.0, 0.0);
        let rows = vec![timed, counted(instructions), allocated];
        shown(Outcome { rows, ..nothing() }).html().unwrap()
    };
    let shown = page(1.1, 1.0);
    let said = "instructions the same: memory, branches or layout";
    assert_eq!(shown.matches(said).count(), 3, "{shown}");
    assert!(shown.contains("<ul class=notes><li>a: time +10.00 %, instructions"), "{shown}");
    let shown = page(1.0, 1.1);
    assert_eq!(shown.matches("ime unchanged (± ").count(), 3, "{shown}");
    assert!(!page(1.0, 1.0).contains("<li>a: time"), "nothing changed");
}
