//! The project keeps its own house in order.

use std::{collections::BTreeSet, fs};

use crate::support::sources::{project, rust_files};

const ALL: [&str; 7] = ["src", "tests", "harness", "studies", "benches", "fixtures", "demo"];
const LONGEST: usize = 450;

#[test]
fn every_file_opens_with_its_purpose_and_none_is_long() {
    let files = rust_files(&ALL);
    assert!(files.len() > 100, "only {} files are found", files.len());
    for file in files {
        assert!(file.text.starts_with("//! "), "{} does not open with its purpose", file.path);
        let lines = file.text.lines().count();
        assert!(lines <= LONGEST, "{} has {lines} lines", file.path);
    }
}

#[test]
fn every_fixture_says_its_purpose_at_the_top() {
    let mut fixtures = 0;
    for entry in fs::read_dir(project().join("fixtures")).unwrap() {
        let directory = entry.unwrap().path();
        let manifests = ["Cargo.toml", "rust/Cargo.toml"].map(|name| directory.join(name));
        let manifest = manifests.iter().find(|path| path.exists());
        let manifest = manifest.unwrap_or_else(|| panic!("no manifest in {}", directory.display()));
        let text = fs::read_to_string(manifest).unwrap();
        assert!(text.starts_with("# Purpose: "), "{} does not say its purpose", manifest.display());
        assert!(text.contains("[workspace]"), "{} is no workspace", manifest.display());
        fixtures += 1;
    }
    assert!(fixtures > 5);
}

#[test]
fn the_changelog_has_this_version() {
    let changelog = fs::read_to_string(project().join("CHANGELOG.md")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(changelog.contains(version), "CHANGELOG.md does not mention {version}");
}

/// Files that a document names in backticks, as far as they look like paths of this project.
fn named_files(text: &str) -> BTreeSet<String> {
    let directories = ALL.map(|name| format!("{name}/"));
    let extra = ["docs/", "schemas/", ".ci/"].map(str::to_owned);
    let starts = |word: &str| directories.iter().chain(&extra).any(|name| word.starts_with(name));
    // Between two backticks is every second part. Code blocks have three, and keep the count odd.
    let spans = text.split('`').skip(1).step_by(2);
    spans
        .filter(|span| starts(span) && !span.contains(char::is_whitespace))
        .map(|span| span.trim_end_matches('/').to_owned())
        .collect()
}

#[test]
fn documents_name_only_files_that_exist() {
    let mut named = 0;
    for document in ["README.md", "DESIGN.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(project().join(document)).unwrap();
        for path in named_files(&text) {
            assert!(
                project().join(&path).exists(),
                "{document} names `{path}`, which is not there"
            );
            named += 1;
        }
    }
    assert!(named > 10, "only {named} names are found");
}

#[test]
fn every_test_module_is_part_of_the_binary() {
    let main = fs::read_to_string(project().join("tests/e2e/main.rs")).unwrap();
    for entry in fs::read_dir(project().join("tests/e2e")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let known = name == "main" || main.contains(&format!("mod {name};"));
        assert!(known, "tests/e2e/main.rs has no `mod {name};`");
    }
}
