//! The pages that `.ci/report` opens in a browser, and the pictures of docs/guide.md: writes web pages of made-up results
//! into a directory, `cargo run -p lab --bin html_samples -- DIR`.
//!
//! They are as large as pages may get, and have names that would break a page that took them for
//! markup. The tests check the sizes.

#![expect(clippy::unwrap_used, reason = "made-up values that do not fit are a mistake here")]

use std::{fs, path::PathBuf};

use clap::Parser;

mod compare;
mod diagnose;
mod explain;
mod history;
mod made_up;

/// The arguments of the program.
#[derive(Debug, Parser)]
struct Options {
    /// The output directory; created if it does not exist.
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
