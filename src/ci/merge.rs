//! Joins the comparisons of all parts of the benchmarks, each made by a job of its own.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Comparison;
use crate::failure::{Exit, Failure, OrFail, Result};

/// What has to be the same in every part.
const SAME: [&str; 4] = ["schema_version", "rbench", "criteria", "dependencies"];

/// Lists that are put together; what several parts say alike is said once.
const LISTS: [&str; 9] = [
    "benchmarks",
    "added",
    "removed",
    "failed_targets",
    "idle_acceptances",
    "functions",
    "warnings",
    "stored",
    "next_steps",
];

/// The comparison of all benchmarks, of those of each part, as JSON. Verdicts stay as they are: each was reached in its
/// part, with a share of the rate of false regressions.
pub fn merge(parts: &[String]) -> Result<String> {
    let what = || "cannot merge these comparisons";
    let comparisons: Vec<Comparison> =
        parts.iter().map(|part| Comparison::parse(part)).collect::<Result<_>>()?;
    all_are_there(&comparisons)?;
    let documents: Vec<Value> = parts
        .iter()
        .map(|part| serde_json::from_str(part).or_fail(Exit::Usage, what))
        .collect::<Result<_>>()?;
    let documents: Vec<&Map<String, Value>> =
        documents.iter().filter_map(Value::as_object).collect();
    let merged =
        merged(&documents).map_err(|reason| Failure::new(Exit::Usage, what()).because(reason))?;
    let text = serde_json::to_string_pretty(&merged);
    Ok(text.or_fail(Exit::Internal, what)? + "\n")
}

/// Fails unless there is each part once: that a job ended early must not look like success.
fn all_are_there(comparisons: &[Comparison]) -> Result<()> {
    let failure = |reason: String| {
        Err(Failure::new(Exit::Usage, "cannot merge these comparisons").because(reason))
    };
    let mut known = BTreeSet::new();
    let mut number = None;
    for comparison in comparisons {
        let Some(partition) = comparison.partition else {
            return failure("one of them is about all benchmarks, and not about a part".to_owned());
        };
        if *number.get_or_insert(partition.of) != partition.of {
            return failure("they are parts of different numbers of parts".to_owned());
        }
        if !known.insert(partition.part) {
            return failure(format!("part {} is there twice", partition.part));
        }
    }
    let number = number.unwrap_or(0);
    let missing: Vec<String> =
        (1..=number).filter(|part| !known.contains(part)).map(|part| part.to_string()).collect();
    match &missing[..] {
        [] if number > 0 => Ok(()),
        [] => failure("there is none".to_owned()),
        missing => failure(format!("of {number} parts, {} is missing", missing.join(", "))),
    }
}

fn merged(parts: &[&Map<String, Value>]) -> Result<Value, String> {
    let Some(first) = parts.first() else { return Err("there is none".to_owned()) };
    let mut merged = (*first).clone();
    merged.remove("partition");
    let commit = |part: &Map<String, Value>, version: &str| {
        part.get(version).map(|version| [version["commit"].clone(), version["tree"].clone()])
    };
    for part in parts {
        for version in ["base", "head"] {
            if commit(part, version) != commit(first, version) {
                return Err(format!("the parts have different versions as {version}"));
            }
        }
        if let Some(name) = SAME.iter().find(|name| part.get(**name) != first.get(**name)) {
            return Err(format!("`{name}` differs between the parts"));
        }
    }
    for name in LISTS {
        let mut all: Vec<Value> = Vec::new();
        let mut known = BTreeSet::new();
        for value in parts.iter().filter_map(|part| part.get(name)?.as_array()).flatten() {
            if known.insert(value.to_string()) {
                all.push(value.clone());
            }
        }
        merged.insert(name.to_owned(), Value::Array(all));
    }
    let is_compared = |row: &Value| row["verdict"] != "skipped";
    if merged["benchmarks"].as_array().is_some_and(|rows| rows.iter().any(is_compared))
        && let Some(warnings) = merged.get_mut("warnings").and_then(Value::as_array_mut)
    {
        // A part may be empty.
        warnings.retain(|warning| warning["kind"] != "nothing_compared");
    }
    for name in ["machine", "dimensions"] {
        // What no part measured says nothing.
        let mut known = parts.iter().filter_map(|part| part.get(name)).filter(|one| !one.is_null());
        let one = known.next().filter(|one| known.all(|other| other == *one));
        merged.insert(name.to_owned(), one.cloned().unwrap_or(Value::Null));
    }
    merged.insert("counts".to_owned(), counts(parts));
    merged.insert("geometric_means".to_owned(), means(parts));
    let also: Vec<_> = parts.iter().map(|part| part.get("also_against")).collect();
    let also: Vec<&Map<String, Value>> =
        also.into_iter().flatten().filter_map(Value::as_object).collect();
    if !also.is_empty() {
        if also.len() != parts.len() {
            return Err("not all parts have a comparison with a release".to_owned());
        }
        merged.insert("also_against".to_owned(), self::merged(&also)?);
    }
    Ok(Value::Object(merged))
}

