//! Counts in a report.

use serde_json::Value;

use super::*;
use crate::report::{sentence, testing::counted_in};

/// The allocations of some benchmarks: ids, and numbers in base and head.
fn allocations(all: &[(&str, f64, f64)]) -> ComparisonReport {
    let row =
        |(id, base, head): &(&str, f64, f64)| counted(&Metric::allocations(), id, *base, *head);
    shown(Outcome { rows: all.iter().map(row).collect(), ..nothing() })
}

#[test]
fn change_from_zero_has_no_percentage_in_any_format() {
    let report = allocations(&[("a", 0.0, 3.0), ("b", 10.0, 11.0), ("c", 10.0, 11.0)]);
    let text = plain(&report);
    assert!(text.contains("from 0 "), "{text}");
    let mean = "overall in allocations (geometric mean of 2 benchmarks, 1 with a zero value excluded): \
                +10.00 %\n";
    assert!(text.contains(mean), "{text}");
    let markdown = report.markdown();
    assert!(markdown.contains("| **from 0** |  | **regressed** |"), "{markdown}");
    let page = report.html().unwrap();
    assert!(page.contains("<td>from 0<small></small>") && page.contains("0,3,Infinity"), "{page}");
    for text in [text, markdown, page] {
        assert!(!text.contains("inf ") && !text.contains("100000"), "{text}");
    }
    assert_keeps("compare", &report);
    let json: Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let change = &json["benchmarks"][0]["change"];
    assert_eq!([&change["estimate"], &change["low"], &change["high"]], [&Value::Null; 3]);
    assert_eq!(json["benchmarks"][0]["verdict"], "regressed");
    assert_eq!(
        json["benchmarks"][0]["reason"]["text"],
        "regressed: from 0, counted, the same in every layout"
    );
}

#[test]
fn varying_counts_have_a_chance_of_separation() {
    let [low, high] = [0.0, 100.0].map(|more| [1000.0, 1010.0, 1020.0].map(|count| count + more));
    let six = [[low, low].concat(), [high, high].concat()];
    let metric = Metric::instructions();
    let rows = vec![
        counted_in(&metric, "six", [&six[0], &six[1]]),
        counted_in(&metric, "three", [&low, &high]),
        counted_in(&metric, "overlap", [&low, &[1005.0, 1015.0, 1050.0]]),
        counted(&metric, "same", 1000.0, 1100.0),
    ];
    let report = shown(Outcome { rows, ..nothing() });
    assert_keeps("compare", &report);
    let json: Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let of = |id: &str| {
        let rows = json["benchmarks"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"] == id).unwrap();
        let by_chance = row["reason"]["by_chance"].as_f64().map(|share| format!("{share:.4}"));
        let kind = row["reason"]["kind"].as_str().unwrap().to_owned();
        (row["verdict"].as_str().unwrap().to_owned(), kind, by_chance)
    };
    let expected = |verdict: &str, kind: &str, by_chance: Option<&str>| {
        (verdict.to_owned(), kind.to_owned(), by_chance.map(str::to_owned))
    };
    assert_eq!(of("six"), expected("regressed", "counted", Some("0.0022")));
    assert_eq!(of("three"), expected("inconclusive", "varies", Some("0.1000")));
    assert_eq!(of("overlap"), expected("inconclusive", "varies", None));
    assert_eq!(of("same"), expected("regressed", "counted", Some("0.0000")));
    let text = plain(&report);
    for words in [
        "in ranges that do not overlap (by chance in at most 0.22 % of benchmarks)",
        "the counts vary, and are too few to rule out chance: three",
        "the counts of base and head overlap: overlap",
    ] {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{text}");
    }
    let sentence = sentence::verdict(&report.outcome.rows[1].verdict);
    assert!(
        sentence.contains("of these few lie apart by chance in 10 % of benchmarks"),
        "{sentence}"
    );
}

#[test]
fn metric_column_takes_no_room_from_names() {
    let name = "u128[0]/itoa_of_long_names";
    let alone = allocations(&[(name, 10.0, 11.0), ("b", 10.0, 10.0)]);
    let text = style::plain(&alone.text(80));
    assert!(text.contains("\nmetric: allocations\nbenchmark "), "{text}");
    assert!(text.contains(&format!("\n{name}    10    11  +10.00 %  ")), "{text}");
    let mut rows = alone.outcome.rows;
    rows.push(counted(&Metric::instructions(), name, 1_234_567.0, 1_234_567.0));
    let text = style::plain(&shown(Outcome { rows, ..nothing() }).text(80));
    assert!(!text.contains("metric: "), "{text}");
    for cells in ["  allocations   ", "  instructions  1.235 M  1.235 M "] {
        assert!(text.contains(&format!("\n{name}{cells}")), "{text}");
    }
}
