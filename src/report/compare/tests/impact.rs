//! The impact of the differences between the versions, in a report.

use rbench_code::{elf::Cause, impact::EnteredFunction};

use super::*;
use crate::model::DependencyChange;

pub(super) fn function(
    name: &str,
    sizes: [Option<u64>; 2],
    while_measuring: bool,
) -> EnteredFunction {
    let [base_size, head_size] = sizes;
    EnteredFunction {
        name: Name::demangle(name),
        instance: 0x1a2b_3c4d,
        base_size,
        head_size,
        base_stack: None,
        head_stack: None,
        while_measuring,
        cause: Cause::Code,
        callees_gained: Vec::new(),
        callees_lost: Vec::new(),
    }
}

/// This many functions that grew.
fn functions(count: usize) -> Impact {
    let functions =
        (0..count).map(|index| function(&format!("f{index}"), [Some(624), Some(524)], true));
    Impact { functions: functions.collect(), ..Impact::default() }
}

fn regressed(id: &str, impact: Impact) -> DecidedRow {
    DecidedRow { impact: Some(impact), ..decided_row(id, 812.0, &[1.4, 1.38], 0.01, 0.01) }
}

fn open(id: &str, impact: Impact) -> DecidedRow {
    DecidedRow { impact: Some(impact), ..inconclusive(id, Repetition::Builds, 30, 0.0099) }
}

fn unaffected(id: &str) -> DecidedRow {
    DecidedRow::without_metric(&benchmark(id), Verdict::Unaffected)
}

fn of(rows: Vec<DecidedRow>) -> ComparisonReport {
    shown(Outcome { rows, ..nothing() })
}

/// The report on one regressed benchmark with this impact, as text and as Markdown.
fn texts(impact: Impact) -> [String; 2] {
    let report = of(vec![regressed("a", impact)]);
    let text = style::plain(&report.clone().explaining_all(true).text(400));
    let line = |text: &str, start: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(start));
        line.unwrap_or_else(|| panic!("nothing is said in {text}")).to_owned()
    };
    [line(&text, "a: "), line(&report.markdown(), "- `a`: ")]
}

#[test]
fn executed_functions_are_named_with_their_sizes() {
    let impact = Impact {
        functions: vec![
            function("resolve_prefix", [Some(624), Some(524)], true),
            function("fold", [None, Some(90)], true),
            function("unfold", [Some(90), None], true),
            function("make_input", [Some(70), Some(70)], false),
        ],
        ..Impact::default()
    };
    assert_eq!(
        texts(impact),
        [
            "executes resolve_prefix (624 -> 524 bytes), fold (new, 90 bytes) and unfold (removed, \
             90 bytes); set-up differs: make_input (70 bytes, changed)",
            "executes `resolve_prefix` (624 -&gt; 524 bytes), `fold` (new, 90 bytes) and `unfold` \
             (removed, 90 bytes); set-up differs: `make_input` (70 bytes, changed)",
        ]
    );
    let [text, _] = texts(functions(5));
    assert_eq!(
        text,
        "executes f0 (624 -> 524 bytes), f1 (624 -> 524 bytes), f2 (624 -> 524 bytes) and 2 more"
    );
    let brief = plain(&of(vec![regressed("a", functions(5))])).replace("\n  ", " ");
    let two = "a: executes f0 (624 -> 524 bytes), f1 (624 -> 524 bytes) and 3 more\n";
    assert!(brief.contains(two), "{brief}");
}

