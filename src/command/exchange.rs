//! `cargo rbench export` and `cargo rbench import`: results as JSON Lines.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter},
    path::Path,
};

use crate::project::Project;
use crate::{
    cli::{ExportArgs, ImportArgs},
    console::Console,
    failure::{Exit, OrFail, Result},
    report::quantity::count,
    store::{Imported, Store},
};

/// The name that means standard input or output.
const STANDARD: &str = "-";

/// Writes everything that is stored.
pub fn export(args: &ExportArgs) -> Result<Exit> {
    let console = Console::new(false);
    let project = Project::find(args.manifest_path.as_deref())?;
    let store = project.stored(&console)?;
    if args.file == Path::new(STANDARD) {
        Console::stream(|out| store.export(out))?;
        return Ok(Exit::Success);
    }
    // A file that is cut off is noticed by import: its last line is missing.
    let shown = || format!("cannot write {}", args.file.display());
    let file = File::create(&args.file).or_fail(Exit::Usage, shown)?;
    store.export(&mut BufWriter::new(file))?;
    console.line(&format!("exported to {}", args.file.display()));
    Ok(Exit::Success)
}

/// Takes in everything that a file has.
pub fn import(args: &ImportArgs) -> Result<Exit> {
    let console = Console::new(false);
    let project = Project::find(args.manifest_path.as_deref())?;
    let mut name = args.file.display().to_string();
    let mut from: Box<dyn BufRead> = if args.file == Path::new(STANDARD) {
        "standard input".clone_into(&mut name);
        Box::new(std::io::stdin().lock())
    } else {
        let shown = || format!("cannot read {}", args.file.display());
        Box::new(BufReader::new(File::open(&args.file).or_fail(Exit::Usage, shown)?))
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
