//! Helpers for tests: compiles programs and libraries, and keeps tests with stray descendants apart.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Waits for other tests whose children leave descendants behind in other sessions. All tests run in one process, which
/// adopts these descendants and cannot always tell which test they belong to.
pub fn leaves_descendants() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles `source` with rustc and these flags.
pub(super) fn compile(source: &str, flags: &str, to: &Path) {
    let path = to.with_extension("rs");
    fs::write(&path, source).unwrap();
    let mut command = Command::new("rustc");
    command.args(flags.split(' ')).arg("-o").arg(to).arg(path);
    assert!(command.status().unwrap().success());
}
