//! `cargo rbench`: parses the command line, runs the command and sets the exit code. The same
//! program also starts as rustc's wrapper, as the linker, and as the supervisor of cargo.

use std::{io::Write as _, process::ExitCode};

use cargo_rbench::{
    builds, cli::Cli, command, console::Console, error::Exit, escape::escape_untrusted_lines, log,
    model::variables::Inheritance, process, secrets, shared::SharedVariables,
};
use tracing::{debug, info};

fn main() -> ExitCode {
    if let Some(exit) = builds::run_as_tool() {
        return exit;
    }
    let cli = Cli::from_process();
    let sandbox = command::sandbox::decide(&cli);
    let inheritance =
        if cli.runs_in_ci() { Inheritance::Listed } else { Inheritance::AllButSecrets };
    let hidden = secrets::start(inheritance);
    let shared = SharedVariables::read();
    match cli.color {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    if cli.quiet {
        Console::be_quiet();
    } else if cli.verbose > 0 {
        Console::be_verbose();
    }
    let started = log::start(&cli.name, &Cli::typed(), cli.verbose, cli.quiet);
    let withheld = secrets::withheld_names();
    if !withheld.is_empty() {
        info!(
            "variables that code of a commit gets only if bench.toml names them: {}",
            withheld.join(" ")
        );
    }
    let run = |sandbox: Option<String>| {
        if let Some(line) = sandbox {
            Console::attach().line(&line);
        }
        command::run(&cli, &shared)
    };
    let prepared = started.and(hidden).and(sandbox);
    let (exit, error) = match prepared.and_then(run) {
        Ok(exit) => (exit, None),
        Err(error) => (error.exit(), Some(secrets::text(format!("error: {error}").as_bytes()))),
    };
    let failures = process::end_setups();
    let failures = failures.into_iter().map(|failure| format!("note: {failure}"));
    if let Some(error) = &error {
        debug!(target: log::PRINTED, "{error}");
    }
    info!("exit code {}", exit as u8);
    let has_failed = error.is_some() || exit == Exit::Benchmark;
    // The demo removes its project, and the log with it.
    let log = log::path().filter(|path| has_failed && path.exists());
    let log = log.map(|path| format!("log: {}", path.display()));
    let limits = Some(process::tight_limits()).filter(|limits| has_failed && !limits.is_empty());
    let limits = limits.map(|limits| {
        format!("note: these limits of the shell may explain it: {}", limits.join(", "))
    });
    for text in failures.chain(error).chain(limits).chain(log) {
        // Where the terminal was closed, the exit code has to suffice.
        let _ = writeln!(anstream::stderr(), "{}", escape_untrusted_lines(&text));
    }
    exit.into()
}
