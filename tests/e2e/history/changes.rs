//! A history attributes each suspected change to the commits since the previous measurement.

use serde_json::Value;

use super::{Lines, Session, import, project};
use crate::support::TestProject;

/// The differences between sessions, in thousandths; no two successive ones are equal.
const SHIFTS: [f64; 12] = [0.4, -1.1, 0.9, -0.2, 1.3, -0.8, 0.1, 0.7, -1.4, 0.3, -0.5, 1.0];

/// Twelve commits, each in a separate experiment except the eighth, which is not measured.
/// `parse/1` is slower from the eighth on; `other` never changes.
fn measured() -> (TestProject, Vec<String>) {
    measured_with(|_, _| {})
}

/// The same, with more lines appended.
fn measured_with(more: impl FnOnce(&mut Lines, &[(String, String)])) -> (TestProject, Vec<String>) {
    let (project, commits) = project(12);
    let mut lines = Lines::new();
    for (id, step) in [("parse/1", 1.06), ("other", 1.0)] {
        lines.id = id;
        for (index, (commit, tree)) in commits.iter().enumerate().filter(|(index, _)| *index != 7) {
            let level = if index < 7 { 100.0 } else { 100.0 * step };
            let versions = [(&**commit, &**tree, level * (1.0 + 0.001 * SHIFTS[index]))];
            let identity = format!("{}{index}", if id == "other" { "a" } else { "b" });
            lines.session(&Session { identity: &identity, machine: "A", versions: &versions });
        }
    }
    more(&mut lines, &commits);
    import(&project, lines);
    (project, commits.into_iter().map(|(commit, _)| commit).collect())
}

#[test]
fn planted_change_is_named_with_its_possible_commits() {
    let (project, commits) = measured();
    let report = project.rbench(&["history", "--format", "json"]).ok().json("history");
    let events = report["events"].as_array().unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    let commit = |field: &str| events[0][field]["commit"].as_str().unwrap().to_owned();
    assert_eq!([commit("after"), commit("until")], [&*commits[6], &*commits[8]]);
    let changes = events[0]["changes"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[0]["id"]), (1, &Value::from("parse/1")));
    let [low, high] = ["low", "high"].map(|field| changes[0][field].as_f64().unwrap());
    assert!(0.05 < low && low < 0.06 && 0.06 < high && high < 0.07, "{changes:?}");

    let range = format!("{}..{}", &commits[6][..7], &commits[8][..7]);
    let text = project.rbench(&["history"]).ok();
    text.assert_stdout_has(&[
        &format!("suspected since {range}"),
        "+6.",
        "▁▁▁▁▁▁▁|████",
        "decided 2 of 2 benchmarks over up to 11 versions",
        &format!(
            "confirm the newest: cargo rbench compare {} {}",
            &commits[6][..7],
            &commits[8][..7]
        ),
    ]);
    let only = project.rbench(&["history", "--changes-only"]).ok();
    only.assert_stdout_has(&["suspected since"]);
    assert!(!only.stdout().contains("history  "), "{}", only.printed());
    let worst = project.rbench(&["history", "--top", "1", "--format", "json"]).ok().json("history");
    let shown = worst["benchmarks"].as_array().unwrap();
    assert_eq!((shown.len(), &shown[0]["id"]), (1, &Value::from("parse/1")));
}

/// Asserts that `parse/1` alone is suspected to have changed.
#[track_caller]
fn assert_is_suspected(project: &TestProject) {
    let report = project.rbench(&["history", "--format", "json"]).ok().json("history");
    let events = report["events"].as_array().unwrap();
    assert_eq!((events.len(), &events[0]["changes"][0]["id"]), (1, &Value::from("parse/1")));
}

#[test]
fn commit_outside_the_ancestry_of_head_hides_nothing() {
    let (project, commits) = measured();
    project.git(&["checkout", "--quiet", "-b", "side", &commits[4]]);
    project.write("count", "side");
    project.commit("Aside");
    let [commit, tree] = ["HEAD", "HEAD^{tree}"].map(|name| project.git(&["rev-parse", name]));
    project.git(&["checkout", "--quiet", "main"]);
    let mut lines = Lines::new();
    let versions = [(&*commit, &*tree, 100.0)];
    lines.session(&Session { identity: "c", machine: "A", versions: &versions });
    import(&project, lines);
    assert_is_suspected(&project);
    // The first commit is left out.
    let listed = project.rbench(&["history", "parse", "--last", "11"]).ok();
    assert!(!listed.stdout().contains(&commit[..7]), "{}", listed.printed());
    listed.assert_stdout_has(&[&commits[0][..7], "1 other stored version not shown"]);
}

