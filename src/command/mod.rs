//! One recipe per subcommand.

use crate::{
    cli::{Cli, Command},
    failure::{Exit, Result},
};

/// Carries out what was typed.
pub fn run(cli: &Cli) -> Result<Exit> {
    match cli.command {
        Command::Gc => Ok(Exit::Success),
    }
}
