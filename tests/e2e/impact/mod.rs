//! A comparison measures exactly the benchmarks that execute or read what differs.
//!
//! The fixture `kinds-of-change` has a benchmark for each kind of change that a commit can make.
//! Its repository gets one commit for each kind, all on top of the first; the table in `kinds.rs`
//! lists the benchmarks that each affects.

mod beside;
mod constants;
mod kinds;
mod late;
mod names;
mod patient;

use serde_json::Value;

use crate::support::TestProject;
use kinds::{BENCHMARKS, By, EVERY, FROM_OUTSIDE, IDENTICAL, Kind, OF_CODE, OF_DATA, OF_NOTHING};

/// As little as can be measured, because the asserted results do not depend on the times.
const LITTLE: [&str; 15] = [
    "--config",
    "build.strategy=relink",
    "-l",
    "2",
    "-m",
    "1",
    "-n",
    "2",
    "--config",
    "experiment.warm-up=100us",
    "--config",
    "experiment.min-time=10us",
    "--config=verdict.confirm=false",
    "--fail-on",
    "never",
];

/// The verdicts on measured benchmarks.
const MEASURED: [&str; 4] = ["regressed", "improved", "unchanged", "inconclusive"];

/// The names of the fixture's two repositories, one for changes of machine code and one for all
/// others. Commands on the same repository would wait for each other.
const CODE: &str = "kinds-of-change-of-code";
const REST: &str = "kinds-of-change-of-the-rest";

/// The fixture with a tag for each commit, and `base` for their common parent.
fn project(name: &str) -> TestProject {
    TestProject::shared(name, "kinds-of-change", |project| {
        project.git(&["tag", "base"]);
        for kind in OF_CODE.iter().chain(&OF_DATA).chain(&FROM_OUTSIDE).chain(&OF_NOTHING) {
            project.git(&["checkout", "--quiet", "--detach", "base"]);
            for (file, old, new) in kind.edits {
                if old.is_empty() {
                    project.write(file, new);
                } else {
                    project.replace(file, old, new);
                }
            }
            project.commit(kind.name);
            project.git(&["tag", &kind.tag()]);
        }
        project.git(&["checkout", "--quiet", "main"]);
    })
}

/// The benchmarks on which the newest commit has an impact of this kind: `functions` or `files`.
#[track_caller]
fn affected(project: &TestProject, kind: &str) -> Vec<String> {
    let arguments = ["diff", "HEAD~1", "HEAD", "--by-benchmark", "--format", "json"];
    let report = project.rbench(&arguments).ok().json("diff");
    let rows = report["targets"][0]["benchmarks"].as_array().unwrap();
    let has_impact = |row: &&Value| row["impact"][kind] != serde_json::json!([]);
    rows.iter().filter(has_impact).map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

impl Kind {
    fn tag(&self) -> String {
        self.name.replace(' ', "-")
    }

    /// The way in which the change affects this benchmark, if it does.
    fn on(&self, id: &str) -> Option<By> {
        let mut affected = self.affected.iter();
        affected.find(|(name, _)| *name == id || *name == EVERY).map(|(_, by)| *by)
    }
}

/// The comparison of the base and a commit.
#[track_caller]
fn compare(project: &TestProject, kind: &Kind, more: &[&str]) -> Value {
    let tag = kind.tag();
    let arguments = [&["compare", "base", &tag, "--format", "json"], &LITTLE[..], more].concat();
    let mut report = project.rbench(&arguments).ok().json("compare");
    let executed = report["executed"].take();
    // Names the functions in place, as a diff does.
    for row in report["benchmarks"].as_array_mut().unwrap() {
        for function in row["impact"]["functions"].as_array_mut().into_iter().flatten() {
            *function = executed[usize::try_from(function.as_u64().unwrap()).unwrap()].clone();
        }
    }
    report
}

/// The differences in the only bench target between the base and a commit, and their impact on each
/// benchmark.
#[track_caller]
fn diff(project: &TestProject, tag: &str) -> Value {
    let arguments = ["diff", "base", tag, "--by-benchmark", "--format", "json"];
    let mut report = project.rbench(&arguments).ok().json("diff");
    report["targets"][0].take()
}

/// The impact on one benchmark, as in a report.
struct Impact<'r>(&'r Value);

