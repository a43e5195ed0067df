//! Counts as readers see them.

use serde_json::Value;

use super::*;

/// Allocations of some benchmarks: their ids, and how many base and head make.
fn allocations(all: &[(&str, f64, f64)]) -> ComparisonReport {
    let row =
        |(id, base, head): &(&str, f64, f64)| counted(&Metric::allocations(), id, *base, *head);
    ComparisonReport { rows: all.iter().map(row).collect(), ..nothing() }
}

#[test]
fn a_change_from_nothing_has_no_percentage_in_any_format() {
    let report = allocations(&[("a", 0.0, 3.0), ("b", 10.0, 11.0), ("c", 10.0, 11.0)]);
    let text = plain(&report);
    assert!(text.contains("from 0 "), "{text}");
    let mean =
        "of the 2 benchmarks judged in allocations, without 1 that had or has none: +10.00 %";
    assert!(text.contains(mean), "{text}");
    let markdown = report.markdown();
    assert!(markdown.contains("| from 0 |  | **regressed** |"), "{markdown}");
    let page = report.html().unwrap();
    assert!(page.contains("<td>from 0<small></small>") && page.contains("0,3,Infinity"), "{page}");
    for text in [text, markdown, page] {
        assert!(!text.contains("inf ") && !text.contains("100000"), "{text}");
    }
    assert_keeps(SCHEMA, &report);
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
fn the_metric_takes_nothing_from_the_names() {
    let name = "u128[0]/itoa_of_long_names";
    let alone = allocations(&[(name, 10.0, 11.0), ("b", 10.0, 10.0)]);
    let text = style::plain(&alone.text(80));
    assert!(text.contains("\nmetric: allocations\nbenchmark "), "{text}");
    assert!(text.contains(&format!("\n{name}    10    11  +10.00 %  ")), "{text}");
    let mut rows = alone.rows;
    rows.push(counted(&Metric::instructions(), name, 1_234_567.0, 1_234_567.0));
    let text = style::plain(&ComparisonReport { rows, ..nothing() }.text(80));
    assert!(!text.contains("metric: "), "{text}");
    for told in ["  allocations   ", "  instructions  1.235 M  1.235 M "] {
        assert!(text.contains(&format!("\n{name}{told}")), "{text}");
    }
}
