//! Decides whether code of commits is confined, before anything of a commit is read.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    cli::{Cli, Command},
    error::{Error, Exit, Result},
    model::{SandboxOff, SandboxState, secret::is_secret},
    process::{
        launcher_beside,
        sandbox::{Namespaces, Places, confine_from_now_on, landlock_version, set_state},
    },
};

/// Variables that give access to what others read or run. Where one is set, the sandbox is on.
const ACCESS: [&str; 7] = [
    "CARGO_REGISTRY_TOKEN",
    "CI_JOB_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "RBENCH_SHARED",
    "RBENCH_SHARED_FILE",
];

/// The processes above this one whose variables count.
const PARENTS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    /// `--sandbox`.
    Typed,
    /// A comparison in CI; with the name of a variable that may be a secret, if there is one.
    InCi(Option<String>),
    /// A variable with access is set.
    Secret(String),
}

/// Turns the sandbox on if it is wanted. Returns a line for the user.
///
/// To be called while the environment still has its secrets. Fails where the sandbox is required and the kernel has none.
pub fn decide(cli: &Cli) -> Result<Option<String>> {
    if !runs_code(cli) {
        return Ok(None);
    }
    let is_ci = matches!(&cli.command, Some(Command::Ci(_)));
    let Some(reason) = reason(cli.sandbox, is_ci, &variables()) else { return Ok(None) };
    if cli.no_sandbox {
        set_state(SandboxState::Off { reason: SandboxOff::Requested });
        return Ok(None);
    }
    if landlock_version() == 0 {
        set_state(SandboxState::Off { reason: SandboxOff::NoLandlock });
        return without_landlock(&reason).map(Some);
    }
    let state = state_with(confine_from_now_on(places(|name| env::var_os(name))));
    set_state(state);
    Ok(Some(format!("sandbox: {} ({})", state.words(), reason.words())))
}

pub fn state_with(namespaces: Namespaces) -> SandboxState {
    SandboxState::On {
        landlock: landlock_version().unsigned_abs(),
        own_process_ids: namespaces != Namespaces::None,
    }
}

impl Reason {
    fn words(&self) -> String {
        match self {
            Self::Typed => "--sandbox".to_owned(),
            Self::InCi(_) => "in CI".to_owned(),
            Self::Secret(name) => format!("{name} is set; --no-sandbox turns it off"),
        }
    }
}

fn without_landlock(reason: &Reason) -> Result<String> {
    let what = "cannot confine the code of commits";
    let cause = "this kernel has no Landlock, or it is turned off";
    let beside = match reason {
        Reason::InCi(None) => return Ok(format!("note: {what}: {cause}")),
        Reason::Secret(name) => {
            return Ok(format!("warning: {what}, which may read {name}: {cause}"));
        }
        Reason::InCi(Some(name)) => Some(name),
        Reason::Typed => None,
    };
    let mut error = Error::new(Exit::Usage, what).cause(cause);
    if let Some(name) = beside {
        error = error
            .cause(format!("{name} is in the environment, where such code may read it"))
            .hint("run the job without secrets, and comment in another one: docs/ci.md")
            .hint("or accept that the code may read them: --no-sandbox");
    }
    Err(error.hint("Linux 5.13 and later have it; containers may hide it: cargo rbench doctor"))
}

fn reason(typed: bool, is_ci: bool, variables: &BTreeSet<String>) -> Option<Reason> {
    if is_ci {
        let secret = variables.iter().find(|name| is_secret(name) || ACCESS.contains(&&***name));
        return Some(Reason::InCi(secret.cloned()));
    }
    if typed {
        return Some(Reason::Typed);
    }
    let access = variables.iter().find(|name| ACCESS.contains(&&***name));
    access.cloned().map(Reason::Secret)
}

/// True for commands that compile or execute code of commits.
fn runs_code(cli: &Cli) -> bool {
    match &cli.command {
        Some(Command::Ci(args)) => args.command.is_none(),
        Some(
            Command::Build(_)
            | Command::Compare(_)
            | Command::Versus(_)
            | Command::Bisect(_)
            | Command::Run(_)
            | Command::Diagnose(_)
            | Command::Diff(_)
            | Command::List(_)
            | Command::Exec(_)
            | Command::Selftest(_),
        ) => true,
        _ => false,
    }
}

/// The names of the variables of this process and of those above it: code could read them there.
fn variables() -> BTreeSet<String> {
    let own = env::vars_os().filter(|(_, value)| !value.is_empty());
    let mut names: BTreeSet<String> = own.filter_map(|(name, _)| name.into_string().ok()).collect();
    let mut process = "self".to_owned();
    for _ in 0..PARENTS {
        let Some(parent) = parent(&process) else { break };
        // Those of other users cannot be read; code of this user cannot either.
        let environment = fs::read(format!("/proc/{parent}/environ")).unwrap_or_default();
        let all = environment.split(|byte| *byte == 0).filter_map(|one| {
            let (name, value) = str::from_utf8(one).ok()?.split_once('=')?;
            (!value.is_empty()).then(|| name.to_owned())
        });
        names.extend(all);
        process = parent;
    }
    names
}

fn parent(process: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Some(line.trim().to_owned()).filter(|parent| parent != "0")
}

fn places(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Places {
    let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = path("HOME");
    let below_home = |name: &str| home.as_deref().map(|home| home.join(name));
    let directories = |name: &str| {
        let all = variable(name).unwrap_or_default();
        env::split_paths(&all).filter(|path| path.is_absolute()).collect::<Vec<_>>()
    };
    let own = env::current_exe().ok();
    let launcher = own.as_deref().and_then(launcher_beside);
    let tools = ["CARGO", "RUSTC"].iter().filter_map(|name| path(name));
    let tools = tools.filter_map(|tool| tool.parent().map(Path::to_owned));
    Places {
        cargo_home: path("CARGO_HOME").or_else(|| below_home(".cargo")),
        rustup_home: path("RUSTUP_HOME").or_else(|| below_home(".rustup")),
        search_path: ["PATH", "LD_LIBRARY_PATH"]
            .into_iter()
            .flat_map(directories)
            .chain(tools)
            .collect(),
        programs: own.into_iter().chain(launcher).collect(),
        home,
        ..Places::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn sandbox_is_on_in_ci_and_beside_access() {
        assert_eq!(reason(false, false, &with(&["HOME", "SSH_KEY"])), None);
        assert_eq!(reason(true, false, &with(&[])), Some(Reason::Typed));
        assert_eq!(
            reason(false, false, &with(&["GH_TOKEN", "HOME"])),
            Some(Reason::Secret("GH_TOKEN".to_owned()))
        );
        assert_eq!(reason(false, true, &with(&["HOME"])), Some(Reason::InCi(None)));
        let secret = Some("DEPLOY_KEY".to_owned());
        assert_eq!(reason(false, true, &with(&["DEPLOY_KEY"])), Some(Reason::InCi(secret)));
    }

    #[test]
    fn kernel_without_landlock_is_refused_beside_secrets() {
        assert!(without_landlock(&Reason::InCi(None)).is_ok());
        assert!(without_landlock(&Reason::Typed).is_err());
        let error = without_landlock(&Reason::InCi(Some("A_TOKEN".to_owned()))).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("A_TOKEN") && text.contains("--no-sandbox"), "{text}");
    }
}
