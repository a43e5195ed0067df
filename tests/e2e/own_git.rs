//! Build scripts and benchmarks ask git for their version, and what they write there stays in their checkout.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::support::TestProject;

const ONE: [&str; 4] = ["--config", "build.strategy=relink", "--builds", "1"];

/// A build script that stamps the crate with git's answer, and then writes whatever git can write.
const SCRIPT: &str = r#"
use std::process::Command;

fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").args(["-c", "user.name=a", "-c", "user.email=b"]).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text.trim().to_owned()
}

fn main() {
    println!("cargo::rerun-if-changed=.git/HEAD");
    let stamp = git(&["describe", "--tags", "--always", "--dirty"]);
    println!("cargo::rustc-env=STAMP={stamp}");
    let scratch = std::env::var("OUT_DIR").unwrap();
    for arguments in [
        &["tag", "--force", "of-code"][..],
        &["config", "of.code", "written"],
        &["update-ref", "refs/heads/main", "HEAD"],
        &["submodule", "update", "--init"],
        &["worktree", "add", "--quiet", "--force", "--detach", &format!("{scratch}/tree")],
        &["fetch", "--quiet", "."],
        &["commit", "--quiet", "--allow-empty", "-m", "of code"],
        &["gc", "--quiet", "--prune=now"],
    ] {
        git(arguments);
    }
    std::fs::write("extra.txt", "x").unwrap();
    git(&["stash", "--include-untracked"]);
    git(&["reset", "--quiet", "--soft", "HEAD~1"]);
}
"#;

/// The contents of all files below a directory.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.insert(entry.path(), fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

#[test]
fn build_script_that_uses_git_leaves_the_repository_as_it_was() {
    let project = TestProject::of("sums");
    project.write("build.rs", SCRIPT);
    project.append("src/lib.rs", "\npub const STAMP: &str = env!(\"STAMP\");\n");
    project.commit("Stamp");
    project.git(&["tag", "v1"]);
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    let repository = project.root().join(".git");
    let before = contents(&repository);
    for _ in 0..2 {
        project.build(&[&["HEAD~1", "HEAD"], &ONE[..]].concat());
    }
    let after = contents(&repository);
    let changed: Vec<_> =
        before.iter().filter(|(path, one)| after.get(*path) != Some(one)).collect();
    assert!(changed.is_empty(), "{changed:?}");
    assert_eq!(before.len(), after.len(), "files were added");
    project.git(&["fsck", "--strict"]);
}
