//! The user's repository is unchanged by everything in this module: every file, including `.git`,
//! with its time.

use super::fixture::{Fixture, everything_below};

/// Uses everything in this module, and compares the repository before and after.
fn leaves_no_trace(fixture: &Fixture, revisions: &[&str]) {
    let before = everything_below(fixture.root());
    let repository = fixture.open();
    repository.identity().unwrap();
    for revision in revisions {
        let version = repository.resolve(revision).unwrap();
        let checkout = fixture.checkouts().checkout(&repository, &version).unwrap();
        assert!(checkout.fresh);
        fixture.checkouts().checkout(&repository, &version).unwrap();
    }
    assert!(repository.resolve("nonsense").is_err());
    drop(repository);
    let after = everything_below(fixture.root());
    for (path, entry) in &before {
        assert!(after.get(path) == Some(entry), "{} changed", path.display());
    }
    assert_eq!(before.len(), after.len(), "files were added");
}

/// A repository with loose objects, packed ones, a stash, staged, modified and untracked files.
fn busy() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("dir/a", "a\n");
    fixture.write("dir/b", "b\n");
    fixture.write("other/c", "c\n");
    fixture.commit("second");
    fixture.git(&["gc", "--quiet"]);
    fixture.write("file", "stashed\n");
    fixture.git(&["stash"]);
    fixture.write("dir/a", "third\n");
    fixture.commit("third");
    fixture
}

#[test]
fn checking_out_commits_changes_nothing() {
    leaves_no_trace(&busy(), &["HEAD", "HEAD~1", "HEAD~2"]);
}

#[test]
fn checking_out_the_uncommitted_tree_changes_nothing() {
    let fixture = busy();
    fixture.write("file", "modified\n");
    fixture.write("staged", "x");
    fixture.git(&["add", "staged"]);
    fixture.write("dir/untracked", "x");
    leaves_no_trace(&fixture, &[".", "HEAD"]);
}

#[test]
fn existing_objects_keep_their_times() {
    let fixture = busy();
    // The blob of `a` is a loose object, and the tree below is that of an earlier commit.
    fixture.write("copy", "third\n");
    fixture.write("dir/a", "a\n");
    leaves_no_trace(&fixture, &["."]);
}

#[test]
fn submodules_are_unchanged() {
    let inner = Fixture::new();
    let fixture = busy();
    fixture.git(&["submodule", "--quiet", "add", inner.root().to_str().unwrap(), "inner"]);
    fixture.commit("add inner");
    fixture.write("file", "modified\n");
    leaves_no_trace(&fixture, &["HEAD", "."]);
}
