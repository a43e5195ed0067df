//! Packs come back as they were written, and nothing else is accepted: damaged, cut, continued and hostile ones.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use tar::Builder;

use super::*;
use crate::error::Result;

/// A pack of four files, two of which are equal, in a new directory.
fn written() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str, is_executable| {
        let source = scratch.path().join(path.replace('/', "-"));
        fs::write(&source, text).unwrap();
        PackedFile { path: path.into(), source, is_executable }
    };
    let files = [
        file("a/one", "the same text", false),
        file("a/two", "the same text", false),
        file("b/program", "the same text", true),
        file("c/other", &"another text, longer than a block of the archive ".repeat(20), false),
    ];
    let pack = scratch.path().join("x.rbench");
    write(&pack, &"about", &files).unwrap();
    (scratch, pack)
}

fn extract(pack: &Path, into: &Path) -> Result<String> {
    fs::create_dir_all(into).unwrap();
    Pack::<String>::open(pack)?.extract(into)
}

#[test]
fn pack_gives_all_files_back() {
    use std::os::unix::fs::PermissionsExt as _;
    let (scratch, pack) = written();
    let into = scratch.path().join("into");
    assert_eq!(extract(&pack, &into).unwrap(), "about");
    for (path, mode) in [("a/one", 0o644), ("a/two", 0o644), ("b/program", 0o755)] {
        let path = into.join(path);
        assert_eq!(fs::read_to_string(&path).unwrap(), "the same text");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
    assert!(fs::read_to_string(into.join("c/other")).unwrap().starts_with("another text"));
}

#[test]
fn equal_packs_are_equal_files() {
    let ((_one, first), (_other, second)) = (written(), written());
    assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
}

#[test]
fn every_changed_byte_is_refused() {
    let (scratch, pack) = written();
    let whole = fs::read(&pack).unwrap();
    let damaged = scratch.path().join("damaged");
    for position in 0..whole.len() {
        for flip in [1, 0x80] {
            let mut bytes = whole.clone();
            bytes[position] ^= flip;
            fs::write(&damaged, bytes).unwrap();
            let checked = Pack::<String>::open(&damaged).and_then(|pack| pack.check());
            assert!(checked.is_err(), "byte {position}");
            let into = scratch.path().join(format!("{position}-{flip}"));
            let error = extract(&damaged, &into).expect_err(&format!("byte {position}"));
            assert!(error.to_string().contains("cannot read the pack"), "{error}");
        }
    }
}

#[test]
fn cut_and_continued_packs_are_refused() {
    let (scratch, pack) = written();
    let whole = fs::read(&pack).unwrap();
    let other = scratch.path().join("other");
    for length in [0, 1, 57, 58, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&other, &whole[..length]).unwrap();
        assert!(extract(&other, &scratch.path().join(format!("cut-{length}"))).is_err());
    }
    fs::write(&other, [&whole[..], b"x"].concat()).unwrap();
    assert!(extract(&other, &scratch.path().join("continued")).is_err());
}

#[test]
fn damaged_file_is_named() {
    let (scratch, pack) = written();
    // An archive in which only the contents of one file are others.
    let mut archive = Vec::new();
    let bytes = fs::read(&pack).unwrap();
    GzDecoder::new(&*bytes).read_to_end(&mut archive).unwrap();
    let position = archive.windows(12).position(|text| text == b"another text").unwrap();
    archive[position] = b'A';
    let error = extract(&sealed(scratch.path(), &archive), &scratch.path().join("into"));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("c/other is damaged: its contents have another digest"), "{error}");
}

/// A pack of this archive, with a right seal.
fn sealed(scratch: &Path, archive: &[u8]) -> PathBuf {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    compressed.write_all(archive).unwrap();
    let mut bytes = compressed.finish().unwrap();
    let seal = seal(Digest::compute(&bytes));
    bytes.extend_from_slice(&seal);
    let path = scratch.join("made");
    fs::write(&path, bytes).unwrap();
    path
}

