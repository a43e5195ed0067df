//! Are the verdicts correct? Runs `cargo rbench compare --interleave executions` on versions whose true
//! difference is known, and counts the verdicts. The study `turns` does so with turns.
//!
//! `cargo run --release --example truth` prints the tables that `docs/truth.md` explains, and exits
//! with an error if a target is missed. It takes about 40 minutes on two cores that have nothing else
//! to do. With `--keep DIR`, the same command resumes an interrupted study.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

use std::{error::Error, process::ExitCode, time::Instant};

use cargo_rbench::stats::Estimator;
use clap::Parser;

use bars::Bar;
use gain::Gain;
use options::Options;
use place::Place;
use study::{AskCriterion, Study, Tried};
use tools::Tools;
use trial::{Kind, Trial};

mod answer;
mod bars;
mod count;
mod gain;
mod judgement;
mod markdown;
mod measurements;
mod options;
mod place;
#[path = "../support/rbench.rs"]
mod rbench;
mod study;
mod tables;
mod tools;
mod trial;
mod unrelated;
#[path = "../support/working_tree.rs"]
mod working_tree;

const TEN: Kind = Kind::One { percent: 10 };
const FIVE: Kind = Kind::One { percent: 5 };
const EVERY: Kind = Kind::Every { percent: 5 };

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: a target is missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let start = Instant::now();
    let scratch = tempfile::tempdir()?;
    let root = options.from.as_deref().or(options.keep.as_deref());
    let place = Place::new(root.unwrap_or(scratch.path()))?;
    if options.from.is_none() {
        try_all(&place, options)?;
    }
    let study = Study {
        layout: study::gather(&place, Kind::Layout)?,
        ten: study::gather(&place, TEN)?,
        five: study::gather(&place, FIVE)?,
        every: study::gather(&place, EVERY)?,
    };
    let reached = print(&study)?;
    println!("\nTotal time: {:.1} minutes.", start.elapsed().as_secs_f64() / 60.0);
    Ok(reached)
}

/// The kinds take turns, so that a study that is stopped early has some of each.
fn try_all(place: &Place, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut trials: Vec<Trial> = Trial::all(Kind::Layout, options.layout)
        .chain(Trial::all(TEN, options.ten))
        .chain(Trial::all(FIVE, options.five))
        .chain(Trial::all(EVERY, options.every))
        .collect();
    trials.sort_by_key(|trial| trial.number);
    place.make_versions(&trials)?;
    let tools = Tools::build(place)?;
    for (index, trial) in trials.iter().enumerate() {
        let start = Instant::now();
        let ask = match trial.kind {
            _ if options.skip_criterion => AskCriterion::No,
            Kind::One { .. } => AskCriterion::Planted,
            Kind::Layout if trial.number < options.criterion => AskCriterion::All,
            Kind::Layout | Kind::Every { .. } => AskCriterion::No,
        };
        study::try_out(place, &tools, *trial, ask)?;
        let (count, seconds) = (trials.len(), start.elapsed().as_secs());
        eprintln!("{} ({} of {count}): {seconds} s", trial.name(), index + 1);
    }
    Ok(())
}

fn print(study: &Study) -> Result<bool, Box<dyn Error>> {
    let default = Estimator::default();
    let gains = Gain::all(&study.layout, default)?;
    let bars = Bar::all(study, &gains);
    let warned = |tried: &&Tried| tried.report.warnings.iter().any(|one| one.kind == "load");
    let busy = study.all().filter(warned).count();
    println!(
        "The verdicts of every comparison; {busy} of them warned of a busy machine:\n\n\
         {}",
        tables::trials(study)
    );
    println!(
        "What each estimator makes of the same measurements: flagged by one stage, and the verdict of\n\
         both. The second is a comparison of its own with fresh builds, of whatever any of the five\n\
         flags:\n\n{}",
        tables::estimators(study)?
    );
    println!(
        "What criterion said, with {}:\n\n{}",
        tools::CRITERION.join(" "),
        tables::criterion(study)
    );
    for estimator in Estimator::ALL {
        println!(
            "What pairing by layout is worth by the {estimator}, medians over the comparisons with\n\
             unrelated code:\n\n{}",
            tables::pairing(&Gain::all(&study.layout, estimator)?)
        );
    }
    print!("{}", Bar::table(&bars));
    Ok(Bar::are_reached(&bars))
}
