//! Orders of versions, without a repository.

use super::*;
use crate::verdict::testing::{experiment, place};

/// An experiment on clean commits whose trees have the same names.
fn of(commits: &[&str]) -> StoredExperiment {
    experiment(commits, "key")
}

/// An experiment on one version with a different tree.
fn of_tree(commit: &str, tree: &str, dirty: bool) -> StoredExperiment {
    let mut stored = of(&[commit]);
    let version = &mut stored.plan.versions[0].version;
    tree.clone_into(&mut version.tree);
    version.dirty = dirty;
    stored
}

/// A linear history of these commits.
fn line(commits: &[&str]) -> Vec<PlacedCommit> {
    let before = std::iter::once(None).chain(commits.iter().map(|commit| Some(*commit)));
    let known = |(commit, ancestor): (&&str, Option<&str>)| PlacedCommit {
        commit: (*commit).to_owned(),
        ancestor: ancestor.map(str::to_owned),
        in_head: true,
    };
    commits.iter().zip(before).map(known).collect()
}

/// Each entry as "followed version < version".
fn summary(entries: &[TimelineEntry]) -> Vec<String> {
    let name = |entry: &TimelineEntry| {
        let Version { commit, tree, dirty, .. } = &entry.version;
        let commit = commit.clone().unwrap_or_default();
        if *dirty { format!("{commit}+{tree}") } else { commit }
    };
    let follows =
        |entry: &TimelineEntry| entry.follows.map_or(String::new(), |index| name(&entries[index]));
    entries.iter().map(|entry| format!("{} < {}", follows(entry), name(entry))).collect()
}

#[test]
fn order_follows_the_repository_and_not_the_store() {
    let experiments = [of(&["c", "a"]), of(&["b"])];
    let entries = timeline(&experiments, &line(&["a", "b", "c"]), None);
    assert_eq!(summary(&entries), [" < a", "a < b", "b < c"]);
}

#[test]
fn uncommitted_tree_follows_its_commit_and_is_a_leaf() {
    let dirty = of_tree("a", "x", true);
    let entries = timeline(&[dirty.clone(), of(&["a", "b"])], &line(&["a", "b"]), None);
    assert_eq!(summary(&entries), [" < a", "a < a+x", "a < b"]);
    // Only the uncommitted tree of b was measured, so both it and c follow a.
    let dirty = of_tree("b", "x", true);
    let entries = timeline(&[dirty, of(&["a", "c"])], &line(&["a", "b", "c"]), None);
    assert_eq!(summary(&entries), [" < a", "a < b+x", "a < c"]);
}

#[test]
fn lost_commits_are_kept_and_come_first() {
    let mut gone = of(&["old", "older"]);
    gone.plan.versions[1].version.time = Some(-5);
    let entries = timeline(&[gone, of(&["a"])], &line(&["a"]), None);
    assert_eq!(summary(&entries), [" < older", " < old", " < a"]);
    assert_eq!(
        entries.iter().map(|entry| entry.in_repository).collect::<Vec<_>>(),
        [false, false, true]
    );
}

#[test]
fn same_files_share_their_results() {
    let amended = of_tree("b", "a", false);
    let uncommitted = of_tree("0", "a", true);
    let reverted = of_tree("c", "a", false);
    let entries =
        timeline(&[of(&["a"]), amended, uncommitted, reverted], &line(&["0", "b", "c"]), None);
    assert_eq!(summary(&entries), [" < b", "b < c"]);
    let first_of = |experiment| place(experiment, 0);
    assert_eq!(entries[0].measured, [0, 1, 2, 3].map(first_of));
    assert_eq!(entries[0].measured, entries[1].measured);
}

#[test]
fn variant_has_its_own_course() {
    let lto = Variant { name: "lto".to_owned(), settings: "lto = \"fat\"".to_owned() };
    let mut experiment = of(&["a", "b", "b"]);
    experiment.plan.versions[0].version.variant = Some(lto.clone());
    experiment.plan.versions[2].version.variant = Some(lto.clone());
    let known = line(&["a", "b"]);
    let places = |variant| -> Vec<_> {
        let entries = timeline(std::slice::from_ref(&experiment), &known, variant);
        entries.iter().flat_map(|entry| &entry.measured).map(|place| place.version).collect()
    };
    assert_eq!((places(None), places(Some(&lto))), (vec![1], vec![0, 2]));
    let older = Variant { settings: "lto = \"thin\"".to_owned(), ..lto.clone() };
    assert_eq!(places(Some(&older)), [0; 0], "its settings were others");
}
