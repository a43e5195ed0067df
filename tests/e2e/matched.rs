//! Matched layouts: in build k, what two versions have in common has the same place.

use crate::support::{
    TestProject,
    builds::{Agreement, Builds},
};

const THREE: [&str; 4] = ["--strategy", "relink", "--builds", "3"];

/// Builds the last two commits and asserts what holds for any two versions.
#[track_caller]
fn last_two(project: &TestProject) -> (Agreement, Builds) {
    let builds = project.build(&[&THREE[..], &["HEAD~1", "HEAD"]].concat());
    for version in 0..2 {
        assert_eq!(builds.distinct(version), (3, 3), "{}", builds.outcome.told());
    }
    let agreement = builds.agreement(0);
    assert!(!agreement.identical, "{}", builds.outcome.told());
    let between_seeds = agreement.between_seeds.unwrap();
    assert!((0.15..0.35).contains(&between_seeds), "{}", builds.outcome.told());
    (agreement, builds)
}

#[track_caller]
fn assert_agree(agreement: Agreement, at_least: f64) {
    let Agreement { common, same_phase, same_order, .. } = agreement;
    assert!(common > 150, "{agreement:?}");
    assert!(same_phase >= at_least && same_order >= at_least, "{agreement:?}");
}

/// Adds a function that the benchmark calls, in the middle of the others.
fn add_function(project: &TestProject) {
    project.replace("src/lib.rs", "blue_fox", "brand_new_function blue_fox");
    project.commit("Add a function");
}

/// Adds, removes and renames functions, in one commit.
fn add_remove_and_rename(project: &TestProject) {
    project.replace("src/lib.rs", "green_fox ", "");
    project.replace("src/lib.rs", "teal_dog", "teal_wolf");
    add_function(project);
}

#[test]
fn a_commit_that_adds_a_function_leaves_the_others_in_their_places() {
    let project = TestProject::of("many-functions");
    add_function(&project);
    let (agreement, builds) = last_two(&project);
    assert_agree(agreement, 0.99);
    assert_ne!(builds.printed(0), builds.printed(1), "the new function is called");
    let text = project.rbench(&["build", "--strategy", "relink", "HEAD~1", "HEAD"]).ok();
    text.assert_stdout_has(&["common functions, at least", "between two seeds: 2"]);
}

#[test]
fn a_commit_that_removes_and_renames_functions_leaves_the_others_in_their_places() {
    let project = TestProject::of("many-functions");
    add_remove_and_rename(&project);
    assert_agree(last_two(&project).0, 0.99);
}

#[test]
fn symbols_mangled_the_new_way_agree_as_well() {
    let project = TestProject::of("many-functions");
    let config = "[build]\nrustflags = ['-Csymbol-mangling-version=v0']\n";
    project.write(".cargo/config.toml", config);
    project.commit("Use the new mangling");
    add_remove_and_rename(&project);
    assert_agree(last_two(&project).0, 0.99);
}

#[test]
fn versions_linked_with_thin_lto_agree() {
    let project = TestProject::of("many-functions");
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 0\nlto = 'thin'");
    project.commit("Use thin LTO");
    add_remove_and_rename(&project);
    assert_agree(last_two(&project).0, 0.99);
}

#[test]
fn versions_linked_with_fat_lto_and_stripped_agree() {
    let project = TestProject::of("many-functions");
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 0\nlto = 'fat'\nstrip = true");
    project.commit("Use fat LTO and strip");
    add_remove_and_rename(&project);
    assert_agree(last_two(&project).0, 0.99);
}

#[test]
fn functions_in_c_and_assembly_keep_their_places() {
    let project = TestProject::of("native-code");
    project.append(
        "src/lib.rs",
        "\n#[inline(never)]\npub fn added(number: u64) -> u64 {\n    sum(number) ^ 5\n}\n",
    );
    project.append("src/native.c", "\nunsigned long c_added(unsigned long n) { return n + 1; }\n");
    project.replace("benches/work.rs", "add_seven(black_box(35))", "added(add_seven(35))");
    project.replace("benches/work.rs", "native_code::added(", "native_code::added(native_code::");
    project.commit("Add functions");
    let (agreement, builds) = last_two(&project);
    assert_agree(agreement, 0.99);
    assert_eq!(builds.printed(0), "C 375\nassembly 42\n");
    assert!(builds.printed(1).starts_with("C 375\n"), "{}", builds.printed(1));
}

/// Raises the package's version, which is hashed into every symbol of its crates.
fn release(project: &TestProject) {
    project.replace("Cargo.toml", "version = \"1.0.0\"", "version = \"1.0.1\"");
    project.replace("Cargo.lock", "version = \"1.0.0\"", "version = \"1.0.1\"");
    project.commit("Release 1.0.1");
}

/// Without the hash, instances of one generic function are namesakes: about a tenth of this fixture.
#[test]
fn a_new_package_version_moves_only_instances_of_generic_functions() {
    let project = TestProject::of("many-functions");
    // There are many more of them without optimization.
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 3");
    release(&project);
    assert_agree(last_two(&project).0, 0.85);
}

#[test]
fn with_the_new_mangling_a_new_package_version_moves_nothing() {
    let project = TestProject::of("many-functions");
    let config = "[build]\nrustflags = ['-Csymbol-mangling-version=v0']\n";
    project.write(".cargo/config.toml", config);
    project.commit("Use the new mangling");
    release(&project);
    assert_agree(last_two(&project).0, 0.99);
}
