//! Rules for the project's own files: heads, fixtures, versions, links, hosts.

use std::{collections::BTreeSet, fs, path::Path};

use crate::support::sources::{project, rust_files};

const ALL: [&str; 9] =
    ["src", "crates", "tests", "harness", "lab", "benches", "examples", "fixtures", "demo"];

#[test]
fn files_open_with_their_purpose() {
    let files = rust_files(&ALL);
    assert!(files.len() > 100, "only {} files are found", files.len());
    for file in files {
        assert!(file.text.starts_with("//! "), "{} does not open with its purpose", file.path);
    }
}

#[test]
fn fixtures_open_with_their_purpose() {
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
fn changelog_mentions_this_version() {
    let changelog = fs::read_to_string(project().join("CHANGELOG.md")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(changelog.contains(version), "CHANGELOG.md does not mention {version}");
}

/// The words in backticks in a document that look like paths of this project.
fn named_files(text: &str) -> BTreeSet<String> {
    let directories = ALL.map(|name| format!("{name}/"));
    let extra = ["docs/", "schemas/", ".ci/"].map(str::to_owned);
    let starts = |word: &str| directories.iter().chain(&extra).any(|name| word.starts_with(name));
    // Every second part is between two backticks. Code blocks have three, and keep the count odd.
    let spans = text.split('`').skip(1).step_by(2);
    spans
        .filter(|span| starts(span) && !span.contains(char::is_whitespace))
        .map(|span| span.trim_end_matches('/').to_owned())
        .collect()
}

#[test]
fn documents_name_only_existing_files() {
    let research = fs::read_dir(project().join("docs/research")).unwrap();
    let documents =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| project().join(name));
    let mut named = 0;
    for document in research.map(|entry| entry.unwrap().path()).chain(documents) {
        let text = fs::read_to_string(&document).unwrap();
        for path in named_files(&text) {
            assert!(
                project().join(&path).exists(),
                "{} names `{path}`, which is not there",
                document.display()
            );
            named += 1;
        }
    }
    assert!(named > 10, "only {named} names are found");
}

/// Collects the text files of the project with their paths.
fn text_files(directory: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && (!name.starts_with('.') || name == ".ci") {
                text_files(&path, found);
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.push((path.strip_prefix(project()).unwrap().display().to_string(), text));
        }
    }
}

/// The source of packages is a setting of the user and of cargo, not of this project.
#[test]
fn registry_hosts_are_not_named_except_in_lock_files() {
    let mut files = Vec::new();
    text_files(project(), &mut files);
    let public = format!("registry+https://github.com/rust-lang/{}.io-index", "crates");
    let hosts = [("crates", "io"), ("docs", "rs"), ("pypi", "org"), ("npmjs", "org")]
        .map(|(name, domain)| format!("{name}.{domain}"));
    let mut locks = 0;
    for (path, text) in files {
        if path.ends_with("Cargo.lock") {
            let mut sources = text.lines().filter_map(|line| line.strip_prefix("source = "));
            let other = sources.find(|source| source.trim_matches('"') != public);
            assert_eq!(other, None, "{path} names another registry");
            locks += 1;
        } else {
            // A test may write a lock file.
            let text = text.replace(&public, "");
            let host = hosts.iter().find(|host| text.contains(*host));
            assert_eq!(host, None, "{path} names a registry host");
        }
    }
    assert!(locks > 5, "only {locks} lock files are found");
}

#[test]
fn test_modules_are_part_of_the_binary() {
    let main = fs::read_to_string(project().join("tests/e2e/main.rs")).unwrap();
    for entry in fs::read_dir(project().join("tests/e2e")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let known = name == "main" || main.contains(&format!("mod {name};"));
        assert!(known, "tests/e2e/main.rs has no `mod {name};`");
    }
}

#[test]
fn other_systems_are_rejected_by_the_compiler_and_have_no_code() {
    let files = rust_files(&["src"]);
    let library = files.iter().find(|file| file.path == "src/lib.rs").unwrap();
    let guard = "#[cfg(not(target_os = \"linux\"))]\ncompile_error!(";
    assert!(library.text.contains(guard));
    for file in &files {
        let text = file.text.replace(guard, "");
        let other = ["target_os", "target_family", "cfg(unix", "cfg(windows", "cfg(not("];
        let found = other.into_iter().find(|condition| text.contains(condition));
        assert_eq!(found, None, "{} has code for other systems", file.path);
    }
}
