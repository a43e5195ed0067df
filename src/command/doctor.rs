//! `cargo rbench doctor`: checks the machine and the installed tools for sources of noise, and suggests fixes. It must
//! not change anything.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use super::{output::Output, sandbox::state_with};
use crate::{
    builds::run_tool_or,
    cli::DoctorArgs,
    error::{Error, Exit, Result},
    harness::Conditions,
    machine::{doctor, this_machine},
    measure::Trial,
    model::{Finding, Severity},
    process::{
        Interrupt, SavedHandler,
        counting::find_valgrind,
        sandbox::{landlock_version, namespaces},
    },
    project::Project,
    report::doctor::DoctorReport,
};

/// Less free space than this is a finding, in bytes: compiling a large project takes several gigabytes.
const LITTLE_SPACE: u64 = 2 << 30;

pub fn run(args: &DoctorArgs) -> Result<Exit> {
    let interrupt = Interrupt::on_signals(SavedHandler::Nothing)?;
    let output = Output::new(args.format)?;
    // Checked before this process itself makes the machine busy.
    let of_machine = doctor::examine(Path::new("/"));
    let project = Project::find(args.manifest_path.as_deref(), &[]);
    let mut findings = vec![repository(&project)];
    findings.extend([
        tool("cargo", &program("CARGO", "cargo"), "--version", INSTALL_RUST),
        tool("rustc", &program("RUSTC", "rustc"), "--version", INSTALL_RUST),
        tool("linker", "cc".as_ref(), "--version", "sudo apt-get install gcc"),
    ]);
    findings.push(valgrind());
    findings.push(space(&project.map_or_else(|_| PathBuf::from("."), |one| one.workspace)));
    findings.push(sandbox());
    findings.extend(trials(Conditions::new(&interrupt))?);
    findings.extend([doctor::clock_step(), doctor::perf_events()]);
    findings.extend(of_machine);
    output.write(&DoctorReport::new(this_machine(), findings))?;
    Ok(Exit::Success)
}

const INSTALL_RUST: &str = "rustup toolchain install stable";

/// The program that cargo set in this variable, or else the one on the `PATH`.
fn program(variable: &str, name: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| name.into())
}

fn repository(project: &Result<Project>) -> Finding {
    const CHECK: &str = "project";
    match project {
        Ok(project) => Finding::ok(CHECK, project.workspace.display().to_string()),
        Err(error) => Finding::user(
            CHECK,
            error.what(),
            "run it in a cargo workspace that is part of a git repository",
        ),
    }
}

fn tool(check: &'static str, program: &std::ffi::OsStr, argument: &str, remedy: &str) -> Finding {
    let what = || format!("cannot run {}", Path::new(program).display());
    let output = run_tool_or(Command::new(program).arg(argument), Exit::Usage, what);
    let line = output.ok().and_then(|output| {
        String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
    });
    let fails = || {
        let found = format!("{} does not run", Path::new(program).display());
        Finding::user(check, found, remedy).that_matters()
    };
    line.map_or_else(fails, |line| Finding::ok(check, line))
}

/// Checks for valgrind, which only counting instructions needs.
fn valgrind() -> Finding {
    const CHECK: &str = "valgrind";
    const INSTALL: &str = "sudo apt-get install valgrind (or: sudo dnf install valgrind)";
    let path = find_valgrind().map_or_else(|_| CHECK.into(), OsString::from);
    let finding = tool(CHECK, &path, "--version", INSTALL);
    if finding.severity == Severity::Ok {
        return finding;
    }
    let found = format!(
        "{}; `--metric instructions` and `diff --explain BENCH --by instructions` need it",
        finding.found
    );
    Finding { found, matters: false, ..finding }
}

fn space(directory: &Path) -> Finding {
    const CHECK: &str = "disk-space";
    match rustix::fs::statvfs(directory) {
        Err(error) => Finding::ok(CHECK, format!("not known: {error}")),
        Ok(system) => disk_space_finding(system.f_bavail.saturating_mul(system.f_frsize)),
    }
}

fn disk_space_finding(free: u64) -> Finding {
    const CHECK: &str = "disk-space";
    let found = format!("{:.1} GiB are free", free as f64 / 2_f64.powi(30));
    if free < LITTLE_SPACE {
        Finding::rbench(CHECK, found, "cargo rbench clean --max-size 1G").that_matters()
    } else {
        Finding::ok(CHECK, found)
    }
}

/// What the kernel gives to confine the code of commits.
fn sandbox() -> Finding {
    const CHECK: &str = "sandbox";
    if landlock_version() == 0 {
        let found = "this kernel has no Landlock, or it is turned off";
        return Finding::never(CHECK, found, "`ci` refuses to run code of a commit beside secrets");
    }
    Finding::ok(CHECK, state_with(namespaces()).words())
}

/// Tries interleaving and tracing with real processes: whether a container allows them cannot be looked up.
fn trials(conditions: Conditions<'_>) -> Result<Vec<Finding>> {
    let trial = match Trial::new(conditions) {
        Ok(trial) => trial,
        Err(error) => return Ok(vec![installation(&error)]),
    };
    let interleaving = match trial.interleaving(&program("RUSTC", "rustc")) {
        Ok(None) => Finding::ok("interleaving", "two processes ran interleaved"),
        Ok(Some(reason_unavailable)) => {
            never("interleaving", &format!("not possible: {reason_unavailable}"), ALONE)
        }
        Err(error) => never("interleaving", &reason(error)?, ALONE),
    };
    let tracing = match trial.tracing() {
        Ok(()) => Finding::ok("tracing", "an execution was traced"),
        Err(error) => never(
            "tracing",
            &reason(error)?,
            "containers often forbid ptrace; all benchmarks are measured then",
        ),
    };
    Ok(vec![interleaving, tracing])
}

/// The consequence if interleaving is not possible.
const ALONE: &str = "executions run sequentially, which makes intervals wider";

fn never(check: &'static str, found: &str, why: &str) -> Finding {
    Finding::never(check, found, why).that_matters()
}

fn installation(error: &Error) -> Finding {
    Finding::user("installation", error.what(), "cargo install cargo-rbench --locked --force")
        .that_matters()
}

/// Summarizes an error in one line. An interrupt is not a finding and stays an error.
fn reason(error: Error) -> Result<String> {
    if error.exit() == Exit::Interrupted {
        return Err(error);
    }
    let text = error.to_string();
    let lines = text.lines().filter(|line| !line.starts_with("hint:")).take(2);
    let words: Vec<&str> = lines.map(str::trim).collect();
    Ok(words.join(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tool_must_be_installed_by_the_user() {
        let finding = tool("linker", "/does/not/exist".as_ref(), "--version", "install it");
        assert_eq!(finding.severity, Severity::User("install it".to_owned()));
        assert!(finding.matters);
    }

    #[test]
    fn disk_space_below_the_limit_can_be_freed_by_rbench() {
        assert!(matches!(disk_space_finding(1 << 20).severity, Severity::Rbench(_)));
        assert_eq!(disk_space_finding(3 << 30), Finding::ok("disk-space", "3.0 GiB are free"));
    }
}
