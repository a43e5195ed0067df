//! Writes what packages have beside the program: `cargo run --example man -- DIRECTORY` makes `DIRECTORY/man`, with a page of the
//! manual for each command, and `DIRECTORY/completions`, with a file for each shell.

use std::{env, fs, io, path::Path};

use cargo_rbench::cli::{Cli, CompletionsArgs};
use clap::{Command, ValueEnum as _};
use clap_complete::Shell;
use clap_mangen::Man;

fn main() -> io::Result<()> {
    let usage = || io::Error::other("name the directory that man and completions are written into");
    let directory = env::args_os().nth(1).ok_or_else(usage)?;
    write_all(Path::new(&directory))
}

fn write_all(directory: &Path) -> io::Result<()> {
    let [man, completions] = ["man", "completions"].map(|name| directory.join(name));
    fs::create_dir_all(&man)?;
    write_pages(&program(), &man)?;
    fs::create_dir_all(&completions)?;
    for &shell in Shell::value_variants() {
        let (text, file) = CompletionsArgs { shell, output: None }.generate(Cli::definition());
        fs::write(completions.join(file), text)?;
    }
    Ok(())
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
    fn every_command_has_a_page_and_every_shell_a_file() {
        let directory = tempfile::tempdir().unwrap();
        write_all(directory.path()).unwrap();
        let file = directory.path().join("completions/cargo-rbench.bash");
        assert!(fs::read_to_string(file).unwrap().contains("--also-base"));
        let man = directory.path().join("man");
        for command in program().get_subcommands() {
            let name = format!("cargo-rbench-{}.1", command.get_name());
            let page = fs::read_to_string(man.join(name)).unwrap();
            assert!(page.contains(env!("CARGO_PKG_VERSION")), "{page}");
        }
        let compare = man.join("cargo-rbench-compare.1");
        assert!(fs::read_to_string(compare).unwrap().contains("also\\-base"));
        assert!(man.join("cargo-rbench.1").exists());
    }
}
