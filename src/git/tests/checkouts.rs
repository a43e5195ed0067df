//! Checkouts: written once, completely or not at all.

use std::{
    fs::{self, File},
    time::SystemTime,
};

use super::fixture::{Fixture, everything_below, files_below};
use crate::git::Checkouts;

#[test]
fn checkout_has_only_the_files_of_its_version() {
    let fixture = Fixture::new();
    fixture.write("dir/other file", "x");
    fixture.commit("second");
    fixture.write("file", "changed\n");
    fixture.write("untracked", "");
    let first = fixture.checkout("HEAD~1");
    assert_eq!(files_below(&first).len(), 1);
    assert_eq!(fs::read_to_string(first.join("file")).unwrap(), "one\n");
    let second = fixture.checkout("HEAD");
    assert_eq!(fs::read_to_string(second.join("file")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(second.join("dir/other file")).unwrap(), "x");
    assert_eq!(files_below(&second).len(), 2);
}

#[test]
fn checkout_is_found_again_by_its_tree_id() {
    let fixture = Fixture::new();
    let first = fixture.try_checkout("HEAD").unwrap();
    assert!(first.fresh);
    assert_eq!(first.path, fixture.beside("cache/checkouts").join(fixture.id("HEAD^{tree}")));
    let again = fixture.try_checkout("main").unwrap();
    assert!(!again.fresh);
    assert_eq!(again.path, first.path);
}

#[test]
fn added_files_are_no_damage() {
    let fixture = Fixture::new();
    let checkout = fixture.checkout("HEAD");
    for name in ["Cargo.lock", "zzz", "new/generated.rs"] {
        let path = checkout.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    assert!(!fixture.try_checkout("HEAD").unwrap().fresh);
}

#[test]
fn damaged_checkout_is_written_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    fixture.write("second", "two\n");
    fixture.commit("second");
    let checkout = fixture.checkout("HEAD");
    let whole = files_below(&checkout);
    let file = checkout.join("file");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let damages: [(&str, &dyn Fn()); 7] = [
        ("removed", &|| fs::remove_file(&file).unwrap()),
        ("shortened", &|| fs::write(&file, "").unwrap()),
        ("overwritten", &|| fs::write(&file, "ONE\n").unwrap()),
        ("overwritten at the old time", &|| {
            fs::write(&file, "ONE\n").unwrap();
            File::options().append(true).open(&file).unwrap().set_modified(time).unwrap();
        }),
        ("executable", &|| fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap()),
        ("a directory", &|| {
            fs::remove_file(&file).unwrap();
            fs::create_dir(&file).unwrap();
        }),
        ("gone", &|| fs::remove_dir_all(&checkout).unwrap()),
    ];
    for (damage, inflict) in damages {
        inflict();
        let again = fixture.try_checkout("HEAD").unwrap();
        assert!(again.fresh, "{damage}");
        assert_eq!(files_below(&again.path), whole, "{damage}");
    }
}

#[test]
fn checkout_with_changed_or_added_files_is_restored() {
    let fixture = Fixture::new();
    let checkout = fixture.checkout("HEAD");
    let whole = files_below(&checkout);
    let version = fixture.open().resolve("HEAD").unwrap();
    let restored = || fixture.checkouts().restore(&fixture.open(), &version).unwrap();
    for (path, changed) in [("file", vec!["file".to_owned()]), (".cargo/config.toml", vec![])] {
        fs::create_dir_all(checkout.join(path).parent().unwrap()).unwrap();
        fs::write(checkout.join(path), "x").unwrap();
        assert_eq!(restored(), Some(changed), "{path}");
        assert_eq!(files_below(&checkout), whole, "{path}");
    }
    for path in ["Cargo.lock", "rust/target/x"] {
        fs::create_dir_all(checkout.join(path).parent().unwrap()).unwrap();
        fs::write(checkout.join(path), "").unwrap();
        assert_eq!(restored(), None, "cargo made {path}");
    }
}

#[test]
fn remains_of_a_killed_run_are_removed_at_the_next_start() {
    let fixture = Fixture::new();
    let whole = fixture.checkout("HEAD");
    let unfinished = fixture.beside("cache/checkouts/tmp-half/files");
    fs::create_dir_all(&unfinished).unwrap();
    fs::write(unfinished.join("file"), "on").unwrap();
    Checkouts::open(&fixture.beside("cache")).unwrap();
    assert!(!unfinished.exists());
    assert!(!fixture.beside("cache/checkouts/tmp-half").exists());
    assert!(whole.exists());
}

#[test]
fn failed_checkout_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let mut version = fixture.open().resolve("HEAD").unwrap();
    version.tree = "1".repeat(40);
    assert!(fixture.checkouts().checkout(&fixture.open(), &version).is_err());
    assert_eq!(fs::read_dir(fixture.beside("cache/checkouts")).unwrap().count(), 0);
}

