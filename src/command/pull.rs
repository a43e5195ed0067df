//! `cargo rbench pull`: fetches the experiments of other machines from a shared place into the store.

use std::{
    collections::{BTreeMap, HashSet},
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
    escape::{escape_untrusted, escape_untrusted_lines},
    project::Project,
    report::quantity::count,
    shared::{Directory, Documents, Listed, Place, SharedVariables, Wanted},
    store::{Imported, Selection, Store},
};

pub fn run(args: &PullArgs, shared: &SharedVariables) -> Result<Exit> {
    let console = Console::attach();
    let place = shared.place(args.place.as_deref())?;
    let project = stored_project(&args.project)?;
    let since = args.since.as_deref().map(|since| time(since, &project)).transpose()?;
    if !args.from.is_empty() && !matches!(place, Place::Database(_)) {
        return Err(Error::new(Exit::Usage, format!("cannot select by --from in {place}"))
            .cause("only a database knows who sent an experiment"));
    }
    let selection = Selection { since, identity: None };
    let wanted = Wanted { since, senders: &args.from };
    let path = project.store();
    let open = || Store::open(&path, &console);
    let mut senders = String::new();
    let imported = match &place {
        Place::Standard => open()?.import(&mut io::stdin().lock(), "standard input", selection)?,
        Place::File(file) => {
            let shown = || format!("cannot read {}", file.display());
            let opened = File::open(file).context(Exit::Usage, shown)?;
            let name = file.display().to_string();
            open()?.import(&mut BufReader::new(opened), &name, selection)?
        }
        Place::Directory(directory) => {
            receive(&mut Directory::new(directory), &open()?, &wanted, &console)?.all()?
        }
        Place::Database(address) => {
            let mut database = open_database(&project, address, &console)?;
            let received = receive(&mut database, &open()?, &wanted, &console)?;
            senders = received.senders();
            received.all()?
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
    Console::result(&escape_untrusted_lines(&format!("{text}{senders}\n")))?;
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
    let wanted = Wanted::default();
    let received = match place {
        Place::Directory(directory) if Directory::new(directory).is_new() => return Ok(()),
        Place::Directory(directory) => {
            receive(&mut Directory::new(directory), store, &wanted, console)?
        }
        Place::Database(address) => {
            let mut database = open_database(project, address, console)?;
            receive(&mut database, store, &wanted, console)?
        }
        Place::File(_) | Place::Standard => {
            return Err(Error::new(Exit::Usage, format!("cannot share {place} among parts"))
                .cause("each machine would replace what the others sent")
                .hint("name a directory or a database"));
        }
    };
    let new = count(received.imported.experiments, "new experiment");
    let senders = received.senders();
    console.line(&escape_untrusted(&format!("fetched {new} from {place}{senders}")));
    Ok(())
}

/// The experiments that came from a place.
#[derive(Default)]
struct Received {
    imported: Imported,
    /// The number of invalid ones.
    failed: usize,
    /// The numbers of those that each login sent.
    senders: BTreeMap<String, usize>,
}

impl Received {
    /// Names those who sent the new experiments: they vouch for them.
    fn senders(&self) -> String {
        let all: Vec<String> =
            self.senders.iter().map(|(sender, sent)| format!("{sender} ({sent})")).collect();
        if all.is_empty() { String::new() } else { format!("; sent by {}", all.join(", ")) }
    }

    /// Fails if some were invalid.
    fn all(self) -> Result<Imported> {
        let Self { imported, failed, .. } = self;
        if failed > 0 {
            let what = format!("cannot import {}", count(failed, "experiment"));
            let imported = count(imported.experiments, "other");
            return Err(Error::new(Exit::Usage, what)
                .cause(format!("imported {imported}; the warnings name the invalid ones")));
        }
        Ok(imported)
    }
}

/// Imports the documents of wanted experiments that the store lacks. An invalid one does not keep others from it.
fn receive(
    place: &mut dyn Documents,
    store: &Store<'_>,
    wanted: &Wanted<'_>,
    console: &Console,
) -> Result<Received> {
    let known: HashSet<String> =
        store.finished()?.into_iter().map(|(_, identity)| identity).collect();
    let mut received = Received::default();
    for Listed { identity, sender } in place.list(wanted)? {
        if known.contains(&identity) {
            received.imported.known += 1;
            continue;
        }
        let selection = Selection { since: wanted.since, identity: Some(&identity) };
        let name = format!("experiment {identity}");
        let document = place.document(&identity);
        match document.and_then(|document| store.import_document(&document, &name, selection)) {
            Ok(one) => {
                received.imported.add(one);
                if let Some(sender) = sender.filter(|_| one.experiments > 0) {
                    *received.senders.entry(sender).or_default() += one.experiments;
                }
            }
            Err(error) if place.is_lost() => return Err(error),
            Err(error) => {
                received.failed += 1;
                console.line(&format!("warning: {error}"));
            }
        }
    }
    Ok(received)
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
