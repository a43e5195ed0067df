//! Variants: versions that are built and run with other settings.

use serde_json::Value;

use crate::support::TestProject;

/// The least that gives a verdict.
const SHORT: [&str; 9] =
    ["compare", "--config", "build.strategy=relink", "-l", "4", "-m", "1", "-n", "5"];

/// The first with more work, the others with the same.
const VARIANTS: &str = "[variant.slow]\nrustflags = ['--cfg', 'slow']\n\
    [variant.same]\nprofile-settings = { debug-assertions = false }\n\
    [variant.read]\nenvironment = { WORK = 's3cret' }\n\
    [variant.unread]\nenvironment = { OTHER = 's3cret' }\n\
    [variant.misspelt]\nprofile-settings = { codegen_units = 1 }\n\
    [variant.ignored]\nprofile-settings = { panic = 'abort' }\n\
    [variant.allocator]\nenvironment = { MALLOC_ARENA_MAX = '1' }\n";

/// Two commits with the same work, which a flag of the compiler multiplies, and a benchmark that reads a variable.
fn project() -> TestProject {
    TestProject::shared("variants", "counted", |project| {
        project.write("bench.toml", VARIANTS);
        project.replace("src/lib.rs", "= 1_000", "= if cfg!(slow) { 30_000 } else { 1_000 }");
        let reading = "suite.bench(\"reading\", |bencher| bencher.iter(|| 700 + u64::from(std::env::var(\"WORK\").is_ok())));\n}";
        project.replace(
            "benches/work.rs",
            "counted::steady));\n}",
            &format!("counted::steady));\n    {reading}"),
        );
        project.commit("Read a variable");
        project.write("README.md", "Words");
        project.commit("Describe");
    })
}

/// The comparison of these versions, as JSON.
fn compared(project: &TestProject, versions: [&str; 2], exit: i32) -> Value {
    let words = [&SHORT[..], &versions, &["--format", "json"]].concat();
    project.rbench(&words).run().assert_exit(exit).json("compare")
}

/// The verdict on a benchmark.
fn verdict<'r>(report: &'r Value, id: &str) -> &'r str {
    let rows = report["benchmarks"].as_array().unwrap();
    rows.iter().find(|row| row["id"] == id).unwrap()["verdict"].as_str().unwrap()
}

#[test]
fn settings_that_cargo_ignores_are_refused() {
    let project = project();
    let refused = |head: &str, said: &[&str]| {
        let words = [&SHORT[..], &["HEAD", head]].concat();
        project.rbench(&words).fails_with(2).assert_stderr_has(said);
    };
    let place = "hint: correct or remove it in [variant.misspelt] of bench.toml";
    refused("HEAD+misspelt", &["error: cargo ignores `profile.bench.codegen_units`", place]);
    refused("HEAD+ignored", &["error: cargo ignores `panic`", "is ignored for `bench` profile"]);
}

#[test]
fn settings_of_the_head_that_cargo_ignores_are_told() {
    let project = TestProject::of("counted");
    project.replace("Cargo.toml", "[profile.bench]\n", "[profile.bench]\npanic = 'abort'\n");
    project.commit("Abort");
    let report = compared(&project, ["HEAD~1", "HEAD"], 0);
    assert_eq!(verdict(&report, "changing"), "identical");
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("ignored_settings"), "{warnings}");
    assert!(warnings.contains("`panic` setting is ignored for `bench` profile"), "{warnings}");
}

#[test]
fn variant_is_compared_with_its_version() {
    let project = project();
    let report = compared(&project, ["HEAD", "HEAD+slow"], 1);
    assert_eq!(verdict(&report, "changing"), "regressed");
    assert_ne!(verdict(&report, "steady"), "regressed");
    assert_eq!(report["head"]["variant"]["settings"], "rustflags --cfg slow");
    assert!(report["base"]["variant"].is_null() && report["compilers"].is_null());
    let report = compared(&project, ["HEAD", "HEAD+same"], 0);
    assert_eq!(verdict(&report, "changing"), "identical");
    // Both are the same variant of commits with the same code.
    let report = compared(&project, ["HEAD~1+slow", "HEAD+slow"], 0);
    assert_eq!(verdict(&report, "changing"), "identical");
}

#[test]
fn variable_of_a_variant_is_a_difference_even_if_unread() {
    let project = project();
    // A library may search the whole environment, which no trace shows.
    let report = compared(&project, ["HEAD", "HEAD+unread"], 0);
    assert_eq!(["changing", "reading"].map(|id| verdict(&report, id)), ["unchanged"; 2]);
    let doubts = report["benchmarks"][0]["impact"]["uncertainties"].to_string();
    assert!(doubts.contains("it may read OTHER, which differs"), "{doubts}");
    let words = [&SHORT[..], &["HEAD", "HEAD+read", "--reasons"]].concat();
    let outcome = project.rbench(&words).run();
    outcome.assert_stdout_has(&["reading: reads the variable WORK, which differs", "steady"]);
    assert!(!outcome.stdout().contains("s3cret"), "{}", outcome.stdout());
    // The C library reads it before any code that a trace sees.
    let report = compared(&project, ["HEAD", "HEAD+allocator"], 0);
    for id in ["changing", "steady", "reading"] {
        assert_eq!(verdict(&report, id), "unchanged");
    }
}

