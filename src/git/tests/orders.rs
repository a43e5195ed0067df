//! Commits in the order of the repository. All commits here have the same date.

use super::fixture::Fixture;

/// The commits by their messages, each with the message of its ancestor among the others.
fn placed(fixture: &Fixture, named: &[(&str, &str)]) -> Vec<String> {
    let name = |commit: &str| {
        named.iter().find(|(_, id)| *id == commit).map_or("?", |(name, _)| name).to_owned()
    };
    let placed = fixture.open().in_order(named.iter().map(|(_, commit)| *commit)).unwrap();
    let lines = placed.iter().map(|place| {
        let ancestor = place.ancestor.as_deref().map_or("none".to_owned(), name);
        let elsewhere = if place.in_head { "" } else { " elsewhere" };
        format!("{} after {ancestor}{elsewhere}", name(&place.commit))
    });
    lines.collect()
}

#[test]
fn commits_come_after_their_ancestors_in_any_input_order() {
    let fixture = Fixture::new();
    let first = fixture.id("HEAD");
    fixture.commit("not stored");
    let third = fixture.commit("third");
    fixture.commit("not stored either");
    let fifth = fixture.commit("fifth");
    let named = [("fifth", &*fifth), ("first", &*first), ("third", &*third)];
    assert_eq!(
        placed(&fixture, &named),
        ["first after none", "third after first", "fifth after third"]
    );
}

#[test]
fn side_branch_does_not_interrupt_the_main_line() {
    let fixture = Fixture::new();
    let base = fixture.id("HEAD");
    fixture.git(&["switch", "--quiet", "--create", "side"]);
    let side = fixture.commit("side");
    fixture.git(&["switch", "--quiet", "main"]);
    let next = fixture.commit("next");
    let named = [("base", &*base), ("side", &*side), ("next", &*next)];
    assert_eq!(
        placed(&fixture, &named),
        ["base after none", "next after base", "side after base elsewhere"]
    );
    fixture.git(&["merge", "--quiet", "--no-edit", "side"]);
    let merge = fixture.id("HEAD");
    let named = [("base", &*base), ("side", &*side), ("next", &*next), ("merge", &*merge)];
    assert_eq!(
        placed(&fixture, &named),
        ["base after none", "next after base", "side after base", "merge after next"]
    );
}

#[test]
fn missing_commits_are_omitted() {
    let fixture = Fixture::new();
    let first = fixture.id("HEAD");
    let gone = "0123456789012345678901234567890123456789";
    let placed = fixture.open().in_order([gone, &*first, "no commit at all"]).unwrap();
    assert_eq!(placed.len(), 1);
    assert!(Fixture::empty().open().in_order([gone]).unwrap().is_empty());
}

#[test]
fn since_includes_the_revision_and_no_other_ancestor() {
    let fixture = Fixture::new();
    let first = fixture.id("HEAD");
    let second = fixture.commit("second");
    let third = fixture.commit("third");
    let repository = fixture.open();
    let mut since: Vec<String> =
        repository.since("HEAD~1", [&*third, &*first, &*second]).unwrap().into_iter().collect();
    since.sort();
    let mut expected = [second, third];
    expected.sort();
    assert_eq!(since, expected);
    assert!(repository.since("v9", []).is_err());
}
