//! Revisions and ranges.

use super::fixture::Fixture;
use crate::{error::Exit, git::is_range};

/// Four commits on `main`, one of them a merge of `side`; tags `v1.0` (annotated) and `light`.
fn history() -> Fixture {
    let fixture = Fixture::new();
    fixture.git(&["tag", "--annotate", "v1.0", "--message", "one"]);
    fixture.write("file", "two\n");
    fixture.commit("second: fix the parser");
    fixture.git(&["tag", "light"]);
    fixture.git(&["checkout", "--quiet", "-b", "side", "v1.0"]);
    fixture.write("side", "");
    fixture.commit("on the side");
    fixture.git(&["checkout", "--quiet", "main"]);
    fixture.git(&["merge", "--quiet", "--no-ff", "-m", "merge side", "side"]);
    fixture.write("file", "four\n");
    fixture.commit("fourth");
    fixture
}

#[test]
fn revisions_are_resolved_like_in_git() {
    let fixture = history();
    let repository = fixture.open();
    let hash = fixture.id("light");
    for revision in [
        "HEAD",
        "@",
        "HEAD~1",
        "HEAD^^2",
        "HEAD~2^1",
        "main",
        "heads/main",
        "refs/heads/main",
        "side",
        "v1.0",
        "v1.0^{}",
        "light",
        &hash,
        &hash[..8],
        "@{-1}",
        "main@{1}",
        ":/parser",
        "HEAD^{/second}",
    ] {
        let version = repository.resolve(revision).unwrap_or_else(|error| panic!("{error}"));
        let commit = fixture.id(&format!("{}^{{commit}}", fixture.id(revision)));
        assert_eq!(version.commit.as_deref(), Some(commit.as_str()), "{revision}");
        assert_eq!(version.tree, fixture.id(&format!("{commit}^{{tree}}")), "{revision}");
        assert_eq!(version.revision, revision);
        assert!(!version.dirty);
    }
}

#[test]
fn version_has_the_first_message_line_and_the_time() {
    let fixture = Fixture::new();
    fixture.commit("Parse faster\n\nMuch faster.");
    let version = fixture.open().resolve("HEAD").unwrap();
    assert_eq!(version.summary, "Parse faster");
    assert_eq!(version.time, Some(1_700_000_001));
}

#[test]
fn mistyped_name_gets_suggestions() {
    let error = history().open().resolve("mian~2").unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    let text = error.to_string();
    assert!(text.starts_with("cannot find revision `mian~2`"), "{text}");
    assert!(text.contains("did you mean `main`?"), "{text}");
}

#[test]
fn missing_ancestor_differs_from_an_unknown_name() {
    let text = history().open().resolve("main~99").unwrap_err().to_string();
    assert!(text.contains("`main` exists"), "{text}");
}

#[test]
fn ambiguous_hash_lists_its_candidates() {
    let fixture = Fixture::new();
    // Enough files that two of them share their first four digits.
    let mut ids = std::collections::BTreeMap::<String, usize>::new();
    for number in 0..1_500 {
        fixture.write(&format!("f{number}"), number.to_string());
    }
    fixture.commit("many");
    for line in fixture.git(&["ls-tree", "-r", "HEAD"]).lines() {
        *ids.entry(line[12..16].to_owned()).or_default() += 1;
    }
    let (shared, _) = ids.into_iter().find(|(_, count)| *count > 1).unwrap();
    let error = fixture.open().resolve(&shared).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    let text = error.to_string();
    assert!(text.contains("several objects") && text.contains("more digits"), "{text}");
    assert!(text.matches(&format!("    {shared}")).count() >= 2, "{text}");
}

#[test]
fn hex_word_without_an_object_is_not_a_revision() {
    let repository = history();
    let unused = |word: &&String| !repository.git(&["log", "--format=%H%T"]).contains(&**word);
    let words: Vec<String> = (0..4096).map(|number| format!("{number:03x}")).collect();
    let text =
        repository.open().resolve(words.iter().rfind(unused).unwrap()).unwrap_err().to_string();
    assert!(text.contains("no branch, tag or commit has that name"), "{text}");
}

