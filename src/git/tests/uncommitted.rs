//! The uncommitted tree, `.`.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    time::{Duration, SystemTime},
};

use super::fixture::{Fixture, files_below, run_git};
use crate::{error::Exit, git::Repository};

#[test]
fn uncommitted_tree_without_changes_is_head() {
    let fixture = Fixture::new();
    let version = fixture.open().resolve(".").unwrap();
    assert!(!version.dirty);
    assert_eq!(version.revision, ".");
    assert_eq!(version.commit, Some(fixture.id("HEAD")));
    assert_eq!(version.tree, fixture.id("HEAD^{tree}"));
}

#[test]
fn modified_staged_and_untracked_files_are_included() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "/target\n*.log\n");
    fixture.write("deleted", "");
    fixture.write("staged", "old\n");
    let script = fixture.write("dir/script", "");
    fixture.commit("second");
    fixture.write("file", "modified\n");
    fixture.write("staged", "new\n");
    fixture.git(&["add", "staged"]);
    fixture.write("new/untracked file", "x");
    fs::remove_file(fixture.root().join("deleted")).unwrap();
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("file", fixture.root().join("link")).unwrap();
    let expected = files_below(fixture.root());
    fixture.write("target/debug/x", "");
    fixture.write("dir/run.log", "");

    let version = fixture.open().resolve(".").unwrap();
    assert!(version.dirty);
    assert_eq!(version.commit, Some(fixture.id("HEAD")));
    assert_eq!(files_below(&fixture.checkout(".")), expected);
    fixture.commit("all of it");
    assert_eq!(version.tree, fixture.id("HEAD^{tree}"));
}

#[test]
fn touched_file_is_no_change() {
    let fixture = Fixture::new();
    let file = fs::File::options().write(true).open(fixture.root().join("file")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
    assert!(!fixture.open().resolve(".").unwrap().dirty);
}

#[test]
fn tree_id_depends_on_the_change_alone() {
    let fixture = Fixture::new();
    let tree = |content: &str| {
        fixture.write("file", content);
        fixture.open().resolve(".").unwrap().tree
    };
    let first = tree("change\n");
    assert_ne!(tree("other!\n"), first);
    assert_eq!(tree("change\n"), first);
}

#[test]
fn tracked_but_ignored_file_is_included() {
    let fixture = Fixture::new();
    fixture.write("forced.log", "");
    fixture.commit("second");
    fixture.write(".gitignore", "*.log\n");
    fixture.write("forced.log", "changed");
    assert!(fixture.checkout(".").join("forced.log").exists());
}

#[test]
fn line_endings_are_normalised_like_git_add() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.txt text eol=crlf\n");
    fixture.write("a.txt", "a\r\n");
    let version = fixture.open().resolve(".").unwrap();
    fixture.commit("second");
    assert_eq!(version.tree, fixture.id("HEAD^{tree}"));
}

#[test]
fn unfinished_merge_is_taken_from_the_working_tree() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "--quiet", "-b", "side"]);
    fixture.write("file", "side\n");
    fixture.commit("side");
    fixture.git(&["checkout", "--quiet", "main"]);
    fixture.write("file", "main\n");
    fixture.commit("main");
    let merge = run_git(fixture.root(), &["merge", "--quiet", "side"]);
    assert!(!merge.status.success());
    fixture.write("file", "resolved\n");
    let checkout = fixture.checkout(".");
    assert_eq!(fs::read_to_string(checkout.join("file")).unwrap(), "resolved\n");
}

#[test]
fn files_outside_of_a_sparse_checkout_are_included() {
    let fixture = Fixture::new();
    fixture.write("shown/a", "");
    fixture.write("hidden/b", "");
    fixture.commit("second");
    fixture.git(&["sparse-checkout", "set", "--no-cone", "/shown", "/file"]);
    assert!(!fixture.root().join("hidden").exists());
    assert!(!fixture.open().resolve(".").unwrap().dirty);
    fixture.write("file", "two\n");
    assert!(fixture.checkout(".").join("hidden/b").exists());
}

