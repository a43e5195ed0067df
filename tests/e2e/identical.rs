//! Versions with the same machine code are reported as identical.

use crate::support::TestProject;

const FOUR: [&str; 4] = ["--config", "build.strategy=relink", "--builds", "4"];

#[test]
fn commit_without_machine_code_changes_is_identical_per_seed() {
    let project = TestProject::of("sums");
    project.append("src/lib.rs", "\n// A comment at the end moves no line.\n");
    project.commit("Explain");
    let builds = project.build(&[&FOUR[..], &["HEAD~1", "HEAD"]].concat());
    assert_eq!(builds.digests(0), builds.digests(1));
    assert_eq!(builds.target(0)["digest"], builds.target(1)["digest"]);
    assert!(builds.agreement(0).identical);
    assert_eq!(builds.version(1)["compiled"], true, "another tree is another compilation");

    let text = project.rbench(&[&["build"], &FOUR[..], &["HEAD~1", "HEAD"]].concat()).ok();
    text.assert_stdout_has(&["identical machine code in every build"]);
    let diff = project.rbench(&["diff", "HEAD~1"]).ok();
    diff.assert_stdout_has(&["functions are the same"]);
}

#[test]
fn comment_above_all_code_is_identical() {
    let project = TestProject::of("sums");
    for file in ["src/lib.rs", "benches/work.rs"] {
        project.replace(file, "//! ", "// Moves all lines.\n//! ");
    }
    project.commit("Explain");
    let builds = project.build(&[&FOUR[..], &["HEAD~1", "HEAD"]].concat());
    assert!(builds.agreement(0).identical);
    assert_eq!(builds.version(1)["compiled"], true);
}

/// Raises the package's version.
fn release(project: &TestProject) {
    for file in ["Cargo.toml", "Cargo.lock"] {
        project.replace(file, "1.0.0", "1.1.0");
    }
    project.commit("Release");
}

#[test]
fn release_is_identical() {
    let project = TestProject::of("sums");
    release(&project);
    let builds = project.build(&[&FOUR[..], &["HEAD~1", "HEAD"]].concat());
    assert!(builds.agreement(0).identical);
    let symbols = |version| {
        let bytes = std::fs::read(&builds.executables(version)[0]).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let names = object::Object::symbols(&file)
            .filter_map(|symbol| object::ObjectSymbol::name(&symbol).ok().map(str::to_owned));
        names.filter(|name| name.contains("steps")).collect::<Vec<_>>()
    };
    assert_eq!(symbols(0), symbols(1));
    assert!(!symbols(0).is_empty());
}

/// With fat LTO the whole program is one object. Both versions have the same one, under different
/// names.
#[test]
#[ignore = "takes long"]
fn release_with_fat_lto_is_identical() {
    let project = TestProject::of("sums");
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 0\nlto = true");
    project.commit("Use fat LTO");
    release(&project);
    let builds = project.build(&[&FOUR[..], &["HEAD~1", "HEAD"]].concat());
    assert!(builds.agreement(0).identical);
}

/// Generic code of a path dependency is compiled into the bench target together with its source
/// location.
#[test]
fn version_paths_do_not_get_into_machine_code() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    project.write("README.md", "# Workspace\n");
    project.commit("Describe");
    let builds =
        project.build(&["--builds", "1", "--config", "build.strategy=relink", "HEAD~1", "HEAD"]);
    assert_eq!(builds.report["agreements"].as_array().unwrap().len(), 2, "two bench targets");
    assert!(builds.agreement(0).identical && builds.agreement(1).identical);
}

#[test]
fn clean_uncommitted_tree_is_identical_to_its_commit() {
    let project = TestProject::of("sums");
    let builds =
        project.build(&["HEAD", ".", "--config", "build.strategy=relink", "--builds", "2"]);
    assert!(builds.agreement(0).identical);
    assert!(builds.version(1)["version"]["tree"] == builds.version(0)["version"]["tree"]);

    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    let builds =
        project.build(&["HEAD", ".", "--config", "build.strategy=relink", "--builds", "2"]);
    assert!(!builds.agreement(0).identical);
    assert_eq!(builds.version(1)["version"]["dirty"], true);
    assert!(builds.printed(1).starts_with("steps 180\n"), "{}", builds.printed(1));
}

