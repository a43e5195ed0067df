//! The project's own files.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The directory of the project.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A Rust file of the project.
pub struct SourceFile {
    /// Relative to the project, with `/`.
    pub path: String,
    pub text: String,
}

impl SourceFile {
    /// The lines that are part of the product, each with its number: no comments, no tests.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.path.split(['/', '.']).any(|part| matches!(part, "tests" | "testing"));
        let code = self.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().enumerate().filter(move |_| !is_test);
        lines
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// All Rust files below the directories, in the order of their paths.
pub fn rust_files(directories: &[&str]) -> Vec<SourceFile> {
    let mut paths = Vec::new();
    for directory in directories {
        collect(&project().join(directory), &mut paths);
    }
    paths.sort();
    let file = |path: PathBuf| SourceFile {
        text: fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(project()).unwrap().to_str().unwrap().replace('\\', "/"),
    };
    paths.into_iter().map(file).collect()
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() && path.file_name() != Some("target".as_ref()) {
            collect(&path, paths);
        } else if path.extension() == Some("rs".as_ref()) {
            paths.push(path);
        }
    }
}
