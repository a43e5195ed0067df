//! Reads a configuration file that may be missing.

use std::{fs, io::ErrorKind, path::Path};

use crate::error::{Context, Error, Exit, Result};

/// The text of the file, if there is one.
pub fn read(path: &Path) -> Result<Option<String>> {
    let what = || format!("cannot read {}", path.display());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.context(Exit::Usage, what)?,
    };
    // What is no file, like a pipe, may never end.
    if !fs::metadata(path).context(Exit::Usage, what)?.is_file() {
        return Err(Error::new(Exit::Usage, what()).cause("it is not a file"));
    }
    fs::read_to_string(path).context(Exit::Usage, what).map(Some)
}
