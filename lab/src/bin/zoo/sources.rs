//! Sources that depend on more than the committed files of the package.

use crate::shape::{SKIPPED, Shape, exit, native};

/// A benchmark `sum` of what a constant of the library names, and a build script.
fn built(name: &'static str, source: &'static str, script: &str) -> Shape {
    Shape::new(name, source).file("build.rs", script)
}

const ASKS_GIT: &str = "use std::process::Command;\n\nfn main() {\n    \
    let output = Command::new(\"git\").args([\"rev-parse\", \"HEAD\"]).output().unwrap();\n    \
    assert!(output.status.success(), \"git knows no commit\");\n    \
    let commit = String::from_utf8(output.stdout).unwrap();\n    \
    println!(\"cargo:rustc-env=COMMIT={}\", commit.trim());\n}\n";

const STAMPED: &str = "suite.bench(concat!(\"at \", env!(\"COMMIT\")), |bencher| bencher.iter(zoo::sum));\n    \
    suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));";

/// Benchmarks `data`, which reads a file, and `sum`.
fn reads(path: &str) -> String {
    format!(
        "let text = std::fs::read_to_string({path}).unwrap();\n    \
         suite.bench(\"data\", move |bencher| bencher.iter(|| text.len()));\n    \
         suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));"
    )
}

pub fn shapes() -> Vec<Shape> {
    built_by_scripts().into_iter().chain(reading_files()).collect()
}

