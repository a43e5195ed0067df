//! Files with more than plain content under an ASCII name.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _, fs::symlink},
};

use super::fixture::{Fixture, files_below};
use crate::error::Exit;

/// SHA-256 of `content\n`.
const LFS_HASH: &str = "434728a410a78f56fc1b5899c3593436e61ab0c731e9072d95e96db290205e53";

fn pointer() -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{LFS_HASH}\nsize 8\n")
}

#[test]
fn executable_bits_and_links_are_written_like_in_git() {
    let fixture = Fixture::new();
    let script = fixture.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    fixture.write("dir/file", "");
    for (target, link) in [
        ("file", "to-file"),
        ("dir", "to-dir"),
        ("/absolute/nowhere", "absolute"),
        ("gone", "dir/dangling"),
    ] {
        symlink(target, fixture.root().join(link)).unwrap();
    }
    fixture.commit("links");
    assert_eq!(files_below(&fixture.checkout("HEAD")), files_below(fixture.root()));
}

#[test]
fn file_names_may_contain_any_bytes() {
    let fixture = Fixture::new();
    for name in [&b"with space"[..], "größe/naïve.rs".as_bytes(), b"not\xfftext", b"new\nline"] {
        let path = fixture.root().join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    fixture.commit("names");
    assert_eq!(files_below(&fixture.checkout("HEAD")), files_below(fixture.root()));
    assert!(!fixture.try_checkout("HEAD").unwrap().fresh);
}

#[test]
fn line_endings_follow_the_attributes_of_the_version() {
    let fixture = Fixture::new();
    fixture.write(
        ".gitattributes",
        "*.bat text eol=crlf\n-early text eol=crlf\nsub/.gitattributes text eol=crlf\n",
    );
    fixture.write("-early", "a\n");
    fixture.write("run.bat", "a\nb\n");
    fixture.write("sub/-early", "a\n");
    fixture.write("sub/.gitattributes", "* text eol=crlf\n");
    fixture.write("sub/late", "a\n");
    fixture.commit("attributes");
    fixture.write(".gitattributes", "* -text\n");
    fs::remove_file(fixture.root().join("sub/.gitattributes")).unwrap();
    fixture.commit("none");
    let checkout = fixture.checkout("HEAD~1");
    let read = |path: &str| fs::read_to_string(checkout.join(path)).unwrap();
    assert_eq!(read("run.bat"), "a\r\nb\r\n");
    assert_eq!(read("-early"), "a\r\n");
    assert_eq!(read("sub/-early"), "a\r\n");
    assert_eq!(read("sub/late"), "a\r\n");
    assert_eq!(read("file"), "one\n");
    let without = fixture.checkout("HEAD");
    assert_eq!(fs::read_to_string(without.join("run.bat")).unwrap(), "a\nb\n");
}

#[test]
fn checkout_with_many_attributes_equals_that_of_git() {
    let fixture = Fixture::new();
    fixture.git(&["config", "core.autocrlf", "input"]);
    fixture.write(
        ".gitattributes",
        "*.txt text eol=crlf\n*.bin binary\nid ident\n/file export-ignore\nsubst export-subst\n",
    );
    fixture.write("a.txt", "a\nb\n");
    fixture.write("b.bin", b"\0a\nb\n");
    fixture.write("id", "$Id$\n");
    fixture.write("subst", "$Format:%H$\n");
    fixture.commit("attributes");
    let clone = fixture.beside("clone");
    fixture.git(&["clone", "--quiet", "-c", "core.autocrlf=input", ".", clone.to_str().unwrap()]);
    assert_eq!(files_below(&fixture.checkout("HEAD")), files_below(&clone));
}

#[test]
fn lfs_file_gets_its_fetched_content() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.dat filter=lfs diff=lfs merge=lfs -text\n");
    fixture.write("big.dat", pointer());
    fixture.write("raw.dat", "committed without LFS\n");
    fixture.write("example.txt", pointer());
    fixture.commit("big");
    let object = format!(".git/lfs/objects/{}/{}/{LFS_HASH}", &LFS_HASH[..2], &LFS_HASH[2..4]);
    let object = fixture.write(&object, "content\n");
    fs::set_permissions(object, fs::Permissions::from_mode(0o444)).unwrap();
    let checkout = fixture.checkout("HEAD");
    let read = |path: &str| fs::read_to_string(checkout.join(path)).unwrap();
    assert_eq!(read("big.dat"), "content\n");
    assert_eq!(read("raw.dat"), "committed without LFS\n");
    assert_eq!(read("example.txt"), pointer());
    assert_eq!(checkout.join("big.dat").metadata().unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn lfs_content_in_the_working_tree_is_no_change() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.dat filter=lfs diff=lfs merge=lfs -text\n");
    fixture.write("big.dat", pointer());
    fixture.commit("big");
    let object = format!(".git/lfs/objects/{}/{}/{LFS_HASH}", &LFS_HASH[..2], &LFS_HASH[2..4]);
    fixture.write(&object, "content\n");
    fixture.write("big.dat", "content\n");
    assert!(!fixture.open().resolve(".").unwrap().dirty);
    fixture.write("big.dat", "changed\n");
    let checkout = fixture.checkout(".");
    assert_eq!(fs::read_to_string(checkout.join("big.dat")).unwrap(), "changed\n");
}

#[test]
fn missing_lfs_files_are_named() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.dat filter=lfs\n");
    for number in 0..7 {
        fixture.write(&format!("data/{number}.dat"), pointer());
    }
    fixture.commit("big");
    let error = fixture.try_checkout("HEAD").unwrap_err();
    assert_eq!(error.exit(), Exit::Build);
    let text = error.to_string();
    assert!(text.starts_with("7 Git LFS files are missing\n    data/0.dat\n"), "{text}");
    assert!(text.contains("    data/4.dat\n    and 2 more\n"), "{text}");
    assert!(text.contains("git lfs pull"), "{text}");
}

#[test]
fn incomplete_lfs_file_counts_as_missing() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.dat filter=lfs\n");
    fixture.write("big.dat", pointer());
    fixture.commit("big");
    let object = format!(".git/lfs/objects/{}/{}/{LFS_HASH}", &LFS_HASH[..2], &LFS_HASH[2..4]);
    fixture.write(&object, "con");
    assert!(fixture.try_checkout("HEAD").is_err());
}

#[test]
fn file_with_a_filter_program_is_refused() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "secret filter=crypt\n");
    fixture.write("secret", "encrypted");
    fixture.commit("secret");
    assert!(fixture.try_checkout("HEAD").is_ok());
    fixture.write("secret", "encrypted again");
    fixture.commit("secret");
    fixture.git(&["config", "filter.crypt.smudge", "decrypt"]);
    let error = fixture.try_checkout("HEAD").unwrap_err();
    assert_eq!(error.exit(), Exit::Build);
    let text = error.to_string();
    assert!(text.contains("filter `crypt`"), "{text}");
    let (_, command) = text.split_once("is configured with: ").unwrap();
    let words = shlex::split(command.lines().next().unwrap()).unwrap();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    assert!(fixture.git(&words).ends_with("filter.crypt.smudge decrypt"));
}
