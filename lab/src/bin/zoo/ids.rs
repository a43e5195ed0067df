//! Names of benchmarks.

use crate::shape::{Expected, SKIPPED, Shape, exit};

/// A benchmark of each id, which is listed, and compared without being measured.
fn named(name: &'static str, source: &'static str, ids: &[&str]) -> Shape {
    let definitions: Vec<String> = ids
        .iter()
        .map(|id| {
            format!("suite.bench(\"{}\", |bencher| bencher.iter(zoo::sum));", id.escape_debug())
        })
        .collect();
    let rows = |expected: Expected| ids.iter().fold(expected, |all, id| all.row(id, SKIPPED));
    Shape::new(name, source)
        .benchmarks(&definitions.join("\n    "))
        .list(ids)
        .two_commits()
        .run("compare --quick", rows(exit(0)))
}

pub fn shapes() -> Vec<Shape> {
    let first: &'static str =
        Box::leak(format!("{}1{}", "x".repeat(100), "y".repeat(100)).into_boxed_str());
    let second: &'static str =
        Box::leak(format!("{}2{}", "x".repeat(100), "y".repeat(100)).into_boxed_str());
    vec![
        named(
            "ids with punctuation",
            "braces, bars, quotes, regular expressions",
            &[
                "{a}",
                "a|b",
                "a\\b",
                "\"q\" 'r'",
                "(x|y)*",
                "$HOME `x`",
                "<b>&amp;</b>",
                "a,b;c",
                "50%",
            ],
        )
        .quick(),

        named(
            "ids in other alphabets",
            "emoji, combining letters, right to left",
            &["🦀", "größe", "gro\u{308}ße", "שלום", "名前"],
        ),
        named(
            "ids of 201 characters",
            "two that differ in the middle look the same",
            &[first, second],
        )
        .run("list .", exit(0).has(first).has(second)),
        named(
            "ids with options",
            "names that look like arguments",
            &["--help", "-v", "--rbench-id", "."],
        ),
        named("ids with spaces at the ends", "generated names", &[" a", "a ", "a", "A"]),
        named("ids like paths", "slashes at any place", &["/", "a/", "/a", "a//b", "../x", "a/b"]),
        Shape::new("an id twice", "a loop that forgets its parameter")
            .benchmarks(
                "suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));\n    \
                 for _ in 0..2 { suite.bench(\"twice\", |bencher| bencher.iter(zoo::sum)); }",
            )
            .two_commits()
            .run(
                "compare --quick",
                exit(4).row("sum", SKIPPED).row("twice", "failed").has("two benchmarks of this target have this id"),
            ),
        Shape::new("ids that cannot be", "C9: values of parameters that are texts")
            .benchmarks(
                "for id in [\"\", \"two\\nlines\"] { suite.bench(id, |bencher| bencher.iter(zoo::sum)); }",
            )
            .list(&["", "two\nlines"])
            .two_commits()
            .run(
                "compare --quick",
                exit(4)
                    .row("", "failed")
                    .row("two\nlines", "failed")
                    .has("two\\nlines: failed: the id is empty or has a control character"),
            ),
        Shape::new("a thousand ids", "L1: a table of parameters")
            .benchmarks("for i in 0..1000 { suite.bench(i, |bencher| bencher.iter(zoo::sum)); }")
            .two_commits()
            .run("compare --quick --filter ^99.$", exit(0).row("990", SKIPPED).row("999", SKIPPED)),
    ]
}