#[test]
fn stack_size_follows_the_size_of_the_code() {
    let with_stack = |sizes: [u64; 2], [base_stack, head_stack]: [Option<u64>; 2]| {
        EnteredFunction { base_stack, head_stack, ..function("fold", sizes.map(Some), true) }
    };
    let texts = |function| texts(Impact { functions: vec![function], ..Impact::default() });
    let [text, markdown] = texts(with_stack([624, 524], [Some(24), Some(4120)]));
    assert_eq!(text, "executes fold (624 -> 524 bytes, stack 24 -> 4120 bytes)");
    assert_eq!(markdown, "executes `fold` (624 -&gt; 524 bytes, stack 24 -&gt; 4120 bytes)");
    let [text, _] = texts(with_stack([70, 70], [Some(24), Some(8)]));
    assert_eq!(text, "executes fold (70 bytes, changed, stack 24 -> 8 bytes)");
    let [text, _] = texts(with_stack([70, 70], [Some(24), None]));
    assert_eq!(text, "executes fold (70 bytes, changed)");
}

#[test]
fn files_variables_and_uncertainties_are_reported() {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let impact = |files: &[&str], variables: &[&str], uncertainties: &[&str]| Impact {
        files: owned(files),
        variables: owned(variables),
        uncertainties: owned(uncertainties),
        ..Impact::default()
    };
    let uncertainty = "it starts other programs";
    let [text, markdown] = texts(impact(&["data/x.json"], &["SIZE"], &[uncertainty]));
    assert_eq!(
        text,
        "reads data/x.json, which differs; reads the variable SIZE, which differs; measured \
         because it starts other programs"
    );
    assert!(markdown.starts_with("reads `data/x.json`, which differs; reads the variable `SIZE`,"));
    let [text, _] = texts(impact(&["a", "b", "c", "d"], &["A", "B"], &[]));
    assert_eq!(
        text,
        "reads a, b, c and 1 more, which differ; reads the variables A and B, which differ"
    );
}

#[test]
fn change_without_changed_functions_has_another_reason() {
    let nothing = "executes nothing that changed";
    let [text, markdown] = texts(Impact::default());
    let reason =
        ", so memory, input, environment or a path not taken when it was traced must be the reason";
    assert_eq!([text, markdown], [format!("{nothing}{reason}"), format!("{nothing}{reason}")]);
    let mut report = of(vec![open("a", Impact::default()), open("b", Impact::default())]);
    assert!(!plain(&report).contains(nothing), "{}", plain(&report));
    report.explains_all = true;
    let text = plain(&report);
    assert!(text.contains(&format!("\na, b: each {nothing}\n")), "{text}");
    let markdown = report.markdown();
    assert!(markdown.contains(&format!("\n- `a`, `b`: each {nothing}\n")), "{markdown}");
}

#[test]
fn equal_impacts_share_a_note() {
    let mut rows: Vec<DecidedRow> =
        (0..10).map(|index| open(&format!("b{index}"), functions(1))).collect();
    let memory = decided_row_in(&memory(), "b0", 3.2e6, &[1.4, 1.38], 0.0, 0.001);
    rows.push(DecidedRow { impact: Some(functions(1)), ..memory });
    rows.push(DecidedRow {
        impact: Some(functions(1)),
        ..decided_row("calm", 240.8, &[1.0], 0.02, 0.003)
    });
    let mut report = of(rows);
    report.explains_all = true;
    let text = style::plain(&report.text(400));
    let executes = "executes f0 (624 -> 524 bytes)\n";
    assert!(text.contains(&format!("\nb0: {executes}")), "{text}");
    let names = "b1, b2, b3, b4, b5, b6, b7, b8 and 1 more";
    assert!(text.contains(&format!("\n{names}: each {executes}")), "{text}");
    assert_eq!(text.matches("executes").count(), 2, "{text}");
}

#[test]
fn unaffected_benchmarks_are_listed_and_counted() {
    let report = of(vec![unaffected("a"), identical("c"), unaffected("b")]);
    let text = plain(&report);
    let expected = "2 unaffected, 1 identical\n\nunaffected (no changed code or data; not measured): \
                    a, b\nidentical (same machine code; not measured): c\n";
    assert!(text.ends_with(expected), "{text}");
    assert_eq!(exit(&report.outcome, false, true), Exit::Success);
    assert!(!text.contains("warning"), "{text}");
    let markdown = report.markdown();
    assert!(markdown.starts_with("### Benchmarks: unaffected\n"), "{markdown}");
    let line = "- unaffected (no changed code or data; not measured): a, b\n";
    assert!(markdown.contains(line), "{markdown}");
    assert_keeps("compare", &report);
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["counts"]["unaffected"], 2);
    assert_eq!(json["benchmarks"][0]["verdict"], "unaffected");
    assert_eq!(json["benchmarks"][0]["reason"]["kind"], "nothing_reached");
    assert_eq!(json["benchmarks"][0]["impact"], serde_json::Value::Null);
}

