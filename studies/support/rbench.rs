//! rbench as a program, for studies that run it as users do.

use std::{
    error::Error,
    path::PathBuf,
    process::{Command, ExitCode},
};

/// Cargo tells programs it runs where it is.
pub fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Ends a study that has targets: 1 if one is missed, 2 if it failed.
#[allow(dead_code, reason = "some studies end otherwise")]
#[expect(clippy::print_stderr, reason = "programs for people print")]
pub fn end(result: Result<bool, Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: a target is missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Builds rbench beside this example; where it is.
pub fn build() -> Result<PathBuf, Box<dyn Error>> {
    let target = std::env::current_exe()?;
    let target = target.ancestors().nth(3).ok_or("this program is not in a target directory")?;
    let built = Command::new(cargo())
        .args(["build", "--release", "--bins", "--quiet", "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    if !built.success() {
        return Err("cargo cannot build rbench".into());
    }
    Ok(target.join("release/cargo-rbench"))
}
