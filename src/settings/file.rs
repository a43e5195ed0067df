//! Reads a configuration file that may be missing.

use std::{fs, io::ErrorKind, path::Path};

use crate::failure::{Exit, Failure, OrFail, Result};

/// The text of the file, if there is one.
pub fn read(path: &Path) -> Result<Option<String>> {
    let what = || format!("cannot read {}", path.display());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.or_fail(Exit::Usage, what)?,
    };
    // What is no file, like a pipe, may never end.
    if !fs::metadata(path).or_fail(Exit::Usage, what)?.is_file() {
        return Err(Failure::new(Exit::Usage, what()).because("it is not a file"));
    }
    fs::read_to_string(path).or_fail(Exit::Usage, what).map(Some)
}
