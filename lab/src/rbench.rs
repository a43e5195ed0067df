//! rbench as a program, for studies that run it as users do.

use std::{
    error::Error,
    ffi::OsString,
    io,
    path::PathBuf,
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// The cargo to run. Cargo gives its own path to the programs that it runs.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds rbench with this profile, in the target directory of this program; returns its path.
/// Studies that measure need `release`. If `RBENCH_PROGRAM` has the path of one that is built
/// already, it is that: a machine that is emulated would compile for an hour.
pub fn build(profile: &str) -> Result<PathBuf, Box<dyn Error>> {
    if let Some(program) = std::env::var_os("RBENCH_PROGRAM") {
        return Ok(program.into());
    }
    let target = std::env::current_exe()?;
    let target = target.ancestors().nth(2).ok_or("this program is not in a target directory")?;
    let built = Command::new(cargo())
        .args(["build", "--bins", "--quiet", "--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(crate::root())
        .status()?;
    if !built.success() {
        return Err("cargo cannot build rbench".into());
    }
    let directory = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(directory).join("cargo-rbench"))
}

/// Waits for the end of a program, and kills it at the deadline; `None` if it had to be killed.
pub fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
