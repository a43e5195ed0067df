//! The project's source files, for tests of its structure.

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
    /// True if only tests use this file.
    pub fn is_test(&self) -> bool {
        self.path.split(['/', '.']).any(|part| matches!(part, "tests" | "testing"))
    }

    /// The lines of product code with their numbers, without comments and tests.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.is_test();
        let code = self.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().enumerate().filter(move |_| !is_test);
        lines
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// The names that this file's product code has after `path`, such as `crate::` or `clap::`,
    /// written one by one or several in braces.
    pub fn names_after(&self, path: &str) -> Vec<String> {
        let code: Vec<&str> = self.product_lines().map(|(_, line)| line).collect();
        let code = code.join("\n");
        let is_start = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let found = code.match_indices(path).filter(|(at, _)| is_start(*at));
        found.flat_map(|(at, _)| first_names(&code[at + path.len()..])).collect()
    }
}

/// The name at the start of `text`, or each of the names in its braces.
fn first_names(text: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(list) = text.strip_prefix('{') else { return vec![name(text)] };
    let mut depth = 1;
    let inside = |c: &char| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        depth > 0
    };
    let list: String = list.chars().take_while(inside).collect();
    let mut depth = 0;
    let outermost = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    list.split(outermost).map(name).filter(|name| !name.is_empty()).collect()
}

/// All Rust files below the directories, sorted by path.
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
