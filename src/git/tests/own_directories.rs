//! The `.git` of a checkout: it answers as the user's repository does, and nothing written there reaches that one.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::fixture::{Fixture, everything_below, git_in, run_git};
use crate::git::{Checkouts, Repository};

/// Kind, mode and content of everything below a directory. Git may note the use of an object in its time.
fn state(directory: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let all = everything_below(directory).into_iter();
    all.map(|(path, (mode, content, _))| (path, (mode, content))).collect()
}

/// A repository with packed and loose tags, whose working tree has a change.
fn tagged() -> Fixture {
    let fixture = Fixture::new();
    fixture.git(&["tag", "-m", "First", "v1"]);
    fixture.git(&["gc", "--quiet"]);
    fixture.write("second", "two\n");
    fixture.commit("second");
    fixture.git(&["tag", "light"]);
    fixture.write("file", "uncommitted\n");
    fixture
}

const QUESTIONS: [&[&str]; 9] = [
    &["rev-parse", "HEAD"],
    &["rev-parse", "--abbrev-ref", "HEAD"],
    &["describe", "--always", "--dirty"],
    &["describe", "--tags", "--always", "--dirty"],
    &["log", "-1", "--format=%H %an %ci %s %D"],
    &["rev-list", "--count", "HEAD"],
    &["for-each-ref"],
    &["status", "--porcelain"],
    &["diff-index", "HEAD", "--"],
];

/// What git says in a directory, with the exit code.
fn answers(directory: &Path) -> Vec<String> {
    let answer = |question: &&[&str]| {
        let output = run_git(directory, question);
        let [out, error] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        format!("{question:?} {} {out}{error}", output.status)
    };
    QUESTIONS.iter().map(answer).collect()
}

/// Checks that a checkout of a revision answers as a worktree of the repository at that revision.
#[track_caller]
fn assert_answers_of(root: &Path, revision: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let repository = Repository::discover(root).unwrap();
    let version = repository.resolve(revision).unwrap();
    let checkouts = Checkouts::open(scratch.path()).unwrap();
    let checkout = checkouts.checkout(&repository, &version).unwrap();
    let worktree = scratch.path().join("worktree");
    let place = worktree.to_str().unwrap();
    git_in(root, &["worktree", "add", "--quiet", "--detach", place, revision]);
    assert_eq!(answers(&checkout.path), answers(&worktree), "{revision} of {}", root.display());
    git_in(root, &["worktree", "remove", "--force", place]);
}

#[test]
fn checkout_answers_as_a_worktree() {
    let fixture = tagged();
    for revision in ["HEAD", "HEAD~1", "v1"] {
        assert_answers_of(fixture.root(), revision);
    }
}

#[test]
fn clones_of_all_kinds_answer_as_their_worktrees() {
    let fixture = tagged();
    fixture.git(&["checkout", "--quiet", "--force", "-b", "side"]);
    fixture.write("third", "three\n");
    fixture.commit("third");
    let from = format!("file://{}", fixture.root().display());
    let clone = |name: &str, options: &[&str]| {
        let place = fixture.beside(name);
        fixture.git(&[&["clone", "--quiet"], options, &[&from, place.to_str().unwrap()]].concat());
        place
    };
    let whole = clone("whole", &[]);
    let shallow = clone("shallow", &["--depth=1"]);
    let borrowing = clone("borrowing", &["--reference", whole.to_str().unwrap()]);
    // Git also accepts paths relative to the directory that lists them.
    fs::write(borrowing.join(".git/objects/info/alternates"), "../../../whole/.git/objects\n")
        .unwrap();
    let linked = fixture.beside("linked");
    git_in(&whole, &["worktree", "add", "--quiet", linked.to_str().unwrap(), "light"]);
    let separate = fixture.beside("separate");
    let elsewhere = format!("--separate-git-dir={}", fixture.beside("elsewhere").display());
    fixture.git(&["clone", "--quiet", &elsewhere, &from, separate.to_str().unwrap()]);
    let bare = clone("bare", &["--bare"]);
    for place in [&whole, &shallow, &borrowing, &linked, &separate, &bare] {
        assert_answers_of(place, "HEAD");
    }
    assert_answers_of(&linked, "origin/side");
}

