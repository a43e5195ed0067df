//! Finds what the sandbox refused to a program that failed, so that the error names it and what to do.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::Signal;
use tracing::info;

use super::{
    child::end_with_this_process,
    sandbox::{self, Task},
    scratch::Scratch,
    trace::{self, Observation, Observed, Plan, Tracing},
};
use crate::{error::Error, model::REFUSED, secrets, shell::quoted};

/// The words by which programs report a refused file.
const WORDS: [&str; 6] = [
    "Permission denied",
    "permission denied",
    "PermissionDenied",
    "Operation not permitted",
    "EACCES",
    "os error 13",
];

/// The user's settings of git, which may hold credentials: cargo looks there, and goes on without.
const SETTINGS_OF_GIT: [&str; 2] = [".gitconfig", ".config/git/config"];

/// As many files as a user reads about.
const MOST: usize = 3;

/// True if code is confined and a program with this output may have failed for it.
pub fn may_be_refused(output: &str) -> bool {
    sandbox::is_confined() && WORDS.iter().any(|word| output.contains(word))
}

/// Where a user can permit what was refused.
#[derive(Clone, Copy, Debug)]
pub enum Permission {
    InFile,
    /// On the command line: bench.toml is not known yet.
    ByOption,
}

impl Permission {
    fn advice(self, access: &str, place: &Path) -> String {
        let place = place.display().to_string();
        match self {
            Self::InFile => {
                format!("in bench.toml{}: [sandbox] {access} = [{place:?}]", secrets::of_base())
            }
            Self::ByOption => {
                format!("add: --config {}", quoted(format!("sandbox.{access}=[{place:?}]")))
            }
        }
    }
}

/// Adds to the error of a command, whose environment is explicit, what the sandbox refused: it runs again under the tracer.
pub fn explained(error: Error, command: &Command, permission: Permission) -> Error {
    let output = error.to_string();
    let observed = observe(command);
    if let Err(error) = &observed {
        info!("cannot find what the sandbox refused: {error}");
    }
    match observed.map(|observed| advice(&observed, &output, permission)) {
        Ok(advice) if !advice.is_empty() => advice.into_iter().fold(error, Error::hint),
        _ if may_be_refused(&output) => error.hint(advice_without_files()),
        _ => error,
    }
}

/// What to do about files that the sandbox refused, among those that a program with this output opened or wrote: one line
/// for each. Those that the output names are the reason, if it names some.
pub fn advice(observed: &Observed, output: &str, permission: Permission) -> Vec<String> {
    let is_of_git = |path: &Path| SETTINGS_OF_GIT.iter().any(|name| path.ends_with(name));
    let is_of_system =
        |path: &Path| path.starts_with("/proc") || path.starts_with("/dev/null") || is_of_git(path);
    let could_read = |path: &Path| File::open(path).is_ok();
    // A file to create is refused where its directory is closed.
    let could_write = |path: &Path| path.exists() || path.parent().is_some_and(Path::exists);
    let refused = |paths: &BTreeSet<PathBuf>, is_write: bool| -> BTreeSet<PathBuf> {
        let could = |path: &Path| if is_write { could_write(path) } else { could_read(path) };
        let is_refused = |path: &&PathBuf| {
            !is_of_system(path) && !sandbox::permits(path, is_write) && could(path)
        };
        paths.iter().filter(is_refused).cloned().collect()
    };
    let mut written = refused(&observed.written, true);
    let mut read = refused(&observed.opened, false);
    read.retain(|path| !written.contains(path));
    let is_named = |path: &PathBuf| output.contains(&*path.to_string_lossy());
    if written.iter().chain(&read).any(is_named) {
        written.retain(is_named);
        read.retain(is_named);
    }
    [lines(&written, "write", permission), lines(&read, "read", permission)].concat()
}

fn lines(paths: &BTreeSet<PathBuf>, access: &str, permission: Permission) -> Vec<String> {
    let line = |path: &PathBuf| {
        // A rule is about what exists.
        let place = if path.exists() { path } else { path.parent().unwrap_or(path) };
        let advice = permission.advice(access, place);
        format!("{REFUSED} {access} {}; if it is needed, {advice}", path.display())
    };
    // Cargo itself notes there what it used, and goes on if it cannot.
    let of_cargo = |path: &&Path| sandbox::is_of_cargo(path);
    let downloads = paths.iter().any(|path| sandbox::is_download_of_cargo(path));
    let others = paths.iter().map(PathBuf::as_path).filter(|path| !of_cargo(path)).collect();
    let mut all: Vec<String> = together(&others).iter().take(MOST).map(line).collect();
    if downloads {
        all.push("in the sandbox, cargo downloads nothing; run before: cargo fetch".to_owned());
    }
    all
}

/// What to do about the sandbox where no file explains the failure.
fn advice_without_files() -> String {
    format!(
        "the sandbox may have refused it: it opens no Unix sockets without `[sandbox] unix-sockets = \
         true` in bench.toml{}; whether it is the reason: --no-sandbox",
        secrets::of_base()
    )
}

/// Files of one directory by the directory, if there are several.
fn together(paths: &BTreeSet<&Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths {
        let parent = path.parent().unwrap_or(path);
        let siblings = paths.iter().filter(|other| other.parent() == Some(parent)).count();
        // A package is needed as a whole.
        let is_one_of_all = siblings > 1 || path.ends_with("Cargo.toml");
        // The directories at the top belong to everybody.
        let is_deep = parent.components().count() > 2;
        let place = if is_one_of_all && is_deep { parent } else { path };
        if !found.iter().any(|known| place.starts_with(known)) {
            found.push(place.to_owned());
        }
    }
    found
}

/// What `command`, whose environment is explicit, opens and writes when it runs once more in the sandbox.
fn observe(command: &Command) -> io::Result<Observed> {
    let place = Scratch::new().map_err(|error| io::Error::other(error.to_string()))?;
    let [plan, report] = ["plan.json", "observed.json"].map(|name| place.path().join(name));
    let executable = PathBuf::from(command.get_program());
    let whole = Plan { executable, report: report.clone(), ..Plan::default() };
    fs::write(&plan, serde_json::to_vec(&whole)?)?;
    let tracing = Tracing { tracer: std::env::current_exe()?, plan, ahead: 0 };
    let (mut traced, account) = trace::command(&tracing, None, Path::new(command.get_program()))?;
    traced.args(command.get_args()).stdout(Stdio::null()).stderr(Stdio::null());
    traced.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        traced.current_dir(directory);
    }
    sandbox::pass_confinement(&mut traced, Task::Run)?;
    end_with_this_process(&mut traced, Signal::KILL);
    traced.status()?;
    drop(account);
    let observation: Observation = serde_json::from_slice(&fs::read(report)?)?;
    observation.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_files_are_named_by_their_directory() {
        let named = |paths: &[&str]| {
            let paths = paths.iter().map(Path::new).collect();
            let found = together(&paths);
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(named(&["/home/ada/corpus/a", "/home/ada/corpus/b"]), "/home/ada/corpus");
        assert_eq!(named(&["/home/ada/corpus/a", "/home/ada/x"]), "/home/ada/corpus/a /home/ada/x");
        assert_eq!(named(&["/data/a", "/data/b"]), "/data/a /data/b");
        assert_eq!(named(&["/home/ada/crates/text/Cargo.toml"]), "/home/ada/crates/text");
    }
}
