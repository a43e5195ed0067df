//! A repository of 64 commits with known truth: two make a benchmark slower, two do not build, and
//! one is a merge.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use lab::WorkingTree;
use rbench_stats::Random;

pub const COMMITS: usize = 64;

/// The functions whose work is changed, one in each history.
const FUNCTIONS: [&str; 4] = ["fnv", "horner", "primes", "split"];

/// The tag of the commit before the first one.
pub const START: &str = "start";

/// The description of a history, by commit numbers from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The changed function, which has the name of its benchmark.
    pub function: &'static str,
    /// The slower commits, each with the units of work from it on. If one is the merge, the change
    /// is in the second of the commits that it merges.
    pub slower: [(usize, usize); 2],
    broken: [usize; 2],
    merge: usize,
}

impl History {
    /// The history of a seed, which is always the same.
    pub fn of_seed(seed: u64) -> Self {
        let mut random = Random::stream(seed, 16);
        let mut places: Vec<usize> = (1..=COMMITS).collect();
        random.shuffle(&mut places);
        // The ends build; otherwise there is nothing to search.
        let mut broken = places.iter().copied().filter(|place| *place < COMMITS);
        let broken = [broken.next(), broken.next()].map(Option::unwrap_or_default);
        let mut others = places.into_iter().filter(|place| !broken.contains(place));
        let mut next = || others.next().unwrap_or_default();
        let (mut plants, merge) = ([next(), next()], next());
        if seed.is_multiple_of(4) {
            plants[0] = merge;
        }
        // A merge of a commit that does not build does not build either, and would be a third one.
        // No search can distinguish a slower commit from a directly preceding one that does not
        // build.
        let is_fine = |place: &usize| {
            *place < COMMITS && *place + 1 != merge && !plants.contains(&(*place + 1))
        };
        let mut instead = others.filter(is_fine);
        let broken = broken
            .map(|place| if is_fine(&place) { place } else { instead.next().unwrap_or_default() });
        plants.sort_unstable();
        let five_first = random.chance(0.5);
        let units = if five_first { [105, 108] } else { [103, 108] };
        let slower = [(plants[0], units[0]), (plants[1], units[1])];
        let index = usize::try_from(seed).unwrap_or_default() % FUNCTIONS.len();
        Self { function: FUNCTIONS[index], slower, broken, merge }
    }

    /// Makes the repository, unless it exists.
    pub fn make(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        if path.join(".git/refs/tags/done").exists() {
            return Ok(());
        }
        if path.exists() {
            fs::remove_dir_all(path)?;
        }
        let tree = WorkingTree::of_fixture("truth", path.to_owned())?;
        let source = self.source();
        fs::write(path.join(".gitignore"), "/target\n/.rbench\n")?;
        tree.edit(&source, |text| {
            let work = "black_box(WORK + 0 * black_box(MARK))";
            text.replace("black_box(WORK)", work)
                .replace("const WORK", "const MARK: usize = 0;\nconst WORK")
        })?;
        tree.commit("Begin")?;
        git(path, &["tag", START])?;
        for commit in 1..=COMMITS {
            if commit == self.merge {
                self.merge(path, &tree)?;
            } else {
                self.commit(path, &tree, commit)?;
            }
        }
        git(path, &["tag", "done"])?;
        Ok(())
    }

    /// Makes a commit of the line. Every second one changes the code of the function without
    /// changing its work; the others change code that no benchmark calls.
    fn commit(&self, path: &Path, tree: &WorkingTree, commit: usize) -> Result<(), Box<dyn Error>> {
        let source = self.source();
        let planted = self.slower.iter().find(|(place, _)| *place == commit);
        let unrelated = path.join("src/unrelated.rs");
        let marked = fs::read_to_string(&unrelated)?;
        let marked = marked.split("\n// broken").next().unwrap_or_default().to_owned();
        if commit.is_multiple_of(2) || planted.is_some() {
            tree.edit(&source, |text| {
                let units = planted.map_or_else(|| units(&text), |(_, units)| *units);
                with(&text, commit, units)
            })?;
            fs::write(&unrelated, &marked)?;
        } else {
            let more = format!("{marked}\npub fn more_{commit}() -> usize {{\n    {commit}\n}}\n");
            fs::write(&unrelated, more)?;
        }
        if self.broken.contains(&commit) {
            let text = fs::read_to_string(&unrelated)?;
            fs::write(&unrelated, text + "\n// broken\ncompile_error!(\"it is broken\");\n")?;
        }
        tree.commit(&format!("Commit {commit}"))
    }