#[test]
fn code_writes_only_into_its_checkout() {
    let (inner, fixture) = (Fixture::new(), tagged());
    fixture.git(&["submodule", "--quiet", "add", inner.root().to_str().unwrap(), "inner"]);
    fixture.commit("add inner");
    let checkout = fixture.checkout("HEAD");
    let before = state(fixture.root());
    let written = |arguments: &[&str]| git_in(&checkout, arguments);
    written(&["tag", "--force", "v1"]);
    written(&["tag", "new"]);
    written(&["config", "core.fsmonitor", "/tmp/anything"]);
    written(&["config", "--unset", "core.fsmonitor"]);
    written(&["update-ref", "refs/heads/main", "HEAD~1"]);
    written(&["update-ref", "-d", "refs/tags/light"]);
    fs::write(checkout.join("file"), "stashed\n").unwrap();
    written(&["stash"]);
    fs::write(checkout.join("file"), "committed\n").unwrap();
    written(&["commit", "--quiet", "--all", "--message", "of code"]);
    written(&["submodule", "--quiet", "update", "--init"]);
    git_in(&checkout.join("inner"), &["tag", "new"]);
    written(&["worktree", "add", "--quiet", "--detach", fixture.beside("tree").to_str().unwrap()]);
    written(&["fetch", "--quiet", "."]);
    written(&["gc", "--quiet", "--prune=now"]);
    assert!(state(fixture.root()) == before);
    fixture.git(&["fsck", "--strict"]);
}

#[test]
fn what_code_wrote_is_gone_at_the_next_checkout() {
    let fixture = tagged();
    let checkout = fixture.checkout("HEAD");
    let whole = everything_below(&checkout.join(".git"));
    let git = checkout.join(".git");
    let elsewhere = fixture.beside("elsewhere");
    let damages: [(&str, &dyn Fn()); 6] = [
        ("a hook", &|| {
            fs::create_dir_all(git.join("hooks")).unwrap();
            fs::write(git.join("hooks/post-checkout"), "#!/bin/sh\n").unwrap();
        }),
        ("a setting", &|| drop(git_in(&checkout, &["config", "core.fsmonitor", "/tmp/x"]))),
        ("references", &|| drop(git_in(&checkout, &["tag", "--force", "v1", "HEAD"]))),
        ("another HEAD", &|| drop(git_in(&checkout, &["checkout", "--quiet", "HEAD~1"]))),
        ("a link", &|| {
            fs::rename(&git, &elsewhere).unwrap();
            symlink(&elsewhere, &git).unwrap();
        }),
        ("the directory of a worktree", &|| {
            let common = format!("{}\n", fixture.root().join(".git").display());
            fs::write(git.join("commondir"), common).unwrap();
        }),
    ];
    for (damage, inflict) in damages {
        inflict();
        assert_eq!(fixture.checkout("HEAD"), checkout, "{damage}");
        let again = everything_below(&checkout.join(".git"));
        let contents = |all: &BTreeMap<PathBuf, super::fixture::Entry>| -> BTreeMap<_, _> {
            // The index has the times of files, which were written again.
            let all = all.iter().filter(|(path, _)| !path.ends_with("index"));
            all.map(|(path, (mode, content, _))| (path.clone(), (*mode, content.clone()))).collect()
        };
        assert!(contents(&again) == contents(&whole), "{damage}");
    }
}

#[test]
fn nothing_is_newer_unless_it_changed() {
    let fixture = tagged();
    let git = fixture.checkout("HEAD").join(".git");
    let before = everything_below(&git);
    fixture.checkout("HEAD");
    assert!(everything_below(&git) == before);
    fixture.git(&["tag", "another"]);
    fixture.checkout("HEAD");
    let after = everything_below(&git);
    let changed: Vec<_> =
        after.iter().filter(|(path, one)| before.get(*path) != Some(one)).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].0.ends_with("packed-refs"));
}

