//! Orders stored versions as the repository does. Pure: the caller supplies the commits of the
//! repository.

use std::collections::{HashMap, HashSet};

use super::relation::VersionRef;
use crate::{
    model::{PlacedCommit, Variant, Version},
    store::StoredExperiment,
};

/// A measured version at its position in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    pub version: Version,
    /// The places where its files were measured, oldest first. Versions with the same files share
    /// them.
    pub measured: Vec<VersionRef>,
    /// True if the repository still has its commit, or the commit that it is based on.
    pub in_repository: bool,
    /// True if HEAD is that commit or descends from it.
    pub in_head: bool,
    /// The index of its nearest stored ancestor, against which it is compared.
    pub follows: Option<usize>,
}

/// All versions with the same files.
#[derive(Default)]
struct SameFiles<'v> {
    /// Each version once.
    versions: Vec<&'v Version>,
    measured: Vec<VersionRef>,
}

/// Puts the versions of all experiments in order: first those whose commits the repository lost, by
/// date; then the others as `known` lists them, each uncommitted tree after the commit that it is
/// based on. Only versions of this variant, or plain ones.
pub fn timeline(
    experiments: &[StoredExperiment],
    known: &[PlacedCommit],
    variant: Option<&Variant>,
) -> Vec<TimelineEntry> {
    let place: HashMap<&str, usize> =
        known.iter().enumerate().map(|(index, commit)| (&*commit.commit, index)).collect();
    let mut by_tree: HashMap<&str, SameFiles<'_>> = HashMap::new();
    // Each with the position of its commit: sorting would look it up again at every comparison.
    let mut versions: Vec<(Option<usize>, &Version)> = Vec::new();
    for (experiment, stored) in experiments.iter().enumerate() {
        for (version, planned) in stored.plan.versions.iter().enumerate() {
            let own = &planned.version;
            if own.variant.as_ref() != variant {
                continue;
            }
            let files = by_tree.entry(&own.tree).or_default();
            files.measured.push(VersionRef { experiment, version });
            let is_own =
                |other: &&Version| (&other.commit, other.dirty) == (&own.commit, own.dirty);
            if !files.versions.iter().any(is_own) {
                files.versions.push(own);
                let place = own.commit.as_deref().and_then(|commit| place.get(commit).copied());
                versions.push((place, own));
            }
        }
    }
    // A version with the same files as a commit that still exists needs no second entry.
    let is_there = |place: Option<usize>, version: &Version| !version.dirty && place.is_some();
    let there = versions.iter().filter(|(place, version)| is_there(*place, version));
    let there: HashSet<&str> = there.map(|(_, version)| &*version.tree).collect();
    versions
        .retain(|(place, version)| is_there(*place, version) || !there.contains(&*version.tree));
    versions.sort_by_key(|(place, version)| {
        let date = if place.is_none() { version.time } else { None };
        (place.is_some(), *place, date, version.dirty)
    });

    let mut entries: Vec<TimelineEntry> = Vec::new();
    let mut clean: HashMap<&str, usize> = HashMap::new();
    for (own_place, version) in versions {
        let known_commit = own_place.map(|place| &known[place]);
        let mut before = match known_commit {
            Some(known) if version.dirty => Some(known.commit.as_str()),
            Some(known) => known.ancestor.as_deref(),
            None => None,
        };
        // If only an uncommitted tree of an ancestor was measured, go on to the ancestor's own
        // ancestor.
        while let Some(commit) = before.filter(|commit| !clean.contains_key(commit)) {
            before = place.get(commit).and_then(|place| known[*place].ancestor.as_deref());
        }
        let follows = before.and_then(|commit| clean.get(commit).copied());
        if let (Some(known), false) = (known_commit, version.dirty) {
            clean.insert(&known.commit, entries.len());
        }
        entries.push(TimelineEntry {
            version: version.clone(),
            measured: by_tree
                .get(version.tree.as_str())
                .map(|files| files.measured.clone())
                .unwrap_or_default(),
            in_repository: known_commit.is_some(),
            in_head: known_commit.is_some_and(|known| known.in_head),
            follows,
        });
    }
    entries
}

#[cfg(test)]
mod tests;
