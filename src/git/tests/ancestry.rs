//! The commits between two versions.

use super::fixture::Fixture;

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
