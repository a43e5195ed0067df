//! Manifests, workspaces and settings of cargo.

use crate::shape::{PROFILE, Shape, exit, manifest, native};

/// A package of a workspace, with one benchmark of its name.
fn member(shape: Shape, directory: &str, name: &str, more: &str) -> Shape {
    let text = manifest("rbench-harness = { path = \"HARNESS\" }")
        .replace("name = \"zoo\"", &format!("name = \"{name}\""))
        .replace("[workspace]\n\n", "")
        .replace(PROFILE, "");
    shape
        .file(&format!("{directory}/Cargo.toml"), &format!("{text}\n{more}"))
        .file(
            &format!("{directory}/src/lib.rs"),
            "pub fn sum() -> u64 {\n    std::hint::black_box(7)\n}\n",
        )
        .file(
            &format!("{directory}/benches/b.rs"),
            &native(&format!(
                "suite.bench(\"{name}\", |bencher| bencher.iter({}::sum));",
                name.replace('-', "_")
            )),
        )
}

fn profile(name: &'static str, source: &'static str, lines: &str) -> Shape {
    Shape::new(name, source).replace("Cargo.toml", "opt-level = 1\n", lines)
}

fn config(name: &'static str, source: &'static str, text: &str) -> Shape {
    Shape::new(name, source).file(".cargo/config.toml", text)
}

pub fn shapes() -> Vec<Shape> {
    let mut shapes = settings();
    shapes.extend(workspaces());
    shapes.extend(targets());
    shapes.extend(compilers());
    shapes
}

fn settings() -> Vec<Shape> {
    let host = "\"x86_64-unknown-linux-gnu\"";
    vec![
        config("build.target is the host", "C1: uutils", &format!("[build]\ntarget = {host}\n")).compared(),
        config("build.target is another platform", "C1: projects for the web", "[build]\ntarget = \"wasm32-unknown-unknown\"\n")
            .quick()
            .run("list .", exit(3).has("wasm32-unknown-unknown")
                    .has("CARGO_BUILD_TARGET=x86_64-unknown-linux-gnu").lacks("E0463")),
        config("build.target-dir", "C1: one directory for several clones", "[build]\ntarget-dir = \"elsewhere\"\n")
            .shell("echo elsewhere >>.gitignore")
            .skipped(),
        config("build.build-dir", "C1: cargo's new directory", "[build]\nbuild-dir = \"made\"\n")
            .shell("echo made >>.gitignore")
            .skipped(),
        config(
            "static executable",
            "C1: +crt-static",
            &format!("[target.{}]\nrustflags = [\"-Ctarget-feature=+crt-static\"]\n", host.trim_matches('"')),
        )
        .compared(),
        config("target-cpu=native", "rustflags for this machine", "[build]\nrustflags = [\"-Ctarget-cpu=native\"]\n").skipped(),
        config("an alias and a runner", "tools around cargo", &format!(
            "[alias]\nbench = \"build\"\nrbench = \"version\"\n[target.{}]\nrunner = \"time\"\n",
            host.trim_matches('"')
        ))
        .skipped(),
        config("linker arguments", "-Wl,--gc-sections and the like", "[build]\nrustflags = [\"-Clink-arg=-Wl,-z,now\", \"-Clink-arg=-Wl,--as-needed\"]\n")
            .skipped(),
        profile("fat LTO", "a release profile", "lto = \"fat\"\ncodegen-units = 1\npanic = \"abort\"\n").skipped(),
        profile("thin LTO", "a release profile", "lto = \"thin\"\n").skipped(),
        profile("stripped", "C10: strip", "strip = true\n").skipped(),
        profile("split debug information", "C10: split-debuginfo", "debug = true\nsplit-debuginfo = \"unpacked\"\n").skipped(),
        profile("incremental", "a profile for development", "opt-level = 0\nincremental = true\n").skipped(),
        profile("overflow checks", "a careful profile", "opt-level = 3\noverflow-checks = true\ndebug-assertions = true\n").skipped(),
    ]
}

