//! The tables of docs/research/truth.md: runs `cargo rbench compare` with its defaults on versions whose true difference is
//! known, and counts the verdicts of every row without exceptions.
//!
//! `cargo run --release -p lab --bin truth` prints them, and exits with an error if a target is missed. With `--keep DIR`, the same command resumes an
//! interrupted study.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

use std::{error::Error, process::ExitCode, time::Instant};

use clap::Parser;

use bars::Bar;
use options::Options;
use place::Place;
use study::{Kind, Tried};
use tools::Tools;
use trial::{Change, Trial, Way};

mod answer;
mod bars;
mod hour;
mod markdown;
mod options;
mod place;
mod proportion;
mod stored;
mod study;
mod tables;
mod tools;
mod trial;
mod unrelated;

pub struct All {
    /// Versions that differ by unrelated code.
    unrelated: Kind,
    /// Versions in which everything has 5 % more work.
    five: Kind,
    /// Versions in which everything has 2 % more work.
    two: Kind,
    /// Versions in which everything has 1 % more work.
    one: Kind,
    /// Some of the first kind, by a fixed plan.
    fixed: Kind,
    /// Some of these, sequentially.
    alone: Kind,
}

impl All {
    fn gather(place: &Place) -> Result<Self, Box<dyn Error>> {
        let more = |percent| Kind::gather(place, Change::More(percent), Way::Usual);
        let unrelated = |way| Kind::gather(place, Change::Unrelated, way);
        Ok(Self {
            unrelated: unrelated(Way::Usual)?,
            five: more(5)?,
            two: more(2)?,
            one: more(1)?,
            fixed: unrelated(Way::Fixed)?,
            alone: unrelated(Way::Alone)?,
        })
    }

    fn kinds(&self) -> [&Kind; 6] {
        [&self.unrelated, &self.five, &self.two, &self.one, &self.fixed, &self.alone]
    }

    fn trials(&self) -> impl Iterator<Item = &Tried> {
        self.kinds().into_iter().flat_map(|kind| &kind.trials)
    }
}

fn main() -> ExitCode {
    lab::end(run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let start = Instant::now();
    let scratch = tempfile::tempdir()?;
    let root = options.from.as_deref().or(options.keep.as_deref());
    let place = Place::new(root.unwrap_or(scratch.path()))?;
    if options.from.is_none() {
        try_all(&place, options)?;
    }
    let reached = print(&All::gather(&place)?);
    println!("\nTotal time: {:.1} minutes.", start.elapsed().as_secs_f64() / 60.0);
    Ok(reached)
}

/// Alternates between the kinds, so that a study that is stopped early has some of each, and the
/// same versions are compared in several modes in the same minutes.
fn try_all(place: &Place, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut trials: Vec<Trial> = Trial::all(Change::Unrelated, Way::Usual, options.unrelated)
        .chain(Trial::all(Change::Unrelated, Way::Fixed, options.fixed))
        .chain(Trial::all(Change::Unrelated, Way::Alone, options.alone))
        .chain(Trial::all(Change::More(5), Way::Usual, options.five))
        .chain(Trial::all(Change::More(2), Way::Usual, options.two))
        .chain(Trial::all(Change::More(1), Way::Usual, options.one))
        .collect();
    trials.sort_by_key(|trial| trial.number);
    place.make_versions(&trials)?;
    let tools = Tools::build(place)?;
    for (index, trial) in trials.iter().enumerate() {
        let start = Instant::now();
        let ask_criterion = match (trial.change, trial.way) {
            (Change::Unrelated, Way::Usual) => trial.number < options.criterion,
            (Change::More(5 | 2), _) => options.criterion > 0,
            _ => false,
        };
        study::try_out(place, &tools, *trial, ask_criterion)?;
        let (count, seconds) = (trials.len(), start.elapsed().as_secs());
        eprintln!("{} ({} of {count}): {seconds} s", trial.name(), index + 1);
    }
    Ok(())
}

fn print(all: &All) -> bool {
    println!("{}\n", hour::paragraph(all.trials()));
    println!("The verdicts of all rows:\n\n{}", tables::verdicts(all));
    println!("{}\n", tables::touched(&all.unrelated));
    println!("Rows with another verdict than the right one:\n\n{}", tables::missed(all));
    println!("Time of measuring:\n\n{}", tables::times(all));
    println!("Builds of each version per row:\n\n{}", tables::builds(all));
    println!(
        "The same rows by criterion, with {}:\n\n{}",
        tools::CRITERION.join(" "),
        tables::peers(all)
    );
    let bars = Bar::all(all);
    print!("{}", Bar::table(&bars));
    Bar::are_met(&bars)
}