impl Impact<'_> {
    fn list(&self, key: &str) -> &[Value] {
        self.0[key].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// True if exactly these lists have entries.
    fn has_only(&self, keys: &[&str]) -> bool {
        let all = ["functions", "files", "variables", "uncertainties"];
        all.iter().all(|key| self.list(key).is_empty() != keys.contains(key))
    }

    /// True if a function with this part in its name is entered in that phase.
    fn enters(&self, part: &str, while_measuring: bool) -> bool {
        self.list("functions").iter().any(|function| {
            let name = function["name"].as_str().unwrap();
            name.contains(part) && function["while_measuring"] == while_measuring
        })
    }

    /// True if this is the whole impact.
    fn is(&self, by: By) -> bool {
        match by {
            By::Measured(part) => self.has_only(&["functions"]) && self.enters(part, true),
            By::SetUp(part) => {
                let measured = self.enters("", true);
                self.has_only(&["functions"]) && self.enters(part, false) && !measured
            }
            By::Passed(part) => {
                let enters = self.enters(part, false) || self.enters(part, true);
                self.has_only(&["functions"]) && enters
            }
            By::Doubt(part) => {
                let has = |uncertainty: &Value| {
                    uncertainty.as_str().is_some_and(|text| text.contains(part))
                };
                self.has_only(&["uncertainties"]) && self.list("uncertainties").iter().any(has)
            }
            By::File(path) => self.has_only(&["files"]) && self.list("files") == [path],
            By::Variable(name) => self.has_only(&["variables"]) && self.list("variables") == [name],
        }
    }
}

/// The rows of benchmarks with a wrong impact, or for which `is_right` is false; it gets the row
/// and the expected impact.
fn wrong(kind: &Kind, rows: &Value, is_right: impl Fn(&Value, Option<By>) -> bool) -> Vec<String> {
    let rows = rows.as_array().unwrap();
    let mut wrong = Vec::new();
    if rows.len() != BENCHMARKS {
        wrong.push(format!("{}: {} benchmarks", kind.name, rows.len()));
    }
    for row in rows {
        let by = kind.on(row["id"].as_str().unwrap());
        let impact = Impact(&row["impact"]);
        let is_expected = by.map_or_else(|| impact.has_only(&[]), |by| impact.is(by));
        if !is_expected || !is_right(row, by) {
            let expected = by.map_or_else(|| kind.others.to_owned(), |by| format!("{by:?}"));
            wrong.push(format!("{}: not {expected}: {row}", kind.name));
        }
    }
    wrong
}

/// The errors in a diff. Unaffected benchmarks are identical exactly if nothing differs.
fn wrong_in_diff(kind: &Kind, target: &Value) -> Vec<String> {
    let mut wrong = wrong(kind, &target["benchmarks"], |_, _| true);
    let lists = ["changed", "added", "removed", "elsewhere", "not_comparable"];
    let is_empty = |list: &str| target[list].as_array().unwrap().is_empty();
    if lists.into_iter().all(is_empty) != (kind.others == IDENTICAL) {
        wrong.push(format!("{}: not {}: {target:#}", kind.name, kind.others));
    }
    wrong
}

/// The errors in a comparison.
fn wrong_in_comparison(kind: &Kind, report: &Value) -> Vec<String> {
    wrong(kind, &report["benchmarks"], |row, by| {
        let verdict = row["verdict"].as_str().unwrap();
        by.map_or(verdict == kind.others, |_| MEASURED.contains(&verdict))
    })
}

