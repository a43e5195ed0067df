//! In build k of versions that are built together, their common functions have the same addresses.

use crate::support::{
    TestProject,
    builds::{Agreement, Builds},
};

const THREE: [&str; 4] = ["--config", "build.strategy=relink", "--builds", "3"];

/// Builds the last two commits and asserts what holds for any two versions.
#[track_caller]
fn last_two(project: &TestProject) -> (Agreement, Builds) {
    let builds = project.build(&[&THREE[..], &["HEAD~1", "HEAD"]].concat());
    for version in 0..2 {
        assert_eq!(builds.distinct(version), (3, 3), "{}", builds.outcome.printed());
    }
    let agreement = builds.agreement(0);
    assert!(!agreement.identical, "{}", builds.outcome.printed());
    let between_seeds = agreement.between_seeds.unwrap();
    assert!((0.15..0.35).contains(&between_seeds), "{}", builds.outcome.printed());
    (agreement, builds)
}

/// The limit is below 1: start-up code of the linker driver may have no symbol, and is then not
/// placed separately.
#[track_caller]
fn assert_agree(agreement: Agreement) {
    let Agreement { common, same_address, same_phase, same_order, .. } = agreement;
    assert!(common > 150, "{agreement:?}");
    assert!(same_address >= 0.995, "{agreement:?}");
    assert!(same_phase >= same_address && same_order >= same_address, "{agreement:?}");
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
fn added_function_leaves_the_others_in_place() {
    let project = TestProject::of("many-functions");
    add_function(&project);
    let (agreement, builds) = last_two(&project);
    assert_agree(agreement);
    assert_ne!(builds.printed(0), builds.printed(1), "the new function is called");
    let text =
        project.rbench(&["build", "--config", "build.strategy=relink", "HEAD~1", "HEAD"]).ok();
    text.assert_stdout_has(&[
        "common functions, at least",
        "the same address",
        "between two seeds: 2",
    ]);
}

#[test]
fn same_order_layout_keeps_order_and_phase_not_addresses() {
    let project = TestProject::of("many-functions");
    add_function(&project);
    let arguments = [&THREE[..], &["--layout", "same-order", "HEAD~1", "HEAD"]].concat();
    let builds = project.build(&arguments);
    assert_eq!(builds.target(0)["layout"], "same-order");
    let Agreement { same_address, same_phase, same_order, .. } = builds.agreement(0);
    assert!(same_phase >= 0.99 && same_order >= 0.99 && same_address < 0.9, "{same_address}");
}

#[test]
fn three_versions_share_the_addresses_of_common_functions() {
    let project = TestProject::of("many-functions");
    add_function(&project);
    project.replace("src/lib.rs", "green_fox ", "");
    project.commit("Remove a function");
    let builds = project.build(&[&THREE[..], &["HEAD~2", "HEAD~1", "HEAD"]].concat());
    for version in 0..3 {
        assert_eq!(builds.target(version)["layout"], "same-address");
    }
    assert_agree(builds.agreement(0));
    assert_agree(builds.agreement(1));
}

#[test]
fn dissimilar_versions_fall_back_to_same_order() {
    let project = TestProject::of("many-functions");
    optimize(&project);
    let builds = project.build(&[&THREE[..], &["HEAD~1", "HEAD"]].concat());
    for version in 0..2 {
        assert_eq!(builds.target(version)["layout"], "same-order");
    }
    let warning = "many-functions/work: the versions have too little code in common";
    builds.outcome.assert_stderr_has(&[warning]);
    assert!(builds.agreement(0).same_phase > 0.85, "{}", builds.outcome.printed());
}

/// Changes the code of most functions and removes much of it, by optimisation.
fn optimize(project: &TestProject) {
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 3");
    project.commit("Optimize");
}

#[test]
fn removed_and_renamed_functions_leave_the_others_in_place() {
    let project = TestProject::of("many-functions");
    add_remove_and_rename(&project);
    assert_agree(last_two(&project).0);
}

#[test]
fn symbols_with_v0_mangling_agree() {
    let project = TestProject::of("many-functions");
    let config = "[build]\nrustflags = ['-Csymbol-mangling-version=v0']\n";
    project.write(".cargo/config.toml", config);
    project.commit("Use the new mangling");
    add_remove_and_rename(&project);
    assert_agree(last_two(&project).0);
}

#[test]
#[ignore = "takes long"]
fn thin_lto_versions_agree() {
    let project = TestProject::of("many-functions");
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 0\nlto = 'thin'");
    project.commit("Use thin LTO");
    add_remove_and_rename(&project);
    assert_agree(last_two(&project).0);
}

#[test]
#[ignore = "takes long"]
fn stripped_fat_lto_versions_agree() {
    let project = TestProject::of("many-functions");
    project.replace("Cargo.toml", "opt-level = 0", "opt-level = 0\nlto = 'fat'\nstrip = true");
    project.commit("Use fat LTO and strip");
    add_remove_and_rename(&project);
    assert_agree(last_two(&project).0);
}

#[test]
fn c_and_assembly_functions_keep_their_places() {
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
    assert_agree(agreement);
    assert_eq!(builds.printed(0), "C 375\nassembly 42\n");
    assert!(builds.printed(1).starts_with("C 375\n"), "{}", builds.printed(1));
}

/// Adds a feature; cargo hashes features into every symbol of the package's crates.
fn add_feature(project: &TestProject) {
    project.append("Cargo.toml", "\n[features]\ndefault = ['more']\nmore = []\n");
    project.commit("Add a feature");
}

/// Without the hash, instances of a generic function have the same name, and only their code
/// identifies them.
#[test]
#[ignore = "takes long"]
fn new_feature_moves_nothing() {
    let project = TestProject::of("many-functions");
    // Without optimisation there are many more such instances.
    optimize(&project);
    add_feature(&project);
    assert_agree(last_two(&project).0);
}

#[test]
fn new_feature_moves_nothing_with_v0_mangling() {
    let project = TestProject::of("many-functions");
    let config = "[build]\nrustflags = ['-Csymbol-mangling-version=v0']\n";
    project.write(".cargo/config.toml", config);
    project.commit("Use the new mangling");
    add_feature(&project);
    // v0 names contain the types, so even the order of constants may be the same.
    let builds = project.build(&[&THREE[..], &["HEAD~1", "HEAD"]].concat());
    assert_agree(builds.agreement(0));
}
