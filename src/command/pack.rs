//! `cargo rbench build BASE HEAD --pack FILE`: compiles two versions, traces their benchmarks, and writes all that another
//! machine needs to measure them.

use std::{path::Path, rc::Rc, time::SystemTime};

use super::project_of;
use crate::{
    builds::files,
    cli::{BuildArgs, ExperimentArgs, GivenOptions},
    compare::{Request, Session, compare_all},
    config::{CriteriaOptions, Purpose, StoppingRule, VerdictSettings},
    console::Console,
    error::{Error, Exit, Result},
    measure::{ExperimentSettings, Runner},
    model::{Version, secret::shown_cargo_args},
    pack,
    process::{Interrupt, SavedHandler},
    project::Project,
    report::quantity,
    shell::quoted,
};

/// Compiles two versions, traces their benchmarks, and packs.
pub fn run(args: &BuildArgs, file: &Path) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let mut project = project_of(&args.target)?;
    project.check_tables(&args.revisions, &console)?;
    let versions = versions(&project, &args.revisions)?;
    project.keep_for_packing()?;
    let experiment = ExperimentArgs {
        layout: args.layout.clone(),
        target: args.target.clone(),
        compile: args.compile.clone(),
        ..ExperimentArgs::default()
    };
    let (mode, stopping) = (project.file.mode(None), StoppingRule::default());
    let settings =
        ExperimentSettings::resolve(&project, &experiment, Purpose::Comparison { mode, stopping });
    refuse_secrets(&settings)?;
    let runner = Runner::in_memory(&project, settings.clone(), &interrupt, &console)?;
    let command_line = Rc::new(GivenOptions::default());
    for version in &versions {
        // Before anything is compiled, which takes long.
        let checkout = project.checkout(version, &console)?;
        project.repository.refuse_foreign_files(version, &checkout.path)?;
    }
    let mut session = Session::new(&project, runner, &console, command_line);
    // The plan of a comparison: it lists the benchmarks, and traces those whose code or data may differ.
    let verdicts = VerdictSettings::resolve(&project.file, &CriteriaOptions::default())?;
    let plan = Request { only_plan: true, ..Request::new(versions.clone(), verdicts) };
    let places = project.pack_places()?;
    let done = compare_all(&[plan], &mut session).and_then(|_| {
        let [base, head] = &versions;
        session.with([base, head], |session, listed| session.runner.pack(listed, &places))
    });
    let (mut packed, builds) = session.runner.end(start, done)?;
    packed.extend(project.files_for_pack(&versions, &places.staging)?);
    let (compile, targets) = (settings.builds.compile, settings.filter.targets().clone());
    let about = project.packed_as(versions, compile, targets, builds)?;
    let size = pack::write(file, &about, &packed)?;
    files::remove_directory(&places.staging)?;
    Console::result(&format!(
        "wrote {} ({})\nmeasure it anywhere with: cargo rbench compare --pack {}\n",
        file.display(),
        quantity::bytes(size),
        quoted(file)
    ))?;
    Ok(Exit::Success)
}

fn versions(project: &Project, revisions: &[String]) -> Result<[Version; 2]> {
    let versions = project.repository.resolve_all(revisions)?;
    let count = versions.len();
    versions.try_into().map_err(|_| {
        Error::new(Exit::Usage, format!("cannot pack {}", quantity::count(count, "version")))
            .cause("a pack is for a comparison of two versions")
            .hint("name both: cargo rbench build BASE HEAD --pack FILE")
    })
}

/// Refuses arguments for cargo whose values may be secrets, since they would be in the pack.
fn refuse_secrets(settings: &ExperimentSettings) -> Result<()> {
    let words = &settings.builds.compile.cargo_args;
    if shown_cargo_args(words) == *words {
        return Ok(());
    }
    Err(Error::new(Exit::Usage, "cannot pack versions that were compiled with --config")
        .cause("its value may be a secret, and who measures the pack could read it")
        .hint("set it in .cargo/config.toml of the repository"))
}
