//! `cargo rbench diff` lists the functions with different machine code.

use serde_json::Value;

use crate::support::TestProject;

fn names(target: &Value, kind: &str) -> Vec<String> {
    let functions = target[kind].as_array().unwrap();
    functions.iter().map(|function| function["name"].as_str().unwrap().to_owned()).collect()
}

fn some_changes() -> TestProject {
    TestProject::shared("some changes", "many-functions", |project| {
        project.replace("Cargo.toml", "opt-level = 0", "opt-level = 3");
        project.commit("Optimize");
        project.replace("src/lib.rs", "green_fox ", "");
        project.replace("src/lib.rs", "teal_dog", "brand_new_function");
        project.replace("src/lib.rs", "(|(value, count)| (*count, *value))", "(|pair| pair.0)");
        project.commit("Change, add and remove");
    })
}

#[test]
fn changed_functions_are_listed_with_their_sizes() {
    let project = some_changes();
    let diff = project.rbench(&["diff", "--format", "json"]).ok().json("diff");
    assert_eq!(diff["base"]["revision"], "HEAD~1");
    assert_eq!(diff["head"]["revision"], "HEAD");
    let target = &diff["targets"][0];
    assert_eq!(target["target"], "work");
    assert!(names(target, "added").contains(&"many_functions::brand_new_function".to_owned()));
    assert!(names(target, "removed").contains(&"many_functions::green_fox".to_owned()));
    assert!(names(target, "removed").contains(&"many_functions::teal_dog".to_owned()));
    assert!(names(target, "changed").contains(&"many_functions::checksum".to_owned()), "{target}");
    for kind in ["added", "removed", "changed"] {
        let touched = names(target, kind);
        assert!(!touched.contains(&"many_functions::blue_owl".to_owned()), "{kind}: {touched:?}");
        assert!(touched.iter().all(|name| !name.contains("17h")), "demangled: {touched:?}");
    }
    let unchanged = target["unchanged"].as_u64().unwrap();
    assert!(unchanged > 500, "{unchanged}");
    assert!(target["added"].as_array().unwrap().iter().all(|f| f["size_bytes"].as_u64() > Some(0)));
    assert_eq!(target["not_comparable"].as_array().unwrap().len(), 0, "{target}");
}

#[test]
fn text_output_lists_the_same_functions() {
    let project = some_changes();
    let text = project.rbench(&["diff", "HEAD~1", "HEAD"]).ok();
    text.assert_stdout_has(&[
        "machine code of HEAD~1 (",
        "many-functions/work: ",
        "+ many_functions::brand_new_function  (",
        "- many_functions::green_fox  (",
        "~ many_functions::checksum  (",
        " the same\n",
    ]);
    let back = project.rbench(&["diff", "HEAD..HEAD~1"]).ok();
    back.assert_stdout_has(&["- many_functions::brand_new_function  ("]);
}

#[test]
fn default_versions_and_a_range_compare_the_same_two() {
    let project = some_changes();
    let plain = project.rbench(&["diff"]).ok().stdout();
    assert_eq!(project.rbench(&["diff", "HEAD~1..HEAD"]).ok().stdout(), plain);
    assert_eq!(project.rbench(&["diff", "HEAD~1.."]).ok().stdout(), plain);
    let three = project.rbench(&["diff", "HEAD~1..HEAD", "main"]).fails_with(2);
    three.assert_stderr_has(&["a range already names both versions", "hint: "]);
}

#[test]
fn changed_constant_changes_the_one_function_that_has_it() {
    let project = TestProject::of("sums");
    // Otherwise a closure would contain it.
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 3");
    project.commit("Optimize");
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Change a constant");
    let diff = project.rbench(&["diff", "HEAD~1", "--format", "json"]).ok().json("diff");
    let target = &diff["targets"][0];
    assert_eq!(names(target, "changed"), ["sums::steps"]);
    assert!(names(target, "added").is_empty() && names(target, "removed").is_empty());
}

#[test]
fn larger_stack_frame_is_listed_with_both_sizes() {
    let project = TestProject::of("sums");
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 3");
    project.commit("Optimize");
    let more = "let all = std::hint::black_box([count; 512]);\n    (0..all[7]).map(";
    project.replace("src/lib.rs", "(0..count).map(", more);
    project.commit("Make an array");
    let diff = project.rbench(&["diff", "HEAD~1", "--format", "json"]).ok().json("diff");
    let changed = diff["targets"][0]["changed"].as_array().unwrap();
    let steps = changed.iter().find(|one| one["name"] == "sums::steps").unwrap();
    let sizes = ["base", "head"].map(|version| steps[format!("{version}_stack_bytes")].as_u64());
    let text = project.rbench(&["diff", "HEAD~1"]).ok();
    if let [Some(base), Some(head)] = sizes {
        let array = 512 * 8;
        assert!(base < 200 && head >= base + array && head < base + 3 * array, "{steps}");
        text.assert_stdout_has(&[&format!(" bytes, stack {base} -> {head} bytes)\n")]);
    } else {
        // Compilers for aarch64 use frame pointers wherever a function calls another.
        assert_eq!(std::env::consts::ARCH, "aarch64", "{steps}");
        assert!(!text.stdout().contains("stack"), "{}", text.stdout());
    }
}

/// The fixture changes a key type with which the standard library's sorting is instantiated.
#[test]
fn functions_with_unchanged_source_are_listed_if_code_changed() {
    let project = some_changes();
    let diff = project.rbench(&["diff", "HEAD~1", "--format", "json"]).ok().json("diff");
    let changed = names(&diff["targets"][0], "changed");
    assert!(changed.iter().any(|name| name.starts_with("core::slice::sort::")), "{changed:?}");
}

#[test]
fn c_and_assembly_functions_are_compared_too() {
    let project = TestProject::of("native-code");
    project.replace("src/native.c", "number * number", "number * number + 1");
    project.replace("src/lib.rs", "lea rax, [rdi + 7]", "lea rax, [rdi + 8]");
    project.replace("src/lib.rs", "add x0, x0, #7", "add x0, x0, #8");
    project.commit("Change C and assembly");
    let diff = project.rbench(&["diff", "HEAD~1", "--format", "json"]).ok().json("diff");
    let changed = names(&diff["targets"][0], "changed");
    assert!(changed.contains(&"c_square".to_owned()), "{changed:?}");
    assert!(changed.contains(&"native_add_seven".to_owned()), "{changed:?}");
}

#[test]
fn bench_targets_of_one_version_alone_are_named() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    project.git(&["mv", "rust/tools/benches/second.rs", "rust/tools/benches/third.rs"]);
    project.replace("rust/tools/Cargo.toml", "second", "third");
    project.commit("Rename a bench target");
    let diff = project.rbench(&["diff", "HEAD~1", "--format", "json"]).ok().json("diff");
    assert_eq!(diff["targets"].as_array().unwrap().len(), 1);
    assert_eq!(diff["only_base"][0]["target"], "second");
    assert_eq!(diff["only_head"][0]["target"], "third");
    let text = project.rbench(&["diff", "HEAD~1"]).ok();
    text.assert_stdout_has(&["tools/first: all ", "tools/second: only in HEAD~1"]);
}