#[test]
fn checkout_without_manifest_is_written_again() {
    let fixture = Fixture::new();
    let checkout = fixture.checkout("HEAD");
    fs::remove_file(checkout.with_extension("manifest")).unwrap();
    assert!(fixture.try_checkout("HEAD").unwrap().fresh);
}

#[test]
fn files_have_the_time_of_their_checkout() {
    let fixture = Fixture::new();
    let before = File::create(fixture.beside("clock")).unwrap().metadata().unwrap();
    let file = fixture.checkout("HEAD").join("file").metadata().unwrap();
    assert!(file.modified().unwrap() >= before.modified().unwrap());
    assert!(file.modified().unwrap() <= SystemTime::now());
}

#[test]
fn bare_repository_and_worktree_can_be_checked_out() {
    let fixture = Fixture::new();
    fixture.write("src/lib.rs", "x");
    fixture.commit("second");
    let expected = files_below(&fixture.checkout("HEAD"));
    let (bare, worktree) = (fixture.beside("bare"), fixture.beside("worktree"));
    fixture.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    fixture.git(&["worktree", "add", "--quiet", worktree.to_str().unwrap(), "HEAD~1"]);
    for (place, revision) in [(bare, "HEAD"), (worktree, "main")] {
        let repository = crate::git::Repository::discover(&place).unwrap();
        let version = repository.resolve(revision).unwrap();
        let checkouts = Checkouts::open(&place.with_extension("cache")).unwrap();
        let checkout = checkouts.checkout(&repository, &version).unwrap();
        assert_eq!(files_below(&checkout.path), expected, "{}", place.display());
    }
}

#[test]
fn git_answers_with_the_version_of_a_checkout() {
    let fixture = Fixture::new();
    fixture.git(&["tag", "-m", "First", "v1"]);
    fixture.write("second", "two\n");
    fixture.commit("second");
    fixture.write("file", "uncommitted\n");
    let before = everything_below(fixture.root());
    let ask = |revision: &str, arguments: &[&str]| {
        let checkout = fixture.checkout(revision);
        let checkout = checkout.to_str().unwrap();
        fixture.git(&[&["-C", checkout][..], arguments].concat())
    };
    for revision in ["HEAD~1", "HEAD"] {
        assert_eq!(ask(revision, &["rev-parse", "HEAD"]), fixture.id(revision));
        ask(revision, &["diff-index", "--exit-code", "HEAD"]);
        assert_eq!(ask(revision, &["status", "--porcelain"]), "");
        assert_eq!(ask(revision, &["rev-parse", "--show-prefix"]), "");
    }
    assert_eq!(ask("HEAD~1", &["describe", "--dirty"]), "v1");
    assert_eq!(ask(".", &["rev-parse", "HEAD"]), fixture.id("HEAD"));
    assert_eq!(ask(".", &["status", "--porcelain"]), " M file");
    assert!(!fixture.try_checkout("HEAD").unwrap().fresh, "git changes no file of a version");
    assert_eq!(everything_below(fixture.root()), before);
}
