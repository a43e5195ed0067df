//! The libraries that rbench preloads into benchmarks, compiled once for all tests. Each test has a home of its own, in which
//! rbench would compile them again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use cargo_rbench::git::Repository;

/// The copies. Their names are keys of their source, their compiler and its flags, so those of an earlier rbench do no harm.
fn place() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("preloaded")
}

/// Gives a home the libraries that earlier tests compiled, where rbench will look for them.
pub fn offer(home: &Path, workspace: &Path) {
    let Ok(identity) = Repository::discover(workspace).and_then(|found| found.identity()) else {
        return;
    };
    let directory = home.join("cache/cargo-rbench").join(identity).join("preloaded");
    if !directory.exists() {
        // What is missing is compiled.
        let _ = copy_libraries(&place(), &directory);
    }
}

/// Keeps the libraries of a home for later tests.
pub fn keep(home: &Path) {
    let repositories = fs::read_dir(home.join("cache/cargo-rbench")).into_iter().flatten();
    for repository in repositories.flatten() {
        let _ = copy_libraries(&repository.path().join("preloaded"), &place());
    }
}

fn copy_libraries(from: &Path, to: &Path) -> io::Result<()> {
    for library in fs::read_dir(from)? {
        let library = library?.path();
        let copy = to.join(library.file_name().unwrap_or_default());
        if library.extension().is_some_and(|end| end == "so") && !copy.exists() {
            fs::create_dir_all(to)?;
            // Another test may copy the same one at the same time.
            let unfinished = tempfile::NamedTempFile::new_in(to)?;
            fs::copy(&library, unfinished.path())?;
            unfinished.persist(copy)?;
        }
    }
    Ok(())
}
