//! Joins the comparisons of parts of the benchmarks, each made by a separate job. Decides nothing:
//! verdicts keep the error rates of their parts.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Comparison;
use crate::{
    error::{Context, Error, Exit, Result},
    report::compare::GeometricMean,
};

/// Values that must be equal in every part.
const SAME: [&str; 4] = ["schema_version", "rbench", "criteria", "dependencies"];

/// Lists to join; equal entries of several parts are kept once.
const LISTS: [&str; 9] = [
    "benchmarks",
    "added",
    "removed",
    "failed_targets",
    "unused_acceptances",
    "functions",
    "warnings",
    "stored",
    "next_steps",
];

/// Joins the comparisons of all parts into one, as JSON. Verdicts stay as they are: each part
/// reached them with its share of the false-positive rate.
pub fn merge(parts: &[String]) -> Result<String> {
    let what = || "cannot merge these comparisons";
    let comparisons: Vec<Comparison> =
        parts.iter().map(|part| Comparison::parse(part)).collect::<Result<_>>()?;
    all_are_there(&comparisons)?;
    let documents: Vec<Value> = parts
        .iter()
        .map(|part| serde_json::from_str(part).context(Exit::Usage, what))
        .collect::<Result<_>>()?;
    let documents: Vec<Part<'_>> =
        comparisons.iter().zip(documents.iter().filter_map(Value::as_object)).collect();
    let merged =
        merged(&documents).map_err(|reason| Error::new(Exit::Usage, what()).cause(reason))?;
    let text = serde_json::to_string_pretty(&merged);
    Ok(text.context(Exit::Internal, what)? + "\n")
}

/// A part: the checked fields, and the full document.
type Part<'p> = (&'p Comparison, &'p Map<String, Value>);

/// Fails unless each part is there exactly once: a job that ended early must not look like success.
fn all_are_there(comparisons: &[Comparison]) -> Result<()> {
    let invalid = |reason: String| {
        Err(Error::new(Exit::Usage, "cannot merge these comparisons").cause(reason))
    };
    let mut known = BTreeSet::new();
    let mut number = None;
    for comparison in comparisons {
        let Some(partition) = comparison.partition else {
            return invalid("one of them is about all benchmarks, and not about a part".to_owned());
        };
        if *number.get_or_insert(partition.of) != partition.of {
            return invalid("they are parts of different numbers of parts".to_owned());
        }
        if !known.insert(partition.part) {
            return invalid(format!("part {} is there twice", partition.part));
        }
    }
    let number = number.unwrap_or(0);
    let missing: Vec<String> =
        (1..=number).filter(|part| !known.contains(part)).map(|part| part.to_string()).collect();
    match &missing[..] {
        [] if number > 0 => Ok(()),
        [] => invalid("there is none".to_owned()),
        missing => invalid(format!("of {number} parts, {} is missing", missing.join(", "))),
    }
}

fn merged(parts: &[Part<'_>]) -> Result<Value, String> {
    let Some((_, first)) = parts.first() else { return Err("there is none".to_owned()) };
    let mut merged = (*first).clone();
    merged.remove("partition");
    let commit = |part: &Map<String, Value>, version: &str| {
        part.get(version).map(|version| [version["commit"].clone(), version["tree"].clone()])
    };
    for (_, part) in parts {
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
        for value in parts.iter().filter_map(|(_, part)| part.get(name)?.as_array()).flatten() {
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
        // A single part may be empty.
        warnings.retain(|warning| warning["kind"] != "nothing_compared");
    }
    for name in ["machine", "sample_sizes"] {
        // Parts without measurements have no machine state.
        let mut known =
            parts.iter().filter_map(|(_, part)| part.get(name)).filter(|one| !one.is_null());
        let one = known.next().filter(|one| known.all(|other| other == *one));
        merged.insert(name.to_owned(), one.cloned().unwrap_or(Value::Null));
    }
    let means: Vec<(&[GeometricMean], usize)> = parts
        .iter()
        .map(|(part, _)| {
            let counts = part.counts();
            (&*part.geometric_means, counts.unaffected + counts.identical)
        })
        .collect();
    merged.insert("geometric_means".to_owned(), json!(GeometricMean::from_parts(&means)));
    let also: Vec<Part<'_>> = parts
        .iter()
        .filter_map(|(part, all)| {
            Some((part.also_base.as_deref()?, all.get("also_base")?.as_object()?))
        })
        .collect();
    if !also.is_empty() {
        if also.len() != parts.len() {
            return Err("not all parts have a comparison with a release".to_owned());
        }
        merged.insert("also_base".to_owned(), self::merged(&also)?);
    }
    // Counts again: each part lists all bench targets that failed.
    let whole = Comparison::deserialize(&Value::Object(merged.clone()));
    let counts = whole.map_err(|error| error.to_string())?.counts();
    merged.insert("counts".to_owned(), json!(counts));
    Ok(Value::Object(merged))
}
