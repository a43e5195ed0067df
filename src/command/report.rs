//! `cargo rbench report`: what is stored, as a web page; nothing is measured.

use super::{diagnose, history, output::Output, project_of, stored};
use crate::{
    cli::{OutputFile, PageArgs, PageOf, ReportFormat},
    console::Console,
    failure::{Exit, Result},
    report::Report,
};

/// Reads, judges, and writes the page.
pub fn run(args: &PageArgs) -> Result<Exit> {
    let console = Console::new(false);
    let path = args.place().file.clone();
    let files = [OutputFile { path, format: ReportFormat::Html }];
    let output = Output::of_files(&files)?;
    let report: Box<dyn Report> = match args.command()? {
        PageOf::Comparison(args) => {
            let project = project_of(&args.experiment.target)?;
            project.check_tables(&args.versions.names()?, &console)?;
            Box::new(stored::report(&project, &args, &console)?)
        }
        PageOf::History(args) => Box::new(history::read(&args, &console)?.0),
        PageOf::Diagnosis(args) => Box::new(diagnose::read(&args, &console)?),
    };
    output.write(&*report)?;
    console.line(&format!("the page is {}", files[0].path.display()));
    Ok(Exit::Success)
}