/// Registry code that `cargo vendor` keeps in the repository is compiled with its own path.
#[test]
fn vendored_paths_do_not_differ_between_versions() {
    let project = TestProject::of("published-dependency");
    project.write("vendor/leaf/Cargo.toml", "[package]\nname = 'leaf'\nversion = '1.0.0'\n");
    project.write(
        "vendor/leaf/src/lib.rs",
        "pub fn answer() -> &'static str {\n    [\"one\", \"two\"][std::hint::black_box(1)]\n}\n",
    );
    project.write("vendor/leaf/.cargo-checksum.json", "{\"files\":{}}");
    project.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = 'v'\n[source.v]\ndirectory = 'vendor'\n",
    );
    project.commit("Vendor the dependency");
    project.write("README.md", "# Vendored\n");
    project.commit("Describe");
    let builds =
        project.build(&["--builds", "1", "--config", "build.strategy=relink", "HEAD~1", "HEAD"]);
    assert_eq!(builds.printed(0), "own 1, leaf two\n");
    assert!(builds.agreement(0).identical);
}

#[test]
#[ignore = "takes long"]
fn debug_info_makes_no_difference_to_identity() {
    for settings in [
        "debug = true",
        "debug = true\nsplit-debuginfo = 'packed'\npanic = 'abort'",
        "debug = 'line-tables-only'\nsplit-debuginfo = 'unpacked'\ncodegen-units = 1",
    ] {
        let project = TestProject::of("sums");
        project.replace("Cargo.toml", "opt-level = 0", &format!("opt-level = 0\n{settings}"));
        project.commit("Keep debug info");
        project.write("README.md", "# Sums\n");
        project.commit("Describe");
        let builds = project.build(&["--builds", "2", "HEAD~1", "HEAD"]);
        assert_eq!(builds.version(0)["strategy"], "relink", "{}", builds.outcome.printed());
        assert_eq!(builds.distinct(0), (2, 2));
        assert!(builds.printed(0).starts_with("steps 135\n"));
        assert!(builds.agreement(0).identical, "{settings}: {}", builds.outcome.printed());
    }
}

/// The progress of a comparison of the last two commits.
fn compared(project: &TestProject) -> String {
    let outcome = project.rbench(&["compare", "HEAD~1", "HEAD", "--format", "json"]).ok();
    for row in outcome.json("compare")["benchmarks"].as_array().unwrap() {
        assert_eq!(row["verdict"], "identical", "{row}");
    }
    outcome.stderr()
}

#[test]
fn version_that_differs_in_no_file_that_compiling_reads_is_not_compiled() {
    let project = TestProject::of("counted");
    project.write("notes.txt", "one");
    project.commit("Add notes");
    project.write("notes.txt", "two");
    project.write("README.md", "added");
    project.commit("Change notes, and add a document");
    let progress = compared(&project);
    assert!(progress.contains(") is not compiled: it differs from "), "{progress}");
    assert_eq!(progress.matches("compiling HEAD").count(), 1, "{progress}");
    // The compilation stays when that of the other version is gone.
    let again = compared(&project);
    assert!(again.contains("HEAD~1 (") && !again.contains("compiling HEAD"), "{again}");
}

#[test]
fn file_that_only_a_build_script_reads_is_part_of_a_version() {
    let project = TestProject::of("counted");
    project.write("notes.txt", "one");
    let script = "fn main() {\n    println!(\"cargo:rerun-if-changed=build.rs\");\n    \
                  assert!(std::fs::read_to_string(\"notes.txt\").is_ok());\n}\n";
    project.write("build.rs", script);
    project.commit("Read notes without saying so");
    project.write("notes.txt", "two");
    project.commit("Change them");
    let progress = compared(&project);
    assert_eq!(progress.matches("compiling HEAD").count(), 2, "{progress}");
}
