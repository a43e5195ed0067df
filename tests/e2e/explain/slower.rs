//! `cargo rbench diff --explain` names the function that makes a benchmark slower.
//!
//! The fixture `slower` has a benchmark for each of twelve changes; its table says which function each changes.

use serde_json::Value;

use crate::support::{TestProject, sources::project as root};
use planted::{PLANTED, Planted};

#[path = "../../../fixtures/slower/planted.rs"]
mod planted;

/// The planted changes of the tests: time goes to a function itself, to one of a dependency, and to the kernel.
const TESTED: [&str; 3] = ["dropped", "dependency", "system"];

fn planted(benchmark: &str) -> &'static Planted {
    PLANTED.iter().find(|one| one.benchmark == benchmark).unwrap()
}

/// The fixture with a tag for each tested commit, and `base` for their common parent.
fn project() -> TestProject {
    TestProject::shared("slower", "slower", |project| {
        project.git(&["tag", "base"]);
        for Planted { benchmark, edit: (file, old, new), .. } in TESTED.map(planted) {
            project.git(&["checkout", "--quiet", "--detach", "base"]);
            project.replace(file, old, new);
            project.commit(benchmark);
            project.git(&["tag", benchmark]);
        }
        project.git(&["checkout", "--quiet", "main"]);
    })
}

/// The first entry beyond noise, if any.
#[track_caller]
fn first_named(head: &str, benchmark: &str) -> Option<Value> {
    let words = ["diff", "base", head, "--explain", benchmark, "--format", "json"];
    let explanation = project().rbench(&words).ok().json("explain-time");
    let functions = explanation["functions"].as_array().unwrap();
    functions.iter().find(|one| one["is_beyond_noise"] == true).cloned()
}

#[test]
fn planted_edits_apply_once_and_are_measured_to_matter() {
    for Planted { benchmark, edit: (file, old, _), change, .. } in &PLANTED {
        let text = std::fs::read_to_string(root().join("fixtures/slower").join(file)).unwrap();
        assert_eq!(text.matches(old).count(), 1, "{benchmark}");
        assert!((3.0..=10.0).contains(change), "{benchmark}: {change} %");
    }
}

#[test]
#[ignore = "takes long"]
fn slower_function_is_named_first() {
    for Planted { benchmark, functions, .. } in TESTED.map(planted) {
        let first = first_named(benchmark, benchmark).expect(benchmark);
        let of = |name: &Value| functions.iter().any(|function| name == function);
        assert!(of(&first["name"]) || of(&first["changed_caller"]["name"]), "{benchmark}: {first}");
    }
}

#[test]
#[ignore = "takes long"]
fn benchmark_that_does_not_execute_the_change_has_no_slower_function() {
    assert_eq!(first_named("dependency", "dropped"), None);
}
