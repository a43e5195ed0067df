//! `cargo rbench pull`: fetches the experiments of other machines from a shared place into the store.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufReader},
    time::{Duration, SystemTime},
};

use super::{push::open_database, stored_project};
use crate::{
    cli::PullArgs,
    config::values,
    console::Console,
    error::{Context, Error, Exit, Result},
    project::Project,
    report::quantity::count,
    shared::{Directory, Documents, Place, SharedVariables},
    store::{Imported, Selection, Store},
};

pub fn run(args: &PullArgs, shared: &SharedVariables) -> Result<Exit> {
    let console = Console::attach();
    let place = shared.place(args.place.as_deref())?;
    let project = stored_project(&args.project)?;
    let since = args.since.as_deref().map(|since| time(since, &project)).transpose()?;
    let selection = Selection { since, identity: None };
    let path = project.store();
    let open = || Store::open(&path, &console);
    let imported = match &place {
        Place::Standard => open()?.import(&mut io::stdin().lock(), "standard input", selection)?,
        Place::File(file) => {
            let shown = || format!("cannot read {}", file.display());
            let opened = File::open(file).context(Exit::Usage, shown)?;
            let name = file.display().to_string();
            open()?.import(&mut BufReader::new(opened), &name, selection)?
        }
        Place::Directory(directory) => {
            all(receive(&mut Directory::new(directory), &open()?, since, &console)?)?
        }
        Place::Database(address) => {
            let mut database = open_database(&project, address, &console)?;
            all(receive(&mut database, &open()?, since, &console)?)?
        }
    };
    let Imported { experiments, known, executions } = imported;
    let mut text = format!(
        "imported {} with {} into {}",
        count(experiments, "new experiment"),
        count(executions, "execution"),
        path.display()
    );
    if known > 0 {
        let were = if known == 1 { "was" } else { "were" };
        text += &format!("; {} {were} already stored", count(known, "experiment"));
    }
    Console::result(&format!("{text}\n"))?;
    Ok(Exit::Success)
}

/// Fetches the experiments of other machines before measuring, so that nothing is measured again. An invalid one is only
/// a warning: it must not stop every machine.
pub fn before_work(
    project: &Project,
    place: &Place,
    store: &Store<'_>,
    console: &Console,
) -> Result<()> {
    let (imported, _) = match place {
        Place::Directory(directory) if Directory::new(directory).is_new() => return Ok(()),
        Place::Directory(directory) => {
            receive(&mut Directory::new(directory), store, None, console)?
        }
        Place::Database(address) => {
            let mut database = open_database(project, address, console)?;
            receive(&mut database, store, None, console)?
        }
        Place::File(_) | Place::Standard => {
            return Err(Error::new(Exit::Usage, format!("cannot share {place} among parts"))
                .cause("each machine would replace what the others sent")
                .hint("name a directory or a database"));
        }
    };
    let new = count(imported.experiments, "new experiment");
    console.line(&format!("fetched {new} from {place}"));
    Ok(())
}

/// Imports the documents of experiments that the store lacks. An invalid one does not keep others from it. Returns the
/// number of invalid ones, too.
fn receive(
    place: &mut dyn Documents,
    store: &Store<'_>,
    since: Option<SystemTime>,
    console: &Console,
) -> Result<(Imported, usize)> {
    let known: HashSet<String> =
        store.finished()?.into_iter().map(|(_, identity)| identity).collect();
    let (mut imported, mut failed) = (Imported::default(), 0);
    for identity in place.identities(since)? {
        if known.contains(&identity) {
            imported.known += 1;
            continue;
        }
        let selection = Selection { since, identity: Some(&identity) };
        let name = format!("experiment {identity}");
        let document = place.document(&identity);
        match document.and_then(|document| store.import_document(&document, &name, selection)) {
            Ok(one) => imported.add(one),
            Err(error) if place.is_lost() => return Err(error),
            Err(error) => {
                failed += 1;
                console.line(&format!("warning: {error}"));
            }
        }
    }
    Ok((imported, failed))
}

/// Fails if some were invalid.
fn all((imported, failed): (Imported, usize)) -> Result<Imported> {
    if failed > 0 {
        let what = format!("cannot import {}", count(failed, "experiment"));
        let imported = count(imported.experiments, "other");
        return Err(Error::new(Exit::Usage, what)
            .cause(format!("imported {imported}; the warnings name the invalid ones")));
    }
    Ok(imported)
}

/// A point in time: a date, a time before now, or that of a revision's commit.
fn time(text: &str, project: &Project) -> Result<SystemTime> {
    if let Ok(before) = values::duration(text) {
        return Ok(SystemTime::now().checked_sub(before).unwrap_or(SystemTime::UNIX_EPOCH));
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.into());
    }
    if let Ok(date) = text.parse::<jiff::civil::Date>()
        && let Ok(time) = date.to_zoned(jiff::tz::TimeZone::UTC)
    {
        return Ok(time.timestamp().into());
    }
    let version = project.repository.resolve(text).map_err(|error| {
        error.hint("--since takes a date (2026-01-31), a duration (90d) or a revision")
    })?;
    let seconds = version.time.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).ok_or_else(|| {
        Error::new(Exit::Usage, format!("cannot use {version} as a point in time"))
            .cause("it has no commit")
    })
}
