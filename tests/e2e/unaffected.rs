//! rbench never writes to the user's repository outside of `target/rbench`.

use crate::support::{TestProject, tree};

#[test]
fn repository_stays_unchanged_outside_of_the_rbench_directory() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    project.write("stashed.txt", "stashed");
    project.git(&["add", "stashed.txt"]);
    project.git(&["stash", "--quiet"]);
    project.replace("shared/src/lib.rs", "shared 1", "shared 2");
    project.commit("Change the package outside of the workspace");
    project.write("staged.txt", "staged");
    project.git(&["add", "staged.txt"]);
    project.replace("shared/src/lib.rs", "shared 2", "shared 3");
    project.write("untracked.txt", "untracked");
    project.write("rust/target/release/of-the-user", "ignored by git");

    let own = project.storage();
    let snapshot = || tree::everything(project.root(), |path| path != own);
    let before = snapshot();
    let status = project.git(&["--no-optional-locks", "status", "--porcelain"]);
    let arguments = ["--builds", "2", "--config", "build.strategy=relink", "HEAD~1", "HEAD", "."];
    let builds = project.build(&arguments);
    assert_eq!(builds.version(2)["version"]["dirty"], true);
    project.rbench(&["diff", "HEAD~1", "."]).ok();
    project.rbench(&["build", "no-such-revision"]).fails_with(2);
    project.rbench(&["clean", "--max-size", "0"]).ok();
    let after = snapshot();
    for (path, entry) in &after {
        assert!(before.contains_key(path), "{} is new", path.display());
        assert!(before[path] == *entry, "{} has changed", path.display());
    }
    assert_eq!(after.len(), before.len(), "something was removed");
    assert_eq!(project.git(&["--no-optional-locks", "status", "--porcelain"]), status);
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn files_of_rbench_are_not_part_of_the_uncommitted_tree() {
    let project = TestProject::of("sums");
    project.git(&["rm", "--quiet", ".gitignore"]);
    project.write("bench.toml", "[store]\npath = \"results.sqlite\"\n");
    project.commit("Forget what git is to ignore");
    let arguments = ["--builds", "1", "--config", "build.strategy=relink", "."];
    let first = project.build(&arguments);
    let store = ["results.sqlite", "results.sqlite-wal"];
    for file in store {
        project.write(file, "it changes with every run");
    }
    let second = project.build(&arguments);
    assert_eq!(first.version(0)["version"]["tree"], second.version(0)["version"]["tree"]);
    assert!(second.nothing_was_made(0), "{}", second.outcome.printed());
    let seen = project.git(&["status", "--porcelain"]);
    assert_eq!(seen, store.map(|file| format!("?? {file}")).join("\n"), "git sees nothing else");
}

#[test]
fn linked_worktree_works_like_any_other_repository() {
    let project = TestProject::of("sums");
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    let linked = project.root().join("linked");
    project.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "HEAD~1"]);
    let linked = project.in_workspace("linked");
    let builds =
        linked.build(&["--builds", "1", "--config", "build.strategy=relink", "HEAD", "main"]);
    assert!(builds.printed(0).starts_with("steps 135\n"), "{}", builds.outcome.printed());
    assert!(builds.printed(1).starts_with("steps 180\n"), "{}", builds.outcome.printed());
    assert!(builds.executables(0)[0].starts_with(linked.storage()));
}