#[test]
fn json_lists_each_function_once_and_ten_of_a_row() {
    let rows = ["a", "b"].map(|id| regressed(id, functions(12)));
    let mut report = of(rows.to_vec());
    let json = |report: &ComparisonReport| -> serde_json::Value {
        serde_json::from_str(&report.json().unwrap()).unwrap()
    };
    let short = json(&report);
    assert_eq!(short["executed"].as_array().unwrap().len(), 10);
    for row in short["benchmarks"].as_array().unwrap() {
        assert_eq!(row["impact"]["functions"].as_array().unwrap().len(), 10);
        assert_eq!((&row["impact"]["more_functions"], &row["stages"]), (&2.into(), &().into()));
    }
    report.explains_all = true;
    let full = json(&report);
    assert_eq!(full["executed"].as_array().unwrap().len(), 12);
    assert_eq!(full["benchmarks"][1]["impact"]["functions"][11], 11);
    assert_eq!(full["benchmarks"][0]["stages"].as_array().unwrap().len(), 2);
}

#[test]
fn json_has_the_full_impact() {
    let impact = Impact {
        files: vec!["data".to_owned()],
        variables: vec!["SIZE".to_owned()],
        uncertainties: vec!["it starts other programs".to_owned()],
        ..functions(5)
    };
    let mut report = of(vec![regressed("a", impact)]);
    let g = EnteredFunction { head_stack: Some(48), ..function("g", [None, Some(9)], false) };
    report.outcome.rows[0].impact.as_mut().unwrap().functions.push(g);
    assert_keeps("compare", &report);
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let impact = &json["benchmarks"][0]["impact"];
    assert_eq!(impact["functions"], serde_json::json!([0, 1, 2, 3, 4, 5]));
    let last = serde_json::json!({
        "name": "g", "instance": "000000001a2b3c4d", "base_size_bytes": null, "head_size_bytes": 9,
        "base_stack_bytes": null, "head_stack_bytes": 48, "while_measuring": false,
        "differs": "code",
    });
    assert_eq!(json["executed"][5], last);
    assert_eq!([&impact["files"][0], &impact["variables"][0]], ["data", "SIZE"]);
}

#[test]
fn few_changed_functions_are_named_once() {
    let sized = |name: &str| SizedFunction {
        name: Name::demangle(name),
        instance: 1,
        size: 10,
        stack: None,
    };
    let few = FunctionDiff {
        added: vec![sized("new")],
        removed: vec![sized("old")],
        ..FunctionDiff::default()
    };
    let many = FunctionDiff { changed: diff().changed, ..few.clone() };
    let functions = vec![(target("a"), few.clone()), (target("b"), few), (target("c"), many)];
    let report = shown(Outcome { functions, ..of(vec![unaffected("x")]).outcome });
    assert!(!plain(&report).contains("machine code: "), "{}", plain(&report));
    let report = report.explaining_all(true);
    let named = "; new: new, 10 bytes; old: removed, 10 bytes";
    let text = style::plain(&report.text(400));
    let line = format!(
        "machine code: 2 functions changed, 3 functions added, 3 functions removed, 0 the \
         same{named}\n"
    );
    assert!(text.contains(&line), "{text}");
    assert!(report.markdown().contains(named), "{}", report.markdown());

    let mut grown = diff().changed.remove(0);
    (grown.base_stack, grown.head_stack) = (Some(24), Some(88));
    let grown = FunctionDiff { changed: vec![grown], ..FunctionDiff::default() };
    let functions = vec![(target("a"), grown)];
    let report = shown(Outcome { functions, ..of(vec![unaffected("x")]).outcome });
    let report = report.explaining_all(true);
    let text = style::plain(&report.text(400));
    assert!(text.contains("; a: 8 -> 9 bytes, stack 24 -> 88 bytes\n"), "{text}");
}

