//! `cargo rbench completions`: shell completions, generated from the clap definition so that they cannot be outdated.

use std::fs::{self, File};

use crate::{
    cli::{CompletionsArgs, help},
    console::Console,
    error::{Context as _, Exit, Result},
};

/// Prints completions, or writes a file with the name that the shell expects.
pub fn run(args: &CompletionsArgs) -> Result<Exit> {
    let Some(directory) = &args.output else {
        Console::stream(|out| {
            help::write_completions(args.shell, out);
            Ok(())
        })?;
        return Ok(Exit::Success);
    };
    let path = directory.join(help::completions_file(args.shell));
    let what = || format!("cannot write {}", path.display());
    fs::create_dir_all(directory)
        .context(Exit::Usage, || format!("cannot make {}", directory.display()))?;
    let mut file = File::create(&path).context(Exit::Usage, what)?;
    help::write_completions(args.shell, &mut file);
    Console::attach().line(&format!("wrote {}", path.display()));
    Ok(Exit::Success)
}
