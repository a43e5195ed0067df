//! Versions with submodules.

use std::{fs, path::Path};

use super::fixture::{Fixture, files_below, git_in};
use crate::git::Repository;

/// A repository with the submodule `deps/outer`, which has the submodule `inner`.
fn nested() -> (Fixture, Fixture, Fixture) {
    let inner = Fixture::new();
    let outer = Fixture::new();
    let fixture = Fixture::new();
    outer.git(&["submodule", "--quiet", "add", inner.root().to_str().unwrap(), "inner"]);
    outer.commit("add inner");
    fixture.git(&["submodule", "--quiet", "add", outer.root().to_str().unwrap(), "deps/outer"]);
    fixture.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    fixture.commit("add outer");
    (fixture, outer, inner)
}

#[test]
fn nested_submodules_are_checked_out() {
    let (fixture, _outer, _inner) = nested();
    let checkout = fixture.checkout("HEAD");
    assert_eq!(files_below(&checkout), files_below(fixture.root()));
    assert!(checkout.join("deps/outer/inner/file").exists());
}

#[test]
fn each_version_has_its_own_submodule_commit() {
    let (fixture, outer, _inner) = nested();
    outer.write("file", "newer\n");
    outer.commit("newer");
    git_in(&fixture.root().join("deps/outer"), &["pull", "--quiet"]);
    fixture.commit("update outer");
    let read = |revision| fs::read_to_string(fixture.checkout(revision).join("deps/outer/file"));
    assert_eq!(read("HEAD").unwrap(), "newer\n");
    assert_eq!(read("HEAD~1").unwrap(), "one\n");
}

#[test]
fn removed_submodule_is_checked_out_for_earlier_versions() {
    let (fixture, _outer, _inner) = nested();
    fixture.git(&["rm", "--quiet", "deps/outer"]);
    fixture.commit("remove outer");
    assert!(fixture.checkout("HEAD~1").join("deps/outer/inner/file").exists());
    assert!(!fixture.checkout("HEAD").join("deps").exists());
}

#[test]
fn uninitialised_submodule_is_empty_and_named() {
    let (fixture, _outer, _inner) = nested();
    let clone = fixture.beside("clone");
    fixture.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let repository = Repository::discover(&clone).unwrap();
    let version = repository.resolve(".").unwrap();
    assert!(!version.dirty);
    let checkout = fixture.checkouts().checkout(&repository, &version).unwrap();
    assert_eq!(checkout.absent_submodules, [Path::new("deps/outer")]);
    assert_eq!(fs::read_dir(checkout.path.join("deps/outer")).unwrap().count(), 0);
    // Elsewhere it would be as empty.
    repository.refuse_foreign_files(&version, &checkout.path).unwrap();
    let restored = || fixture.checkouts().restore(&repository, &version).unwrap();
    assert_eq!(restored(), None, "it is as it was written");
    fs::write(checkout.path.join("file"), "changed").unwrap();
    assert_eq!(restored(), Some(vec!["file".to_owned()]));
    assert_eq!(restored(), None);

    let update = ["-c", "protocol.file.allow=always", "submodule", "update", "--quiet", "--init"];
    git_in(&clone, &update);
    let again = fixture.checkouts().checkout(&repository, &version).unwrap();
    assert!(again.path.join("deps/outer/file").exists());
    let refused = repository.refuse_foreign_files(&version, &again.path).unwrap_err().to_string();
    assert!(refused.contains("deps/outer is a submodule, which a pack cannot have"), "{refused}");
}

#[test]
fn submodule_is_a_separate_repository() {
    let (fixture, _outer, _inner) = nested();
    let submodule = fixture.root().join("deps/outer");
    let repository = Repository::discover(&submodule).unwrap();
    assert_eq!(repository.root(), submodule);
    let version = repository.resolve("HEAD").unwrap();
    let checkout = fixture.checkouts().checkout(&repository, &version).unwrap();
    assert_eq!(files_below(&checkout.path), files_below(&submodule));
}

#[test]
fn moved_submodule_changes_the_uncommitted_tree() {
    let (fixture, outer, _inner) = nested();
    outer.write("file", "newer\n");
    outer.commit("newer");
    assert!(!fixture.open().resolve(".").unwrap().dirty);
    git_in(&fixture.root().join("deps/outer"), &["pull", "--quiet"]);
    assert!(fixture.open().resolve(".").unwrap().dirty);
    let checkout = fixture.checkout(".");
    assert_eq!(fs::read_to_string(checkout.join("deps/outer/file")).unwrap(), "newer\n");
}

#[test]
fn unknown_gitlink_is_an_empty_directory_like_in_git() {
    let fixture = Fixture::new();
    let commit = fixture.id("HEAD");
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},stray")]);
    fixture.git(&["commit", "--quiet", "--message", "stray"]);
    let checkout = fixture.checkout("HEAD");
    assert_eq!(fs::read_dir(checkout.join("stray")).unwrap().count(), 0);
}

#[test]
fn uncommitted_tree_includes_changes_in_submodules() {
    let (fixture, _outer, _inner) = nested();
    fixture.write("deps/outer/inner/file", "changed\n");
    fixture.write("deps/outer/inner/new/untracked", "x");
    let version = fixture.open().resolve(".").unwrap();
    assert!(version.dirty);
    assert_eq!(files_below(&fixture.checkout(".")), files_below(fixture.root()));
    fixture.write("deps/outer/inner/file", "one\n");
    fs::remove_dir_all(fixture.root().join("deps/outer/inner/new")).unwrap();
    assert!(!fixture.open().resolve(".").unwrap().dirty);
}

#[test]
fn objects_of_all_submodules_are_known() {
    let (fixture, _outer, inner) = nested();
    let known = fixture.open().object_directories();
    let git = fixture.root().join(".git");
    let outer = git.join("modules/deps/outer");
    for directory in [&git, &outer, &outer.join("modules/inner")] {
        assert!(known.contains(&directory.join("objects")), "{known:?}");
    }
    // Git directories of submodules were in the working tree once.
    let own = fixture.root().join("own");
    fixture.git(&["clone", "--quiet", inner.root().to_str().unwrap(), own.to_str().unwrap()]);
    fixture.git(&["submodule", "--quiet", "add", inner.root().to_str().unwrap(), "own"]);
    fixture.commit("add own");
    assert!(fixture.open().object_directories().contains(&own.join(".git/objects")));
}
