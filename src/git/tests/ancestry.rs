//! The commits between two versions.

use super::fixture::Fixture;
use crate::model::VersionChanges;

#[test]
fn commit_is_between_if_only_the_head_has_it() {
    let fixture = Fixture::new();
    let first = fixture.id("HEAD");
    fixture.git(&["switch", "--quiet", "--create", "side"]);
    let side = fixture.commit("side");
    fixture.git(&["switch", "--quiet", "main"]);
    let second = fixture.commit("second");
    fixture.git(&["merge", "--quiet", "--no-edit", "side"]);
    let repository = fixture.open();
    let between = |base: &str, head: &str, commit: &str| {
        let [base, head] = [base, head].map(|revision| repository.resolve(revision).unwrap());
        repository.is_between([&base, &head], commit).unwrap()
    };
    assert!(between("HEAD~1", "HEAD", &side), "by the merge");
    assert!(!between("HEAD~1", "HEAD", &second));
    assert!(between(&first, "HEAD", &second));
    assert!(!between(&first, &second, &side));
    assert!(!between(&first, "HEAD", &first));
    assert!(!between(&first, "HEAD", &"f".repeat(40)), "nobody has it");
    // The uncommitted tree contains everything in HEAD.
    fixture.write("file", "changed\n");
    assert!(between(&first, ".", &second));
}

/// The titles of the commits between two revisions and their number, the number of commits only in the base, and the
/// uncommitted files.
fn changes(fixture: &Fixture, base: &str, head: &str) -> (Vec<String>, usize, usize, Vec<String>) {
    let repository = fixture.open();
    let [base, head] = [base, head].map(|revision| repository.resolve(revision).unwrap());
    let changes = repository.changes(&base, &head).unwrap();
    assert_eq!(changes.uncommitted_files.len(), changes.uncommitted_file_count);
    let titles = changes.commits.into_iter().map(|commit| commit.title).collect();
    (titles, changes.commit_count, changes.base_only_commits, changes.uncommitted_files)
}

#[test]
fn changes_are_the_commits_after_the_base_without_merges() {
    let fixture = Fixture::new();
    fixture.git(&["switch", "--quiet", "--create", "side"]);
    fixture.commit("side");
    fixture.git(&["switch", "--quiet", "main"]);
    fixture.commit("second");
    fixture.git(&["merge", "--quiet", "--no-edit", "side"]);
    let titles = |titles: &[&str]| titles.iter().map(|&title| title.to_owned()).collect::<Vec<_>>();
    assert_eq!(changes(&fixture, "HEAD~1", "HEAD"), (titles(&["side"]), 1, 0, vec![]));
    assert_eq!(changes(&fixture, "HEAD~1", "side"), (titles(&["side"]), 1, 1, vec![]));
    assert_eq!(changes(&fixture, "HEAD", "side"), (vec![], 0, 1, vec![]));
    fixture.git(&["merge", "--quiet", "--no-ff", "--no-edit", "HEAD"]);
    for index in 0..110 {
        fixture.commit(&format!("later {index}"));
    }
    let (listed, number, ..) = changes(&fixture, "HEAD~109", "HEAD");
    assert_eq!((listed.len(), number), (100, 109));
    assert_eq!(listed[0], "later 109");
}

#[test]
fn uncommitted_changes_are_files() {
    let fixture = Fixture::new();
    fixture.write("gone", "one\n");
    fixture.commit("second");
    fixture.write("file", "changed\n");
    fixture.write("new/file", "new\n");
    std::fs::remove_file(fixture.root().join("gone")).unwrap();
    let files = ["file", "gone", "new/file"].map(str::to_owned).to_vec();
    assert_eq!(changes(&fixture, "HEAD", "."), (vec![], 0, 0, files.clone()));
    assert_eq!(changes(&fixture, "HEAD~1", "."), (vec!["second".to_owned()], 1, 0, files));
    assert_eq!(changes(&fixture, "HEAD~1", "HEAD").3, Vec::<String>::new());
}

#[test]
fn changes_need_the_commits_of_both_versions() {
    let fixture = Fixture::new();
    fixture.commit("second");
    let origin = format!("file://{}", fixture.root().display());
    let clone = fixture.beside("clone");
    fixture.git(&["clone", "--quiet", "--depth", "1", &origin, clone.to_str().unwrap()]);
    let known = fixture.open().resolve("HEAD~1").unwrap();
    let repository = crate::git::Repository::discover(&clone).unwrap();
    let head = repository.resolve("HEAD").unwrap();
    assert_eq!(repository.changes(&known, &head).unwrap(), VersionChanges::default());
    let empty = Fixture::empty();
    empty.write("file", "one\n");
    let head = empty.open();
    let head = (head.resolve(".").unwrap(), head);
    assert_eq!(head.1.changes(&head.0, &head.0).unwrap().uncommitted_files, ["file"]);
}

#[test]
fn tracked_file_is_not_ignored() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "hidden\n");
    let path = fixture.write("hidden/file", "one\n");
    assert!(fixture.open().ignores(&path));
    fixture.git(&["add", "--force", "hidden/file"]);
    assert!(!fixture.open().ignores(&path));
    assert!(!fixture.open().ignores(&fixture.beside("file")));
}
