//! `cargo rbench`: parse, dispatch, exit code. This program may also have been started as rustc's
//! wrapper, as the linker, or as the supervisor of cargo.

use std::{io::Write as _, process::ExitCode};

use cargo_rbench::{build, cli::Cli, command, console::Console, report::visible::visible_lines};

fn main() -> ExitCode {
    if let Some(exit) = build::run_as_tool() {
        return exit;
    }
    let cli = Cli::from_process();
    match cli.color {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    if cli.quiet {
        Console::be_quiet();
    }
    match command::run(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            // On a terminal that was closed, the exit code alone tells.
            let text = failure.to_string();
            let _ = writeln!(anstream::stderr(), "error: {}", visible_lines(&text));
            failure.exit().into()
        }
    }
}
