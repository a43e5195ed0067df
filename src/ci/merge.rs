//! Joins the comparisons of parts of the benchmarks, each made by a separate job. Decides nothing:
//! verdicts keep the error rates of their parts.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use crate::{
    compare::Warning,
    error::{Error, Exit, Result},
    model::{Partition, SandboxState, Version},
    report::compare::{Comparison, Comparisons, GeometricMean},
    verdict::VerdictKind,
};

/// Joins the comparisons of all parts into one. Verdicts stay as they are: each part reached them
/// with its share of the false-positive rate.
pub fn merge(parts: &[Comparisons]) -> Result<Comparisons> {
    let both = || {
        all_are_there(parts.iter().map(|part| part.with_base.partition))?;
        let with_base = merged(&parts.iter().map(|part| &part.with_base).collect::<Vec<_>>())?;
        let also: Vec<&Comparison> =
            parts.iter().filter_map(|part| part.also_base.as_ref()).collect();
        if !also.is_empty() && also.len() != parts.len() {
            return Err("not all parts have a comparison with a release".to_owned());
        }
        let also_base = if also.is_empty() { None } else { Some(merged(&also)?) };
        Ok(Comparisons { with_base, also_base })
    };
    let mut merged = both().map_err(|reason: String| {
        Error::new(Exit::Usage, "cannot merge these comparisons").cause(reason)
    })?;
    // Each part lists all bench targets that failed.
    merged.recount();
    Ok(merged)
}

/// Fails unless each part is there exactly once: a job that ended early must not look like success.
fn all_are_there(partitions: impl Iterator<Item = Option<Partition>>) -> Result<(), String> {
    let mut known = BTreeSet::new();
    let mut number = None;
    for partition in partitions {
        let Some(partition) = partition else {
            return Err("one of them covers all benchmarks, not a part".to_owned());
        };
        if *number.get_or_insert(partition.of) != partition.of {
            return Err("they are parts of different numbers of parts".to_owned());
        }
        if !known.insert(partition.part) {
            return Err(format!("part {} is present twice", partition.part));
        }
    }
    let number = number.unwrap_or(0);
    let missing: Vec<String> =
        (1..=number).filter(|part| !known.contains(part)).map(|part| part.to_string()).collect();
    match &missing[..] {
        [] if number > 0 => Ok(()),
        [] => Err("there is none".to_owned()),
        missing => Err(format!("of {number} parts, {} is missing", missing.join(", "))),
    }
}

fn merged(parts: &[&Comparison]) -> Result<Comparison, String> {
    let Some(first) = parts.first() else { return Err("there is none".to_owned()) };
    let hashes = |version: &Version| (version.commit.clone(), version.identity());
    for part in parts {
        let differing = [
            (
                hashes(&part.base) != hashes(&first.base),
                "the parts have different versions as base",
            ),
            (
                hashes(&part.head) != hashes(&first.head),
                "the parts have different versions as head",
            ),
            (part.rbench != first.rbench, "`rbench` differs between the parts"),
            (part.criteria != first.criteria, "`criteria` differs between the parts"),
            (part.dependencies != first.dependencies, "`dependencies` differs between the parts"),
        ];
        if let Some((_, reason)) = differing.into_iter().find(|(differs, _)| *differs) {
            return Err(reason.to_owned());
        }
    }
    let benchmarks = joined(parts, |part| &part.benchmarks);
    let mut warnings = joined(parts, |part| &part.warnings);
    if benchmarks.iter().any(|row| row.verdict != VerdictKind::Skipped) {
        // A single part may be empty.
        warnings.retain(|one| one.warning != Warning::NothingCompared);
    }
    let means: Vec<(&[GeometricMean], usize)> = parts
        .iter()
        .map(|part| (&*part.geometric_means, part.counts.unaffected + part.counts.identical))
        .collect();
    let mut merged = Comparison {
        sample_sizes: common(parts.iter().map(|part| part.sample_sizes.as_ref())),
        machine: common(parts.iter().map(|part| part.machine.as_ref())),
        sandbox: SandboxState::of_all(parts.iter().map(|part| part.sandbox)),
        stored: joined(parts, |part| &part.stored),
        warnings,
        geometric_means: GeometricMean::from_parts(&means),
        functions: joined(parts, |part| &part.functions),
        partition: None,
        benchmarks,
        times: joined(parts, |part| &part.times),
        added: joined(parts, |part| &part.added),
        removed: joined(parts, |part| &part.removed),
        left_out: joined(parts, |part| &part.left_out),
        failed_targets: joined(parts, |part| &part.failed_targets),
        unused_acceptances: joined(parts, |part| &part.unused_acceptances),
        next_steps: joined(parts, |part| &part.next_steps),
        ..(*first).clone()
    };
    merged.list_executed();
    Ok(merged)
}

/// The entries of all parts; equal entries of several parts are kept once.
fn joined<'p, T: Serialize + Clone + 'p>(
    parts: &[&'p Comparison],
    list: impl Fn(&'p Comparison) -> &'p Vec<T>,
) -> Vec<T> {
    let mut known = HashSet::new();
    let entries = parts.iter().copied().flat_map(list);
    // As JSON: not every entry can be compared, or hashed.
    entries.filter(|entry| known.insert(serde_json::json!(entry).to_string())).cloned().collect()
}

/// The value that all parts have; parts without measurements have none.
fn common<'p, T: PartialEq + Clone + 'p>(values: impl Iterator<Item = Option<&'p T>>) -> Option<T> {
    let mut known = values.flatten();
    known.next().filter(|one| known.all(|other| other == *one)).cloned()
}
