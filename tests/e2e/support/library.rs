//! Compiles preloaded libraries with the tests' own compiler.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles the library of this source in `directory`; returns its path.
pub fn library(directory: &Path, source: &str, flags: &str) -> PathBuf {
    let (path, library) = (directory.join("library.rs"), directory.join("library.so"));
    fs::write(&path, source).unwrap();
    let flags = flags.split(' ').chain(["--cap-lints=allow", "-o"]);
    let status = Command::new("rustc").args(flags).args([&library, &path]).status().unwrap();
    assert!(status.success());
    library
}
