//! `cargo rbench`: parse, dispatch, exit code.

use std::process::ExitCode;

use cargo_rbench::{cli::Cli, command};

fn main() -> ExitCode {
    let cli = Cli::from_process();
    match command::run(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            anstream::eprintln!("error: {failure}");
            failure.exit().into()
        }
    }
}
