//! Harnesses and their versions.

use crate::shape::{SKIPPED, Shape, exit};

/// A bench target of Criterion.rs with these definitions.
fn criterion(body: &str) -> String {
    format!(
        "use criterion::{{criterion_group, criterion_main, Criterion}};\n\n\
         fn all(c: &mut Criterion) {{\n    {body}\n}}\n\n\
         criterion_group!(benches, all);\ncriterion_main!(benches);\n"
    )
}

const BOTH: &str = "c.bench_function(\"sum\", |b| b.iter(zoo::sum));
    c.bench_function(\"other\", |b| b.iter(zoo::other));";

const CRITERION: &str = "criterion = { version = \"0.8\", default-features = false }";

const DIVAN: &str = "divan = \"=0.1.21\"";

const DIVAN_BOTH: &str = "fn main() {\n    divan::main();\n}\n\n\
    #[divan::bench]\nfn sum() -> u64 {\n    zoo::sum()\n}\n\n\
    #[divan::bench]\nfn other() -> u64 {\n    zoo::other()\n}\n";

/// Both versions with a fork of a harness that is renamed to the harness.
fn version(name: &'static str, source: &'static str, dependency: &'static str) -> Shape {
    Shape::foreign(name, source, dependency, &criterion(BOTH))
        .run("list .", exit(0).ids(&["sum", "other"]))
        .compared()
}

fn divan(name: &'static str, source: &'static str, dependency: &'static str) -> Shape {
    Shape::foreign(name, source, dependency, DIVAN_BOTH)
        .run("list .", exit(0).ids(&["b::other", "b::sum"]))
        .two_commits()
        .run("compare --quick", exit(1).row("b::sum", "unaffected").row("b::other", "regressed"))
}

/// The same without a harness.
fn own_main_beside(text: &str) -> Shape {
    let known = crate::shape::native("suite.bench(\"sum\", |b| b.iter(zoo::sum));");
    Shape::new("own main", "C8: boxcars")
        .quick()
        .file("benches/b.rs", text)
        .file("benches/known.rs", &known)
        .manifest("[[bench]]\nname = \"known\"\nharness = false")
}

/// A target that rbench cannot run, beside one that uses rbench-harness.
fn beside(name: &'static str, source: &'static str, dependency: &'static str, text: &str) -> Shape {
    Shape::foreign(name, source, dependency, text)
        .replace(
            "Cargo.toml",
            "[dev-dependencies]\n",
            "[dev-dependencies]\nrbench-harness = { path = \"HARNESS\" }\n",
        )
        .file(
            "benches/known.rs",
            &crate::shape::native("suite.bench(\"sum\", |b| b.iter(zoo::sum));"),
        )
        .manifest("[[bench]]\nname = \"known\"\nharness = false")
}

pub fn shapes() -> Vec<Shape> {
    let mut shapes = versions();
    shapes.extend(of_criterion());
    shapes.extend(of_divan());
    shapes.extend(others());
    shapes
}

fn versions() -> Vec<Shape> {
    vec![
        Shape::new("rbench-harness", "the harness of this repository").quick().compared(),
        version(
            "criterion 0.3",
            "crates that have not been touched since 2021",
            "criterion = { version = \"0.3\", default-features = false }",
        ),
        divan("divan 0.1.21", "the newest version", DIVAN),
        version(
            "criterion 0.4",
            "serde's and rayon's benchmarks of 2022",
            "criterion = { version = \"0.4\", default-features = false }",
        ),
        divan("divan 0.1.14", "an earlier table", "divan = \"=0.1.14\""),
        version(
            "criterion 0.5",
            "most crates",
            "criterion = { version = \"0.5\", default-features = false }",
        ),
        divan(
            "codspeed-divan-compat 4.3",
            "C13: uutils",
            "divan = { package = \"codspeed-divan-compat\", version = \"=4.3.0\" }",
        ),
        version(
            "criterion 0.6",
            "crates of 2025",
            "criterion = { version = \"0.6\", default-features = false }",
        ),
        version(
            "criterion 0.7",
            "crates of 2025",
            "criterion = { version = \"0.7\", default-features = false }",
        ),
        divan(
            "codspeed-divan-compat 6.0",
            "C13: the newest fork",
            "divan = { package = \"codspeed-divan-compat\", version = \"=6.0.0\" }",
        ),
        version("criterion 0.8", "the newest version", CRITERION),
        version(
            "codspeed-criterion-compat 2.10",
            "CodSpeed's fork, renamed to criterion",
            "criterion = { package = \"codspeed-criterion-compat\", version = \"=2.10.1\" }",
        ),
        version(
            "codspeed-criterion-compat 6.0",
            "CodSpeed's newest fork",
            "criterion = { package = \"codspeed-criterion-compat\", version = \"=6.0.0\" }",
        ),
    ]
}

fn of_criterion() -> Vec<Shape> {
    let own_main = "use criterion::Criterion;\n\nfn main() {\n    \
        let mut c = Criterion::default();\n    c.bench_function(\"sum\", |b| b.iter(zoo::sum));\n}\n";
    let needs = "use criterion::Criterion;\n\nfn main() {\n    \
        let mut c = Criterion::default().configure_from_args();\n    \
        let mut last = 0;\n    c.bench_function(\"sum\", |b| b.iter(|| last = zoo::sum()));\n    \
        c.bench_function(\"other\", |b| b.iter(zoo::other));\n    \
        assert!(last > 0, \"the results are missing\");\n}\n";
    let constant = "c.bench_function(\"constant\", |b| b.iter_custom(|_| \
        std::time::Duration::from_millis(1)));\n    \
        c.bench_function(\"zero\", |b| b.iter_custom(|_| std::time::Duration::ZERO));\n    \
        c.bench_function(\"sum\", |b| b.iter(zoo::sum));";
    let prints = "c.bench_function(\"sum\", |b| { println!(\"a line\"); \
        eprintln!(\"another\"); b.iter(zoo::sum) });\n    \
        c.bench_function(\"other\", |b| b.iter(|| { println!(\"each time\"); zoo::other() }));";
    let set_up = "c.bench_function(\"sum\", |b| b.iter(zoo::sum));\n    \
        c.bench_function(\"needs\", |b| { let text = std::fs::read_to_string(\"data/large.txt\")\
        .expect(\"cannot read the input\"); b.iter(|| text.len()) });";
    let list = |target: &str| format!("list . --bench {target}");
    vec![
        Shape::foreign("criterion without configure_from_args", "C2: tikv#4037", CRITERION, own_main)
            .run(&list("b"), exit(4).has("ignores the command line of Criterion.rs").has("configure_from_args")),
        Shape::foreign("criterion that needs results", "C7: ixa#1010", CRITERION, needs)
            .list(&["sum", "other"])
            .skipped(),
        Shape::foreign("criterion with constant times", "C6: criterion#762", CRITERION, &criterion(constant))
            .two_commits()
            .run(
                "compare --quick --no-skip",
                exit(4)
                    .row("constant", "failed")
                    .row("zero", "failed")
                    .has("which no CPU can do"),
            ),
        Shape::foreign("criterion that prints", "C3: uutils", CRITERION, &criterion(prints)).compared(),
        Shape::foreign("criterion with an ignored file", "C7: jomini, horned-owl#142", CRITERION, &criterion(set_up))
            .file("data/large.txt", "many words")
            .shell("echo data >>.gitignore")
            .two_commits()
            .run(
                "compare --quick --no-skip",
                exit(4).row("needs", "failed").row("sum", "unchanged|inconclusive").has("data/large.txt").has("ignore"),
            ),
        Shape::foreign(
            "criterion by another name",
            "C8: a renamed dependency",
            "benchmark = { package = \"criterion\", version = \"0.8\", default-features = false }",
            &criterion(BOTH).replace("criterion::", "benchmark::"),
        )
        .list(&["sum", "other"])
        .skipped(),
        Shape::foreign(
            "criterion by a re-export",
            "a module of helpers in front of the harness",
            CRITERION,
            &format!("mod help {{\n    pub use criterion::*;\n}}\n{}", criterion(BOTH).replace("use criterion::", "use help::")),
        )
        .list(&["sum", "other"]),
        Shape::foreign(
            "criterion ids",
            "groups, parameters and brackets",
            CRITERION,
            &criterion(
                "let mut group = c.benchmark_group(\"a/b {x}\");\n    \
                 group.bench_function(\"f [1]\", |b| b.iter(zoo::sum));\n    \
                 group.bench_with_input(criterion::BenchmarkId::new(\"g\", \"p|q\\n\"), &1, |b, _| b.iter(zoo::sum));\n    \
                 group.finish();",
            ),
        )
        .list(&["a/b {x}/f [1]", "a/b {x}/g/p|q\n"])
        .two_commits()
        .run("compare --quick", exit(0).row("a/b {x}/f [1]", SKIPPED).row("a/b {x}/g/p|q\n", SKIPPED)),
        Shape::foreign("criterion without a benchmark", "an empty group", CRITERION, &criterion("let _ = c;"))
            .run("list .", exit(2).has("no benchmark")),
    ]
}

fn of_divan() -> Vec<Shape> {
    let main = "fn main() {\n    divan::main();\n}\n\n";
    let prints = format!(
        "{main}#[divan::bench]\nfn sum(b: divan::Bencher) {{\n    println!(\"a line\");\n    \
         eprintln!(\"├─ another │ 1 ns │ 1 ns\");\n    b.bench(|| {{ println!(\"each time\"); zoo::sum() }});\n}}\n\n\
         #[divan::bench]\nfn other() -> u64 {{\n    zoo::other()\n}}\n"
    );
    let odd = format!(
        "{main}#[divan::bench(args = [\"two\\nlines\", \"a::b\", \"\\\"q\\\"\", \"größe\"])]\n\
         fn count(text: &str) -> usize {{\n    text.len()\n}}\n\n\
         #[divan::bench(consts = [1, 2])]\nfn constant<const N: usize>() -> usize {{\n    N\n}}\n\n\
         #[divan::bench(types = [u8, String])]\nfn kind<T: Default>() -> T {{\n    T::default()\n}}\n"
    );
    let ignored = format!(
        "{main}#[divan::bench]\nfn sum() -> u64 {{\n    zoo::sum()\n}}\n\n\
         #[divan::bench]\nfn other() -> u64 {{\n    zoo::other()\n}}\n"
    );
    vec![
        Shape::foreign("divan that prints", "C3: divan#10", DIVAN, &prints).two_commits().run(
            "compare --quick --no-skip",
            exit(1).row("b::sum", "unchanged|inconclusive").row("b::other", "regressed"),
        ),
        Shape::foreign("divan ids", "C9: nextest#3117, divan#74", DIVAN, &odd).list(&[
            "b::constant::1",
            "b::constant::2",
            "b::count::\"q\"",
            "b::count::a::b",
            "b::count::größe",
            "b::count::two\nlines",
            "b::kind::String",
            "b::kind::u8",
        ]),
        Shape::foreign("divan that ignores one", "C5: foundry#15720", DIVAN, &ignored)
            .commit("Base")
            .replace(
                "benches/b.rs",
                "#[divan::bench]\nfn other",
                "#[divan::bench(ignore)]\nfn other",
            )
            .commit("Head")
            .run(
                "compare --quick",
                exit(0)
                    .row("b::sum", "unaffected|identical|unchanged|inconclusive")
                    .removed("b::other", "ignored")
                    .has("other"),
            )
            .run("compare --quick --fail-on missing", exit(4)),
        Shape::foreign(
            "divan without its main",
            "a forgotten call",
            DIVAN,
            &DIVAN_BOTH.replace("divan::main();", "let _ = divan::black_box(1);"),
        )
        .run("list .", exit(2).has("no benchmark").has("divan")),
    ]
}

fn others() -> Vec<Shape> {
    let own_main = "fn main() {\n    let start = std::time::Instant::now();\n    \
        std::hint::black_box(zoo::sum());\n    println!(\"{:?}\", start.elapsed());\n}\n";
    let bencher = "use bencher::{benchmark_group, benchmark_main, Bencher};\n\n\
        fn sum(b: &mut Bencher) {\n    b.iter(zoo::sum);\n}\n\n\
        benchmark_group!(benches, sum);\nbenchmark_main!(benches);\n";
    let iai = "fn sum() -> u64 {\n    zoo::sum()\n}\n\niai::main!(sum);\n";
    let mixed = format!("{CRITERION}\niai = \"0.1\"");
    let mixed: &'static str = Box::leak(mixed.into_boxed_str());
    vec![
        own_main_beside(own_main)
            .open("the harness of the package is taken for that of each of its targets")
            .run("list .", exit(4).ids(&["sum"]).has("bench.toml")),
        beside("bencher", "C8: crates of 2017", "bencher = \"0.1\"", bencher)
            .run("list .", exit(0).ids(&["sum"]).has("bencher").has("hint")),
        beside("iai", "C8: compact_str", "iai = \"0.1\"", iai)
            .run("list .", exit(0).ids(&["sum"]).has("iai").has("hint")),
        Shape::foreign("criterion, iai and an own main", "C8: icu4x#5105", mixed, &criterion(BOTH))
            .file("benches/i.rs", iai)
            .file("benches/own.rs", own_main)
            .manifest("[[bench]]\nname = \"i\"\nharness = false\n\n[[bench]]\nname = \"own\"\nharness = false")
            .run(
                "list .",
                exit(0).ids(&["sum", "other"]).has("harness of bench target `i`").has("harness of bench target `own`"),
            ),
        Shape::new("libtest on stable", "#[bench] without a nightly compiler")
            .quick()
            .file(
                "benches/b.rs",
                "#![feature(test)]\nextern crate test;\n\n#[bench]\nfn sum(b: &mut test::Bencher) {\n    b.iter(zoo::sum);\n}\n",
            )
            .replace("Cargo.toml", "harness = false\n", "")
            .run("list .", exit(3).has("stable toolchain").has("+nightly")),
        Shape::new("libtest without #[bench]", "a [[bench]] that lacks `harness = false`")
            .quick()
            .replace("Cargo.toml", "harness = false\n", "")
            .run("list .", exit(2).has("harness = false")),
        Shape::new("tests as benchmarks", "a bench target with #[test] functions only")
            .file("benches/b.rs", "#[test]\nfn sum() {\n    assert!(zoo::sum() > 0);\n}\n")
            .replace("Cargo.toml", "harness = false\n", "")
            .run("list .", exit(2).has("no benchmark")),
        Shape::new("program", "--command, without a bench target")
            .quick()
            .shell("rm -r benches && mkdir src/bin")
            .replace("Cargo.toml", "[[bench]]\nname = \"b\"\nharness = false\n", "")
            .file("src/bin/tool.rs", "fn main() {\n    println!(\"{}\", zoo::sum());\n}\n")
            .two_commits()
            .run("list . --command tool", exit(0).ids(&["tool"]))
            .run("compare --quick --command tool", exit(0).row("tool", SKIPPED)),
    ]
}
