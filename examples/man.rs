//! Writes a page of the manual for each command, for packages: `cargo run --example man -- DIRECTORY`.

use std::{env, fs, io, path::Path};

use cargo_rbench::cli::Cli;
use clap::Command;
use clap_mangen::Man;

fn main() -> io::Result<()> {
    let usage = || io::Error::other("name the directory that the pages are written into");
    let directory = env::args_os().nth(1).ok_or_else(usage)?;
    fs::create_dir_all(&directory)?;
    write_pages(&program(), Path::new(&directory))
}

/// The command line, with the names of files for its commands.
fn program() -> Command {
    let mut program = Cli::definition().bin_name("cargo-rbench").disable_help_subcommand(true);
    program.build();
    program
}

/// Writes the page of a command, and those of its subcommands.
fn write_pages(command: &Command, directory: &Path) -> io::Result<()> {
    // Subcommands have no version of their own.
    let source = concat!("cargo-rbench ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(source).generate_to(directory)?;
    let mut shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    shown.try_for_each(|one| write_pages(one, directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let directory = tempfile::tempdir().unwrap();
        write_pages(&program(), directory.path()).unwrap();
        for command in program().get_subcommands() {
            let name = format!("cargo-rbench-{}.1", command.get_name());
            let page = fs::read_to_string(directory.path().join(name)).unwrap();
            assert!(page.contains(env!("CARGO_PKG_VERSION")), "{page}");
        }
        let compare = directory.path().join("cargo-rbench-compare.1");
        assert!(fs::read_to_string(compare).unwrap().contains("also\\-base"));
        assert!(directory.path().join("cargo-rbench.1").exists());
    }
}
