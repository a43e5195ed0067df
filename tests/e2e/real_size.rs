//! A workspace of real size: criterion, `serde_json` and regex from the registry.

use std::{collections::BTreeSet, fs};

use crate::support::TestProject;

#[test]
#[ignore = "takes a minute: compiles criterion, serde_json and regex"]
fn thirty_builds_are_distinct_and_dependencies_compile_once() {
    let project = TestProject::of("criterion-workspace");
    project.write("README.md", "# A workspace\n");
    project.append("src/lib.rs", "\n/// Nobody calls it.\npub fn added() -> u64 {\n    42\n}\n");
    project.commit("Add a function");
    let arguments = ["--builds", "30", "--config", "build.strategy=relink", "HEAD~1", "HEAD"];
    let builds = project.build_command(&arguments).env("CARGO_NET_OFFLINE", "false").ok();
    let builds = crate::support::Builds::of(builds);
    assert_eq!(builds.distinct(0), (30, 30));
    assert_eq!(builds.distinct(1), (30, 30));
    let agreement = builds.agreement(0);
    assert!(agreement.common > 2000, "{agreement:?}");
    assert!(agreement.same_address >= 0.995, "{agreement:?}");

    let logs = fs::read_dir(project.storage().join("logs")).unwrap();
    // Runs have logs in a directory of their own.
    let texts = logs.filter_map(|log| fs::read_to_string(log.unwrap().path()).ok());
    let compiled = texts.map(|text| {
        let packages = text.lines().filter_map(|line| line.trim().strip_prefix("Compiling "));
        packages.map(|package| package.split(' ').next().unwrap().to_owned()).collect()
    });
    let mut compiled: Vec<BTreeSet<String>> = compiled.collect();
    compiled.sort_by_key(BTreeSet::len);
    assert_eq!(compiled[0].iter().collect::<Vec<_>>(), ["criterion-workspace"]);
    assert!(compiled[1].contains("criterion") && compiled[1].contains("regex"));
}
