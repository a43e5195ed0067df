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
mod exchange;
mod exec;
mod experiment_settings;
mod explain;
mod history;
mod init;
mod list;
mod output;
mod output_files;
mod plan;
mod run;
mod selftest;
mod show;

use crate::{
    cli::{Cli, Command, ProjectArgs, TargetArgs},
    error::{Exit, Result},
    project::Project,
};

/// Finds the project of a command that compiles nothing.
fn stored_project(args: &ProjectArgs) -> Result<Project> {
    Project::find(args.manifest_path.as_deref(), &args.config)
}

/// Finds the project of a command that compiles, with the benchmarks of `--command`.
fn project_of(target: &TargetArgs) -> Result<Project> {
    let mut project = stored_project(&target.project)?;
    project.file.run_only(&target.commands);
    Ok(project)
}

/// Runs the subcommand.
pub fn run(cli: &Cli) -> Result<Exit> {
    match &cli.command {
        Command::Accept(args) => accept::run(args),
        Command::Build(args) => build::run(args),
        Command::Ci(args) => ci::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Bisect(args) => bisect::run(args),
        Command::Run(args) => run::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Diagnose(args) => diagnose::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Init(args) => init::run(args),
        Command::List(args) => list::run(args),
        Command::Exec(args) => exec::run(args),
        Command::Selftest(args) => selftest::run(args),
        Command::History(args) => history::run(args),
        Command::Show(args) => show::run(args),
        Command::Export(args) => exchange::export(args),
        Command::Import(args) => exchange::import(args),
        Command::Clean(args) => clean::run(args),
    }
}
