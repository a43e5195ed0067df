//! `git bisect run` with Criterion.rs, as its users would do it: a baseline of the start, and each commit against it.

use std::{
    error::Error,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    history::{START, git},
    rbench,
};

/// The first bad commit, as git says; none if it says none.
pub fn criterion(
    keep: &Path,
    project: &Path,
    benchmark: &str,
) -> Result<Option<String>, Box<dyn Error>> {
    let clone = keep.join("bisected");
    if clone.exists() {
        fs::remove_dir_all(&clone)?;
    }
    let source = project.to_string_lossy();
    git(keep, &["clone", "--quiet", &source, &clone.to_string_lossy()])?;
    git(&clone, &["checkout", "--quiet", START])?;
    bench(keep, &clone, benchmark, ["--save-baseline", START])?;
    let script = keep.join("bisect.sh");
    let cargo = rbench::cargo();
    // 125 says that a commit cannot be tried.
    let text = format!(
        "#!/bin/sh\n{} bench --quiet --bench by_criterion --target-dir '{}' -- --noplot --baseline {START} \
         '^{benchmark}$' > '{}' 2> /dev/null || exit 125\n! grep -q 'Performance has regressed' '{}'\n",
        cargo.to_string_lossy(),
        keep.join("criterion").display(),
        keep.join("said").display(),
        keep.join("said").display(),
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    git(&clone, &["bisect", "start", "--first-parent", "done", START])?;
    // That it ends with several commits that may be it is no failure of the study.
    let said = git(&clone, &["bisect", "run", &script.to_string_lossy()]).unwrap_or_default();
    let first_bad = said.lines().find_map(|line| line.strip_suffix(" is the first bad commit"));
    Ok(first_bad.map(str::to_owned))
}

/// One run of criterion, with its defaults.
fn bench(
    keep: &Path,
    project: &Path,
    benchmark: &str,
    baseline: [&str; 2],
) -> Result<(), Box<dyn Error>> {
    let status = Command::new(rbench::cargo())
        .args(["bench", "--quiet", "--bench", "by_criterion", "--target-dir"])
        .arg(keep.join("criterion"))
        .args(["--", "--noplot"])
        .args(baseline)
        .arg(format!("^{benchmark}$"))
        .current_dir(project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err("criterion cannot measure the start".into()) }
}
