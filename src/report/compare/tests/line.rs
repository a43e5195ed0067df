//! A comparison in one line.

use super::*;

fn line(rows: Vec<DecidedRow>) -> String {
    shown(Outcome { rows, ..nothing() }).line()
}

fn without_metric(id: &str, verdict: Verdict) -> DecidedRow {
    DecidedRow::without_metric(&benchmark(id), verdict)
}

fn unaffected(id: &str) -> DecidedRow {
    without_metric(id, Verdict::Unaffected)
}

#[test]
fn line_names_the_largest_change_of_each_kind_and_counts_the_others() {
    let slower = |id, factor| decided_row(id, 812.0, &[factor, factor - 0.002], 0.01, 0.002);
    let same = |id| decided_row(id, 812.0, &[1.0], 0.002, 0.001);
    let open = |id| inconclusive(id, Repetition::Builds, 30, 0.01);
    let lines = [
        vec![slower("parse/large", 1.08)],
        vec![
            slower("a", 1.04),
            same("b"),
            unaffected("c"),
            without_metric("d", Verdict::Identical),
        ],
        vec![slower("a", 1.04), slower("b", 1.2), slower("c", 0.8), slower("d", 0.9), open("e")],
        vec![open("a"), open("b"), same("c")],
        vec![open("a")],
        vec![same("a")],
        vec![same("a"), same("b")],
        vec![unaffected("a"), same("b")],
        vec![unaffected("a")],
        vec![unaffected("a"), without_metric("b", Verdict::Identical)],
    ];
    insta::assert_snapshot!(lines.map(line).join("\n"));
}

#[test]
fn line_says_what_was_not_compared() {
    let failed = "cannot execute benchmark `a` of `p`\n  it exited with status 3\nhint: again";
    let lines = [
        vec![without_metric("a", Verdict::Failed { reason: failed.to_owned() }), unaffected("b")],
        vec![without_metric("a", Verdict::NotComparable { reason: "another CPU".to_owned() })],
        vec![without_metric("a", Verdict::Skipped { reason: "no GPU".to_owned() })],
        vec![],
    ];
    let error = Error::new(Exit::Benchmark, "cannot list it").cause("it crashed");
    let others = Outcome {
        rows: vec![unaffected("a")],
        added: vec![benchmark("b")],
        removed: vec![removed(benchmark("c")), removed(benchmark("d"))],
        failed_targets: vec![unlisted("other", error)],
        ..nothing()
    };
    let lines = lines.map(line).into_iter().chain([shown(others).line()]);
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn counts_cost_more_or_less_instead_of_being_slower() {
    let count = |id, head| counted(&Metric::allocations(), id, 10.0, head);
    let from_zero = counted(&Metric::allocations(), "z", 0.0, 3.0);
    let lines = [vec![count("a", 11.0), count("b", 9.0), count("c", 10.0)], vec![from_zero]];
    assert_eq!(
        lines.map(line),
        [
            "a (allocations) costs more: +10.00 % (+10.00 .. +10.00); b (allocations) costs less: \
             -10.00 % (-10.00 .. -10.00); 1 other the same",
            "z (allocations) costs more: from 0",
        ]
    );
}

#[test]
fn line_stays_one_harmless_line() {
    let reason = format!("{HOSTILE}\n{HOSTILE}");
    let rows = vec![without_metric(HOSTILE, Verdict::Failed { reason })];
    let text = line(rows);
    assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
}
