//! A history of `counted` with commits that change the work of a benchmark, one of them in a merged
//! branch, and commits that do not build.

use super::TestProject;

/// The description of a history. Commits are numbered from 1.
pub struct History<'h> {
    /// The number of commits.
    pub commits: usize,
    /// The commits that change the work of `changing`, each with its new number of rounds.
    pub rounds: &'h [(usize, u32)],
    /// The commits that do not build.
    pub broken: &'h [usize],
    /// The merge, and the rounds that the second of its three merged commits adds.
    pub merge: Option<(usize, u32)>,
}

impl History<'_> {
    /// Makes the history in a repository. Its start is the tag `start`, and each commit has its
    /// number in its subject. Every commit changes the code that `changing` executes.
    pub fn make(&self) -> TestProject {
        let project = TestProject::of("counted");
        project.replace(
            "src/lib.rs",
            "    rounds(ROUNDS)\n",
            "    std::hint::black_box(mark::MARK);\n    rounds(ROUNDS + side::MORE)\n",
        );
        project.append("src/lib.rs", "\nmod mark;\nmod side;\n");
        mark(&project, 0);
        more(&project, 0);
        project.commit("Begin");
        project.git(&["tag", "start"]);
        for commit in 1..=self.commits {
            if let Some((_, rounds)) = self.merge.filter(|(merge, _)| *merge == commit) {
                merge(&project, rounds);
                continue;
            }
            mark(&project, commit);
            if self.broken.contains(&commit) {
                project.append("src/mark.rs", "compile_error!(\"it is broken\");\n");
            }
            if let Some((_, rounds)) = self.rounds.iter().find(|(planted, _)| *planted == commit) {
                let text = project.read("src/lib.rs");
                let before = text.split("ROUNDS: u64 = ").nth(1).unwrap();
                let before = before.split(';').next().unwrap();
                project.replace(
                    "src/lib.rs",
                    &format!("u64 = {before};"),
                    &format!("u64 = {rounds};"),
                );
            }
            project.commit(&format!("Commit {commit}"));
        }
        project
    }
}

/// The commits of the merged branch, which forks off two before the merge: only the second one does
/// more.
fn merge(project: &TestProject, rounds: u32) {
    project.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    for (number, rounds) in [(1, 0), (2, rounds), (3, rounds)] {
        more(project, rounds);
        project.append("src/side.rs", &format!("// {number}\n"));
        project.append("src/side.rs", &format!("pub fn unused_{number}() {{}}\n"));
        project.commit(&format!("Side {number}"));
    }
    project.git(&["checkout", "--quiet", "main"]);
    project.git(&["merge", "--quiet", "--no-ff", "--message", "Merge the side", "side"]);
}

fn mark(project: &TestProject, number: usize) {
    project.write("src/mark.rs", &format!("//! A number.\n\npub const MARK: usize = {number};\n"));
}

fn more(project: &TestProject, rounds: u32) {
    let text = format!("//! More rounds.\n\npub const MORE: u64 = {rounds};\n");
    project.write("src/side.rs", &text);
}
