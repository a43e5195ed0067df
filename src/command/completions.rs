//! `cargo rbench completions`: shell completions, generated from the clap definition so that they cannot be outdated.

use std::fs;

use crate::{
    cli::{Cli, CompletionsArgs},
    console::Console,
    error::{Context as _, Exit, Result},
};

/// Prints completions, or writes a file with the name that the shell expects.
pub fn run(args: &CompletionsArgs) -> Result<Exit> {
    let (text, file) = args.generate(Cli::definition());
    if let Some(directory) = &args.output {
        let path = directory.join(file);
        fs::create_dir_all(directory)
            .context(Exit::Usage, || format!("cannot make {}", directory.display()))?;
        fs::write(&path, text)
            .context(Exit::Usage, || format!("cannot write {}", path.display()))?;
        Console::attach().line(&format!("wrote {}", path.display()));
    } else {
        Console::result(&text)?;
    }
    Ok(Exit::Success)
}
