//! Benchmarks, targets and packages that only one version has.

use crate::shape::{PROFILE, SKIPPED, Shape, exit};

const OTHER: &str = "\n    suite.bench(\"other\", |bencher| bencher.iter(zoo::other));";

/// A second target with one benchmark.
fn second(shape: Shape) -> Shape {
    shape
        .file(
            "benches/second.rs",
            &crate::shape::native("suite.bench(\"more\", |bencher| bencher.iter(zoo::sum));"),
        )
        .manifest("[[bench]]\nname = \"second\"\nharness = false")
}

pub fn shapes() -> Vec<Shape> {
    vec![
        Shape::new("a removed benchmark", "C5: lattice#1217")
            .quick()
            .commit("Base")
            .replace("benches/b.rs", OTHER, "")
            .commit("Head")
            .run("compare --quick --exact --filter other", exit(0).removed("other", "undefined").has("other"))
            .run("compare --quick --exact --filter other --fail-on missing", exit(4)),
        Shape::new("an added benchmark", "the counterpart")
            .quick()
            .replace("benches/b.rs", OTHER, "")
            .commit("Base")
            .replace("benches/b.rs", "zoo::sum));", &format!("zoo::sum));{OTHER}"))
            .commit("Head")
            .run(
                "compare --quick",
                exit(0).row("sum", "unaffected|identical|unchanged|inconclusive").value("/added/0/id", "other").has("other"),
            ),
        Shape::new("a renamed benchmark", "C5: the same code by another name")
            .commit("Base")
            .replace("benches/b.rs", "\"other\"", "\"another\"")
            .commit("Head")
            .run("compare --quick --filter other", exit(0).removed("other", "undefined").has("another")),
        second(Shape::new("a removed target", "C5"))
            .commit("Base")
            .shell("rm benches/second.rs")
            .replace("Cargo.toml", "[[bench]]\nname = \"second\"\nharness = false", "")
            .commit("Head")
            .run("compare --quick --filter more", exit(0).removed("more", "no_target"))
            .run("compare --quick --filter more --fail-on missing", exit(4).removed("more", "no_target")),
        second(Shape::new("a renamed target", "C5: the same ids, another target"))
            .commit("Base")
            .shell("mv benches/second.rs benches/third.rs")
            .replace("Cargo.toml", "name = \"second\"", "name = \"third\"")
            .commit("Head")
            .run("compare --quick --filter more", exit(0).removed("more", "no_target").has("third")),
        second(Shape::new("a target that loses its harness", "C5: `harness = false` is lost"))
            .commit("Base")
            .replace("Cargo.toml", "name = \"second\"\nharness = false", "name = \"second\"")
            .commit("Head")
            .run("compare --quick", exit(0).removed("more", "no_harness").row("sum", SKIPPED).has("harness = false")),
        Shape::new("no bench target in the base", "the commit that adds benchmarks")
            .quick()
            .shell("mv benches ../ && cp Cargo.toml ../with.toml")
            .replace("Cargo.toml", "[[bench]]\nname = \"b\"\nharness = false\n", "")
            .commit("Base")
            .shell("mv ../benches . && cp ../with.toml Cargo.toml")
            .commit("Head")
            .run("compare --quick", exit(0).value("/added/0/id", "sum").has("sum").has("other")),
        Shape::new("no bench target in the head", "the commit that removes benchmarks")
            .commit("Base")
            .shell("rm -r benches")
            .replace("Cargo.toml", "[[bench]]\nname = \"b\"\nharness = false\n", "")
            .commit("Head")
            .run("compare --quick", exit(0).removed("sum", "no_target").has("sum"))
            .run("compare --quick --fail-on missing", exit(4).removed("sum", "no_target")),
        Shape::new("a renamed package", "C5")
            .commit("Base")
            .replace("Cargo.toml", "name = \"zoo\"", "name = \"park\"")
            .shell("sed -i s/zoo::/park::/ benches/b.rs")
            .commit("Head")
            .run("compare --quick", exit(0).has("park").has("zoo")),
        Shape::new("a moved package", "to crates/p; the panic messages have other paths")
            .commit("Base")
            .shell("mkdir -p crates/p && git mv Cargo.toml src benches crates/p/ && sed -i '/^.workspace/,/^$/d; /^.profile/,/^$/d' crates/p/Cargo.toml")
            .file("Cargo.toml", &format!("[workspace]\nmembers = [\"crates/p\"]\nresolver = \"2\"\n\n{PROFILE}"))
            .commit("Head")
            .run("compare --quick", exit(0).row("sum", "unaffected|identical|unchanged").row("other", "unaffected|identical|unchanged")),
        Shape::new("a feature that only the head has", "a renamed feature")
            .commit("Base")
            .manifest("[features]\nfast = []")
            .commit("Head")
            .run("compare --quick --features fast", exit(3).has("fast").has("--features").has("HEAD~1")),
        Shape::new("a benchmark that moves to another target", "a file that is split")
            .commit("Base")
            .replace("benches/b.rs", OTHER, "")
            .file("benches/second.rs", &crate::shape::native("suite.bench(\"other\", |bencher| bencher.iter(zoo::other));"))
            .manifest("[[bench]]\nname = \"second\"\nharness = false")
            .commit("Head")
            .run("compare --quick --filter other", exit(0).removed("other", "undefined").has("second")),
        Shape::new("the input of a benchmark doubles", "asv#1417: the benchmark itself changes")
            .open("the report names a function of the harness, not the changed bench file")
            .benchmarks("suite.bench(\"sum\", |bencher| bencher.iter(|| { for _ in 0..std::hint::black_box(1) { zoo::sum(); } }));")
            .commit("Base")
            .replace("benches/b.rs", "black_box(1)", "black_box(20)")
            .commit("Head")
            .run("compare --quick", exit(1).row("sum", "regressed").has("benches/b.rs")),
    ]
}
