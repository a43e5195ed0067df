//! `cargo rbench push`: sends finished experiments to a place that several machines share.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    rc::Rc,
};

use tracing::debug;

use super::stored_project;
use crate::{
    cli::{GivenOptions, PushArgs},
    compare::{Acceptances, Archive, archive, compare_experiment},
    config::{CriteriaOptions, VerdictSettings},
    console::Console,
    error::{Context, Error, Exit, Result},
    git::Repository,
    model::SkipReason,
    process::Interrupt,
    project::Project,
    report::{compare::ComparisonReport, quantity::count},
    shared::{About, Address, Database, Directory, Documents, Place, SharedVariables, Summary},
    shell::CommandLine as _,
    store::{Store, StoredExperiment},
    verdict::ExitPolicy,
};

pub fn run(args: &PushArgs, shared: &SharedVariables) -> Result<Exit> {
    let console = Console::attach();
    let place = shared.place(args.place.as_deref())?;
    let project = stored_project(&args.project)?;
    let sent = push(&project, &place, &args.given, &console)?;
    console.line(&sent);
    Ok(Exit::Success)
}

/// The place for the results of a command with `--push`. Without one, it warns before anything is measured: a job of a
/// fork has no secrets, and still compares.
pub fn place_after_work(push: bool, shared: &SharedVariables, console: &Console) -> Option<Place> {
    let place = push.then(|| shared.place(None))?;
    place.map_err(|error| console.line(&format!("warning: --push sends nothing: {error}"))).ok()
}

/// Sends what the place lacks after measuring, if there is a place. A failure is only a warning: the results are stored,
/// and the verdict stands.
pub fn after_work(
    project: &Project,
    place: Option<&Place>,
    given: &GivenOptions,
    console: &Console,
) {
    let Some(place) = place else { return };
    let sent = push(project, place, given, console);
    console.line(&sent.unwrap_or_else(|error| {
        let again = given.suggest("push", &[], &[]);
        format!("warning: {error}\nhint: the results are stored; send them later with: {again}")
    }));
}

/// Sends what the place lacks, and says what was sent.
fn push(
    project: &Project,
    place: &Place,
    given: &GivenOptions,
    console: &Console,
) -> Result<String> {
    let store = archive::store(project, console, given)?;
    let exported = |()| format!("wrote all finished experiments to {place}");
    let mut documents: Box<dyn Documents> = match place {
        Place::Standard => return Console::stream(|out| store.export(out)).map(exported),
        Place::File(path) => return export_to(&store, path).map(exported),
        Place::Directory(path) => Box::new(Directory::new(path)),
        Place::Database(address) => Box::new(open_database(project, address, console)?),
    };
    let acceptances = Acceptances::read(project)?;
    let archive = Archive { store, acceptances, command_line: Rc::new(given.clone()) };
    let verdicts = VerdictSettings::resolve(&project.file, &CriteriaOptions::default())?;
    Experiments { archive, verdicts }.send(&mut *documents, place, console)
}

pub fn open_database(
    project: &Project,
    address: &Address,
    console: &Console,
) -> Result<impl Documents> {
    Database::open(address, identity(&project.repository)?, |text| console.line(text))
}

/// The identity of a project in a database, by its repository. A part of its history would have another one.
fn identity(repository: &Repository) -> Result<String> {
    if repository.is_shallow() {
        return Err(Error::new(Exit::Usage, "cannot identify the project")
            .cause("the clone has no complete history, and the first commit identifies a project")
            .hint("fetch it with: git fetch --unshallow"));
    }
    repository.identity()
}

struct Experiments<'p> {
    archive: Archive<'p>,
    verdicts: VerdictSettings,
}