/// The sums of the counts. A bench target that fails to be listed does so in every part.
fn counts(parts: &[&Map<String, Value>]) -> Value {
    let mut counts = Map::new();
    for (name, count) in parts.iter().filter_map(|part| part.get("counts")?.as_object()).flatten() {
        let known = counts.get(name).and_then(Value::as_u64).unwrap_or(0);
        let count = count.as_u64().unwrap_or(0);
        let count = if name == "failed_targets" { known.max(count) } else { known + count };
        counts.insert(name.clone(), json!(count));
    }
    Value::Object(counts)
}

/// A geometric mean of a part.
struct Mean<'p> {
    metric: &'p str,
    /// The logarithms of the change and of the ends of its interval.
    logs: [f64; 3],
    benchmarks: u64,
}

impl<'p> Mean<'p> {
    fn parse(mean: &'p Value) -> Option<Self> {
        // A range without an upper end has none in JSON.
        let high = mean["high"].as_f64().unwrap_or(f64::INFINITY);
        let logs = [mean["change"].as_f64()?, mean["low"].as_f64()?, high].map(f64::ln_1p);
        let (metric, benchmarks) = (mean["metric"].as_str()?, mean["benchmarks"].as_u64()?);
        Some(Self { metric, logs, benchmarks })
    }

    /// All of a part.
    fn all(part: &'p Map<String, Value>) -> Vec<Self> {
        let means = part.get("geometric_means").and_then(Value::as_array).into_iter().flatten();
        means.filter_map(Self::parse).collect()
    }
}

/// The geometric means, each part by how many benchmarks it has. The logarithms of the ends of their intervals are
/// averaged as those of the changes are, because the parts may share errors, as benchmarks of one part do.
///
/// A part without a change in a metric has no mean in it, but what is unaffected or identical there did not change in it
/// either.
fn means(parts: &[&Map<String, Value>]) -> Value {
    let parts: Vec<(Vec<Mean<'_>>, u64)> =
        parts.iter().map(|part| (Mean::all(part), same(part))).collect();
    let metrics: BTreeSet<&str> =
        parts.iter().flat_map(|(means, _)| means).map(|mean| mean.metric).collect();
    let mean_of_all = |metric: &str| {
        let mut sums = [0.0; 3];
        let mut benchmarks = 0;
        for (means, same) in &parts {
            let Some(mean) = means.iter().find(|mean| mean.metric == metric) else {
                benchmarks += same;
                continue;
            };
            for (sum, log) in sums.iter_mut().zip(mean.logs) {
                *sum += log * mean.benchmarks as f64;
            }
            benchmarks += mean.benchmarks;
        }
        let [change, low, high] = sums.map(|sum| (sum / benchmarks as f64).exp_m1());
        json!({
            "metric": metric,
            "change": change,
            "low": low,
            "high": high,
            "benchmarks": benchmarks,
        })
    };
    Value::Array(metrics.into_iter().map(mean_of_all).collect())
}

/// How many benchmarks of a part did not change at all.
fn same(part: &Map<String, Value>) -> u64 {
    let count = |name: &str| part.get("counts").and_then(|counts| counts.get(name)?.as_u64());
    ["unaffected", "identical"].into_iter().filter_map(count).sum()
}
