//! Reads a configuration file that may be missing. Only an absent file counts as missing: a dangling link is an error.

use std::{fs, io::ErrorKind, path::Path};

use crate::error::{Context, Error, Exit, Result};

/// Returns the text of the file, or `None` if there is none.
pub fn read(path: &Path) -> Result<Option<String>> {
    let what = || format!("cannot read {}", path.display());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.context(Exit::Usage, what)?,
    };
    // Reading a pipe or a device may block forever.
    if !fs::metadata(path).context(Exit::Usage, what)?.is_file() {
        return Err(Error::new(Exit::Usage, what()).cause("it is not a file"));
    }
    fs::read_to_string(path).context(Exit::Usage, what).map(Some)
}
