//! The demo: a small project with five commits, the expected result of comparing each with the one before, and the
//! explanations of the results.
//!
//! The commits and their files are constants; the explanations use only measured values. The files are in `demo/`, one
//! directory per commit. Cargo leaves nested packages out of a published package, so their manifests are stored under
//! another file name.

mod explanation;

pub use explanation::{Explanation, explain};
use rbench_harness::sources;

/// A file: its path in the repository, and its content.
pub type File = (&'static str, &'static str);

/// The name of the project's package.
pub const PACKAGE: &str = "toolbox";

#[derive(Clone, Copy, Debug)]
pub struct Commit {
    pub message: &'static str,
    /// The files that it adds or changes.
    pub files: &'static [File],
}

/// A commit after the first one.
#[derive(Clone, Copy, Debug)]
pub struct DemoStep {
    pub title: &'static str,
    pub commit: Commit,
    /// One sentence about its change.
    pub does: &'static str,
    /// The expected result of comparing it with the commit before.
    pub expected: Expected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Identical,
    NothingFlagged,
    /// This benchmark regressed, and no other is flagged.
    Regressed(&'static str),
    /// This benchmark improved, and no other is flagged.
    Improved(&'static str),
}

macro_rules! file {
    ($path:literal, $file:literal) => {
        ($path, include_str!(concat!("../../demo/", $file)))
    };
}

/// The first commit, without [the harness](harness).
pub const BASELINE: Commit = Commit {
    message: "Add a toolbox, with benchmarks",
    files: &[
        file!(".gitignore", "baseline/gitignore"),
        file!("Cargo.lock", "baseline/lock.toml"),
        file!("Cargo.toml", "baseline/manifest.toml"),
        file!("README.md", "baseline/README.md"),
        file!("benches/speed.rs", "baseline/benches/speed.rs"),
        file!("src/fingerprint.rs", "baseline/src/fingerprint.rs"),
        file!("src/lib.rs", "baseline/src/lib.rs"),
        file!("src/numbers.rs", "baseline/src/numbers.rs"),
        file!("src/text.rs", "baseline/src/text.rs"),
        file!("harness/Cargo.toml", "harness/manifest.toml"),
    ],
};

/// The files of the harness for the benchmarks. They are part of the first commit, so that the
/// project needs no network.
pub fn harness() -> impl Iterator<Item = (String, &'static str)> {
    sources::FILES.iter().map(|(path, content)| (format!("harness/{path}"), *content))
}

/// The steps after the first commit.
pub const CHAPTERS: [DemoStep; 4] = [
    DemoStep {
        title: "documentation only",
        commit: Commit {
            message: "Say what the tools expect",
            files: &[
                file!("README.md", "docs/README.md"),
                file!("src/text.rs", "docs/src/text.rs"),
            ],
        },
        does: "rewords the README and the doc comments of two benchmarked functions",
        expected: Expected::Identical,
    },
    DemoStep {
        title: "unrelated code",
        commit: Commit {
            message: "Write Roman numerals",
            files: &[
                file!("benches/speed.rs", "unrelated/benches/speed.rs"),
                file!("src/lib.rs", "unrelated/src/lib.rs"),
                file!("src/roman.rs", "unrelated/src/roman.rs"),
            ],
        },
        does: "adds a function, which moves the other functions to new addresses",
        expected: Expected::NothingFlagged,
    },
    DemoStep {
        title: "10 % more work",
        commit: Commit {
            message: "Let the header seed the fingerprint",
            files: &[file!("src/fingerprint.rs", "slower/src/fingerprint.rs")],
        },
        does: "makes `fingerprint` read the first tenth of its document twice",
        expected: Expected::Regressed("fingerprint"),
    },
    DemoStep {
        title: "repaired",
        commit: Commit {
            message: "Read documents only once again",
            files: &[file!("src/fingerprint.rs", "baseline/src/fingerprint.rs")],
        },
        does: "reverts the previous commit",
        expected: Expected::Improved("fingerprint"),
    },
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use super::*;

    #[test]
    fn demo_files_are_all_in_some_commit() {
        let mut there = Vec::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("demo"), &mut there);
        assert!(there.len() > 10, "only {} files are found", there.len());
        let commits = CHAPTERS.iter().map(|chapter| chapter.commit).chain([BASELINE]);
        let contents: Vec<&str> =
            commits.flat_map(|commit| commit.files).map(|file| file.1).collect();
        for path in there {
            let content = fs::read_to_string(&path).unwrap();
            assert!(contents.contains(&content.as_str()), "{} is in no commit", path.display());
        }
    }

    #[test]
    fn commits_all_change_files_and_the_last_one_repairs() {
        let mut tree: BTreeMap<&str, &str> = BASELINE.files.iter().copied().collect();
        let mut before = Vec::new();
        for chapter in CHAPTERS {
            before.push(tree.clone());
            tree.extend(chapter.commit.files.iter().copied());
            assert_ne!(before.last(), Some(&tree), "{}", chapter.title);
        }
        assert_eq!(tree, before[2], "repaired is as before the slower commit");
    }

    #[test]
    fn expected_benchmarks_exist_in_the_project() {
        let bench = include_str!("../../demo/baseline/benches/speed.rs");
        for DemoStep { expected, .. } in CHAPTERS {
            if let Expected::Regressed(id) | Expected::Improved(id) = expected {
                assert!(bench.contains(&format!("suite.bench({id:?}")), "{id}");
            }
        }
        let manifest = include_str!("../../demo/baseline/manifest.toml");
        for name in [PACKAGE, "speed"] {
            assert!(manifest.contains(&format!("name = {name:?}")), "{name}");
        }
    }

    fn collect(directory: &Path, paths: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { collect(&path, paths) } else { paths.push(path) }
        }
    }
}
