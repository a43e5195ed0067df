//! Shell scripts in place of a user's wrapper or linker.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// Writes a script with these lines to `path`; returns the path as text.
///
/// Another process writes it. If this process had it open, a child that another test starts at that
/// moment would inherit the open file until it executes its program, and a file that is open for
/// writing cannot be executed ("Text file busy").
pub fn script(path: &Path, lines: &str) -> String {
    let written = Command::new("sh")
        .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"])
        .args([path.as_os_str(), lines.as_ref()])
        .status();
    assert!(written.is_ok_and(|status| status.success()), "{} is written", path.display());
    path.to_str().unwrap().to_owned()
}

/// A script that appends its arguments to `log` and then executes `then`.
pub fn logging(path: &Path, log: &Path, then: &str) -> String {
    script(path, &format!("echo \"$@\" >> '{}'\nexec {then}", log.display()))
}

/// A gate that blocks some calls of a script while it is shut.
pub struct Gate {
    shut: PathBuf,
    reached: PathBuf,
}

impl Gate {
    /// An open gate with its files in `directory`.
    pub fn new(directory: &Path) -> Self {
        Self { shut: directory.join("shut"), reached: directory.join("reached") }
    }

    pub fn shut(&self) {
        fs::write(&self.shut, "").unwrap();
    }

    /// Script lines that wait at the gate if the arguments match the pattern.
    pub fn lines(&self, pattern: &str) -> String {
        format!(
            "case \"$*\" in {pattern})\n  while [ -e '{}' ]; do : > '{}'; sleep 0.05; done;;\nesac",
            self.shut.display(),
            self.reached.display()
        )
    }

    /// Waits until a script waits at the gate.
    pub fn wait_until_reached(&self) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !self.reached.exists() {
            assert!(Instant::now() < deadline, "nobody came to {}", self.reached.display());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn open(&self) {
        let _ = fs::remove_file(&self.shut);
    }
}
