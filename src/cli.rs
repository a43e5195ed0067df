//! What was typed: the clap structs, and nothing that needs the world.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

/// Regression benchmarking across builds.
///
/// rbench builds each commit several times with different code layouts, the same layouts for both
/// commits, and reports a regression only when it is larger than what layouts, process starts and
/// noise explain.
#[derive(Debug, Parser)]
#[command(name = "cargo-rbench", bin_name = "cargo rbench", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prunes the cache of checkouts, compilations and builds.
    Gc,
}

impl Cli {
    /// Parses the arguments of this process; prints help or usage errors and exits if asked to.
    pub fn from_process() -> Self {
        Self::parse_from(without_cargo(std::env::args_os()))
    }
}

/// Cargo runs `cargo rbench build` as `cargo-rbench rbench build`: the second word says nothing new.
fn without_cargo(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|word| word == "rbench") {
        args.remove(1);
    }
    args
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_word_that_cargo_inserts_is_dropped_once() {
        let dropped = without_cargo(["cargo-rbench", "rbench", "build"].map(OsString::from));
        assert_eq!(dropped, ["cargo-rbench", "build"]);
    }
}
