//! Runs the tools of a build: cargo, rustc, linkers.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, ExitCode, Output, Stdio},
};

use rustix::process::Signal;
use tracing::info;

use super::cargo::CargoContext;
use crate::{
    error::{Context as _, Error, Exit, Result},
    model::secret::{PLACEHOLDER, is_secret, shown_cargo_args},
    process::{
        Tool, end_with_this_process,
        sandbox::{self, Task},
    },
    secrets,
    shell::quoted,
};

/// The number of lines of a tool's output that an error shows.
const TAIL_LINES: usize = 30;

/// Runs a tool that reads or runs something of a commit to its end, in the sandbox if there is one, with its output
/// captured; fails if it cannot be run or fails. Its environment is explicit. `what` describes the failed operation:
/// "cannot link bench target `parse`".
pub fn run(command: &mut Command, task: Task<'_>, what: impl Fn() -> String) -> Result<Output> {
    run_confined_or(command, task, Exit::Build, what)
}

/// Like `run`, with another exit code if the tool fails, for tools that read the user's working tree.
pub fn run_confined_or(
    command: &mut Command,
    task: Task<'_>,
    exit: Exit,
    what: impl Fn() -> String,
) -> Result<Output> {
    info!("running: {}", shown(command));
    let mut outer = sandbox::confined(command, task).context(Exit::Build, &what)?;
    let run = outer.as_mut().unwrap_or(command);
    end_with_this_process(run, Signal::KILL);
    let output = Tool::output(run);
    successful(command, output, exit, what)
}

/// Runs a tool that works on something of the user's, outside of the sandbox; `exit` is the exit code if it fails.
pub fn run_or(command: &mut Command, exit: Exit, what: impl Fn() -> String) -> Result<Output> {
    info!("running: {}", shown(command));
    end_with_this_process(command, Signal::KILL);
    let output = command.stdin(Stdio::null()).output();
    successful(command, output, exit, what)
}

fn successful(
    command: &Command,
    output: io::Result<Output>,
    exit: Exit,
    what: impl Fn() -> String,
) -> Result<Output> {
    let output = output.map_err(|error| cannot_start(command.get_program(), &error, what()))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = secrets::text(&output.stderr) + &secrets::text(&output.stdout);
    Err(Error::new(exit, what())
        .cause(format!(
            "`{}` ended with {}; the end of its output:",
            command.get_program().display(),
            output.status
        ))
        .cause(tail(&text))
        .hint(format!("the command was: {}", shown_with(command, ""))))
}

pub fn cannot_start(program: &OsStr, error: &io::Error, what: String) -> Error {
    let failure = Error::new(Exit::Build, what)
        .cause(format!("cannot start `{}`: {error}", program.display()));
    if error.kind() == io::ErrorKind::NotFound {
        failure.hint(format!("install `{}` or put it on the PATH", program.display()))
    } else {
        failure
    }
}

/// The error of everything that needs a compiler, where the versions come from a pack.
pub fn cannot_compile(version: &str) -> Error {
    Error::new(Exit::Usage, format!("cannot compile {version} again"))
        .cause("its compilation comes from a pack, and only its layouts can be linked here")
        .hint("use a layout and a strategy that need no compiler: --layout same-address, --config build.strategy=relink")
        .hint("or compare in a clone: cargo rbench compare BASE HEAD")
}

/// The command in the form that users can type: with its directory, and with those of its variables that this process
/// does not have, but without secrets, because errors are stored and logs are shown to others.
pub fn shown(command: &Command) -> String {
    let own = |name: &OsStr| std::env::var_os(name);
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| value.map(|value| (name, value)))
        .filter(|(name, value)| own(name).as_deref() != Some(value))
        .map(|(name, value)| {
            let is_secret = is_secret(&name.to_string_lossy());
            let value = if is_secret { PLACEHOLDER.into() } else { quoted(value) };
            format!("{}={value} ", name.display())
        });
    shown_with(command, &variables.collect::<String>())
}

/// The command after these variables. Errors leave them out: they are long, change nothing for a user, and are in the
/// log.
fn shown_with(command: &Command, variables: &str) -> String {
    let directory =
        command.get_current_dir().map(|directory| format!("cd {} && ", quoted(directory)));
    let arguments: Vec<String> =
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let arguments = shown_cargo_args(&arguments);
    let words = std::iter::once(quoted(command.get_program())).chain(arguments.iter().map(quoted));
    let line = directory.unwrap_or_default() + variables + &words.collect::<Vec<_>>().join(" ");
    // A build script may put one among the arguments of the linker.
    secrets::text(line.as_bytes())
}

/// The last lines of a tool's output.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// Replaces this process by `command`. Returns only if that is impossible.
pub fn replace_process(command: &mut Command) -> ExitCode {
    let error = command.exec();
    anstream::eprintln!("error: cannot start `{}`: {error}", command.get_program().display());
    ExitCode::from(127)
}

/// The output of `rustc -vV` of the compiler that cargo will use, which identifies it.
pub fn compiler(context: &CargoContext) -> Result<String> {
    query(context, "-vV").map(|answer| secrets::text(answer.as_bytes()))
}

/// True if the compiler with this output of `rustc -vV` accepts `#![feature(…)]` in this context, or may accept it.
pub fn has_unstable_features(compiler: &str, context: &CargoContext) -> bool {
    /// The variable that permits them with any compiler. Cargo's configuration can set it too.
    const PERMISSION: &str = "RUSTC_BOOTSTRAP";
    let names_it = |path: PathBuf| {
        fs::read_to_string(path).is_ok_and(|settings| settings.contains(PERMISSION))
    };
    let own = context.directory.ancestors().map(|path| path.join(".cargo/config.toml"));
    ["-nightly", "-dev"].iter().any(|channel| compiler.contains(channel))
        || context.environment.get(PERMISSION).is_some()
        || own.chain(context.configs.iter().cloned()).any(names_it)
}

/// The directory with the standard library and the LLD of that compiler.
pub fn sysroot(context: &CargoContext) -> Result<PathBuf> {
    Ok(query(context, "--print=sysroot")?.into())
}

fn query(context: &CargoContext, argument: &str) -> Result<String> {
    let what = || format!("cannot run the compiler for {}", context.directory.display());
    let output = run(&mut context.rustc_command(&[argument.into()]), Task::Execute, what)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tool_is_named_with_a_hint() {
        let mut command = Command::new("no-such-linker");
        let error = run(&mut command, Task::Run, || "cannot link `parse`".to_owned()).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot link `parse`\n  cannot start `no-such-linker`"), "{text}");
        assert!(text.contains("hint: install `no-such-linker`"), "{text}");
    }

    #[test]
    fn failed_command_is_shown_without_secrets() {
        let mut command = Command::new("false");
        command.args(["--config", "env.A='s3cret'"]).env("RBENCH_X_TOKEN", "s3cret");
        assert_eq!(shown(&command), "RBENCH_X_TOKEN=VALUE false --config env.A=VALUE");
        let text =
            run(&mut command, Task::Run, || "cannot ask".to_owned()).unwrap_err().to_string();
        assert!(text.contains("the command was: false --config env.A=VALUE"), "{text}");
    }

    #[test]
    fn shown_command_can_be_typed() {
        let mut command = Command::new("cc");
        command.current_dir("/a b").env("RBENCH_X", "1 2").args(["-o", "out"]);
        command.env("PATH", std::env::var_os("PATH").unwrap());
        assert_eq!(shown(&command), "cd '/a b' && RBENCH_X='1 2' cc -o out");
    }
}
