//! `git bisect run` with Criterion.rs as its users would run it: a baseline of the start, and each
//! commit against it.

use std::{
    error::Error,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::history::{History, START, git, line};

pub struct Bisected {
    /// The number of the first bad commit in git's output; none if it names none.
    pub first_bad: Option<usize>,
    pub measured: usize,
}

/// Searches a project. The file `said` keeps criterion's output on each commit.
pub fn criterion(
    keep: &Path,
    project: &Path,
    history: &History,
    said: &Path,
) -> Result<Bisected, Box<dyn Error>> {
    let clone = keep.join("bisected");
    if clone.exists() {
        fs::remove_dir_all(&clone)?;
    }
    let source = project.to_string_lossy();
    git(keep, &["clone", "--quiet", &source, &clone.to_string_lossy()])?;
    git(&clone, &["checkout", "--quiet", START])?;
    let target = keep.join("criterion");
    let benchmark = history.function;
    save_baseline(&clone, &target, benchmark)?;
    fs::write(said, "")?;
    let script = keep.join("bisect.sh");
    // Exit code 125 means that a commit cannot be tried.
    let text = format!(
        "#!/bin/sh\n\
         '{cargo}' bench --quiet --bench by_criterion --target-dir '{target}' -- --noplot --baseline {START} \
         '^{benchmark}$' > '{newest}' 2> /dev/null || exit 125\n\
         {{ git show --no-patch --format='commit %H %s'; cat '{newest}'; }} >> '{said}'\n\
         ! grep -q 'Performance has regressed' '{newest}'\n",
        cargo = lab::rbench::cargo().to_string_lossy(),
        target = target.display(),
        newest = keep.join("newest").display(),
        said = said.display(),
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    git(&clone, &["bisect", "start", "--first-parent", "done", START])?;
    // Git fails if only commits that cannot be tried are left; it names none then.
    let printed = git(&clone, &["bisect", "run", &script.to_string_lossy()]).unwrap_or_default();
    let first_bad = printed.lines().find_map(|line| line.strip_suffix(" is the first bad commit"));
    let measured =
        fs::read_to_string(said)?.lines().filter(|line| line.starts_with("commit ")).count();
    let line = line(project)?;
    let number = |hash| Some(line.iter().position(|commit| commit == hash)? + 1);
    Ok(Bisected { first_bad: first_bad.and_then(number), measured })
}

/// Measures the checked-out commit with criterion's defaults.
fn save_baseline(project: &Path, target: &Path, benchmark: &str) -> Result<(), Box<dyn Error>> {
    let status = Command::new(lab::rbench::cargo())
        .args(["bench", "--quiet", "--bench", "by_criterion", "--target-dir"])
        .arg(target)
        .args(["--", "--noplot", "--save-baseline", START])
        .arg(format!("^{benchmark}$"))
        .current_dir(project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err("criterion cannot measure the start".into()) }
}
