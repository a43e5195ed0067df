//! `cargo rbench store`: moves stored results between machines as JSON Lines.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufRead, BufReader, BufWriter, Write},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use super::stored_project;
use crate::{
    cli::{ExportArgs, GivenOptions, ImportArgs, StoreArgs, StoreCommand},
    compare::archive,
    console::Console,
    error::{Context, Error, Exit, Result},
    process::Interrupt,
    report::quantity::count,
    store::{Imported, Store},
};

/// The file name for standard input or output.
const STANDARD: &str = "-";

/// Exports or imports.
pub fn run(args: &StoreArgs) -> Result<Exit> {
    match &args.command {
        StoreCommand::Export(file) => export(file, &args.given),
        StoreCommand::Import(file) => import(file),
    }
}

/// Exports all stored results.
fn export(args: &ExportArgs, given: &GivenOptions) -> Result<Exit> {
    let console = Console::attach();
    let project = stored_project(&args.project)?;
    let store = archive::store(&project, &console, given)?;
    if args.file == Path::new(STANDARD) {
        Console::stream(|out| store.export(out))?;
        return Ok(Exit::Success);
    }
    export_to(&store, &args.file)?;
    console.line(&format!("exported to {}", args.file.display()));
    Ok(Exit::Success)
}

/// Exports to a file. An existing file is replaced only by a complete one.
fn export_to(store: &Store<'_>, path: &Path) -> Result<()> {
    let what = || format!("cannot write {}", path.display());
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if Store::files(store.path()).iter().any(|file| same_file(file, &real)) {
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

/// True if `real`, a path without symbolic links, is this file.
fn same_file(file: &Path, real: &Path) -> bool {
    file.canonicalize().is_ok_and(|file| file == real)
}

/// Imports all results of a file.
fn import(args: &ImportArgs) -> Result<Exit> {
    let console = Console::attach();
    let project = stored_project(&args.project)?;
    let mut name = args.file.display().to_string();
    let mut from: Box<dyn BufRead> = if args.file == Path::new(STANDARD) {
        "standard input".clone_into(&mut name);
        Box::new(io::stdin().lock())
    } else {
        let shown = || format!("cannot read {}", args.file.display());
        Box::new(BufReader::new(File::open(&args.file).context(Exit::Usage, shown)?))
    };
    let path = project.store();
    let store = Store::open(&path, &console)?;
    let imported = store.import(&mut *from, &name)?;
    Console::result(&format!("{}\n", summary(&imported, &path)))?;
    Ok(Exit::Success)
}

fn summary(imported: &Imported, path: &Path) -> String {
    let Imported { experiments, known, executions } = *imported;
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
    text
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
