//! The subcommands, one file each.

mod accept;
mod accepted;
mod announcement;
mod budget;
mod build;
mod compare;
mod demo;
mod diagnose;
mod diff;
mod exchange;
mod exec;
mod find;
mod functions;
mod gc;
mod history;
mod list;
mod output;
mod plan;
mod release;
mod report;
mod run;
mod selection;
mod selftest;
mod show;
mod stages;
mod stored;
mod suspicious_builds;

use crate::{
    cli::{Cli, Command},
    failure::{Exit, Result},
};

/// Carries out what was typed.
pub fn run(cli: &Cli) -> Result<Exit> {
    match &cli.command {
        Command::Accept(args) => accept::run(args),
        Command::Build(args) => build::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Find(args) => find::run(args),
        Command::Run(args) => run::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Report(args) => report::run(args),
        Command::Diagnose(args) => diagnose::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Diff(args) => diff::run(args),
        Command::List(args) => list::run(args),
        Command::Exec(args) => exec::run(args),
        Command::Selftest(args) => selftest::run(args),
        Command::History(args) => history::run(args),
        Command::Show(args) => show::run(args),
        Command::Export(args) => exchange::export(args),
        Command::Import(args) => exchange::import(args),
        Command::Gc(args) => gc::run(args),
    }
}
