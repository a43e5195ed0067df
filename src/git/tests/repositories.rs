//! Finding a repository, and its identity.

use std::fs;

use super::fixture::{Fixture, git_in};
use crate::{error::Exit, git::Repository};

#[test]
fn repository_is_found_from_a_subdirectory() {
    let fixture = Fixture::new();
    fixture.write("a/b/file", "");
    let repository = Repository::discover(&fixture.root().join("a/b")).unwrap();
    assert_eq!(repository.root(), fixture.root());
}

#[test]
fn missing_repository_error_suggests_the_next_step() {
    let directory = tempfile::tempdir().unwrap();
    let error = Repository::discover(directory.path()).err().unwrap();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("git init"), "{error}");
}

#[test]
fn repository_of_another_owner_is_refused_with_a_hint() {
    let fixture = Fixture::new();
    let owned = |uid| {
        let paths = [fixture.root().to_owned(), fixture.root().join(".git")];
        paths.iter().all(|path| std::os::unix::fs::chown(path, Some(uid), None).is_ok())
    };
    assert!(owned(12_345), "this test needs root, who alone can change the owner of a directory");
    let error = Repository::discover(fixture.root()).err().unwrap();
    assert_eq!(error.exit(), Exit::Usage);
    let root = crate::shell::quoted(fixture.root());
    let hint = format!("git config --global --add safe.directory {root}");
    assert!(error.to_string().contains(&hint), "{error}");
}

#[test]
fn clones_and_worktrees_share_one_identity() {
    let fixture = Fixture::new();
    fixture.write("file", "two\n");
    fixture.commit("second");
    let (bare, worktree, clone) =
        (fixture.beside("bare"), fixture.beside("worktree"), fixture.beside("clone"));
    fixture.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    fixture.git(&["worktree", "add", "--quiet", worktree.to_str().unwrap(), "HEAD~1"]);
    fixture.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let identity = fixture.open().identity().unwrap();
    assert_eq!(identity.len(), 16);
    for other in [bare, worktree, clone] {
        let repository = Repository::discover(&other).unwrap();
        assert_eq!(repository.root(), other);
        assert_eq!(repository.identity().unwrap(), identity, "{}", other.display());
    }
}

#[test]
fn identity_depends_on_the_first_commit() {
    let (one, other) = (Fixture::new(), Fixture::empty());
    other.write("file", "another\n");
    other.commit("first");
    assert_ne!(one.open().identity().unwrap(), other.open().identity().unwrap());
}

#[test]
fn identity_survives_a_merge_of_foreign_history() {
    let fixture = Fixture::new();
    let before = fixture.open().identity().unwrap();
    fixture.git(&["checkout", "--quiet", "--orphan", "foreign"]);
    fixture.write("foreign", "");
    fixture.commit("foreign root");
    fixture.git(&["checkout", "--quiet", "main"]);
    fixture.git(&["merge", "--quiet", "--allow-unrelated-histories", "-m", "merge", "foreign"]);
    assert_eq!(fixture.open().identity().unwrap(), before);
}

#[test]
fn empty_repository_is_identified_by_its_path() {
    let (one, other) = (Fixture::empty(), Fixture::empty());
    let identity = one.open().identity().unwrap();
    assert_eq!(identity, one.open().identity().unwrap());
    assert_ne!(identity, other.open().identity().unwrap());
}

#[test]
fn shallow_clone_works_up_to_its_boundary() {
    let fixture = Fixture::new();
    fixture.write("file", "two\n");
    fixture.commit("second");
    let clone = fixture.beside("clone");
    let url = format!("file://{}", fixture.root().display());
    git_in(fixture.root(), &["clone", "--quiet", "--depth=1", &url, clone.to_str().unwrap()]);
    let repository = Repository::discover(&clone).unwrap();
    assert_eq!(repository.identity().unwrap().len(), 16);
    let version = repository.resolve("HEAD").unwrap();
    let checkout = fixture.checkouts().checkout(&repository, &version).unwrap();
    assert_eq!(fs::read_to_string(checkout.path.join("file")).unwrap(), "two\n");
    let error = repository.resolve("HEAD~1").unwrap_err();
    assert!(error.to_string().contains("git fetch --unshallow"), "{error}");
}

#[test]
fn partial_clone_error_suggests_a_fetch() {
    let fixture = Fixture::new();
    fixture.write("file", "two\n");
    fixture.commit("second");
    fixture.git(&["config", "uploadpack.allowFilter", "true"]);
    let (url, clone) = (format!("file://{}", fixture.root().display()), fixture.beside("clone"));
    fixture.git(&["clone", "--quiet", "--filter=blob:none", &url, clone.to_str().unwrap()]);
    let check_out = |revision: &str| {
        let repository = Repository::discover(&clone)?;
        let version = repository.resolve(revision)?;
        fixture.checkouts().checkout(&repository, &version)
    };
    assert!(check_out("HEAD").is_ok());
    let error = check_out("HEAD~1").unwrap_err();
    let hint = format!("archive --output=/dev/null {}", fixture.id("HEAD~1^{tree}"));
    assert!(error.to_string().contains(&hint), "{error}");
    git_in(&clone, &["archive", "--output=/dev/null", "HEAD~1"]);
    assert!(check_out("HEAD~1").is_ok());
}
