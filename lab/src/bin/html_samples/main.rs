//! Writes web pages of made-up results into a directory, for tests in a browser:
//! `cargo run -p lab --bin html_samples -- DIR`.
//!
//! They are as large as pages are meant to be, and have names that would break a page that took them for markup. Its
//! tests hold them to their sizes.

#![expect(clippy::unwrap_used, reason = "made-up values that do not fit are a mistake here")]

use std::{fs, path::PathBuf};

use clap::Parser;

mod compare;
mod diagnose;
mod explain;
mod history;
mod made_up;

/// Where the pages go.
#[derive(Debug, Parser)]
struct Options {
    /// A directory, which is made if it is not there.
    directory: PathBuf,
}

fn main() {
    let Options { directory } = Options::parse();
    fs::create_dir_all(&directory).unwrap();
    for (name, page) in [
        ("compare.html", compare::page(100)),
        ("few.html", compare::page_with_counts(10)),
        ("diagnose.html", diagnose::page()),
        ("explain.html", explain::page()),
        ("history.html", history::page(history::SMALL)),
        ("long.html", history::page(history::LARGE)),
    ] {
        fs::write(directory.join(name), page).unwrap();
    }
}
