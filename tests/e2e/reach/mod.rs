//! Of the benchmarks of two versions, exactly those are measured that execute or read what differs.
//!
//! The fixture `kinds-of-change` has a benchmark for each kind of change that a commit can make. Its repository
//! gets one commit for each kind, all on top of the first; the table in `kinds.rs` says what each affects.

mod kinds;

use serde_json::Value;

use crate::support::TestProject;
use kinds::{BENCHMARKS, By, EVERY, FROM_OUTSIDE, Kind, OF_CODE, OF_DATA, OF_NOTHING};

/// As little as can be measured: what is told does not depend on the times.
const LITTLE: [&str; 14] = [
    "--strategy",
    "relink",
    "-l",
    "2",
    "-m",
    "1",
    "-n",
    "2",
    "--warm-up",
    "100us",
    "--floor",
    "10us",
    "--no-confirm",
    "--advisory",
];

/// The verdicts on what was measured.
const MEASURED: [&str; 4] = ["regressed", "improved", "unchanged", "inconclusive"];

/// The fixture with a tag for each commit, and `base` for the one below all of them.
fn project() -> TestProject {
    TestProject::shared("kinds-of-change", "kinds-of-change", |project| {
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

impl Kind {
    fn tag(&self) -> String {
        self.name.replace(' ', "-")
    }

    /// By what this benchmark is affected, if it is.
    fn on(&self, id: &str) -> Option<By> {
        let mut affected = self.affected.iter();
        affected.find(|(name, _)| *name == id || *name == EVERY).map(|(_, by)| *by)
    }
}

/// The report on the base and a commit.
#[track_caller]
fn compare(project: &TestProject, kind: &Kind, more: &[&str]) -> Value {
    let tag = kind.tag();
    let arguments = [&["compare", "base", &tag, "--format", "json"], &LITTLE[..], more].concat();
    project.rbench(&arguments).ok().json("compare")
}

/// What is reached, without what is there in any case.
struct Reached<'r>(&'r Value);

impl Reached<'_> {
    fn list(&self, key: &str) -> &[Value] {
        self.0[key].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether these lists, and no others, have something.
    fn has_only(&self, keys: &[&str]) -> bool {
        let all = ["functions", "files", "variables", "doubts"];
        all.iter().all(|key| self.list(key).is_empty() != keys.contains(key))
    }

    /// Whether a function whose name has this part is entered then.
    fn enters(&self, part: &str, while_measuring: bool) -> bool {
        self.list("functions").iter().any(|function| {
            let name = function["name"].as_str().unwrap();
            name.contains(part) && function["while_measuring"] == while_measuring
        })
    }

    /// Whether it is this and nothing else.
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
                let has = |doubt: &Value| doubt.as_str().is_some_and(|text| text.contains(part));
                self.has_only(&["doubts"]) && self.list("doubts").iter().any(has)
            }
            By::File(path) => self.has_only(&["files"]) && self.list("files") == [path],
            By::Variable(name) => self.has_only(&["variables"]) && self.list("variables") == [name],
        }
    }
}

/// What the report says of each benchmark and should not say.
fn wrong(kind: &Kind, report: &Value) -> Vec<String> {
    let rows = report["benchmarks"].as_array().unwrap();
    let mut wrong = Vec::new();
    if rows.len() != BENCHMARKS {
        wrong.push(format!("{}: {} benchmarks", kind.name, rows.len()));
    }
    for row in rows {
        let (id, verdict) = (row["id"].as_str().unwrap(), row["verdict"].as_str().unwrap());
        let (reached, is_measured) = (Reached(&row["reach"]), MEASURED.contains(&verdict));
        let by = kind.on(id);
        let is_right = match by {
            Some(by) => is_measured && reached.is(by),
            None => verdict == kind.others && reached.has_only(&[]),
        };
        if !is_right {
            let expected = by.map_or_else(|| kind.others.to_owned(), |by| format!("{by:?}"));
            let reach = reached.0;
            wrong.push(format!("{}: {id}: {verdict}, not {expected}: {reach}", kind.name));
        }
    }
    wrong
}