#[test]
fn git_finds_nothing_to_change_in_a_new_checkout() {
    let fixture = tagged();
    let checkout = fixture.checkout("HEAD");
    let before = state(&checkout);
    git_in(&checkout, &["describe", "--always", "--dirty"]);
    git_in(&checkout, &["status"]);
    assert!(state(&checkout) == before);
}

#[test]
fn references_that_changed_since_are_known() {
    let fixture = tagged();
    let checkout = fixture.checkout("HEAD");
    assert_eq!(git_in(&checkout, &["describe", "--tags"]), "light");
    fixture.git(&["tag", "--delete", "light"]);
    assert!(git_in(&fixture.checkout("HEAD"), &["describe", "--tags"]).starts_with("v1-1-g"));
    fixture.git(&["tag", "v2"]);
    fixture.git(&["pack-refs", "--all"]);
    assert_eq!(git_in(&fixture.checkout("HEAD"), &["describe", "--tags"]), "v2");
}

#[test]
fn checkout_of_an_earlier_form_is_converted() {
    let fixture = tagged();
    let git = fixture.checkout("HEAD").join(".git");
    fs::remove_dir_all(&git).unwrap();
    fs::create_dir(&git).unwrap();
    fs::write(git.join("HEAD"), fixture.id("HEAD") + "\n").unwrap();
    fs::write(git.join("commondir"), fixture.root().join(".git").to_str().unwrap()).unwrap();
    assert!(!fixture.try_checkout("HEAD").unwrap().fresh);
    assert!(!git.join("commondir").exists());
    assert_eq!(git_in(&git, &["describe", "--tags"]), "light");
}

#[test]
fn few_settings_are_taken_over_and_none_that_starts_a_program() {
    let fixture = tagged();
    let settings = [
        ("core.fsmonitor", "/tmp/x"),
        ("core.hooksPath", "/tmp/x"),
        ("core.sshCommand", "/tmp/x"),
        ("credential.helper", "!/tmp/x"),
        ("filter.x.smudge", "/tmp/x"),
        ("alias.describe", "!/tmp/x"),
        ("http.extraHeader", "Authorization: basic secret"),
        ("remote.origin.uploadpack", "/tmp/x"),
        ("remote.origin.url", "https://user:secret@example.com/a@b.git"),
        ("core.abbrev", "12"),
    ];
    for (name, value) in settings {
        fixture.git(&["config", name, value]);
    }
    let checkout = fixture.checkout("HEAD");
    let text = fs::read_to_string(checkout.join(".git/config")).unwrap();
    assert!(!text.contains("/tmp/x") && !text.contains("secret"), "{text}");
    let url = git_in(&checkout, &["remote", "get-url", "origin"]);
    assert_eq!(url, "https://example.com/a@b.git");
    assert_eq!(git_in(&checkout, &["rev-parse", "--short", "HEAD"]).len(), 12);
}

#[test]
fn submodules_have_git_directories_of_their_own() {
    let (inner, fixture) = (Fixture::new(), tagged());
    inner.git(&["tag", "inner-1"]);
    fixture.git(&["submodule", "--quiet", "add", inner.root().to_str().unwrap(), "inner"]);
    fixture.commit("add inner");
    let checkout = fixture.checkout("HEAD");
    let submodule = checkout.join("inner");
    assert_eq!(git_in(&submodule, &["describe", "--tags", "--dirty"]), "inner-1");
    assert_eq!(git_in(&checkout, &["status", "--porcelain"]), "");
    assert_eq!(git_in(&checkout, &["submodule", "update", "--init"]), "");
    assert!(!fixture.try_checkout("HEAD").unwrap().fresh);
    assert!(submodule.join(".git").is_dir());
}
