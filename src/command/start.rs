//! `cargo rbench` without a command: offers the comparison that a user most likely wants. Where nobody can answer, an
//! error names that comparison.

use super::{
    compare,
    init::{first_comparison, inspect},
};
use crate::{
    config::{Purpose, SamplingConfigs, SamplingOptions, StoppingRule},
    console::Console,
    error::{Error, Exit, Result},
    project::Project,
    report::quantity,
    shared::SharedVariables,
    shell::cargo,
};

pub fn run(shared: &SharedVariables) -> Result<Exit> {
    let help = format!("`{} rbench --help` lists all commands", cargo());
    let project = Project::find(None, &[]).map_err(|error| error.hint(&help))?;
    let found = inspect(&project)?;
    let Some(args) = first_comparison(&project, &found) else {
        return Err(Error::new(Exit::Usage, "this project has no benchmark yet")
            .hint(format!("see what `{} rbench init --dry-run` finds", cargo()))
            .hint("add a bench target, for example with criterion or divan")
            .hint(help));
    };
    let (versions, command) = (args.versions.names()?, args.suggest_itself());
    let question = format!("{}{}\nRun `{command}`?", found.text(), plan(&project, versions)?);
    match Console::attach().ask(&question) {
        Some(true) => compare::run(&args, shared),
        Some(false) => Ok(Exit::Success),
        None => Err(Error::new(Exit::Usage, "no command is given")
            .hint(format!("compare {} with {}: {command}", versions[1], versions[0]))
            .hint(help)),
    }
}

/// The versions, and what comparing them takes.
fn plan(project: &Project, versions: [&str; 2]) -> Result<String> {
    let mut text = String::new();
    for (role, revision) in ["base", "head"].into_iter().zip(versions) {
        let version = project.repository.resolve(revision)?;
        text += &format!("  {role}: {version} {}\n", version.summary);
    }
    let mode = project.file.mode(None);
    let purpose = Purpose::Comparison { mode, stopping: StoppingRule::Usual };
    let sampling = SamplingConfigs::resolve(&project.file, SamplingOptions::default(), purpose);
    Ok(text
        + &format!(
            "  plan: compile both versions, print how long measuring takes at least, then measure\n    \
             {} of each benchmark that executes changed code\n",
            quantity::sample_sizes(sampling.common().sample_sizes())
        ))
}
