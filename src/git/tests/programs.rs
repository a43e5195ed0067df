//! The program `git` that fetches into the user's repository.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use super::fixture::{Fixture, everything_below, git_in};
use crate::git::Repository;

/// Runs a command without any configuration of the user who runs the tests.
#[track_caller]
fn succeeds(mut command: Command) {
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with four commits, and a clone of it that has the last one.
fn shallow() -> (Fixture, std::path::PathBuf) {
    let fixture = Fixture::new();
    for message in ["second", "third", "fourth"] {
        fixture.commit(message);
    }
    let clone = fixture.beside("clone");
    let from = format!("file://{}", fixture.root().display());
    fixture.git(&["clone", "--quiet", "--depth=1", &from, clone.to_str().unwrap()]);
    (fixture, clone)
}

fn fetch(clone: &Path, options: &[&str], names: &[&str], reference: Option<&str>) {
    let repository = Repository::discover(clone).unwrap();
    let git = repository.git_program().unwrap();
    succeeds(git.fetch(&[], options, "origin", names));
    git.keep(reference).unwrap();
}

#[test]
fn fetched_history_and_reference_are_kept() {
    let (fixture, clone) = shallow();
    fixture.git(&["branch", "side", "HEAD~1"]);
    let side = "refs/remotes/origin/side";
    fetch(&clone, &["--deepen=1"], &[&format!("+refs/heads/side:{side}"), "main"], Some(side));
    assert_eq!(git_in(&clone, &["rev-parse", side]), fixture.id("HEAD~1"));
    assert_eq!(git_in(&clone, &["rev-list", "--count", "HEAD"]), "2");
    fetch(&clone, &["--unshallow"], &["main"], None);
    assert!(!Repository::discover(&clone).unwrap().is_shallow());
    assert_eq!(git_in(&clone, &["log", "--format=%s"]), fixture.git(&["log", "--format=%s"]));
    git_in(&clone, &["fsck", "--strict"]);
}

#[test]
fn settings_of_the_repository_start_no_program() {
    let (fixture, clone) = shallow();
    let (program, ran) = (fixture.beside("program"), fixture.beside("ran"));
    fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> '{}'\nexit 1\n", ran.display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    // A shell runs some of them.
    let text = format!("'{}'", program.display());
    for name in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.gitProxy",
        "core.askPass",
        "core.alternateRefsCommand",
        "core.pager",
        "credential.helper",
        "remote.origin.uploadpack",
        "remote.origin.vcs",
        "protocol.ext.allow",
    ] {
        let value = if name.starts_with("protocol") { "always" } else { &text };
        git_in(&clone, &["config", name, value]);
    }
    let hooks = clone.join(".git/hooks");
    for hook in ["reference-transaction", "post-index-change", "pre-auto-gc", "post-checkout"] {
        fs::create_dir_all(&hooks).unwrap();
        fs::copy(&program, hooks.join(hook)).unwrap();
    }
    let before = everything_below(&hooks);
    fetch(&clone, &["--deepen=1"], &["main"], None);
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap());
    assert!(everything_below(&hooks) == before);
    assert_eq!(git_in(&clone, &["-c", "core.fsmonitor=false", "rev-list", "--count", "HEAD"]), "2");

    git_in(&clone, &["config", "remote.origin.url", &format!("ext::{text}")]);
    let repository = Repository::discover(&clone).unwrap();
    let git = repository.git_program().unwrap();
    assert!(!git.fetch(&[], &[], "origin", &["main"]).output().unwrap().status.success());
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap());
}

#[test]
fn no_name_is_an_option() {
    let (fixture, clone) = shallow();
    let ran = fixture.beside("ran");
    let name = format!("--upload-pack=touch '{}';git-upload-pack", ran.display());
    let repository = Repository::discover(&clone).unwrap();
    let git = repository.git_program().unwrap();
    for (remote, names) in [("origin", [&*name]), (&*name, ["origin"])] {
        assert!(!git.fetch(&[], &[], remote, &names).output().unwrap().status.success());
        assert!(!ran.exists());
    }
}

#[test]
fn variables_that_name_another_repository_have_no_effect() {
    let (fixture, clone) = shallow();
    let repository = Repository::discover(&clone).unwrap();
    let git = repository.git_program().unwrap();
    let command = git.fetch(&[], &["--deepen=1"], "origin", &["main"]);
    let set = |name: &str| command.get_envs().find(|(known, _)| *known == name).unwrap().1;
    assert_ne!(set("GIT_DIR").unwrap(), fixture.root().join(".git"));
    assert_eq!(set("GIT_OBJECT_DIRECTORY").unwrap(), clone.join(".git/objects"));
    assert_eq!(set("GIT_WORK_TREE"), None);
}
