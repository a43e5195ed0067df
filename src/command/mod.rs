//! One recipe per subcommand.

mod build;
mod project;

use crate::{
    cli::{Cli, Command},
    failure::{Exit, Result},
};

/// Carries out what was typed.
pub fn run(cli: &Cli) -> Result<Exit> {
    match &cli.command {
        Command::Build(args) => build::run(args),
        Command::Diff(_) => todo!(),
        Command::Gc(_) => todo!(),
    }
}
