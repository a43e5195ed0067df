//! `cargo rbench completions` and `cargo rbench man`: what is generated from the command line.

use std::{fs::File, path::Path};

use crate::{
    cli::{CompletionsArgs, ManArgs, help},
    console::Console,
    failure::{Exit, OrFail as _, Result},
};

/// Prints completions, or writes them where the shell looks for them.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let Some(directory) = &args.output else {
        Console::stream(|out| {
            help::write_completions(args.shell, out);
            Ok(())
        })?;
        return Ok(Exit::Success);
    };
    let path = directory.join(help::completions_file(args.shell));
    let what = || format!("cannot write {}", path.display());
    make(directory)?;
    let mut file = File::create(&path).or_fail(Exit::Usage, what)?;
    help::write_completions(args.shell, &mut file);
    Console::new(false).line(&format!("wrote {}", path.display()));
    Ok(Exit::Success)
}

/// Prints a page of the manual, or writes all.
pub fn man(args: &ManArgs) -> Result<Exit> {
    let Some(directory) = &args.output else {
        Console::result(&help::man_page(args.subcommand.as_deref())?)?;
        return Ok(Exit::Success);
    };
    let what = || format!("cannot write pages into {}", directory.display());
    make(directory)?;
    let pages = help::write_man_pages(directory).or_fail(Exit::Usage, what)?;
    Console::new(false).line(&format!("wrote {pages} pages into {}", directory.display()));
    Ok(Exit::Success)
}

fn make(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)
        .or_fail(Exit::Usage, || format!("cannot make {}", directory.display()))
}
