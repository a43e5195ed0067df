//! Benchmarks whose versions would meet outside of their checkouts are measured sequentially, and leave nothing there.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::PathBuf,
};

use crate::support::{TestProject, rbench::Rbench};

/// The fewest measured executions of a benchmark.
const MEASURED: usize = 20;

/// Two versions of the fixture whose files outside are in a directory beside the project, which is returned too.
fn project() -> (TestProject, PathBuf) {
    let project = TestProject::of("held");
    let place = project.beside("outside");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("log"), "first\n").unwrap();
    // More than rbench keeps.
    File::create(place.join("large")).unwrap().set_len(65 << 20).unwrap();
    project.replace("src/lib.rs", "/no/place", place.to_str().unwrap());
    project.commit("Use this place");
    project.replace("src/lib.rs", "ROUNDS: u64 = 1_000", "ROUNDS: u64 = 1_500");
    project.commit("Head");
    (project, place)
}

fn compare(project: &TestProject, more: &[&str]) -> Rbench {
    let usual = ["compare", "HEAD~1", "HEAD", "--no-skip", "--fail-on", "never", "-l", "2"];
    let few = ["-n", "10", "--config", "experiment.min-time=200us"];
    let once = ["--config=verdict.confirm=false"];
    project.rbench(&[&usual[..], &few, &once, more].concat()).env("COLUMNS", "500")
}

#[test]
fn shared_things_are_named_and_files_restored() {
    let (project, place) = project();
    let filter = ["--filter", "port", "--filter", "socket", "--filter", "file"];
    let output = compare(&project, &filter).ok().stdout();
    let large = place.join("large");
    let large = large.display();
    for expected in [
        "because both versions use port 27391: port".to_owned(),
        "because both versions use the abstract socket rbench held: socket".to_owned(),
        format!("use {large}; each execution finds {large} as the last one left it: large file"),
        format!("because both versions use {}: new file", place.join("pid").display()),
        format!("because both versions use {}: old file", place.join("log").display()),
    ] {
        assert!(output.contains(&expected), "{expected} is missing in {output}");
    }
    assert!(!output.contains("failed") && !output.contains("own-"), "{output}");
    let left: BTreeSet<_> =
        fs::read_dir(&place).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left, ["large", "log"].map(Into::into).into());
    // Only traced executions, of which this one is not known before, have added a line.
    let lines = fs::read_to_string(place.join("log")).unwrap().lines().count();
    assert!((2..MEASURED).contains(&lines), "{lines} lines");
}

#[test]
fn port_of_one_version_is_not_used_twice_at_once() {
    let (project, _) = project();
    let output = compare(&project, &["--filter", "only"]).ok().stdout();
    assert!(!output.contains("sequentially") && !output.contains("failed"), "{output}");
}

#[test]
fn versions_that_wait_for_each_other_are_sequential() {
    let (project, _) = project();
    let output = compare(&project, &["--filter", "lock"]).ok().stdout();
    let expected =
        "measured sequentially, because neither version goes on beside the other: unseen lock";
    assert!(output.contains(expected) && !output.contains("failed"), "{output}");
}