#[track_caller]
fn assert_right(kinds: &[Kind]) {
    let project = project();
    let wrong: Vec<String> =
        kinds.iter().flat_map(|kind| wrong(kind, &compare(&project, kind, &[]))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_change_of_machine_code_affects_those_who_execute_it() {
    assert_right(&OF_CODE);
}

#[test]
fn a_change_of_data_affects_those_who_execute_what_refers_to_it() {
    assert_right(&OF_DATA);
}

#[test]
fn a_change_outside_of_the_program_affects_those_who_read_it() {
    assert_right(&FROM_OUTSIDE);
}

#[test]
fn a_comment_affects_nobody_and_another_benchmark_all_who_pass_by() {
    assert_right(&OF_NOTHING);
}

#[test]
fn a_diff_by_benchmark_names_those_who_execute_a_function_and_what_each_of_them_reaches() {
    let project = project();
    let [kind, ..] = &OF_CODE;
    let diff = |tag: &str, more: &[&str]| {
        let arguments = [&["diff", "base", tag, "--by-benchmark"], more].concat();
        project.rbench(&arguments).ok()
    };
    let (tag, json) = (kind.tag(), ["--format", "json"]);
    let report = diff(&tag, &json).json("diff");
    let target = &report["targets"][0];
    let changed = target["changed"].as_array().unwrap();
    let [plain] = &changed[..] else { panic!("{target:#}") };
    assert!(plain["name"].as_str().unwrap().contains("plain"), "{plain:#}");
    assert_eq!(plain["executed_by"], serde_json::json!(["plain"]));
    let rows = target["benchmarks"].as_array().unwrap();
    assert_eq!(rows.len(), BENCHMARKS);
    for row in rows {
        let reached = Reached(&row["reach"]);
        if let Some(by) = kind.on(row["id"].as_str().unwrap()) {
            assert!(reached.is(by), "{row:#}");
            assert_eq!(reached.list("functions")[0]["instance"], plain["instance"]);
        } else {
            // Of doubts, which may be there by chance, other tests tell.
            let keys = ["functions", "files", "variables"];
            assert!(keys.iter().all(|key| reached.list(key).is_empty()), "{row:#}");
        }
    }
    diff(&tag, &[]).assert_stdout_has(&[
        "\n      executed by plain\n",
        "\n    plain: executes kinds_of_change::code::plain (changed, ",
        " of 29 benchmarks execute and read nothing that changed\n",
    ]);

    // The benchmark that only the head has may execute what is new.
    let report = diff("another-benchmark", &json).json("diff");
    let target = &report["targets"][0];
    assert_eq!(target["not_traced"], serde_json::json!(["new"]));
    let text = diff("another-benchmark", &[]);
    text.assert_stdout_has(&["\n    in one version only, so not traced: new\n"]);
    assert!(!text.stdout().contains("no benchmark executes it"), "{}", text.stdout());
    let without = project.rbench(&["diff", "base", &tag, "--format", "json"]).ok().json("diff");
    assert!(without["targets"][0]["benchmarks"].is_null(), "{without:#}");
}

#[test]
fn everything_is_measured_on_request_and_what_is_reached_is_the_same() {
    let project = project();
    let [kind, ..] = &OF_CODE;
    let reports = [compare(&project, kind, &[]), compare(&project, kind, &["--measure-all"])];
    let [usual, all] = reports.each_ref().map(|report| report["benchmarks"].as_array().unwrap());
    assert_eq!(usual.len(), all.len());
    for (usual, all) in usual.iter().zip(all) {
        assert_eq!(usual["id"], all["id"]);
        let nothing = [usual, all].map(|row| Reached(&row["reach"]).has_only(&[]));
        assert!(nothing == [true; 2] || usual["reach"] == all["reach"], "{usual:#}\n{all:#}");
        assert!(MEASURED.contains(&all["verdict"].as_str().unwrap()), "{all:#}");
    }
}

#[test]
fn where_nothing_can_be_traced_everything_is_measured_and_the_reason_is_told() {
    // Traces that are there from before would do.
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    project.commit("Change the work of another benchmark");
    let arguments = ["compare", "--format", "json", "--exact", "--filter", "steady"];
    let arguments = [&arguments, &LITTLE[..]].concat();
    let report = project.rbench(&arguments).without_tracing().ok().json("compare");
    let row = &report["benchmarks"][0];
    assert!(MEASURED.contains(&row["verdict"].as_str().unwrap()), "{row:#}");
    let doubts = row["reach"]["doubts"].to_string();
    assert!(doubts.contains("it cannot be traced: Operation not permitted"), "{doubts}");
}