#[test]
fn single_result_of_another_machine_hides_nothing() {
    let (project, _) = measured_with(|lines, commits| {
        lines.id = "parse/1";
        let (commit, tree) = &commits[11];
        let versions = [(&**commit, &**tree, 300.0)];
        lines.session(&Session { identity: "c", machine: "B", versions: &versions });
    });
    assert_is_suspected(&project);
    project.rbench(&["history"]).ok().assert_stdout_has(&["▁▁▁▁▁▁▁|████"]);
}

/// Each commit is compared with the one before, by two machines in turn, one of which is slower by half.
fn measured_by_two(class: Option<&'static str>) -> TestProject {
    let (project, commits) = project(12);
    let mut lines = Lines::new();
    lines.class = class;
    for (index, pair) in commits.windows(2).enumerate() {
        let (machine, speed) = if index / 2 % 2 == 0 { ("A", 1.0) } else { ("B", 1.5) };
        let value = |commit: usize| {
            let level = if commit < 7 { 100.0 } else { 106.0 };
            level * speed * (1.0 + 0.001 * SHIFTS[index])
        };
        let versions = [0, 1].map(|at| (&*pair[at].0, &*pair[at].1, value(index + at)));
        let identity = format!("b{index}");
        lines.session(&Session { identity: &identity, machine, versions: &versions });
    }
    import(&project, lines);
    project
}

#[test]
fn machines_of_one_class_share_a_history() {
    let project = measured_by_two(Some("ax42"));
    assert_is_suspected(&project);
    project.rbench(&["history"]).ok().assert_stdout_has(&[
        "measured by 2 machines of class ax42",
        "+6.",
        "decided 1 of 1 benchmark over up to 12 versions",
    ]);

    let project = measured_by_two(None);
    let text = project.rbench(&["history"]).ok();
    assert!(!text.stdout().contains("12 versions"), "{}", text.printed());
}

#[test]
fn name_of_a_class_must_be_a_word() {
    let project = TestProject::of("sums");
    let refused = project.rbench(&["history"]).env("RBENCH_CLASS", "a b").fails_with(2);
    refused.assert_stderr_has(&["RBENCH_CLASS is no name of a class", "for example ax42"]);
}

#[test]
fn commits_with_the_same_files_share_one_value() {
    let (project, _) = measured_with(|lines, commits| {
        lines.id = "parse/1";
        let (_, tree) = &commits[6];
        let versions = [(&*commits[7].0, &**tree, 100.0)];
        lines.session(&Session { identity: "c", machine: "A", versions: &versions });
    });
    let report = project.rbench(&["history", "parse", "--format", "json"]).ok().json("history");
    assert_eq!(report["benchmarks"][0]["versions"].as_array().unwrap().len(), 12);
    assert_eq!(report["benchmarks"][0]["series"]["versions"], 11);
    assert_is_suspected(&project);
}

#[test]
fn absence_of_regressions_is_reported() {
    let (project, _) = measured();
    let worst = project.rbench(&["history", "other", "--top", "3"]).ok();
    worst.assert_stdout_has(&["no benchmark is suspected to have become slower"]);
}

#[test]
fn unchanged_benchmark_has_no_event() {
    let (project, _) = measured();
    let text = project.rbench(&["history", "other"]).ok();
    text.assert_stdout_has(&[
        "no change is suspected: decided 1 of 1 benchmark over up to 11 versions",
    ]);
    let report = project.rbench(&["history", "other", "--format", "json"]).ok().json("history");
    assert_eq!(report["events"], Value::Array(Vec::new()));
    assert_eq!(report["benchmarks"][0]["series"]["versions"], 11);
}

#[test]
fn too_few_comparable_versions_get_no_verdict() {
    let (project, _) = measured();
    let text = project.rbench(&["history", "--last", "4"]).ok();
    text.assert_stdout_has(&[
        "no trend yet: 2 benchmarks have comparable values of only 4 versions (needs 5)",
    ]);
}

/// Six versions in one experiment, as a first user would measure.
#[test]
fn single_experiment_on_six_versions_names_the_slow_one() {
    let (project, commits) = project(6);
    let mut lines = Lines::new();
    let values = [100.0, 100.0, 100.0, 104.0, 104.0, 104.0];
    let versions: Vec<(&str, &str, f64)> = commits
        .iter()
        .zip(values)
        .map(|((commit, tree), value)| (&**commit, &**tree, value))
        .collect();
    lines.session(&Session { identity: "1", machine: "A", versions: &versions });
    import(&project, lines);
    let range = format!("suspected since {}..{}", &commits[2].0[..7], &commits[3].0[..7]);
    project.rbench(&["history"]).ok().assert_stdout_has(&[&range, "▁▁▁|"]);
}