#[test]
fn dependency_changes_are_reported() {
    let change = |name: &str, base: &[&str], head: &[&str]| {
        let owned = |versions: &[&str]| versions.iter().map(|&one| one.to_owned()).collect();
        DependencyChange { name: name.to_owned(), base: owned(base), head: owned(head) }
    };
    let mut report = of(vec![unaffected("a")]);
    assert!(!plain(&report).contains("dependencies"), "{}", plain(&report));
    report.outcome.dependencies = vec![
        change("foo", &[], &["0.3.0"]),
        change("gone", &["1.0.0"], &[]),
        change("rand", &["0.8.4", "0.9.0"], &["0.9.1"]),
        change("serde_core", &["1.0.1"], &["1.0.2"]),
    ];
    let text = style::plain(&report.text(400));
    let line = "dependencies: rand 0.8.4 and 0.9.0 -> 0.9.1, serde_core 1.0.1 -> 1.0.2, new: foo \
                0.3.0, removed: gone 1.0.0\n";
    assert!(text.contains(line), "{text}");
    let markdown = report.markdown();
    assert!(markdown.contains("\n- dependencies: rand 0.8.4 and 0.9.0 -&gt; 0.9.1, serde\\_core"));
    report.outcome.dependencies.extend([change("x", &[], &["1"]), change("y", &[], &["1"])]);
    let text = style::plain(&report.text(400));
    assert!(text.contains("new: foo 0.3.0, x 1, y 1 and 1 more\n"), "{text}");
    assert_keeps("compare", &report);
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let rand = serde_json::json!({ "name": "rand", "base": ["0.8.4", "0.9.0"], "head": ["0.9.1"] });
    assert_eq!(json["dependencies"][2], rand);
    assert_eq!(json["dependencies"].as_array().unwrap().len(), 6);
}

#[test]
fn untrusted_names_and_reasons_are_harmless() {
    let impact = Impact {
        functions: vec![
            function(HOSTILE, [None, None], true),
            function(HOSTILE, [Some(1), None], false),
        ],
        files: vec![HOSTILE.to_owned()],
        variables: vec![HOSTILE.to_owned()],
        uncertainties: vec![HOSTILE.to_owned()],
        ..Impact::default()
    };
    let mut report =
        of(vec![regressed(HOSTILE, impact.clone()), open("b", impact), unaffected(HOSTILE)]);
    let hostile = || vec![HOSTILE.to_owned()];
    report.outcome.dependencies =
        vec![DependencyChange { name: HOSTILE.to_owned(), base: hostile(), head: hostile() }];
    assert_harmless(&report);
    assert_harmless(&report.explaining_all(true));
}

#[test]
fn impact_of_many_benchmarks_fits_into_a_comment() {
    let long = "`|<&>".repeat(80);
    let mut report = report();
    report.outcome.dependencies = (0..100)
        .map(|index| DependencyChange {
            name: format!("{long}{index}"),
            base: vec![long.clone()],
            head: vec![],
        })
        .collect();
    for index in 0..1000 {
        let impact = Impact { uncertainties: vec![format!("{index}{long}")], ..functions(3) };
        let id = format!("{long}{index}");
        report.outcome.rows.extend([
            regressed(&id, impact.clone()),
            open(&id, impact),
            unaffected(&id),
        ]);
    }
    let markdown = report.markdown();
    assert!(markdown.len() < 65_536, "{} bytes", markdown.len());
    assert!(markdown.contains("more entries"), "{markdown}");
}
