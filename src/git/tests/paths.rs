//! Typed paths, and the comparison of versions at paths.

use std::path::{Path, PathBuf};

use super::fixture::Fixture;
use crate::git::Repository;

fn differ(repository: &Repository, revisions: [&str; 2], path: &str) -> bool {
    let contents = |revision| {
        let version = repository.resolve(revision).unwrap();
        repository.contents(&version, &[PathBuf::from(path)]).unwrap()
    };
    contents(revisions[0]) != contents(revisions[1])
}

#[test]
fn contents_differ_if_any_file_below_the_path_does() {
    let fixture = Fixture::new();
    fixture.write("src/parser/words.rs", "one");
    fixture.commit("second");
    fixture.write("src/lexer.rs", "two");
    fixture.commit("third");
    let repository = fixture.open();
    for path in ["src", "src/parser", "src/parser/words.rs", ""] {
        assert!(differ(&repository, ["HEAD~2", "HEAD~1"], path), "{path}");
    }
    for path in ["src/parser", "src/parser/words.rs", "src/pars", "file"] {
        assert!(!differ(&repository, ["HEAD~1", "HEAD"], path), "{path}");
    }
    let nowhere = repository.contents(&repository.resolve("HEAD").unwrap(), &["pasrer".into()]);
    assert!(nowhere.unwrap().is_nothing());
}

#[test]
fn contents_ignore_uncommitted_changes() {
    let fixture = Fixture::new();
    fixture.write("file", "two");
    assert!(!differ(&fixture.open(), ["HEAD", "."], "file"));
}

#[test]
fn typed_path_must_end_inside_the_repository() {
    let fixture = Fixture::new();
    fixture.write("src/lib.rs", "");
    let repository = fixture.open();
    let inside = |path: &Path| repository.path_inside(path);
    let root = fixture.root();
    assert_eq!(inside(&root.join("src/./gone/../parser")).unwrap(), Path::new("src/parser"));
    assert_eq!(inside(root).unwrap(), Path::new(""));
    let link = fixture.beside("link");
    std::os::unix::fs::symlink(root, &link).unwrap();
    assert_eq!(inside(&link.join("src")).unwrap(), Path::new("src"));
    let refusal = inside(&root.join("../elsewhere")).unwrap_err().to_string();
    assert!(refusal.contains("it is not in the repository"), "{refusal}");
}

#[test]
fn text_is_that_of_the_version_and_a_missing_object_is_no_missing_file() {
    let fixture = Fixture::new();
    fixture.write("dir/file", "two\n");
    std::os::unix::fs::symlink("dir/file", fixture.root().join("link")).unwrap();
    fixture.commit("second");
    fixture.write("dir/file", "uncommitted\n");
    let text = |path: &str| {
        let repository = fixture.open();
        repository.text(&repository.resolve("HEAD").unwrap(), Path::new(path))
    };
    assert_eq!(text("dir/file").unwrap().unwrap(), "two\n");
    for path in ["none", "dir/none", "none/none", "file/none"] {
        assert_eq!(text(path).unwrap(), None, "{path}");
    }
    for path in ["link", "dir"] {
        assert!(text(path).unwrap_err().to_string().contains("it is not a file"), "{path}");
    }
    for object in ["HEAD:dir/file", "HEAD:dir"] {
        let id = fixture.id(object);
        let file = format!(".git/objects/{}/{}", &id[..2], &id[2..]);
        std::fs::remove_file(fixture.root().join(file)).unwrap();
        assert!(text("dir/file").is_err(), "{object}");
    }
}