fn workspaces() -> Vec<Shape> {
    let virtual_ = "[workspace]\nmembers = [\"a\", \"b\"]\n";
    let two = |shape: Shape| {
        let shape = member(shape, "a", "a", "[features]\nfast = []\n");
        member(shape, "b", "b", "")
    };
    vec![
        two(Shape::bare("virtual workspace", "C14").file(
            "Cargo.toml",
            "[workspace]\nresolver = \"2\"\nmembers = [\"a\", \"b\"]\ndefault-members = [\"b\"]\n",
        ))
        .quick()
        .list(&["b"])
        .run("list . --workspace", exit(0).ids(&["a", "b"]))
        .run("list .", exit(0).ids(&["a"]))
        .inside("a")
        .run("list . -p a", exit(0).ids(&["a"])),
        two(Shape::bare("features of a member, resolver 1", "an old virtual workspace").file("Cargo.toml", virtual_))
            .replace("a/benches/b.rs", "suite.bench(\"a\"", "#[cfg(feature = \"fast\")]\n    suite.bench(\"a\"")
            .run("list . -p a --features fast", exit(0).ids(&["a"]))
            .run("list . --features a/fast", exit(0).ids(&["a", "b"])),
        two(Shape::bare("features of a member, resolver 2", "a virtual workspace").file(
            "Cargo.toml",
            &virtual_.replace("[workspace]", "[workspace]\nresolver = \"2\""),
        ))
        .replace("a/benches/b.rs", "suite.bench(\"a\"", "#[cfg(feature = \"fast\")]\n    suite.bench(\"a\"")
        .run("list . -p a --features fast", exit(0).ids(&["a"])),
        member(Shape::new("benchmarks in a package of their own", "bitter, chrono, textwrap"), "bench", "speed", "[workspace]\n")
            .shell("rm -r benches")
            .replace("Cargo.toml", "[[bench]]\nname = \"b\"\nharness = false\n", "")
            .run("list .", exit(2).has("--manifest-path bench/Cargo.toml"))
            .run("list . --manifest-path bench/Cargo.toml", exit(0).ids(&["speed"]))
            .run("list .", exit(0).ids(&["speed"]))
            .inside("bench"),
        member(Shape::new("a workspace below the root", "rust/ in a repository of several languages"), "rust", "below", "[workspace]\n")
            .shell("rm -r benches src Cargo.toml")
            .commit("Base")
            .run("list .", exit(2).has("--manifest-path rust/Cargo.toml"))
            .run("list .", exit(0).ids(&["below"]))
            .inside("rust/src"),
        Shape::new("inherited keys", "workspace.package and workspace.dependencies")
            .replace("Cargo.toml", "[workspace]\n", "[workspace.package]\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
                [workspace.dependencies]\nrbench-harness = { path = \"HARNESS\" }\n\n[workspace.lints.rust]\nunused = \"deny\"\n\n[lints]\nworkspace = true\n")
            .replace("Cargo.toml", "version = \"0.1.0\"\nedition = \"2021\"\npublish", "version.workspace = true\nedition.workspace = true\npublish")
            .replace("Cargo.toml", "[dev-dependencies]\nrbench-harness = { path = \"HARNESS\" }", "[dev-dependencies]\nrbench-harness.workspace = true")
            .skipped(),
        Shape::new("a renamed dependency", "C8: package = \"…\"")
            .replace("Cargo.toml", "rbench-harness = {", "measure = { package = \"rbench-harness\",")
            .replace("benches/b.rs", "rbench_harness", "measure")
            .list(&["sum", "other"]),
        Shape::new("a path dependency outside of the repository", "a sibling's clone")
            .shell(
                "mkdir -p ../sibling/src && printf '[package]\\nname = \"sibling\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n\
                 [workspace]\\n' >../sibling/Cargo.toml && echo 'pub fn one() -> u64 { 1 }' >../sibling/src/lib.rs",
            )
            .replace("Cargo.toml", "[dev-dependencies]", "[dependencies]\nsibling = { path = \"../sibling\" }\n\n[dev-dependencies]")
            .two_commits()
            .run("compare --quick --exact --filter sum", exit(3).has("sibling").has("outside of the repository").lacks("RBENCH_HOME")),
        Shape::new("a git dependency without a network", "C11")
            .quick()
            .replace("Cargo.toml", "[dev-dependencies]", "[dependencies]\nabsent = { git = \"https://example.invalid/absent\" }\n\n[dev-dependencies]")
            .run("list .", exit(3).has("example.invalid")),
        Shape::new("a dependency that does not resolve", "C11: bitvec")
            .quick()
            .replace("Cargo.toml", "[dev-dependencies]", "[dependencies]\nzoo-has-no-such-crate = \"1\"\n\n[dev-dependencies]")
            .run("list .", exit(3).has("zoo-has-no-such-crate")),
        Shape::new("a broken manifest", "a merge that went wrong")
            .quick()
            .manifest("<<<<<<< HEAD")
            .run("list .", exit(2).has("Cargo.toml").lacks("panicked")),
    ]
}

fn targets() -> Vec<Shape> {
    let bench = "[[bench]]\nname = \"b\"\n";
    vec![
        Shape::new("targets called test and bench", "names that cargo has options for")
            .shell("mv benches/b.rs benches/test.rs && cp benches/test.rs benches/bench.rs")
            .replace("Cargo.toml", bench, "[[bench]]\nname = \"bench\"\nharness = false\n\n[[bench]]\nname = \"test\"\n")
            .list(&["sum", "other", "sum", "other"])
            .run("list . --bench test", exit(0).ids(&["sum", "other"])),
        Shape::new("a target of several files", "benches/b/main.rs with modules")
            .shell("mkdir benches/b && mv benches/b.rs benches/b/main.rs && echo 'pub fn help() {}' >benches/b/help.rs && sed -i '1i mod help;' benches/b/main.rs && sed -i 's/suite.bench(\"sum\"/help::help(); suite.bench(\"sum\"/' benches/b/main.rs")
            .skipped(),
        Shape::new("a target at another path", "[[bench]] path, autobenches = false")
            .shell("mkdir speed && mv benches/b.rs speed/all.rs && sed -i 's/^publish = false/&\\nautobenches = false/' Cargo.toml")
            .replace("Cargo.toml", bench, "[[bench]]\nname = \"b\"\npath = \"speed/all.rs\"\n")
            .skipped(),
        Shape::new("a target with dashes and digits", "0-parse")
            .shell("mv benches/b.rs benches/0-parse_x.rs")
            .replace("Cargo.toml", "name = \"b\"", "name = \"0-parse_x\"")
            .skipped(),
        Shape::new("a library of another name", "[lib] name and path")
            .shell("mkdir code && mv src/lib.rs code/main.rs && rmdir src")
            .replace("Cargo.toml", "[lib]\n", "[lib]\nname = \"library\"\npath = \"code/main.rs\"\ncrate-type = [\"cdylib\", \"rlib\"]\n")
            .shell("sed -i s/zoo::/library::/ benches/b.rs")
            .list(&["sum", "other"]),
        Shape::new("a program with benchmarks", "no library")
            .shell("mv src/lib.rs src/work.rs && echo 'fn main() {}' >src/main.rs && sed -i '1i #[path = \"../src/work.rs\"]\\nmod zoo;' benches/b.rs")
            .replace("Cargo.toml", "[lib]\nbench = false\n\n", "")
            .commit("Base")
            .replace("src/work.rs", "rounds(1_000)", "rounds(30_000)")
            .commit("Head")
            .run("compare --quick --exact --filter sum", exit(0).row("sum", "unaffected")),
        Shape::new("required features", "a target that needs a feature")
            .quick()
            .manifest("[features]\nfast = []")
            .replace("Cargo.toml", bench, "[[bench]]\nname = \"b\"\nrequired-features = [\"fast\"]\n")
            .run("list .", exit(0).has("--features fast").ids(&["sum", "other"]))
            .run("list . --features fast", exit(0).ids(&["sum", "other"]))
            .run("list . --all-features", exit(0).ids(&["sum", "other"])),
        Shape::new("a file behind a feature", "num-bigint: #![cfg(feature = \"rand\")]")
            .manifest("[features]\nrand = []")
            .shell("sed -i '1i #![cfg(feature = \"rand\")]' benches/b.rs")
            .run("list .", exit(0).has("--features rand").ids(&["sum", "other"]))
            .run("list . --features rand", exit(0).ids(&["sum", "other"])),
        Shape::new("a benchmark behind a feature", "#[cfg(feature)] of one function")
            .manifest("[features]\nfast = []")
            .replace("benches/b.rs", "suite.bench(\"other\"", "#[cfg(feature = \"fast\")]\n    suite.bench(\"other\"")
            .list(&["sum"])
            .run("list . -F fast", exit(0).ids(&["sum", "other"]))
            .run("list . --exact other", exit(2).has("no benchmark matches `other`")),
        Shape::new("carriage returns", "files of Windows")
            .shell("sed -i 's/$/\\r/' Cargo.toml src/lib.rs benches/b.rs")
            .commit("Base")
            .replace("src/lib.rs", "rounds(1_000)", "rounds(30_000)")
            .commit("Head")
            .run("compare --quick --exact --filter sum", exit(0).row("sum", "unaffected")),
        Shape::new("a byte order mark", "files of Windows")
            .shell("for f in Cargo.toml src/lib.rs benches/b.rs; do printf '\\357\\273\\277' | cat - $f >x && mv x $f; done")
            .list(&["sum", "other"]),
        Shape::new("paths in other alphabets", "größe, spaces and quotes")
            .shell("mkdir \"größe 'x'\" && mv Cargo.toml src benches \"größe 'x'\"/")
            .run("list .", exit(0).ids(&["sum", "other"]))
            .inside("größe 'x'"),
        Shape::new("edition 2024", "the newest edition and resolver")
            .replace("Cargo.toml", "edition = \"2021\"", "edition = \"2024\"\nresolver = \"3\"\nrust-version = \"1.85\"")
            .skipped(),
        Shape::new("edition 2015", "the oldest edition")
            .replace("Cargo.toml", "edition = \"2021\"\n", "")
            .file("src/lib.rs", "pub fn sum() -> u64 {\n    (0..700).fold(1, |a, b| a ^ b)\n}\n\npub fn other() -> u64 {\n    rounds(1_000)\n}\n\nfn rounds(n: u64) -> u64 {\n    (0..n).fold(1, |a, b| a ^ b)\n}\n")
            .shell("sed -i '1i extern crate rbench_harness;\\nextern crate zoo;' benches/b.rs")
            .list(&["sum", "other"]),
    ]
}

fn compilers() -> Vec<Shape> {
    vec![
        Shape::new("a toolchain that is not installed", "C11: rust-toolchain.toml")
            .quick()
            .file("rust-toolchain.toml", "[toolchain]\nchannel = \"1.60.0\"\n")
            .run("list .", exit(2).has("1.60.0").has("rustup toolchain install")),
        Shape::new("a newer compiler is needed", "rust-version")
            .quick()
            .replace(
                "Cargo.toml",
                "edition = \"2021\"",
                "edition = \"2021\"\nrust-version = \"1.999\"",
            )
            .run("list .", exit(3).has("1.999").has("--ignore-rust-version")),
        Shape::new("warnings are denied", "C11: fsst")
            .quick()
            .manifest("[lints.rust]\nwarnings = \"deny\"")
            .replace(
                "src/lib.rs",
                "pub fn sum() -> u64 {",
                "pub fn sum() -> u64 {\n    let unused = 1;",
            )
            .commit("Base")
            .run("list HEAD", exit(0).ids(&["sum", "other"])),
        Shape::new("a type error", "the head does not compile")
            .quick()
            .commit("Base")
            .replace("src/lib.rs", "rounds(1_000)", "rounds(\"many\")")
            .commit("Head")
            .run("compare --quick", exit(3).has("E0308").has("HEAD").has("hint")),
        Shape::new("a wrapper of the compiler", "sccache and the like")
            .shell("printf '#!/bin/sh\\nexec \"$@\"\\n' >../wrap && chmod +x ../wrap")
            .commit("Base")
            .more_work()
            .commit("Head")
            .run("compare --quick --exact --filter sum", exit(0).row("sum", "unaffected"))
            .with("RUSTC_WRAPPER", "/usr/bin/env"),
        Shape::new("flags in the environment", "RUSTFLAGS")
            .two_commits()
            .run("compare --quick --exact --filter sum", exit(0).row("sum", "unaffected"))
            .with("RUSTFLAGS", "-C target-cpu=native -C force-frame-pointers=yes"),
    ]
}