#[test]
fn file_or_directory_is_not_a_version() {
    let fixture = history();
    let repository = fixture.open();
    for (revision, kind) in [("HEAD:file", "file (blob)"), ("HEAD^{tree}", "directory (tree)")] {
        let error = repository.resolve(revision).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        assert_eq!(error.what(), format!("`{revision}` is a {kind}, not a commit"));
    }
}

#[test]
fn empty_repository_has_its_own_error() {
    let error = Fixture::empty().open().resolve("HEAD").unwrap_err();
    assert!(error.to_string().contains("no commit yet"), "{error}");
}

#[test]
fn range_has_first_parent_commits_newest_first() {
    let fixture = history();
    for range in ["v1.0..main", "v1.0..", "side..HEAD", "HEAD~1..HEAD"] {
        let expected = fixture.git(&["rev-list", "--first-parent", range]);
        let found = fixture.open().resolve_range(range);
        let found: Vec<_> = found
            .unwrap_or_else(|error| panic!("{error}"))
            .into_iter()
            .filter_map(|version| version.commit)
            .collect();
        assert_eq!(found.join("\n"), expected, "{range}");
    }
}

#[test]
fn range_without_a_start_starts_after_head() {
    let fixture = history();
    fixture.git(&["checkout", "--quiet", "side"]);
    let versions = fixture.open().resolve_range("..main").unwrap();
    assert_eq!(versions.len(), 3);
    assert_eq!(versions[2].summary, "second: fix the parser");
}

#[test]
fn reversed_range_is_corrected_in_the_hint() {
    let error = history().open().resolve_range("main..v1.0").unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().ends_with("comes first: v1.0..main"), "{error}");
}

#[test]
fn three_dots_are_refused_with_a_two_dot_hint() {
    let error = history().open().resolve_range("v1.0...main").unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("v1.0..main"), "{error}");
}

#[test]
fn range_is_not_a_single_version() {
    let repository = history().open();
    assert!(repository.resolve("v1.0..main").unwrap_err().to_string().contains("range"));
    assert!(is_range("v1.0..main") && is_range("v1.0..") && is_range("..main"));
    assert!(!is_range("main") && !is_range(".") && !is_range(":/fix a..b"));
}

#[test]
fn line_has_its_base_and_its_merged_lines() {
    let fixture = history();
    let repository = fixture.open();
    let line = repository.line("v1.0..main").unwrap();
    assert_eq!(line.base.commit.as_deref(), Some(&*fixture.id("v1.0^{commit}")));
    assert_eq!((line.forks, line.base.revision_arg()), (false, "v1.0".to_owned()));
    let listed = fixture.git(&["rev-list", "--first-parent", "--reverse", "v1.0..main"]);
    let commits: Vec<&str> =
        line.commits.iter().filter_map(|one| one.version.commit.as_deref()).collect();
    assert_eq!(commits.join("\n"), listed);
    assert_eq!(line.version(0), &line.base);
    assert_eq!(line.version(1), &line.commits[0].version);
    for commit in &line.commits {
        let merged = repository.merged_line(&commit.version).unwrap();
        assert_eq!(merged.is_some(), commit.parents > 1);
        let Some(merged) = merged else { continue };
        let hash = commit.version.commit.as_deref().unwrap();
        let expected = fixture.git(&["rev-list", "--reverse", &format!("{hash}^1..{hash}^2")]);
        let commits: Vec<&str> =
            merged.commits.iter().filter_map(|one| one.version.commit.as_deref()).collect();
        assert_eq!(commits.join("\n"), expected);
    }
    assert!(line.commits.iter().any(|commit| commit.parents > 1));
    let beside = repository.line("side..main").unwrap();
    assert!(beside.forks || beside.base.commit.as_deref() == Some(&*fixture.id("side")));
}
