//! Which files of a repository a benchmark may read while it is measured.

use std::{ffi::OsStr, path::Path};

/// The use of a file of a repository, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileUse {
    /// To develop the program: prose, sources, and settings of cargo, git and forges.
    Development,
    /// Anything else: a process may read it, and a build script may make something from it.
    Data,
}

impl FileUse {
    /// The use of the file at a path below the root of the repository.
    pub fn of(path: &Path) -> Self {
        const DIRECTORIES: [&str; 7] =
            [".cargo", ".circleci", ".github", ".gitlab", ".vscode", "doc", "docs"];
        const FILES: [&str; 8] = [
            "Cargo.lock",
            "Cargo.toml",
            "bench.toml",
            "clippy.toml",
            "deny.toml",
            "rust-toolchain",
            "rust-toolchain.toml",
            "rustfmt.toml",
        ];
        const OF_TARGETS: [&str; 3] = ["benches", "examples", "tests"];
        let text = |part: &OsStr| part.to_string_lossy().into_owned();
        let name = path.file_name().map(text).unwrap_or_default();
        let parents: Vec<String> = path.parent().into_iter().flatten().map(text).collect();
        let is_in =
            |list: &[&str], part: Option<&String>| part.is_some_and(|part| list.contains(&&**part));
        let is_shouted = path.file_stem().map(text).is_some_and(|stem| {
            stem.contains(|c: char| c.is_ascii_uppercase()) && stem.to_uppercase() == stem
        });
        let is_development = match path.extension().and_then(OsStr::to_str) {
            _ if FILES.contains(&&*name) || name.starts_with(".git") => true,
            _ if is_in(&DIRECTORIES, parents.first()) => true,
            Some("rs") => {
                let is_of_crate = parents.iter().any(|part| part == "src");
                name != "build.rs" && (is_of_crate || is_in(&OF_TARGETS, parents.last()))
            }
            Some("md") => parents.is_empty() || is_shouted,
            None => is_shouted,
            Some(_) => false,
        };
        if is_development { Self::Development } else { Self::Data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_use_is_data_unless_the_path_shows_another() {
        for (path, used) in [
            ("README.md", FileUse::Development),
            ("guide.md", FileUse::Development),
            ("parser/CHANGELOG.md", FileUse::Development),
            ("LICENSE-MIT", FileUse::Development),
            ("docs/pictures/a.svg", FileUse::Development),
            (".github/workflows/ci.yml", FileUse::Development),
            ("parser/Cargo.toml", FileUse::Development),
            ("src/lib.rs", FileUse::Development),
            ("parser/src/a/b.rs", FileUse::Development),
            ("benches/work.rs", FileUse::Development),
            ("build.rs", FileUse::Data),
            ("corpus/15.txt", FileUse::Data),
            ("corpus/text.md", FileUse::Data),
            ("corpus/README", FileUse::Development),
            ("benches/data/large.rs", FileUse::Data),
            ("src/table.json", FileUse::Data),
            ("words", FileUse::Data),
            ("settings.toml", FileUse::Data),
        ] {
            assert_eq!(FileUse::of(Path::new(path)), used, "{path}");
        }
    }
}