#[test]
fn variant_has_its_own_results_and_history() {
    let project = TestProject::of("counted");
    project.write("bench.toml", VARIANTS);
    project.replace("src/lib.rs", "= 1_000", "= if cfg!(slow) { 3_000 } else { 1_000 }");
    project.commit("Make the work a setting");
    compared(&project, ["HEAD", "HEAD+slow"], 1);
    let value = |revision: &str| {
        let words = ["history", revision, "--exact", "--filter", "changing", "--format", "json"];
        let report = project.rbench(&words).ok().json("history-version");
        report["benchmarks"][0]["result"]["value"].as_f64().unwrap()
    };
    assert!(value("HEAD+slow") > 2.0 * value("HEAD"));
    let history = |words: &[&str]| {
        let words = [&["history", "--format", "json"], words].concat();
        project.rbench(&words).ok().json("history")
    };
    let versions = |report: &Value| report["benchmarks"][0]["versions"].as_array().unwrap().len();
    let plain = history(&[]);
    assert_eq!((versions(&plain), &plain["variant"]), (1, &Value::Null));
    assert_eq!(plain["other_variants"], serde_json::json!(["slow"]));
    let slow = history(&["--variant", "slow"]);
    assert_eq!((versions(&slow), &slow["variant"]["name"]), (1, &"slow".into()));
    let others = "[variant.slow]\nrustflags = ['--cfg', 'slow', '--cfg', 'other']\n";
    project.write("bench.toml", others);
    let outcome = project.rbench(&["history", "HEAD+slow"]).fails_with(2);
    outcome.assert_stderr_has(&["no results are stored for HEAD+slow"]);
}

#[test]
fn variant_of_placement_is_named_since_it_is_not_compared() {
    let project = TestProject::of("counted");
    let variants = "[variant.aligned]\nrustflags = ['-Cllvm-args=-align-all-functions=6']\n\
        [variant.sorted]\nrustflags = ['-Clink-arg=-Wl,--symbol-ordering-file=order']\n\
        [variant.checked]\nprofile-settings = { overflow-checks = true }\n";
    project.write("bench.toml", variants);
    project.write("order", "main\n");
    project.commit("Have variants");
    let warning = |versions: [&str; 2]| {
        let report = compared(&project, versions, 0);
        let mut warnings = report["warnings"].as_array().unwrap().iter();
        warnings.find(|one| one["kind"] == "placement_not_compared").cloned()
    };
    let aligned = warning(["HEAD", "HEAD+aligned"]).unwrap();
    assert!(aligned["functions"].as_u64() > Some(0) && aligned["options"] == false, "{aligned}");
    let text = aligned["text"].as_str().unwrap();
    assert!(text.contains("so the effect of this is not compared"), "{text}");
    let sorted = warning(["HEAD", "HEAD+sorted"]).unwrap();
    assert!(sorted["functions"] == 0 && sorted["options"] == true, "{sorted}");
    assert_eq!(warning(["HEAD", "HEAD+checked"]), None);
}

#[test]
fn variants_are_ranked() {
    let project = project();
    let variants = ["HEAD", "--variants", "slow,same", "--format", "json"];
    // Which settings are slower is no failure, unless it is to be one.
    let outcome = project.rbench(&[&SHORT[..], &variants].concat()).run().assert_exit(0);
    let report = outcome.json("ranking");
    let ranking = report["ranking"].as_array().unwrap().iter();
    let ranking: Vec<_> = ranking.map(|one| (one["rank"].as_u64(), &one["name"])).collect();
    let names = ["HEAD", "same", "slow"].map(Value::from);
    assert_eq!(ranking, [1, 1, 3].map(Some).into_iter().zip(&names).collect::<Vec<_>>());
    let stored = ["compare", "--stored", "--variants", "slow", "--fail-on", "regression"];
    let outcome = project.rbench(&stored).run().assert_exit(1);
    outcome
        .assert_stdout_has(&["1 variant compared with HEAD", "variant slow: rustflags --cfg slow"]);
}

#[test]
#[ignore = "takes long"]
fn explanation_names_the_functions_of_a_variant() {
    let project = TestProject::of("implementations");
    project.write("bench.toml", "[variant.plain]\nprofile-settings = { opt-level = 0 }\n");
    project.commit("Have a variant");
    let words = ["HEAD", "--variants", "plain", "--filter", "usual/1000$", "--explain"];
    let outcome = project.rbench(&[&SHORT[..], &words].concat()).ok();
    outcome.assert_stdout_has(&["plain compared with HEAD in ", "slower because of ", "new in"]);
}

#[test]
fn impossible_variants_are_refused() {
    let project = project();
    let refused = |words: &[&str], texts: &[&str]| {
        project.rbench(&[&["compare"], words].concat()).fails_with(2).assert_stderr_has(texts);
    };
    refused(&["HEAD", "HEAD+none"], &["no variant `none`", "bench.toml has `allocator`"]);
    refused(&["HEAD~1", "HEAD", "--variants", "slow"], &["one version with its variants"]);
    project
        .rbench(&["run", "HEAD~1+slow..HEAD"])
        .fails_with(2)
        .assert_stderr_has(&["same variant"]);
    let reserved = "variant.x.environment={ CARGO_TARGET_DIR = '/x' }";
    refused(&["HEAD", "HEAD+x", "--config", reserved], &["sets the variable CARGO_TARGET_DIR"]);
    let missing = "variant.x.toolchain='/nowhere'";
    refused(&["HEAD", "HEAD+x", "--config", missing], &["/nowhere has no bin/rustc"]);
}