/// A pack with this list of files, all of whose contents are "x".
fn with_index(scratch: &Path, index: &str) -> PathBuf {
    let mut archive = Builder::new(Vec::new());
    archive.append(&header(INDEX, index.len() as u64).unwrap(), index.as_bytes()).unwrap();
    archive.append(&header(&content_name(&content()), 1).unwrap(), &b"x"[..]).unwrap();
    let archive = archive.into_inner().unwrap();
    sealed(scratch, &archive)
}

fn content() -> Content {
    Content { digest: Digest::compute(b"x"), size: 1 }
}

fn index(paths: &[&str], size: u64) -> String {
    let contents = vec![Content { size, ..content() }];
    let file =
        |path: &&str| IndexedFile { path: (*path).to_owned(), content: 0, is_executable: false };
    let files = paths.iter().map(file).collect();
    let rbench = String::new();
    let index = Index { format: FORMAT, rbench, about: "about", contents, files };
    serde_json::to_string(&index).unwrap()
}

#[test]
fn hostile_paths_and_sizes_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let into = scratch.path().join("deep/into");
    let accepted = |index: &str| extract(&with_index(scratch.path(), index), &into).is_ok();
    assert!(accepted(&index(&["a/b"], 1)), "the pack of the other cases is right");
    fs::remove_dir_all(&into).unwrap();
    let long = "a/".repeat(2000) + "a";
    for paths in [
        &["../a"][..],
        &["a/../../b"],
        &["/tmp/rbench-hostile"],
        &["a//b"],
        &["./a"],
        &["a/"],
        &[""],
        &["a\0b"],
        &["a\nb"],
        &["a", "a"],
        &["a", "a/b"],
        &[&long],
        &[&"a".repeat(300)],
        &[],
    ] {
        assert!(!accepted(&index(paths, 1)), "{paths:?}");
    }
    assert!(!accepted(&index(&["a"], 2)), "more than there is");
    assert!(!accepted(&index(&["a"], 0)), "less than there is");
    assert!(!accepted(&index(&["a"], u64::MAX)));
    assert!(!accepted(&index(&["a"], 1).replace("\"content\":0", "\"content\":1")));
    assert!(!accepted(&index(&["a"], 1).replace("\"format\":1", "\"format\":2")));
    let left: Vec<_> = fs::read_dir(scratch.path().join("deep")).unwrap().collect();
    assert!(left.len() <= 1, "nothing is beside the directory");
    assert!(!Path::new("/tmp/rbench-hostile").exists());
}

#[test]
fn copies_of_one_content_are_counted_and_made_once() {
    use std::os::unix::fs::MetadataExt as _;
    let scratch = tempfile::tempdir().unwrap();
    let programs = ["p", "q", "r"].map(|path| (path, true));
    let files = [("a", false), ("b", false)].into_iter().chain(programs);
    let file = |(path, is_executable): (&str, bool)| {
        let path = path.to_owned();
        IndexedFile { path, content: 0, is_executable }
    };
    let mut index = Index {
        format: FORMAT,
        rbench: String::new(),
        about: "about",
        contents: vec![content()],
        files: files.map(file).collect(),
    };
    let pack = with_index(scratch.path(), &serde_json::to_string(&index).unwrap());
    assert_eq!(Pack::<String>::open(&pack).unwrap().size(), 2);
    let into = scratch.path().join("into");
    extract(&pack, &into).unwrap();
    let inode = |path: &str| fs::metadata(into.join(path)).unwrap().ino();
    assert_eq!(inode("a"), inode("b"));
    assert!(inode("p") != inode("a") && inode("p") == inode("q") && inode("q") == inode("r"));
    index.contents[0].size = MOST_CONTENTS / 2 + 1;
    assert!(index.defect().unwrap().contains("bytes, and"), "both count");
}

#[test]
fn tar_lists_a_pack() {
    let (_scratch, pack) = written();
    let listed = Command::new("tar").arg("-tzf").arg(&pack).stderr(Stdio::inherit()).output();
    let listed = listed.unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.status.success() && names.starts_with("pack.json\ncontents/"), "{names}");
}
