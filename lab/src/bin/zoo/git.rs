//! States of a repository.

use crate::shape::{SKIPPED, Shape, exit};

/// Two commits, and what a script does with them.
fn with(name: &'static str, source: &'static str, script: &str) -> Shape {
    Shape::new(name, source).two_commits().shell(script)
}

/// The comparison that measures nothing.
fn compared(shape: Shape) -> Shape {
    shape.run("compare --quick --exact --filter sum", exit(0).row("sum", SKIPPED))
}

pub fn shapes() -> Vec<Shape> {
    let mut shapes = clones();
    shapes.extend(states());
    shapes
}

fn clones() -> Vec<Shape> {
    let within =
        "rm -rf ../from && mv ../repository ../from && mkdir ../repository && cd ../repository && ";
    vec![
        with(
            "a shallow clone",
            "actions/checkout",
            &format!("{within}git clone --quiet --depth 1 file://$PWD/../from ."),
        )
        .quick()
        .run("compare --quick", exit(2).has("shallow").has("git fetch")),
        compared(with(
            "a shallow clone of two commits",
            "fetch-depth: 2",
            &format!("{within}git clone --quiet --depth 2 file://$PWD/../from ."),
        )),
        compared(with(
            "a partial clone",
            "C12: --filter=blob:none",
            &format!(
                "git config uploadpack.allowFilter true && {within}git clone --quiet --filter=blob:none file://$PWD/../from ."
            ),
        )),
        compared(with(
            "a clone with borrowed objects",
            "clone --shared",
            &format!("{within}git clone --quiet --shared ../from ."),
        )),
        compared(with("a linked worktree", "git worktree add", "git worktree add --quiet ../tree"))
            .inside("../tree"),
        compared(with(
            "a separate .git",
            "--separate-git-dir",
            "git init --quiet --separate-git-dir ../git",
        )),
        Shape::new("objects by SHA-256", "git init --object-format=sha256")
            .shell("rm -rf .git && git init --quiet --object-format=sha256 && git add .")
            .commit("Base")
            .run("compare --quick HEAD .", exit(2).has("sha256").lacks("panicked")),
        Shape::new("references as a table", "git init --ref-format=reftable")
            .shell("rm -rf .git && git init --quiet --ref-format=reftable && git add .")
            .two_commits()
            .run("compare --quick", exit(2).has("git clone --ref-format=files")),
        compared(with(
            "packed references and objects",
            "git gc",
            "git gc --quiet --prune=now && git pack-refs --all",
        )),
        compared(with(
            "a commit graph and several packs",
            "git maintenance",
            "git repack -q -d && git commit-graph write --reachable && git multi-pack-index write",
        )),
    ]
}

fn states() -> Vec<Shape> {
    vec![
        Shape::new("a repository without a commit", "the first minutes")
            .quick()
            .shell("rm -rf .git && git init --quiet --initial-branch=main")
            .list(&["sum", "other"])
            .run("compare --quick", exit(2).has("no commit")),
        Shape::bare("an empty repository", "nothing at all")
            .quick()
            .run("list .", exit(2).has("Cargo.toml").has("cargo init")),
        compared(with("a detached head", "CI and bisect", "git checkout --quiet --detach HEAD")),
        compared(with(
            "a merge",
            "a branch that was merged",
            "git checkout --quiet -b side HEAD~1 && echo side >SIDE && git add SIDE && git commit --quiet -m Side && \
             git checkout --quiet main && git merge --quiet --no-edit side",
        )),
        with("a rebase in progress", "a conflict", "git checkout --quiet -b side HEAD~1 && \
             sed -i 's/rounds(1_000)/rounds(7)/' src/lib.rs && git commit --quiet --all -m Side && (git rebase --quiet main || true)")
            .run("list main", exit(0).ids(&["sum", "other"]))
            .run("list .", exit(3).has("src/lib.rs")),
        with("a staged deletion", "git rm --cached", "git rm --quiet --cached src/lib.rs")
            .list(&["sum", "other"])
            .run("list HEAD", exit(0).ids(&["sum", "other"])),
        with("uncommitted changes", "the usual state", "sed -i 's/rounds(30_000)/rounds(1_000)/' src/lib.rs && echo new >NEW")
            .run("compare HEAD . --quick", exit(0).row("sum", SKIPPED).row("other", "improved")),
        with("a file that is only moved", "git mv", "git mv benches/b.rs benches/c.rs && sed -i 's/name = \"b\"/name = \"c\"/' Cargo.toml")
            .run("compare HEAD . --quick", exit(0).has("sum")),
        compared(with("a branch and a tag of one name", "release tags", "git branch v1 && git tag v1 && git tag HEAD~1 2>/dev/null || true")),
        with("in a hook of git", "GIT_DIR and GIT_INDEX_FILE are set", "git branch base HEAD~1")
            .run("compare base main --quick --exact --filter sum", exit(0).row("sum", SKIPPED))
            .with("GIT_DIR", ".git")
            .with("GIT_INDEX_FILE", ".git/index"),
        compared(with("attributes of export", ".gitattributes export-ignore and ident", "true"))
            .shell("printf '* text=auto\\nsrc/*.rs export-ignore ident\\n' >.gitattributes")
            .commit("Attributes")
            .run("compare HEAD~2 HEAD --quick --exact --filter sum", exit(0).row("sum", SKIPPED)),
        with("a range", "A..B, as git writes it", "git tag old HEAD~1")
            .run("compare old..main --quick --exact --filter sum", exit(0).row("sum", SKIPPED)),
        with("the same commit twice", "a base that is the head", "git branch base")
            .quick()
            .run("compare base main --quick", exit(0).row("sum", "identical").row("other", "identical")),
        with("no common ancestor", "an orphan branch", "git checkout --quiet --orphan other && git commit --quiet -m Orphan")
            .run("compare main other --quick --exact --filter sum", exit(0).row("sum", SKIPPED)),
        Shape::new("outside of a repository", "an unpacked archive")
            .quick()
            .shell("rm -rf .git")
            .run("list .", exit(2).has("git init")),
        with("files with odd names", "bytes that are no text", "touch \"$(printf 'a\\nb')\" \"$(printf 'x\\377')\" ':(top)' && git add --all && git commit --quiet -m Names")
            .run("list HEAD", exit(0).ids(&["sum", "other"]))
            .run("list .", exit(0).ids(&["sum", "other"])),
    ]
}