#[test]
fn index_in_an_unknown_format_is_not_needed() {
    let fixture = Fixture::new();
    fixture.write("dir/a", "");
    fixture.write("other/b", "");
    fixture.commit("second");
    fixture.git(&["update-index", "--split-index"]);
    assert!(!fixture.open().resolve(".").unwrap().dirty);
    fixture.write("dir/a", "changed");
    assert!(fixture.open().resolve(".").unwrap().dirty);
}

#[test]
fn unignored_target_directory_is_excluded() {
    let fixture = Fixture::new();
    fixture.write("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    fixture.write("target/debug/binary", "x");
    assert!(!fixture.open().resolve(".").unwrap().dirty);
    fixture.git(&["add", "target/debug/binary"]);
    fixture.write("target/debug/other", "x");
    let files = files_below(&fixture.checkout("."));
    assert_eq!(files.len(), 4, "a cache with tracked files is none: {files:?}");
}

#[test]
fn changes_of_own_files_are_excluded() {
    let fixture = Fixture::new();
    let own = ["bench.toml", "sub/.rbench/accepted.toml"].map(|file| fixture.root().join(file));
    let resolve = || fixture.open().leaving_out(own.clone()).resolve(".").unwrap();
    fixture.write("bench.toml", "new");
    fixture.write("sub/.rbench/accepted.toml", "new");
    assert!(fixture.open().resolve(".").unwrap().dirty && !resolve().dirty);
    fixture.git(&["add", "bench.toml"]);
    assert!(!resolve().dirty, "staged");
    fixture.commit("both");
    fixture.write("bench.toml", "modified");
    fs::remove_file(&own[1]).unwrap();
    assert!(!resolve().dirty, "modified and deleted");
    fixture.write("file", "modified");
    let version = resolve();
    assert!(version.dirty);
    fixture.write("bench.toml", "modified again");
    assert_eq!(resolve().tree, version.tree);
}

#[test]
fn untracked_repository_is_excluded() {
    let fixture = Fixture::new();
    fixture.git(&["clone", "--quiet", ".", "vendor/other"]);
    assert!(!fixture.open().resolve(".").unwrap().dirty);
}

#[test]
fn empty_repository_has_an_uncommitted_tree() {
    let fixture = Fixture::empty();
    fixture.write("file", "one\n");
    let version = fixture.open().resolve(".").unwrap();
    assert!(version.dirty);
    assert_eq!((version.commit, version.time), (None, None));
    assert!(fixture.checkout(".").join("file").exists());
}

#[test]
fn worktree_has_its_own_uncommitted_tree() {
    let fixture = Fixture::new();
    let worktree = fixture.beside("worktree");
    fixture.git(&["worktree", "add", "--quiet", worktree.to_str().unwrap()]);
    fs::write(worktree.join("only here"), "").unwrap();
    assert!(!fixture.open().resolve(".").unwrap().dirty);
    assert!(Repository::discover(&worktree).unwrap().resolve(".").unwrap().dirty);
}

#[test]
fn bare_repository_has_no_uncommitted_tree() {
    let fixture = Fixture::new();
    let bare = fixture.beside("bare");
    fixture.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let error = Repository::discover(&bare).unwrap().resolve(".").unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("bare"), "{error}");
}

#[test]
fn tree_id_equals_that_of_git_for_any_names() {
    let fixture = Fixture::new();
    for path in ["a/b", "a.c", "a0", "a-", "A", "a/b0/x", "a/b.x", "ab/c/d/e", "größe/ü"] {
        fixture.write(path, path);
    }
    let version = fixture.open().resolve(".").unwrap();
    fixture.commit("second");
    assert_eq!(version.tree, fixture.id("HEAD^{tree}"));
}

#[test]
fn files_and_directories_may_replace_each_other() {
    let fixture = Fixture::new();
    fixture.write("to-dir", "");
    fixture.write("to-file/a", "");
    fixture.write("to-link/a", "");
    fixture.commit("second");
    fs::remove_file(fixture.root().join("to-dir")).unwrap();
    fs::remove_dir_all(fixture.root().join("to-file")).unwrap();
    fs::remove_dir_all(fixture.root().join("to-link")).unwrap();
    fixture.write("to-dir/a", "");
    fixture.write("to-file", "");
    symlink("to-dir", fixture.root().join("to-link")).unwrap();
    let version = fixture.open().resolve(".").unwrap();
    assert_eq!(files_below(&fixture.checkout(".")), files_below(fixture.root()));
    fixture.commit("third");
    assert_eq!(version.tree, fixture.id("HEAD^{tree}"));
}

