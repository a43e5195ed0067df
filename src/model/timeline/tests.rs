//! Orders and relations of versions that need no repository.

use super::*;
use crate::model::{Dimensions, Machine, PlannedVersion};

fn version(commit: &str, tree: &str, dirty: bool) -> Version {
    Version {
        revision: commit.to_owned(),
        commit: Some(commit.to_owned()),
        tree: tree.to_owned(),
        dirty,
        summary: String::new(),
        time: Some(0),
    }
}

fn plan(versions: Vec<Version>) -> ExperimentPlan {
    let planned = |version| PlannedVersion { version, toolchain: "rustc 1".to_owned() };
    ExperimentPlan {
        versions: versions.into_iter().map(planned).collect(),
        machine: Machine {
            cpu: "Example".to_owned(),
            cores: 2,
            memory: 1 << 33,
            os: "linux".to_owned(),
            architecture: "x86_64".to_owned(),
            id: String::new(),
        },
        rbench: "0.1.0".to_owned(),
        settings: "{}".to_owned(),
        settings_key: "k".to_owned(),
        dimensions: Dimensions { builds: 10, executions: 2, measurements: 10 },
        seed: 1,
    }
}

/// An experiment on clean commits whose trees are called as they are.
fn of(commits: &[&str]) -> ExperimentPlan {
    plan(commits.iter().map(|commit| version(commit, commit, false)).collect())
}

/// Commits that follow each other.
fn line(commits: &[&str]) -> Vec<KnownCommit> {
    let before = std::iter::once(None).chain(commits.iter().map(|commit| Some(*commit)));
    let known = |(commit, ancestor): (&&str, Option<&str>)| KnownCommit {
        commit: (*commit).to_owned(),
        ancestor: ancestor.map(str::to_owned),
    };
    commits.iter().zip(before).map(known).collect()
}

/// Each moment's version and the one that it follows.
fn told(moments: &[Moment]) -> Vec<String> {
    let name = |moment: &Moment| {
        let Version { commit, tree, dirty, .. } = &moment.version;
        let commit = commit.clone().unwrap_or_default();
        if *dirty { format!("{commit}+{tree}") } else { commit }
    };
    let follows =
        |moment: &Moment| moment.follows.map_or(String::new(), |index| name(&moments[index]));
    moments.iter().map(|moment| format!("{} < {}", follows(moment), name(moment))).collect()
}

#[test]
fn the_repository_decides_the_order_and_not_the_store() {
    let experiments = [of(&["c", "a"]), of(&["b"])];
    let moments = timeline(&experiments, &line(&["a", "b", "c"]));
    assert_eq!(told(&moments), [" < a", "a < b", "b < c"]);
}

#[test]
fn an_uncommitted_tree_follows_its_commit_and_nothing_follows_it() {
    let dirty = plan(vec![version("a", "x", true)]);
    let moments = timeline(&[dirty.clone(), of(&["a", "b"])], &line(&["a", "b"]));
    assert_eq!(told(&moments), [" < a", "a < a+x", "a < b"]);
    // Where only the uncommitted tree of b was measured, both it and c follow a.
    let dirty = plan(vec![version("b", "x", true)]);
    let moments = timeline(&[dirty, of(&["a", "c"])], &line(&["a", "b", "c"]));
    assert_eq!(told(&moments), [" < a", "a < b+x", "a < c"]);
}

#[test]
fn commits_that_are_gone_come_first_and_are_not_lost() {
    let mut gone = of(&["old", "older"]);
    gone.versions[1].version.time = Some(-5);
    let moments = timeline(&[gone, of(&["a"])], &line(&["a"]));
    assert_eq!(told(&moments), [" < older", " < old", " < a"]);
    assert_eq!(moments.iter().map(|moment| moment.known).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn versions_with_the_same_files_share_their_results() {
    let amended = plan(vec![version("b", "a", false)]);
    let uncommitted = plan(vec![version("0", "a", true)]);
    let reverted = plan(vec![version("c", "a", false)]);
    let moments = timeline(&[of(&["a"]), amended, uncommitted, reverted], &line(&["0", "b", "c"]));
    assert_eq!(told(&moments), [" < b", "b < c"]);
    let part = |experiment| Part { experiment, version: 0 };
    assert_eq!(moments[0].parts, [0, 1, 2, 3].map(part));
    assert_eq!(moments[0].parts, moments[1].parts);
}

#[test]
fn one_experiment_is_preferred_to_newer_ones_apart() {
    let part = |experiment, version| Part { experiment, version };
    let experiments = [of(&["a", "b"]), of(&["a"]), of(&["b"])];
    let relation = |base: &[Part], head: &[Part]| Relation::of(base, head, &experiments);
    assert_eq!(
        relation(&[part(0, 0), part(1, 0)], &[part(0, 1), part(2, 0)]),
        Some(Relation::Together([part(0, 0), part(0, 1)]))
    );
    assert_eq!(
        relation(&[part(0, 0), part(1, 0)], &[part(2, 0)]),
        Some(Relation::Apart([part(1, 0), part(2, 0)]))
    );
    assert_eq!(relation(&[], &[part(2, 0)]), None);
}

#[test]
fn results_of_another_machine_or_settings_are_passed_over_or_told() {
    let part = |experiment| Part { experiment, version: 0 };
    let mut experiments = vec![of(&["a"]), of(&["a"]), of(&["b"])];
    experiments[1].machine.cores = 64;
    let relation =
        |experiments: &[ExperimentPlan], base: &[Part]| Relation::of(base, &[part(2)], experiments);
    assert_eq!(
        relation(&experiments, &[part(0), part(1)]),
        Some(Relation::Apart([part(0), part(2)]))
    );
    experiments[1].settings_key = "other".to_owned();
    experiments[1].settings = r#"{"cpu":3}"#.to_owned();
    let Some(Relation::Unlike { reasons, .. }) = relation(&experiments, &[part(1)]) else {
        panic!("they are unlike");
    };
    assert_eq!(reasons, ["machine: number of CPUs: 64, not 2", "settings: cpu 3"]);
}
