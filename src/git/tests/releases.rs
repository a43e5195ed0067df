//! The last release before a version.

use super::fixture::Fixture;

fn last(fixture: &Fixture, revision: &str) -> Result<String, String> {
    let repository = fixture.open();
    let head = repository.resolve(revision).unwrap();
    repository
        .last_release(&head)
        .map(|version| version.to_string())
        .map_err(|failure| failure.to_string())
}

#[test]
fn last_release_is_the_nearest_tagged_ancestor() {
    let fixture = Fixture::new();
    fixture.git(&["tag", "v1.0.0"]);
    fixture.commit("second");
    fixture.git(&["tag", "--annotate", "--message", "A release", "tool-v1.1.0"]);
    let second = fixture.id("HEAD")[..7].to_owned();
    fixture.git(&["switch", "--quiet", "--create", "side"]);
    fixture.commit("on the side");
    fixture.git(&["tag", "v9.0.0"]);
    fixture.git(&["switch", "--quiet", "main"]);
    fixture.commit("third");
    for tag in ["v1.2.0-rc.1", "nightly", "stable/2"] {
        fixture.git(&["tag", tag]);
    }
    fixture.commit("fourth");
    assert_eq!(last(&fixture, "HEAD").unwrap(), format!("tool-v1.1.0 ({second})"));
    assert!(last(&fixture, "tool-v1.1.0").unwrap().starts_with("v1.0.0 ("));
    // Uncommitted changes come after the release that they are based on.
    fixture.git(&["tag", "v1.3.0"]);
    assert!(last(&fixture, "HEAD").unwrap().starts_with("tool-v1.1.0 ("));
    fixture.write("file", "changed\n");
    assert!(last(&fixture, ".").unwrap().starts_with("v1.3.0 ("));
}

#[test]
fn highest_tag_at_a_commit_names_the_release() {
    let fixture = Fixture::new();
    for tag in ["v1.9.0", "v1.10.0", "core-v0.4.0"] {
        fixture.git(&["tag", tag]);
    }
    fixture.commit("second");
    assert!(last(&fixture, "HEAD").unwrap().starts_with("v1.10.0 ("));
}

#[test]
fn missing_release_error_suggests_an_alternative() {
    let fixture = Fixture::new();
    fixture.git(&["tag", "v1.0.0"]);
    let blob = fixture.git(&["hash-object", "-w", "file"]);
    fixture.git(&["tag", "v0.9.0", &blob]);
    let refusal = last(&fixture, "HEAD").unwrap_err();
    assert!(refusal.starts_with("there is no release before HEAD ("), "{refusal}");
    for hint in ["--also-base REV", "--also-base none", "git fetch --tags"] {
        assert!(refusal.contains(hint), "{refusal}");
    }
}