    /// Makes three commits beside the line, and their merge.
    fn merge(&self, path: &Path, tree: &WorkingTree) -> Result<(), Box<dyn Error>> {
        let source = self.source();
        let planted = self.slower.iter().find(|(place, _)| *place == self.merge);
        git(path, &["checkout", "--quiet", "-b", "side"])?;
        for number in 1..=3 {
            tree.edit(&source, |text| {
                let more = planted.filter(|_| number >= 2).map(|(_, units)| *units);
                with(&text, 1000 + number, more.unwrap_or_else(|| units(&text)))
            })?;
            tree.commit(&format!("Side {number}"))?;
        }
        git(path, &["checkout", "--quiet", "-"])?;
        git(path, &["merge", "--quiet", "--no-ff", "--message", "Merge", "side"]).map(drop)
    }

    fn source(&self) -> String {
        format!("src/{}.rs", self.function)
    }

    /// The hashes of the slower commits on the line.
    pub fn truth(&self, path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
        let line = line(path)?;
        Ok(self.slower.iter().map(|(place, _)| line[place - 1].clone()).collect())
    }
}

/// The hashes of the commits of the line, the oldest first.
pub fn line(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let line = git(path, &["rev-list", "--first-parent", "--reverse", &format!("{START}..done")])?;
    Ok(line.lines().map(str::to_owned).collect())
}

fn units(text: &str) -> usize {
    let after = text.split("WORK: usize = ").nth(1).unwrap_or_default();
    after.split(';').next().and_then(|units| units.parse().ok()).unwrap_or(100)
}

/// The text of a function with another mark and this much work.
fn with(text: &str, mark: usize, work: usize) -> String {
    let line = |line: &str| match line.split_once(": usize = ") {
        Some(("const MARK", _)) => format!("const MARK: usize = {mark};\n"),
        Some(("const WORK", _)) => format!("const WORK: usize = {work};\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The standard output of a git command.
pub fn git(path: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let identity = [("NAME", "rbench"), ("EMAIL", "rbench@example.invalid")];
    let mut command = Command::new("git");
    for (what, value) in identity {
        command.env(format!("GIT_AUTHOR_{what}"), value);
        command.env(format!("GIT_COMMITTER_{what}"), value);
    }
    let output = command.args(arguments).current_dir(path).output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git {}: {error}", arguments.join(" ")).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// The directory of a seed's repository.
pub fn place(root: &Path, seed: u64) -> PathBuf {
    root.join(format!("project-{seed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_and_broken_commits_are_different() {
        for seed in 0..200 {
            let History { slower, broken, merge, .. } = History::of_seed(seed);
            assert!(slower[0].0 < slower[1].0, "{seed}");
            assert!((1..=COMMITS).contains(&merge) && !broken.contains(&merge));
            for (place, _) in slower {
                assert!((1..=COMMITS).contains(&place) && !broken.contains(&place), "{seed}");
            }
            assert!(broken[0] != broken[1] && !broken.contains(&COMMITS));
            let behind = broken.map(|place| place + 1);
            assert!(!behind.contains(&merge), "{seed}: the merge builds");
            assert!(slower.iter().all(|(place, _)| !behind.contains(place)), "{seed}");
        }
    }

    #[test]
    fn only_constants_of_a_function_are_changed() {
        let text = "const MARK: usize = 0;\nconst WORK: usize = 100;\nfn f() {}\n";
        let changed = with(text, 7, 105);
        assert_eq!(changed, "const MARK: usize = 7;\nconst WORK: usize = 105;\nfn f() {}\n");
        assert_eq!(units(&changed), 105);
    }
}