#[track_caller]
fn assert_impact(project: &TestProject, kinds: &[Kind]) {
    let wrong = |kind: &Kind| wrong_in_diff(kind, &diff(project, &kind.tag()));
    let wrong: Vec<String> = kinds.iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[track_caller]
fn assert_measured(project: &TestProject, kinds: &[Kind], names: &[&str]) {
    let kinds: Vec<&Kind> = kinds.iter().filter(|kind| names.contains(&kind.name)).collect();
    assert_eq!(kinds.len(), names.len());
    let wrong = |kind: &Kind| wrong_in_comparison(kind, &compare(project, kind, &[]));
    let wrong: Vec<String> = kinds.into_iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "takes long"]
fn changed_machine_code_affects_those_that_execute_it() {
    assert_impact(&project(CODE), &OF_CODE);
}

#[test]
#[ignore = "takes long"]
fn changed_data_affects_those_that_execute_its_users() {
    assert_impact(&project(REST), &OF_DATA);
}

#[test]
#[ignore = "takes long"]
fn change_outside_the_program_affects_its_readers() {
    assert_impact(&project(REST), &FROM_OUTSIDE);
}

#[test]
#[ignore = "takes long"]
fn comment_affects_nothing_and_new_benchmark_all_in_main() {
    assert_impact(&project(REST), &OF_NOTHING);
}

#[test]
#[ignore = "takes long"]
fn affected_are_measured_and_the_rest_are_unaffected() {
    let names = ["a function", "a panic that nobody meets", "the making of an input"];
    assert_measured(&project(CODE), &OF_CODE, &names);
}

#[test]
#[ignore = "takes long"]
fn affected_by_outside_changes_are_measured_rest_identical() {
    let project = project(REST);
    assert_measured(&project, &FROM_OUTSIDE, &["a file that is read", "a release"]);
    assert_measured(&project, &OF_NOTHING, &["comments and documentation and tests"]);
}

#[test]
#[ignore = "takes long"]
fn diff_by_benchmark_names_executing_benchmarks_and_impact() {
    let project = project(CODE);
    let [kind, ..] = &OF_CODE;
    let text = |tag: &str| project.rbench(&["diff", "base", tag, "--by-benchmark"]).ok();
    let tag = kind.tag();
    let target = diff(&project, &tag);
    let changed = target["changed"].as_array().unwrap();
    let [plain] = &changed[..] else { panic!("{target:#}") };
    assert!(plain["name"].as_str().unwrap().contains("plain"), "{plain:#}");
    assert_eq!(plain["executed_by"], serde_json::json!(["plain"]));
    let rows = target["benchmarks"].as_array().unwrap();
    assert_eq!(rows.len(), BENCHMARKS);
    for row in rows {
        let impact = Impact(&row["impact"]);
        if let Some(by) = kind.on(row["id"].as_str().unwrap()) {
            assert!(impact.is(by), "{row:#}");
            assert_eq!(impact.list("functions")[0]["instance"], plain["instance"]);
        } else {
            // Other tests check uncertainties, which can occur by chance.
            let keys = ["functions", "files", "variables"];
            assert!(keys.iter().all(|key| impact.list(key).is_empty()), "{row:#}");
        }
    }
    text(&tag).assert_stdout_has(&[
        "\n    executed by plain\n",
        "\n    plain: executes kinds_of_change::code::plain (changed, ",
        " of 29 benchmarks execute and read nothing that changed\n",
    ]);

    // The benchmark that only the head has may execute what is new.
    let target = diff(&project, "another-benchmark");
    assert_eq!(target["not_traced"][0]["id"], "new");
    let text = text("another-benchmark");
    text.assert_stdout_has(&["\n    in one version only, so not traced: new\n"]);
    assert!(!text.stdout().contains("no benchmark executes it"), "{}", text.stdout());
    let without = project.rbench(&["diff", "base", &tag, "--format", "json"]).ok().json("diff");
    assert!(without["targets"][0]["benchmarks"].is_null(), "{without:#}");
}

#[test]
#[ignore = "takes long"]
fn no_skip_measures_everything_and_keeps_the_impact() {
    let project = project(CODE);
    let [kind, ..] = &OF_CODE;
    let reports = [compare(&project, kind, &[]), compare(&project, kind, &["--no-skip"])];
    let [usual, all] = reports.each_ref().map(|report| report["benchmarks"].as_array().unwrap());
    assert_eq!(usual.len(), all.len());
    for (usual, all) in usual.iter().zip(all) {
        assert_eq!(usual["id"], all["id"]);
        let no_impact = [usual, all].map(|row| Impact(&row["impact"]).has_only(&[]));
        assert!(no_impact == [true; 2] || usual["impact"] == all["impact"], "{usual:#}\n{all:#}");
        assert!(MEASURED.contains(&all["verdict"].as_str().unwrap()), "{all:#}");
    }
}

#[test]
fn untraceable_benchmarks_are_measured_and_the_reason_shown() {
    // A shared project could have traces from an earlier run, so this test makes its own.
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    project.commit("Change the work of another benchmark");
    let arguments = ["compare", "--format", "json", "--exact", "--filter", "steady"];
    let arguments = [&arguments, &LITTLE[..]].concat();
    let report = project.rbench(&arguments).without_tracing().ok().json("compare");
    let row = &report["benchmarks"][0];
    assert!(MEASURED.contains(&row["verdict"].as_str().unwrap()), "{row:#}");
    let uncertainties = row["impact"]["uncertainties"].to_string();
    assert!(
        uncertainties.contains("it cannot be traced: Operation not permitted"),
        "{uncertainties}"
    );
}
