//! Joined parts.

use serde_json::{Value, json};

use super::super::{
    Comparisons, merge,
    testing::{document, row, version},
};
use crate::{
    error::Exit,
    report::testing::machine,
    verdict::{Counts, ExitPolicy},
};

/// A part with these rows.
fn part(number: u32, of: u32, rows: &[Value]) -> Value {
    let mut part = document(rows);
    part["partition"] = json!({ "part": number, "of": of });
    part["failed_targets"] = json!([{ "package": "p", "target": "t", "error": "broken" }]);
    part["machine"] = json!(machine());
    part["warnings"] = json!([{ "kind": "battery", "text": "busy" }]);
    part
}

fn merged(parts: &[Value]) -> Result<Value, String> {
    let parts = parts.iter().map(|part| Comparisons::parse(&part.to_string()).unwrap());
    merge(&parts.collect::<Vec<_>>())
        .map(|merged| serde_json::to_value(merged).unwrap())
        .map_err(|error| error.to_string())
}

#[test]
fn merge_keeps_all_rows_and_equal_entries_once() {
    let first = part(1, 2, &[row("a", "regressed", 0.05)]);
    let mut second = part(2, 2, &[row("b", "unchanged", 0.0), row("c", "regressed", 0.1)]);
    second["machine"]["cpu"] = json!("another");
    let merged = merged(&[second, first]).unwrap();
    assert_eq!(merged["benchmarks"].as_array().unwrap().len(), 3);
    let counts = Counts { regressed: 2, unchanged: 1, failed_targets: 1, ..Counts::default() };
    assert_eq!(merged["counts"], json!(counts));
    assert_eq!(merged["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(merged["machine"], Value::Null);
    assert!(merged.get("partition").is_none());
    let comparison = Comparisons::parse(&merged.to_string()).unwrap();
    assert_eq!(comparison.exit(&ExitPolicy::default()), Exit::Regression);
}

#[test]
fn merged_parts_ran_in_the_sandbox_if_each_did() {
    let on = json!({ "state": "on", "landlock": 7, "own_process_ids": true });
    let off = json!({ "state": "off", "reason": "no_landlock" });
    let merged_of = |states: [&Value; 2]| {
        let mut parts = [part(1, 2, &[]), part(2, 2, &[])];
        for (part, state) in parts.iter_mut().zip(states) {
            part["sandbox"] = state.clone();
        }
        merged(&parts).unwrap().get("sandbox").cloned().unwrap_or_default()
    };
    assert_eq!(merged_of([&on, &on]), on);
    assert_eq!(merged_of([&on, &off]), off);
    assert_eq!(merged_of([&on, &Value::Null]), Value::Null);
}

#[test]
fn merged_mean_covers_the_benchmarks_of_all_parts() {
    let mean = |change: f64, low: f64, high: f64| {
        let values = json!({ "change": change, "low": low, "high": high });
        let mut mean = json!({ "metric": "wall", "benchmarks": 1 });
        mean.as_object_mut().unwrap().extend(values.as_object().unwrap().clone());
        json!([mean])
    };
    // The third part has no changed rows, so it has no mean.
    let same = [row("a", "unaffected", 0.0), row("b", "identical", 0.0)];
    let mut parts = [part(1, 3, &[]), part(2, 3, &[]), part(3, 3, &same)];
    parts[0]["geometric_means"] = mean(0.4641, 0.21, 1.0736);
    parts[1]["geometric_means"] = mean(0.0, -0.1, f64::INFINITY);
    assert_eq!(parts[1]["geometric_means"][0]["high"], Value::Null);
    let merged = |parts: &[Value]| merged(parts).unwrap()["geometric_means"].clone();
    let means = merged(&parts);
    let value = |means: &Value, name: &str| means[0][name].as_f64().unwrap();
    assert_eq!(means[0]["benchmarks"], 4);
    assert!((value(&means, "change") - 0.1).abs() < 1e-12, "{means}");
    assert!((value(&means, "low") - (1.21_f64 * 0.9).powf(0.25) + 1.0).abs() < 1e-12, "{means}");
    assert_eq!(means[0]["high"], Value::Null);
    parts[1]["geometric_means"] = mean(0.0, -0.1, 0.0);
    let means = merged(&parts);
    assert!((value(&means, "high") - 0.2).abs() < 1e-9, "{means}");
    for part in &mut parts {
        part["geometric_means"] = json!([]);
    }
    assert_eq!(merged(&parts), json!([]));
}

#[test]
fn merge_drops_the_warning_of_an_empty_part() {
    let first = part(1, 2, &[row("a", "unchanged", 0.0)]);
    let mut empty = part(2, 2, &[]);
    empty["warnings"] = json!([{ "kind": "nothing_compared", "text": "nothing" }]);
    let merged = merged(&[first, empty]).unwrap();
    assert_eq!(merged["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(merged["warnings"][0]["kind"], "battery");
}

#[test]
fn merge_rejects_missing_and_duplicate_parts() {
    let rows = [row("a", "unchanged", 0.0)];
    for (parts, reason) in [
        (vec![part(1, 3, &rows), part(3, 3, &[])], "of 3 parts, 2 is missing"),
        (vec![part(1, 2, &rows), part(1, 2, &rows)], "part 1 is present twice"),
        (vec![part(1, 2, &rows), part(2, 3, &[])], "different numbers of parts"),
        (vec![document(&rows)], "covers all benchmarks"),
        (vec![], "there is none"),
    ] {
        let error = merged(&parts).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn merge_rejects_parts_of_different_versions() {
    let first = part(1, 2, &[row("a", "unchanged", 0.0)]);
    let mut other = part(2, 2, &[]);
    other["head"] = version('c');
    assert!(merged(&[first.clone(), other]).unwrap_err().contains("different versions as head"));
    let mut other = part(2, 2, &[]);
    other["criteria"]["min_effect"] = json!(0.05);
    assert!(merged(&[first.clone(), other]).unwrap_err().contains("`criteria` differs"));
    let mut other = part(2, 2, &[]);
    other["also_base"] = part(2, 2, &[]);
    assert!(merged(&[first, other]).unwrap_err().contains("not all parts"));
}
