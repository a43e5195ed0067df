//! Stored versions in the order of the repository.

use std::collections::{HashMap, HashSet};

use super::relation::VersionRef;
use crate::{model::Version, store::StoredExperiment};

/// A commit in the order of its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCommit {
    /// The commit, in hex.
    pub commit: String,
    /// The nearest other of the known commits that it descends from.
    pub ancestor: Option<String>,
}

/// A version that was measured, in its place in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    /// The version.
    pub version: Version,
    /// Where its files were measured, oldest first. Versions with the same files share this.
    pub measured: Vec<VersionRef>,
    /// Whether the repository still has its commit, or the commit that it is based on.
    pub in_repository: bool,
    /// The index of the entry that it follows: its nearest stored ancestor.
    pub follows: Option<usize>,
}

/// Puts the versions of all experiments in order: first those whose commits the repository does not have
/// any more, by date, then the others as `known` lists them, each uncommitted tree after the commit that it
/// is based on.
pub fn timeline(experiments: &[StoredExperiment], known: &[KnownCommit]) -> Vec<TimelineEntry> {
    let mut measured_by_tree: HashMap<&str, Vec<VersionRef>> = HashMap::new();
    let mut versions: Vec<&Version> = Vec::new();
    let mut met = HashSet::new();
    for (experiment, stored) in experiments.iter().enumerate() {
        for (version, planned) in stored.plan.versions.iter().enumerate() {
            let Version { commit, tree, dirty, .. } = &planned.version;
            measured_by_tree.entry(tree).or_default().push(VersionRef { experiment, version });
            if met.insert((commit, tree, dirty)) {
                versions.push(&planned.version);
            }
        }
    }
    let place: HashMap<&str, usize> =
        known.iter().enumerate().map(|(index, commit)| (&*commit.commit, index)).collect();
    let place_of = |version: &Version| place.get(version.commit.as_deref()?).copied();
    // What has the same files as a commit that is there needs no entry of its own.
    let is_there = |version: &Version| !version.dirty && place_of(version).is_some();
    let there: HashSet<&str> =
        versions.iter().filter(|version| is_there(version)).map(|version| &*version.tree).collect();
    versions.retain(|version| is_there(version) || !there.contains(&*version.tree));
    versions.sort_by_key(|version| {
        let place = place_of(version);
        let date = if place.is_none() { version.time } else { None };
        (place.is_some(), place, date, version.dirty)
    });

    let mut entries: Vec<TimelineEntry> = Vec::new();
    let mut clean: HashMap<&str, usize> = HashMap::new();
    for version in versions {
        let known_commit = place_of(version).map(|place| &known[place]);
        let mut before = match known_commit {
            Some(known) if version.dirty => Some(known.commit.as_str()),
            Some(known) => known.ancestor.as_deref(),
            None => None,
        };
        // Ancestors of which only an uncommitted tree was measured lead on to theirs.
        while let Some(commit) = before.filter(|commit| !clean.contains_key(commit)) {
            before = place.get(commit).and_then(|place| known[*place].ancestor.as_deref());
        }
        let follows = before.and_then(|commit| clean.get(commit).copied());
        if let (Some(known), false) = (known_commit, version.dirty) {
            clean.insert(&known.commit, entries.len());
        }
        entries.push(TimelineEntry {
            version: version.clone(),
            measured: measured_by_tree.get(version.tree.as_str()).cloned().unwrap_or_default(),
            in_repository: known_commit.is_some(),
            follows,
        });
    }
    entries
}

#[cfg(test)]
mod tests;
