//! Stored versions in the order of the repository, and which results of two of them can be set against
//! each other.

use std::collections::{HashMap, HashSet};

use super::{ExperimentPlan, Version, settings::settings_difference};

/// A version's place in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// The index of the experiment in the list that the timeline was made from: later ones are newer.
    pub experiment: usize,
    /// The index of the version in the experiment.
    pub version: usize,
}

/// A commit in the order of its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCommit {
    /// The commit, in hex.
    pub commit: String,
    /// The nearest other of the known commits that it descends from.
    pub ancestor: Option<String>,
}

/// A version that experiments were about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The version.
    pub version: Version,
    /// Where its files were measured, oldest first. Versions with the same files share this.
    pub parts: Vec<Part>,
    /// Whether the repository still has its commit, or the commit that it is based on.
    pub known: bool,
    /// The index of the moment that it follows: its nearest stored ancestor.
    pub follows: Option<usize>,
}

/// How the newest fitting results of two versions were measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// In one experiment, taking turns.
    Together([Part; 2]),
    /// In two experiments of the same machine and settings.
    Apart([Part; 2]),
    /// Nowhere alike.
    Unlike {
        /// The newest result of each.
        parts: [Part; 2],
        /// What differs, for people.
        reasons: Vec<String>,
    },
}

/// Puts the versions of all experiments in order: first those whose commits the repository does not have
/// any more, by date, then the others as `known` lists them, each uncommitted tree after the commit that it
/// is based on.
pub fn timeline(experiments: &[ExperimentPlan], known: &[KnownCommit]) -> Vec<Moment> {
    let mut parts_of_tree: HashMap<&str, Vec<Part>> = HashMap::new();
    let mut versions: Vec<&Version> = Vec::new();
    let mut met = HashSet::new();
    for (experiment, plan) in experiments.iter().enumerate() {
        for (version, planned) in plan.versions.iter().enumerate() {
            let Version { commit, tree, dirty, .. } = &planned.version;
            parts_of_tree.entry(tree).or_default().push(Part { experiment, version });
            if met.insert((commit, tree, dirty)) {
                versions.push(&planned.version);
            }
        }
    }
    let place: HashMap<&str, usize> =
        known.iter().enumerate().map(|(index, commit)| (&*commit.commit, index)).collect();
    let place_of = |version: &Version| place.get(version.commit.as_deref()?).copied();
    // What has the same files as a commit that is there needs no moment of its own.
    let is_there = |version: &Version| !version.dirty && place_of(version).is_some();
    let there: HashSet<&str> =
        versions.iter().filter(|version| is_there(version)).map(|version| &*version.tree).collect();
    versions.retain(|version| is_there(version) || !there.contains(&*version.tree));
    versions.sort_by_key(|version| {
        let place = place_of(version);
        let date = if place.is_none() { version.time } else { None };
        (place.is_some(), place, date, version.dirty)
    });

    let mut moments: Vec<Moment> = Vec::new();
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
            clean.insert(&known.commit, moments.len());
        }
        moments.push(Moment {
            version: version.clone(),
            parts: parts_of_tree.get(version.tree.as_str()).cloned().unwrap_or_default(),
            known: known_commit.is_some(),
            follows,
        });
    }
    moments
}

impl Relation {
    /// The relation of two versions by where each was measured; `None` if one was measured nowhere.
    ///
    /// One experiment is preferred to two, and newer ones to older ones.
    pub fn of(base: &[Part], head: &[Part], experiments: &[ExperimentPlan]) -> Option<Self> {
        let in_experiment: HashMap<usize, Part> =
            base.iter().map(|part| (part.experiment, *part)).collect();
        let together = head.iter().rev().find_map(|head| {
            in_experiment.get(&head.experiment).map(|base| Self::Together([*base, *head]))
        });
        if together.is_some() {
            return together;
        }
        let alike = |one: &Part, other: &Part| {
            experiments[one.experiment].obstacles(&experiments[other.experiment]).is_empty()
        };
        let apart = head.iter().rev().find_map(|head| {
            let base = base.iter().rev().find(|base| alike(base, head))?;
            Some(Self::Apart([*base, *head]))
        });
        let newest = || {
            let parts = [*base.last()?, *head.last()?];
            let [base, head] = parts.map(|part| &experiments[part.experiment]);
            Some(Self::Unlike { parts, reasons: base.obstacles(head) })
        };
        apart.or_else(newest)
    }

    /// The results, base and head.
    pub fn parts(&self) -> [Part; 2] {
        match self {
            Self::Together(parts) | Self::Apart(parts) | Self::Unlike { parts, .. } => *parts,
        }
    }
}

impl ExperimentPlan {
    /// What forbids to compare results with those of another experiment, for people: machine and settings.
    pub fn obstacles(&self, other: &Self) -> Vec<String> {
        if self.machine == other.machine && self.settings_key == other.settings_key {
            return Vec::new();
        }
        let machine = self.machine.differences(&other.machine);
        let mut reasons: Vec<String> =
            machine.into_iter().map(|difference| format!("machine: {difference}")).collect();
        if self.settings_key != other.settings_key {
            reasons.push(settings_difference(&self.settings, &other.settings));
        }
        reasons
    }
}

#[cfg(test)]
mod tests;