fn built_by_scripts() -> Vec<Shape> {
    vec![
        built("build script asks git", "C4: vergen#508", ASKS_GIT)
            .quick()
            .benchmarks(STAMPED)
            .commit("Base")
            .shell("git rev-parse HEAD >../commit")
            .run("list HEAD", exit(0).has("at ").lacks("git knows no commit"))
            .shell("grep -q \"at $(cat ../commit)\" ../1.stdout"),
        built(
            "build script asks whether files are changed",
            "C4: git describe --dirty",
            &ASKS_GIT.replace("[\"rev-parse\", \"HEAD\"]", "[\"status\", \"--porcelain\"]"),
        )
        .benchmarks(STAMPED)
        .shell("echo Cargo.lock >>.gitignore")
        .commit("Base")
        .list(&["at ", "sum"])
        .run("list HEAD", exit(0).ids(&["at ", "sum"])),
        built(
            "build script reads .git/HEAD",
            "C4: cosmic-files#250",
            "fn main() {\n    println!(\"cargo:rerun-if-changed=.git/HEAD\");\n    \
             assert!(std::path::Path::new(\".git\").exists(), \"there is no .git\");\n}\n",
        )
        .skipped(),
        built(
            "build script writes the time",
            "a date in --version",
            "fn main() {\n    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();\n    \
             println!(\"cargo:rustc-env=NOW={}\", now.as_nanos());\n}\n",
        )
        .file("src/lib.rs", "pub const NOW: &str = env!(\"NOW\");\n\npub fn sum() -> usize {\n    std::hint::black_box(NOW).len()\n}\n")
        .benchmarks("suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));")
        .commit("Base")
        .file("README.md", "words")
        .commit("Head")
        .run("compare --quick", exit(0).row("sum", "unchanged|inconclusive|unaffected|identical")),
        built(
            "build script generates code",
            "phf, bindgen, prost",
            "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
             let rounds = std::fs::read_to_string(\"rounds.txt\").unwrap();\n    \
             std::fs::write(format!(\"{out}/rounds.rs\"), format!(\"pub const ROUNDS: u64 = {};\", rounds.trim())).unwrap();\n    \
             println!(\"cargo:rerun-if-changed=rounds.txt\");\n}\n",
        )
        .shell("echo 1_000 >rounds.txt")
        .replace("src/lib.rs", "//! Work.\n", "include!(concat!(env!(\"OUT_DIR\"), \"/rounds.rs\"));\n")
        .replace("src/lib.rs", "rounds(1_000)", "rounds(ROUNDS)")
        .commit("Base")
        .shell("echo 30_000 >rounds.txt")
        .commit("Head")
        .run("compare --quick", exit(1).row("sum", "unaffected").row("other", "regressed")),
        built(
            "build script changes the sources",
            "code that is generated beside the code",
            "fn main() {\n    std::fs::write(\"src/made.rs\", \"pub const MADE: u64 = 7;\\n\").unwrap();\n}\n",
        )
        .replace("src/lib.rs", "//! Work.\n", "pub mod made;\n")
        .shell("echo src/made.rs >>.gitignore")
        .skipped(),
    ]
}

fn reading_files() -> Vec<Shape> {
    vec![
        Shape::new("included text changes", "include_str! of the input")
            .open("the report names a function of the harness, not the included file")
            .benchmarks(
                "const TEXT: &str = include_str!(\"../data/words.txt\");\n    \
                 suite.bench(\"data\", |bencher| bencher.iter(|| std::hint::black_box(TEXT).bytes().filter(|b| *b == b' ').count()));\n    \
                 suite.bench(\"sum\", |bencher| bencher.iter(zoo::sum));",
            )
            .file("data/words.txt", "some words")
            .commit("Base")
            .shell("for i in $(seq 200); do printf 'more words '; done >data/words.txt")
            .commit("Head")
            .run("compare --quick", exit(1).row("data", "regressed").row("sum", "unaffected").has("data/words.txt")),
        Shape::new("a file that is read changes", "jomini: input beside the benchmark")
            .benchmarks(&reads("\"data/words.txt\""))
            .file("data/words.txt", "some words")
            .commit("Base")
            .file("data/words.txt", "some other words")
            .commit("Head")
            .run(
                "compare --quick",
                exit(0).row("data", "unchanged|inconclusive").row("sum", "unchanged|inconclusive").value("/benchmarks/0/impact/files/0", "data/words.txt"),
            ),
        Shape::new("a file by CARGO_MANIFEST_DIR", "most libraries with test data")
            .benchmarks(&reads("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/data/words.txt\")"))
            .file("data/words.txt", "some words")
            .two_commits()
            .run("compare --quick --exact --filter data", exit(0).row("data", SKIPPED)),
        Shape::new("a file that git ignores", "horned-owl#142")
            .quick()
            .benchmarks(&reads("\"data/words.txt\""))
            .file("data/words.txt", "some words")
            .shell("echo data >>.gitignore")
            .commit("Base")
            .run("list HEAD", exit(4).has("data/words.txt").has("git ignores")),
        Shape::new("variables of cargo's configuration", "[env] in .cargo/config.toml")
            .quick()
            .file(".cargo/config.toml", "[env]\nZOO_NAME = \"configured\"\n")
            .benchmarks("suite.bench(env!(\"ZOO_NAME\"), |bencher| bencher.iter(zoo::sum));\n    \
                         suite.bench(std::env::var(\"ZOO_NAME\").unwrap() + \"2\", |bencher| bencher.iter(zoo::sum));")
            .commit("Base")
            .run("list HEAD", exit(0).ids(&["configured", "configured2"])),
        Shape::new("places in the code", "file!(), line!() and module_path!() in ids")
            .benchmarks("suite.bench(format!(\"{}:{}\", file!(), line!()), |bencher| bencher.iter(zoo::sum));")
            .commit("Base")
            .run("list HEAD", exit(0).ids(&["benches/b.rs:4"]))
            .list(&["benches/b.rs:4"]),
        Shape::new("a source outside of the package", "#[path] to a shared module")
            .file("shared/help.rs", "pub fn helped() -> u64 {\n    zoo::sum()\n}\n")
            .file(
                "benches/b.rs",
                &format!("#[path = \"../shared/help.rs\"]\nmod help;\n{}", native("suite.bench(\"sum\", |bencher| bencher.iter(help::helped));")),
            )
            .skipped(),
        Shape::new("symbolic links", "sources and data by links")
            .shell("mv src code && ln -s code src && mkdir data && echo words >data/a && ln -s a data/b")
            .benchmarks(&reads("\"data/b\""))
            .skipped(),
        Shape::new("an absent submodule", "a clone without --recursive")
            .shell(
                "git init --quiet ../lib && cd ../lib && echo words >words.txt && git add . && git commit --quiet -m a && \
                 cd ../repository && git submodule --quiet add ../lib data",
            )
            .benchmarks(&reads("\"data/words.txt\""))
            .commit("Base")
            .shell("cd .. && mv repository whole && git clone --quiet whole repository")
            .run("list HEAD", exit(4).has("data").has("submodule")),
        Shape::new("a script that must be executable", "build.rs that calls ./make.sh")
            .file("build.rs", "fn main() {\n    assert!(std::process::Command::new(\"./make.sh\").status().unwrap().success());\n}\n")
            .shell("printf '#!/bin/sh\\nexit 0\\n' >make.sh && chmod +x make.sh")
            .skipped(),
    ]
}
