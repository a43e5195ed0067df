//! A run that is killed leaves nothing that the next one trips over or does not tidy up.

use std::{collections::BTreeSet, path::PathBuf};

use crate::support::{
    Builds, TestProject,
    script::{Gate, script},
    tree,
};

const TWO: [&str; 4] = ["--builds", "2", "--strategy", "relink"];

/// All paths of the cache, the storage and the directory for temporary files, without what only says
/// when something was used.
fn leftovers(project: &TestProject) -> BTreeSet<PathBuf> {
    let mut paths = tree::paths(&project.home());
    paths.extend(tree::paths(&project.storage()));
    paths.retain(|path| !path.ends_with("used"));
    paths
}

/// Kills a build while its calls of `variable`'s script that match `pattern` wait, and holds the next
/// one against a build that nobody disturbed.
#[track_caller]
fn the_next_run_is_as_if_nothing_had_happened(variable: &str, pattern: &str, value: &str) {
    let project = TestProject::of("sums");
    let gate = Gate::new(&project.beside(""));
    gate.shut();
    let path = project.beside("stand-in");
    let lines = gate.lines(pattern) + "\n" + value;
    let path = script(&path, &lines);
    let setting = if variable == "RUSTFLAGS" { format!("-Clinker={path}") } else { path };
    let command = || project.build_command(&TWO).env(variable, &setting);

    gate.open();
    let undisturbed = Builds::of(command().ok());
    let left = leftovers(&project);
    project.rbench(&["gc", "--max-size", "0"]).ok();
    gate.shut();

    let mut killed = command().start();
    gate.wait_until_reached();
    killed.kill().unwrap();
    let killed = killed.wait_with_output().unwrap();
    assert!(!killed.status.success() && killed.stdout.is_empty());
    gate.open();
    let after_kill = Builds::of(command().ok());
    assert_eq!(after_kill.digests(0), undisturbed.digests(0));
    assert_eq!(after_kill.distinct(0), (2, 2));
    assert!(after_kill.printed(0).starts_with("steps 135\n"));
    let left_after_kill = leftovers(&project);
    let more: Vec<_> = left_after_kill.difference(&left).collect();
    assert!(more.is_empty(), "left behind: {more:#?}");
}

#[test]
fn a_run_killed_while_it_compiles_is_forgotten_by_the_next() {
    let pattern = "*'--crate-name work'*";
    the_next_run_is_as_if_nothing_had_happened("RUSTC_WRAPPER", pattern, "exec \"$@\"");
}

#[test]
fn a_run_killed_while_it_links_is_forgotten_by_the_next() {
    let pattern = "*symbol-ordering-file*";
    the_next_run_is_as_if_nothing_had_happened("RUSTFLAGS", pattern, "exec cc \"$@\"");
}
