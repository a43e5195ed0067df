//! Explanations with every kind of function, as text, Markdown and JSON.

use rbench_code::{
    callgrind::{Callee, Code, Executed, Explanation, Place},
    elf::{Cause, ChangedFunction, Name, SizedFunction},
    impact::{EnteredFunction, Impact},
};

use super::*;
use crate::{
    model::DependencyChange,
    report::{
        style,
        testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, version},
    },
};

#[expect(clippy::unnecessary_wraps, reason = "that is what a function has")]
fn executed(own: f64, inclusive: f64, calls: f64, attributed: f64) -> Option<Executed> {
    Some(Executed { own, inclusive, calls, attributed })
}

fn same(name: &str, base: Option<Executed>, head: Option<Executed>) -> FunctionDifference {
    FunctionDifference {
        name: Name::demangle(name),
        place: Place::Program(7),
        code: Code::Same,
        base,
        head,
        callees_gained: Vec::new(),
        callees_lost: Vec::new(),
        inlined_into: None,
    }
}

fn changed(name: &str, cause: Cause) -> Code {
    Code::Changed(Box::new(ChangedFunction {
        name: Name::demangle(name),
        instance: 7,
        base_instance: 7,
        base_size: 212,
        head_size: 280,
        base_stack: Some(24),
        head_stack: Some(88),
        cause,
        callees_gained: vec![Name::demangle("digit")],
        callees_lost: Vec::new(),
    }))
}

fn report(name: &str) -> ExplainedBenchmark {
    let callee =
        |name: &str, calls, inclusive| Callee { name: Name::demangle(name), calls, inclusive };
    let sized = |name: &str| SizedFunction {
        name: Name::demangle(name),
        instance: 7,
        size: 96,
        stack: None,
    };
    let functions = vec![
        FunctionDifference {
            code: changed(name, Cause::Code),
            callees_gained: vec![callee("digit", 64.0, 520.0)],
            callees_lost: vec![callee(name, 1.0, 20.0)],
            ..same(
                name,
                executed(9_000.0, 12_000.0, 64.0, 12_000.0),
                executed(8_500.0, 12_640.0, 64.0, 12_640.0),
            )
        },
        FunctionDifference {
            code: changed("table", Cause::Data(Some(Name::demangle(name)))),
            ..same("table", executed(20.0, 20.0, 1.0, 20.0), executed(40.5, 40.5, 1.0, 40.5))
        },
        FunctionDifference {
            code: Code::OnlyHead(sized("digit")),
            inlined_into: Some(Name::demangle(name)),
            ..same("digit", None, executed(520.0, 520.0, 64.0, 0.0))
        },
        FunctionDifference {
            code: Code::OnlyBase(sized("gone")),
            ..same("gone", executed(20.0, 20.0, 1.0, 0.0), None)
        },
        same("fold", executed(1_000.0, 1_000.0, 8.0, 0.0), executed(1_250.0, 1_250.0, 10.0, 0.0)),
        same("sort", executed(300.0, 300.0, 1.0, 0.0), executed(290.0, 290.0, 1.0, 0.0)),
        FunctionDifference {
            code: Code::Unknown,
            place: Place::Library("libc.so.6".to_owned()),
            ..same("memcpy", executed(10.0, 10.0, 2.0, 0.0), executed(60.0, 60.0, 4.0, 0.0))
        },
        same("still", executed(5.0, 12_500.0, 1.0, 5.0), executed(5.0, 12_500.0, 1.0, 5.0)),
    ];
    let set_up = EnteredFunction {
        name: Name::demangle(&format!("prepare {name}")),
        instance: 1,
        base_size: None,
        head_size: Some(90),
        base_stack: None,
        head_stack: None,
        while_measuring: false,
        cause: Cause::Code,
        callees_gained: Vec::new(),
        callees_lost: Vec::new(),
    };
    let total = |of: fn(&FunctionDifference) -> Option<Executed>| -> f64 {
        functions.iter().filter_map(of).map(|executed| executed.own).sum()
    };
    let (base, head) = (total(|one| one.base), total(|one| one.head));
    ExplainedBenchmark {
        base: version("main", 'a'),
        head: version("HEAD", 'b'),
        benchmark: benchmark(name),
        explanation: Explanation { base, head, functions },
        impact: Impact { functions: vec![set_up], ..Impact::default() },
        dependencies: vec![DependencyChange {
            name: name.to_owned(),
            base: vec!["1.0.0".to_owned()],
            head: vec!["1.1.0".to_owned()],
        }],
    }
}

#[test]
fn text_has_a_table_of_functions_and_notes() {
    insta::assert_snapshot!(style::plain(&report("parse").text(100)));
}

#[test]
fn markdown_has_the_same_table_and_notes() {
    insta::assert_snapshot!(report("parse").markdown());
}

#[test]
fn html_explains_the_columns_of_its_table() {
    let page = report("parse").html().unwrap();
    assert!(page.contains("<p>Head against base, in instructions of one iteration"), "{page}");
    let row = page.split("<tr>").nth(2).unwrap();
    for part in ["<span class=bad>+640</span>", "-500", "<td class=n>64<th scope=row>", "parse"] {
        assert!(row.contains(part), "no {part} in {row}");
    }
    for part in ["now calls digit (64 times, 520 instructions)", "dependencies: parse 1.0.0"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
}

#[test]
fn unchanged_code_points_to_input_or_environment() {
    let mut report = report("parse");
    report.explanation.functions.retain(|function| function.code == Code::Same);
    report.explanation.functions[0].head = executed(1_250.0, 1_250.0, 10.0, 250.0);
    assert!(report.text(80).contains("other input, or another environment"), "{}", report.text(80));
    report.explanation.head = report.explanation.base;
    let text = report.text(80);
    assert!(text.contains("both versions execute the same number of instructions"), "{text}");
    assert!(text.contains("that is memory, input or environment"), "{text}");
}

#[test]
fn functions_beyond_the_limit_share_a_row() {
    let mut report = report("parse");
    for number in 0..30 {
        let name = format!("other_{number}");
        let row = same(&name, executed(1.0, 1.0, 1.0, 0.0), executed(3.0, 3.0, 1.0, 0.0));
        report.explanation.functions.push(row);
    }
    let text = style::plain(&report.text(80));
    assert!(text.contains("17 other functions"), "{text}");
    assert!(report.markdown().contains("| 17 other functions |"));
    assert!(report.html().unwrap().contains(">17 other functions"));
}

#[test]
fn numbers_have_digit_groups() {
    let cases = [
        (0.0, "0"),
        (0.004, "0"),
        (-0.25, "-0.25"),
        (999.0, "+999"),
        (1000.5, "+1,000.5"),
        (-1_234_567.0, "-1,234,567"),
    ];
    for (number, text) in cases {
        assert_eq!(signed(number), text);
    }
}

#[test]
fn json_keeps_its_schema_and_numbers_add_up() {
    let report = report("parse");
    assert_keeps("explain", &report);
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let functions = json["functions"].as_array().unwrap();
    let sum: f64 = functions.iter().map(|one| one["self"].as_f64().unwrap()).sum();
    let total = |version: &str| json[version].as_f64().unwrap();
    assert!((sum - (total("head_instructions") - total("base_instructions"))).abs() < 1e-9);
}

#[test]
fn untrusted_texts_are_harmless() {
    assert_harmless(&report(HOSTILE));
}
