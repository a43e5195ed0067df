//! The subcommands, one file each: each turns parsed arguments into calls of the other rooms, and a report.

mod accept;
mod bisect;
mod build;
mod ci;
mod clean;
mod compare;
mod completions;
mod demo;
mod diagnose;
mod diff;
mod doctor;
mod exec;
mod experiment_settings;
mod history;
mod init;
mod list;
mod output;
mod pack;
mod pull;
mod push;
mod run;
pub mod sandbox;
mod selftest;
mod site;
mod start;
mod versus;
mod watch;

use crate::{
    cli::{Cli, Command},
    error::{Exit, Result},
    machine,
    shared::SharedVariables,
};
use experiment_settings::{project_of, selected_targets, stored_project, stored_targets};

/// Runs the subcommand. `shared` is the place of shared results that the environment names.
pub fn run(cli: &Cli, shared: &SharedVariables) -> Result<Exit> {
    // Refused before anything is measured; who measures cannot fail for it.
    machine::class()?;
    let Some(command) = &cli.command else { return start::run(shared) };
    match command {
        Command::Accept(args) => accept::run(args),
        Command::Build(args) => build::run(args),
        Command::Versus(args) => versus::run(args),
        Command::Ci(args) => ci::run(args, shared),
        Command::Compare(args) if args.watch => watch::run(args),
        Command::Compare(args) => compare::run(args, shared),
        Command::Bisect(args) => bisect::run(args),
        Command::Run(args) => run::run(args, shared),
        Command::Diagnose(args) => diagnose::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Init(args) => init::run(args, shared),
        Command::List(args) => list::run(args),
        Command::Exec(args) => exec::run(args),
        Command::Selftest(args) => selftest::run(args),
        Command::History(args) => history::run(args),
        Command::Push(args) => push::run(args, shared),
        Command::Pull(args) => pull::run(args, shared),
        Command::Site(args) => site::run(args),
        Command::Clean(args) => clean::run(args),
    }
}
