//! Keeps secrets of this process from others.

use std::env;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::error::{Context as _, Exit, Result};

/// Removes a variable from the environment of child processes: compiled and measured code needs no token.
///
/// To be called before other threads read the environment.
#[expect(unsafe_code, reason = "there is no safe way to remove a variable")]
pub fn forget_variable(name: &str) {
    // SAFETY: the command has just begun; there is no other thread yet that could read the environment.
    unsafe { env::remove_var(name) };
}

/// Keeps other processes of the same user from reading the memory of this one and its initial environment, unless they
/// may trace any process; a shell that started it may still have the secret.
pub fn hide_memory() -> Result<()> {
    let what = || "cannot hide a secret from other processes";
    set_dumpable_behavior(DumpableBehavior::NotDumpable).context(Exit::Internal, what)
}
