//! `--explain` by time names the slower function whatever executes it.

use serde_json::Value;

use crate::{harness::libtest::assert_nightly, support::TestProject};

/// The fixture, and a commit that makes `hot` three times as slow.
fn project() -> TestProject {
    TestProject::shared("hosts", "hosts", |project| {
        project.fetch();
        project.replace("src/lib.rs", "2_000", "6_000");
        project.commit("Slower");
    })
}

/// The words of a command that explains a benchmark.
fn words<'w>(versions: [&'w str; 2], benchmark: &'w str) -> [&'w str; 7] {
    let [base, head] = versions;
    ["diff", base, head, "--explain", benchmark, "--format", "json"]
}

/// The slower function is named first, and nearly all stacks are whole.
#[track_caller]
fn assert_names_hot(explanation: &Value) {
    let functions = explanation["functions"].as_array().unwrap();
    let first = functions.iter().find(|one| one["is_beyond_noise"] == true).unwrap();
    let name = first["name"].as_str().unwrap();
    assert!(name.ends_with("::hot") && first["code"]["kind"] == "changed", "{first}");
    assert!(explanation["cut_share"].as_f64().unwrap() < 0.1, "{explanation}");
}

#[test]
#[ignore = "takes long"]
fn slower_function_is_named_under_each_harness() {
    let project = project();
    let all = ["divided::work", "function", "coroutine", "timed"];
    for (variant, benchmark) in
        all.map(|one| ("", one)).into_iter().chain([("+aborting", "function")])
    {
        let [base, head] = ["HEAD~1", "HEAD"].map(|revision| format!("{revision}{variant}"));
        let explanation = project.rbench(&words([&base, &head], benchmark)).ok();
        assert_names_hot(&explanation.json("explain-time"));
    }
}

#[test]
#[ignore = "takes long"]
fn runtime_that_reads_the_clock_in_each_iteration_is_sampled() {
    let outcome = project().rbench(&words(["HEAD~1", "HEAD"], "runtime")).ok();
    let explanation = outcome.json("explain-time");
    let functions = explanation["functions"].to_string();
    assert!(functions.contains("hosts::hot") && functions.contains("hosts::cold"), "{functions}");
}

#[test]
#[ignore = "takes long"]
fn slower_function_of_a_program_is_named() {
    let project = TestProject::of("program");
    project.append("Cargo.toml", "\n[profile.bench]\npanic = \"abort\"\n");
    project.commit("Abort");
    project.replace("src/main.rs", "!word.is_empty()", "!word.contains(\"zz\")");
    project.commit("Slower");
    let command = "word-count --rounds 3000";
    let words = [&words(["HEAD~1", "HEAD"], command)[..], &["--command", command]].concat();
    let explanation = project.rbench(&words).ok().json("explain-time");
    assert!(explanation["cut_share"].as_f64().unwrap() < 0.1, "{explanation}");
    let functions = explanation["functions"].as_array().unwrap();
    let first = functions.iter().find(|one| one["is_beyond_noise"] == true).unwrap().to_string();
    assert!(first.contains("word_count::") && first.contains("\"changed\""), "{first}");
}

#[test]
#[ignore = "takes long"]
fn static_program_is_refused_with_the_reason() {
    let project = TestProject::of("native");
    project.write("bench.toml", "[variant.static]\nrustflags = ['-Ctarget-feature=+crt-static']\n");
    project.commit("Link statically");
    let outcome =
        project.rbench(&words(["HEAD~1+static", "HEAD+static"], "count/64")).fails_with(4);
    outcome.assert_stderr_has(&["cannot be sampled", "it is linked statically"]);
}

#[test]
#[ignore = "takes long"]
fn slower_function_is_named_in_a_library_with_bench_functions() {
    assert_nightly();
    let project = TestProject::of("hosts");
    project.write("Cargo.toml", "[package]\nname = \"hosts\"\nedition = \"2021\"\n\n[workspace]\n\n[[bench]]\nname = \"unit\"\npath = \"src/lib.rs\"\n");
    project.git(&["rm", "--quiet", "-r", "benches", "bench.toml", "Cargo.lock"]);
    project.append(
        "src/lib.rs",
        "\n#[bench]\nfn bench(bencher: &mut test::Bencher) {\n    bencher.iter(work);\n}\n",
    );
    project.replace("src/lib.rs", "use std", "extern crate test;\n\nuse std");
    project.write("src/lib.rs", &format!("#![feature(test)]\n{}", project.read("src/lib.rs")));
    project.commit("Test");
    project.replace("src/lib.rs", "2_000", "6_000");
    project.commit("Slower");
    let rbench = project.rbench(&words(["HEAD~1", "HEAD"], "bench"));
    assert_names_hot(&rbench.env("RUSTUP_TOOLCHAIN", "nightly").ok().json("explain-time"));
}
