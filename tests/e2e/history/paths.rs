//! `--path` keeps only the changes of commits that changed a file below that path.

use serde_json::Value;

use super::{Lines, Session, import};
use crate::support::TestProject;

/// Ten commits, measured in one experiment for each of two benchmarks. The fourth changes the
/// parser and makes `parse/1` slower; the seventh changes notes and makes `other` slower; the tenth
/// changes only the parser.
fn measured() -> (TestProject, Vec<String>) {
    let project = TestProject::of("sums");
    for number in 0..10 {
        match number {
            3 | 9 => project.write("src/parser/words.rs", &number.to_string()),
            6 => project.write("docs/notes", "a note"),
            _ => project.write("count", &number.to_string()),
        };
        project.commit(&format!("Commit {number}"));
    }
    let log = project.git(&["log", "--reverse", "--format=%H %T"]);
    let commits: Vec<(&str, &str)> =
        log.lines().skip(1).map(|line| line.split_once(' ').unwrap()).collect();
    let mut lines = Lines::new();
    for (id, slower) in [("parse/1", 3), ("other", 6)] {
        lines.id = id;
        let versions = commits.iter().enumerate().map(|(index, (commit, tree))| {
            (*commit, *tree, if index < slower { 100.0 } else { 105.0 })
        });
        let versions: Vec<(&str, &str, f64)> = versions.collect();
        lines.session(&Session {
            identity: &slower.to_string(),
            machine: "A",
            versions: &versions,
        });
    }
    import(&project, lines);
    let hashes = commits.iter().map(|(commit, _)| (*commit).to_owned()).collect();
    (project, hashes)
}

fn range(commits: &[String], until: usize) -> String {
    format!("{}..{}", &commits[until - 1][..7], &commits[until][..7])
}

#[test]
fn changes_are_limited_to_commits_that_touch_the_path() {
    let (project, commits) = measured();
    let parser = ["history", "--config=verdict.confirm=false", "--path", "src/parser"];
    let text = project.rbench(&parser).ok();
    text.assert_stdout_has(&[
        &format!("changed in {}", range(&commits, 3)),
        &format!("suspected since {}", range(&commits, 3)),
    ]);
    assert!(!text.stdout().contains(&range(&commits, 6)), "{}", text.printed());

    let report =
        project.rbench(&[&parser[..], &["--format", "json"]].concat()).ok().json("history");
    let events = report["events"].as_array().unwrap();
    assert_eq!((events.len(), &events[0]["until"]["commit"]), (1, &Value::from(&*commits[3])));
    assert_eq!(events[0]["changes"][0]["id"], "parse/1");
    for benchmark in report["benchmarks"].as_array().unwrap() {
        let versions = benchmark["versions"].as_array().unwrap().iter();
        let shown: Vec<&str> =
            versions.map(|row| row["version"]["commit"].as_str().unwrap()).collect();
        assert_eq!(shown, [&*commits[3], &*commits[9]]);
    }

    for more in [None, Some("--changes-only")] {
        let words = parser.iter().copied().chain(["--format", "markdown"]).chain(more);
        let outcome = project.rbench(&words.collect::<Vec<_>>()).ok();
        assert!(outcome.stdout().contains(&commits[3][..7]), "{}", outcome.printed());
        assert!(!outcome.stdout().contains(&commits[6][..7]), "{}", outcome.printed());
    }
    let both = [&parser[..], &["--path", "docs", "--changes-only"]].concat();
    let both = project.rbench(&both).ok();
    both.assert_stdout_has(&[&range(&commits, 3), &range(&commits, 6)]);
}

#[test]
fn absence_of_changes_at_a_path_is_reported() {
    let (project, commits) = measured();
    let quiet = project.rbench(&["history", "other", "--path", "src/parser"]).ok();
    quiet.assert_stdout_has(&["no change is suspected where src/parser changed: decided 1 of 1"]);

    let untouched = project.rbench(&["history", "--path", "src/lib.rs"]).fails_with(2);
    untouched.assert_stderr_has(&[
        "no commit between the versions that are shown changes src/lib.rs",
        &format!("these are 10 versions, from {} to {}", &commits[0][..7], &commits[9][..7]),
        "--last or --since",
    ]);
    let wrong = project.rbench(&["history", "--path", "src/pasrer"]).fails_with(2);
    wrong.assert_stderr_has(&["no version that is shown has src/pasrer"]);
    let outside = project.rbench(&["history", "--path", ".."]).fails_with(2);
    outside.assert_stderr_has(&["it is not in the repository"]);
}