#[test]
fn changed_uncommitted_tree_cannot_be_checked_out_again() {
    let fixture = Fixture::new();
    fixture.write("file", "two\n");
    let earlier = fixture.open().resolve(".").unwrap();
    let error = fixture.checkouts().checkout(&fixture.open(), &earlier).unwrap_err();
    assert_eq!(error.exit(), Exit::Build);
    assert!(error.to_string().contains("changed since"), "{error}");
}

#[test]
fn checked_out_uncommitted_tree_is_found_again() {
    let fixture = Fixture::new();
    fixture.write("file", "two\n");
    let earlier = fixture.open().resolve(".").unwrap();
    let path = fixture.checkout(".");
    fixture.write("file", "three\n");
    let again = fixture.checkouts().checkout(&fixture.open(), &earlier).unwrap();
    assert!(!again.fresh);
    assert_eq!(again.path, path);
}

#[test]
fn committed_carriage_returns_stay_with_text_auto() {
    let fixture = Fixture::new();
    fixture.write("dos", "a\r\n");
    fixture.commit("second");
    fixture.write(".gitattributes", "* text=auto\n");
    fixture.write("dos", "a\r\nb\r\n");
    fixture.write("new", "a\r\n");
    let version = fixture.open().resolve(".").unwrap();
    fixture.commit("third");
    assert_eq!(version.tree, fixture.id("HEAD^{tree}"));
}

#[test]
fn unreadable_sparse_index_is_refused_with_a_hint() {
    let fixture = Fixture::new();
    for directory in ["shown", "hidden"] {
        fixture.write(&format!("{directory}/file"), "text");
    }
    fixture.commit("directories");
    fixture.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "shown"]);
    let error = fixture.open().resolve(".").unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("sparse-checkout reapply --no-sparse-index"), "{error}");
    fixture.git(&["sparse-checkout", "reapply", "--no-sparse-index"]);
    assert!(!fixture.open().resolve(".").unwrap().dirty);

    // A split index of a checkout that is not sparse is supported.
    fixture.git(&["sparse-checkout", "disable"]);
    fixture.git(&["update-index", "--split-index"]);
    assert!(!fixture.open().resolve(".").unwrap().dirty);
    fixture.write(".git/index", "garbage");
    let error = fixture.open().resolve(".").unwrap_err();
    assert!(error.to_string().contains("index"), "{error}");
}

#[test]
fn hidden_attributes_of_a_sparse_checkout_apply() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.txt text eol=crlf\n");
    fixture.commit("second");
    fixture.git(&["sparse-checkout", "set", "--no-cone", "/shown"]);
    assert!(!fixture.root().join(".gitattributes").exists());
    fixture.write("shown/a.txt", "a\r\n");
    let version = fixture.open().resolve(".").unwrap();
    fixture.commit("third");
    assert_eq!(version.tree, fixture.id("HEAD^{tree}"));
}

#[test]
fn large_untracked_files_are_refused_by_name() {
    let fixture = Fixture::new();
    for name in ["data/large one.bin", "data/other.bin"] {
        // Sparse: it uses no disk space.
        fs::File::create(fixture.write(name, "")).unwrap().set_len(3_000_000_000).unwrap();
    }
    let error = fixture.open().resolve(".").unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    let text = error.to_string();
    for part in [
        "\n    data/large one.bin has 3000 MB\n    data/other.bin has 3000 MB\n",
        "add --intent-to-add 'data/large one.bin'\n",
        "if they do not: add it to a .gitignore file",
    ] {
        assert!(text.contains(part), "{text}");
    }
    fixture.write(".gitignore", "data\n.gitignore\n");
    assert!(!fixture.open().resolve(".").unwrap().dirty);
}

#[test]
fn large_tracked_file_is_included() {
    let fixture = Fixture::new();
    let file = fixture.write("data.bin", "");
    fixture.git(&["add", "--intent-to-add", "data.bin"]);
    fs::File::create(file).unwrap().set_len(100_000_001).unwrap();
    assert!(fixture.open().resolve(".").unwrap().dirty);
}
