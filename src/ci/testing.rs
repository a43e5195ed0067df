//! Comparisons as JSON, for the tests of this module.

use serde_json::{Value, json};

use crate::report::compare::Comparisons;

/// Parts of names that would be a mention, a reference, a link, markup, a cell, or a command if not
/// escaped.
pub const HOSTILE: [&str; 28] = [
    "@everyone",
    "Fixes #1",
    "owner/repo#12",
    "https://evil.example/?a=b",
    "www.evil.example",
    "[text](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "<img src=x onerror=alert(1)>",
    "<!-- cargo-rbench comment: default -->",
    "-->",
    "</details>",
    "`",
    "``` ``",
    "|",
    "\\|",
    "\\",
    "\n",
    "\r\n\r\n# heading\n",
    "::error::no",
    "##[error]no",
    "%0A::warning::no",
    "\u{202e}",
    "\u{200b}\u{feff}",
    "\u{1b}[2J\u{9b}31m",
    "**bold** _x_ ~~y~~",
    "&lt;b&gt;",
    "$math$ :smile:",
    " ",
];

pub fn version(digit: char) -> Value {
    json!({
        "revision": "any",
        "commit": digit.to_string().repeat(40),
        "tree": digit.to_string().repeat(40),
        "dirty": false,
        "summary": "Parse faster",
        "committed_at": "2026-11-02T14:05:09Z",
    })
}

/// A row with this verdict and this change.
pub fn row(id: &str, verdict: &str, change: f64) -> Value {
    let value = |value: f64| {
        let counts = json!({ "builds": 10, "executions": 10, "measurements": 100 });
        let interval = json!({ "value": value, "low": 0.9 * value, "high": 1.1 * value });
        joined(counts, interval)
    };
    json!({
        "package": "parser",
        "target": "work",
        "id": id,
        "metric": "wall",
        "unit": "ns",
        "verdict": verdict,
        "reason": {
            "kind": "confirmed",
            "p": 1e-6,
            "needed": 0.01,
            "text": format!("{verdict}: because"),
        },
        "base": value(100.0),
        "head": value(100.0 * (1.0 + change)),
        "change": {
            "estimate": change,
            "low": change - 0.01,
            "high": change + 0.01,
            "confidence": 0.95,
            "p": 1e-6,
            "paired": true,
        },
        "impact": {
            "functions": [0],
            "more_functions": 0,
            "files": [],
            "variables": [],
            "uncertainties": [],
        },
        "builds": [],
    })
}

/// The entries of both objects.
fn joined(mut one: Value, other: Value) -> Value {
    let (Some(entries), Value::Object(other)) = (one.as_object_mut(), other) else {
        panic!("no objects")
    };
    entries.extend(other);
    one
}

pub fn document(rows: &[Value]) -> Value {
    json!({
        "schema_version": 1,
        "rbench": "0.1.0",
        "base": version('a'),
        "head": version('b'),
        "commits": [],
        "commit_count": 0,
        "base_only_commits": 0,
        "uncommitted_files": [],
        "uncommitted_file_count": 0,
        "criteria": rbench_stats::Criteria::default(),
        "stored": [],
        "warnings": [],
        "counts": crate::verdict::Counts::default(),
        "geometric_means": [],
        "functions": [],
        "executed": [{
            "name": "parser::fold",
            "instance": "0123456789abcdef",
            "base_size_bytes": 90,
            "head_size_bytes": 100,
            "base_stack_bytes": null,
            "head_stack_bytes": null,
            "while_measuring": true,
            "differs": "code",
            "callees_gained": [],
            "callees_lost": [],
        }],
        "dependencies": [],
        "benchmarks": rows,
        "added": [],
        "removed": [],
        "failed_targets": [],
        "unused_acceptances": [],
        "next_steps": [],
        "also_base": null,
    })
}

pub fn comparison(rows: &[Value]) -> Comparisons {
    Comparisons::parse(&document(rows).to_string()).unwrap()
}

/// A comparison in which this text replaces everything that may be untrusted.
pub fn hostile(text: &str) -> Comparisons {
    let name = json!({ "package": text, "target": text, "id": text });
    let mut rows: Vec<Value> = ["regressed", "failed", "improved", "inconclusive", "skipped"]
        .map(|verdict| row(text, verdict, 0.05))
        .to_vec();
    for (number, row) in rows.iter_mut().enumerate() {
        row["package"] = json!(format!("{number}{text}"));
        row["metric"] = json!(text);
        row["reason"]["text"] = json!(text);
    }
    rows[0]["builds"] = json!([u64::MAX, u64::MAX]);
    let mut document = document(&rows);
    document["executed"][0]["name"] = json!(text);
    document["added"] = json!([name]);
    let removed = json!({ "absence": "ignored", "renamed": name });
    document["removed"] = json!([removed]);
    document["removed"][0].as_object_mut().unwrap().extend(name.as_object().unwrap().clone());
    document["warnings"] = json!([{ "kind": "battery", "text": text }]);
    document["failed_targets"] = json!([{ "package": text, "target": text, "error": text }]);
    document["commits"] = json!([{ "id": text, "title": text }]);
    document["uncommitted_files"] = json!([text]);
    for key in ["commit_count", "base_only_commits", "uncommitted_file_count"] {
        document[key] = json!(9);
    }
    for version in ["base", "head"] {
        document[version]["revision"] = json!(text);
        document[version]["summary"] = json!(text);
    }
    Comparisons::parse(&document.to_string()).unwrap()
}
