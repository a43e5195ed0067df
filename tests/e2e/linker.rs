//! Linkers that cannot order functions: rbench replaces them, or compiles each build separately.

use std::fs;

use crate::support::{Builds, TestProject, script::script};

fn linked_by_lld(builds: &Builds) -> bool {
    let has = |file: &std::path::PathBuf| {
        let bytes = fs::read(file).unwrap();
        bytes.windows(11).any(|window| window == b"Linker: LLD")
    };
    builds.executables(0).iter().all(has)
}

#[test]
fn linker_without_ordering_is_replaced_and_reported() {
    let project = TestProject::of("sums");
    let build = |layout| {
        let arguments = ["--builds", "3", "--config", "build.strategy=relink", "--layout", layout];
        let flags = "-Clink-arg=-fuse-ld=bfd";
        Builds::of(project.build_command(&arguments).env("RUSTFLAGS", flags).ok())
    };
    let natural = build("default");
    assert!(!linked_by_lld(&natural), "the user's linker is not LLD");
    assert_eq!(natural.distinct(0), (1, 1));

    let matched = build("same-order");
    let note = "your linker cannot make the layout `same-order`; linking with LLD";
    matched.outcome.assert_stderr_has(&[note]);
    assert!(linked_by_lld(&matched));
    assert_eq!(matched.distinct(0), (3, 3));
    assert_eq!(matched.printed(0), natural.printed(0));
}

#[test]
fn missing_linker_falls_back_to_rehashed_builds() {
    let project = TestProject::of("many-functions");
    let only_bfd = script(
        &project.beside("only-bfd"),
        "case \"$*\" in *fuse-ld=lld*|*fuse-ld=mold*) echo 'no such linker' >&2; exit 1;; esac\n\
         exec cc -fuse-ld=bfd \"$@\"",
    );
    let flags = format!("-Clinker-features=-lld -Clinker={only_bfd}");
    let builds = project.build_command(&["--builds", "3"]).env("RUSTFLAGS", &flags);
    let builds = Builds::of(builds.ok());
    builds
        .outcome
        .assert_stderr_has(&["warning: ", "no linker here can make the layout `same-address`"]);
    assert_eq!(builds.version(0)["strategy"], "rebuild");
    assert_eq!(builds.target(0)["layout"], "rehashed");
    assert_eq!(builds.printed(0).lines().count(), 1);
    let (distinct, said) = builds.distinct(0);
    assert_eq!(u64::try_from(distinct), Ok(said));
    let text = project.rbench(&["build", "--builds", "3"]).env("RUSTFLAGS", &flags).ok();
    text.assert_stdout_has(&[&format!("{distinct} of 3 builds distinct")]);
    assert_eq!(
        text.stdout().contains("builds differ; those that are equal in every version"),
        distinct < 3
    );
}
