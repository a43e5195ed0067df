//! Compiles what tests execute or preload.

use std::{fs, path::Path, process::Command};

/// Has rustc make a file of this source, with these flags.
pub fn compile(source: &str, flags: &str, to: &Path) {
    let path = to.with_extension("rs");
    fs::write(&path, source).unwrap();
    let mut command = Command::new("rustc");
    command.args(flags.split(' ')).arg("-o").arg(to).arg(path);
    assert!(command.status().unwrap().success());
}
