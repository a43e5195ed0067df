//! Explanations say what was measured, and are honest where it is not what was hoped for.

use super::*;

/// Benchmarks with verdicts and changes, as the JSON of a comparison has them.
fn seen(rows: &[(&str, &str, Option<f64>)]) -> Seen {
    let rows: Vec<_> = rows
        .iter()
        .map(|(id, verdict, change)| {
            let numbers = change.map(|estimate| {
                let change = serde_json::json!({
                    "estimate": estimate, "low": estimate - 0.01, "high": estimate + 0.01
                });
                serde_json::json!({ "stages": [{ "change": change }] })
            });
            serde_json::json!({
                "id": id, "verdict": verdict, "reason": format!("{verdict}: so it is"),
                "measured": numbers
            })
        })
        .collect();
    serde_json::from_value(serde_json::json!({ "benchmarks": rows })).unwrap()
}

fn luck(benchmark: &str, slowest: f64) -> Luck {
    Luck {
        benchmark: benchmark.to_owned(),
        range: [1000.0, slowest],
        share: 0.95,
        spread: (slowest / 1000.0).ln() / 2.0,
        pairs: [90, 61],
    }
}

#[test]
fn identical_code_is_told_with_the_number_of_benchmarks() {
    let comparison = seen(&[("a", "identical", None), ("b", "identical", None)]);
    let explanation = explain(Expected::Identical, &comparison, &[]);
    assert!(explanation.as_expected);
    assert!(explanation.text.starts_with("All 2 benchmarks have the same machine code"));
    let comparison = seen(&[("a", "identical", None), ("b", "unchanged", Some(0.0))]);
    let explanation = explain(Expected::Identical, &comparison, &[]);
    assert!(!explanation.as_expected);
    assert!(explanation.text.ends_with("`b` has not."), "{}", explanation.text);
    assert!(!explain(Expected::Identical, &seen(&[]), &[]).as_expected);
}

#[test]
fn the_benchmark_with_the_most_luck_stands_for_what_one_build_is_worth() {
    let comparison = seen(&[("a", "unchanged", Some(0.001)), ("b", "inconclusive", Some(-0.002))]);
    let lucks = [luck("a", 1100.0), luck("b", 1300.0)];
    let Explanation { text, as_expected, .. } =
        explain(Expected::NothingFlagged, &comparison, &lucks);
    assert!(as_expected);
    for part in [
        "Nobody touched `b`",
        "from 1.000 µs to 1.300 µs, depending on the layout alone: 30 % more",
        "90 pairs",
        "61 differ",
        "-0.20 %",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn without_luck_there_is_no_story_about_it() {
    let comparison = seen(&[("a", "unchanged", Some(0.001))]);
    let noise = Luck { share: 0.3, ..luck("a", 1300.0) };
    for luck in [luck("a", 1001.0), noise] {
        let explanation = explain(Expected::NothingFlagged, &comparison, &[luck]);
        assert!(explanation.as_expected);
        assert!(explanation.text.contains("too little to be told"), "{}", explanation.text);
    }
}

#[test]
fn a_false_alarm_is_called_one() {
    let comparison = seen(&[("a", "regressed", Some(0.02)), ("b", "unchanged", Some(0.0))]);
    let explanation = explain(Expected::NothingFlagged, &comparison, &[]);
    assert!(!explanation.as_expected);
    assert!(explanation.text.contains("`a` is called regressed, although its code is the same"));
}

#[test]
fn the_planted_change_is_told_with_its_interval() {
    let comparison = seen(&[("a", "regressed", Some(0.101)), ("b", "unchanged", Some(0.0))]);
    let expected = Expected::Regressed("a");
    let explanation = explain(expected, &comparison, &[luck("b", 1300.0)]);
    assert!(explanation.as_expected);
    assert!(explanation.text.contains("between +9.10 % and +11.10 %"), "{}", explanation.text);
    assert!(explanation.text.contains("`b` included, which layouts move by 30 %"));
    assert_eq!(explanation.summary, "`a` regressed by 10 %, nothing else flagged");
}

#[test]
fn a_planted_change_that_is_not_found_or_goes_the_wrong_way_is_not_as_expected() {
    for verdict in ["inconclusive", "unchanged", "improved", "failed", "identical"] {
        let comparison = seen(&[("a", verdict, Some(0.1)), ("b", "unchanged", Some(0.0))]);
        let explanation = explain(Expected::Regressed("a"), &comparison, &[]);
        assert!(!explanation.as_expected, "{verdict}");
        let told = format!("should have regressed, but was found {verdict}: so it is");
        assert!(explanation.text.contains(&told), "{}", explanation.text);
    }
    assert!(!explain(Expected::Improved("a"), &seen(&[]), &[]).as_expected);
}

#[test]
fn something_else_that_is_flagged_or_fails_spoils_the_planted_change() {
    for verdict in ["regressed", "improved", "failed", "not-comparable"] {
        let comparison = seen(&[("a", "regressed", Some(0.1)), ("b", verdict, Some(0.1))]);
        let explanation = explain(Expected::Regressed("a"), &comparison, &[]);
        assert!(!explanation.as_expected, "{verdict}");
        assert!(explanation.text.contains("`b`"), "{}", explanation.text);
    }
}
