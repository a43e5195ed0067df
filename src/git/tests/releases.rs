//! Which release is the last one before a version.

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
fn the_last_release_is_the_nearest_tagged_ancestor_and_not_the_head_itself() {
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
    // What is not committed comes after the release that it is based on.
    fixture.git(&["tag", "v1.3.0"]);
    assert!(last(&fixture, "HEAD").unwrap().starts_with("tool-v1.1.0 ("));
    fixture.write("file", "changed\n");
    assert!(last(&fixture, ".").unwrap().starts_with("v1.3.0 ("));
}

#[test]
fn of_several_tags_at_one_commit_the_highest_number_gives_the_name() {
    let fixture = Fixture::new();
    for tag in ["v1.9.0", "v1.10.0", "core-v0.4.0"] {
        fixture.git(&["tag", tag]);
    }
    fixture.commit("second");
    assert!(last(&fixture, "HEAD").unwrap().starts_with("v1.10.0 ("));
}

#[test]
fn where_there_is_no_release_what_to_type_instead_is_told() {
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