impl Experiments<'_> {
    /// Sends a document of each finished experiment that the place lacks. An experiment that cannot be sent does not
    /// keep others from it.
    fn send(&self, place: &mut dyn Documents, shown: &Place, console: &Console) -> Result<String> {
        let store = &self.archive.store;
        let finished = store.finished()?;
        let identities: Vec<String> =
            finished.iter().map(|(_, identity)| identity.clone()).collect();
        let missing = place.missing(&identities)?;
        let (mut sent, mut failed) = (0, 0);
        for (id, identity) in finished.iter().filter(|(_, identity)| missing.contains(identity)) {
            let Some(experiment) = store.experiment(*id)? else { continue };
            let summary = |project: &str| self.summary(&experiment, project);
            let added = store
                .document(&experiment)
                .and_then(|document| place.add(identity, &document, &summary));
            match added {
                Ok(added) => sent += usize::from(added),
                Err(error) if place.is_lost() => {
                    return Err(error.cause(format!("sent {sent} before")));
                }
                Err(error) => {
                    failed += 1;
                    console.line(&format!("experiment {identity}: {error}"));
                }
            }
        }
        let all = count(finished.len(), "finished experiment");
        let text = format!("sent {sent} of {all} to {shown}");
        if failed > 0 {
            let what = format!("cannot send {} to {shown}", count(failed, "experiment"));
            return Err(Error::new(Exit::Usage, what).cause(text));
        }
        Ok(format!("{text}; {} were there", finished.len() - sent))
    }

    /// The summary of an experiment, with the comparison that `compare --stored` shows of it. An experiment without a
    /// verdict, which another rbench may have measured, has none.
    fn summary(&self, experiment: &StoredExperiment, project: &str) -> Result<Summary> {
        let Self { archive, verdicts } = self;
        let outcome =
            compare_experiment(experiment.id, verdicts, archive).unwrap_or_else(|error| {
                debug!("experiment {} has no verdicts: {error}", experiment.identity);
                None
            });
        let comparison = outcome.map(|outcome| {
            let policy = ExitPolicy::default();
            ComparisonReport::new(outcome, policy, archive.command_line.clone()).comparison()
        });
        let skipped = archive.store.unmeasured(experiment.id)?;
        let skipped: Vec<SkipReason> = skipped.into_iter().map(|(_, reason)| reason).collect();
        Summary::new(&About::new(experiment, project, &skipped), comparison.as_ref())
    }
}

/// Exports to a file. An existing file is replaced only by a complete one.
fn export_to(store: &Store<'_>, path: &Path) -> Result<()> {
    let what = || format!("cannot write {}", path.display());
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if Store::files(store.path())
        .iter()
        .any(|file| file.canonicalize().is_ok_and(|file| file == real))
    {
        return Err(Error::new(Exit::Usage, what())
            .cause("it is where the results are stored")
            .hint("name another file"));
    }
    let mode = match fs::metadata(path) {
        // Replacing needs only permission for the directory. A file that the user may not write must not be replaced
        // either, so opening it checks that.
        Ok(earlier) if earlier.is_file() => {
            OpenOptions::new().append(true).open(path).context(Exit::Usage, what)?;
            earlier.permissions()
        }
        Err(_) if !path.is_symlink() => Permissions::from_mode(0o666),
        // A pipe, a device or a dangling link cannot be replaced, so it is written directly.
        _ => {
            let file = File::create(path).context(Exit::Usage, what)?;
            return store.export(&mut BufWriter::new(file));
        }
    };
    let directory = real.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let interrupt = Interrupt::on_signals_in_order()?;
    export_whole(store, &real, directory, mode, &interrupt)
}

/// Writes a temporary file in `directory` and renames it to `path` once it is complete. After an interrupt or an error
/// nothing of it remains.
fn export_whole(
    store: &Store<'_>,
    path: &Path,
    directory: &Path,
    mode: Permissions,
    interrupt: &Interrupt,
) -> Result<()> {
    let what = || format!("cannot write {}", path.display());
    let unfinished = tempfile::Builder::new()
        .permissions(mode)
        .tempfile_in(directory)
        .context(Exit::Usage, what)?;
    let until_interrupted = UntilInterrupted { file: unfinished.as_file(), interrupt };
    let exported = store.export(&mut BufWriter::new(until_interrupted));
    if interrupt.is_set() {
        return Err(Error::new(Exit::Interrupted, "stopped before all results were exported"));
    }
    exported?;
    unfinished.persist(path).context(Exit::Usage, what)?;
    Ok(())
}

/// A writer that fails after an interrupt, which ends a long export early.
struct UntilInterrupted<'f> {
    file: &'f File,
    interrupt: &'f Interrupt,
}

impl Write for UntilInterrupted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.interrupt.is_set() {
            return Err(io::Error::other("stopped"));
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn interrupted_export_leaves_no_file_behind() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("results.jsonl");
        let (store, interrupt) = (Store::in_memory().unwrap(), Interrupt::new().unwrap());
        let mode = || Permissions::from_mode(0o600);
        let export = || export_whole(&store, &file, directory.path(), mode(), &interrupt);
        export().unwrap();
        let before = fs::read_to_string(&file).unwrap();
        fs::write(&file, "earlier").unwrap();
        interrupt.set();
        assert_eq!(export().unwrap_err().exit(), Exit::Interrupted);
        assert_eq!(fs::read_to_string(&file).unwrap(), "earlier");
        assert!(before.contains("rbench-results"), "{before}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
