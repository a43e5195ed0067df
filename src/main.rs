//! `cargo rbench`: parse, dispatch, exit code. Cargo and rustc may also have started this program as
//! their wrapper or linker.

use std::{io::Write as _, process::ExitCode};

use cargo_rbench::{build, cli::Cli, command};

fn main() -> ExitCode {
    if let Some(exit) = build::run_as_tool() {
        return exit;
    }
    let cli = Cli::from_process();
    match command::run(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            // On a terminal that was closed, the exit code alone tells.
            let _ = writeln!(anstream::stderr(), "error: {failure}");
            failure.exit().into()
        }
    }
}
