//! The shapes of docs/research/zoo.md: runs rbench in many small projects, each of a shape that somebody's project has, and
//! compares the results with what a user may expect.
//!
//! `cargo run -p lab --bin zoo` runs all shapes, `zoo --quick` those that take the least time,
//! and `zoo NAME…` those whose names contain one of the words. The exit code is 1 if a result
//! differs; its project and its outputs are kept. Dependencies come from the registry that cargo
//! uses; quick shapes need none.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

mod behaviour;
mod git;
mod harnesses;
mod ids;
mod manifests;
mod shape;
mod sources;
mod vanished;
mod visit;

use std::{
    collections::VecDeque,
    error::Error,
    fs,
    process::ExitCode,
    sync::{Mutex, PoisonError, RwLock},
    thread,
};

use clap::Parser;
use shape::Shape;
use visit::{Place, Visit};

/// Shapes that run at the same time, unless one measures.
const AT_ONCE: usize = 2;

#[derive(Parser)]
struct Options {
    /// Only shapes whose names contain one of these words
    names: Vec<String>,
    /// Only those that take the least time
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    lab::end(run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let is_wanted = |shape: &Shape| {
        (!options.quick || shape.is_quick)
            && (options.names.is_empty()
                || options.names.iter().any(|name| shape.name.contains(name.as_str())))
    };
    let shapes: Vec<Shape> = [
        manifests::shapes(),
        ids::shapes(),
        sources::shapes(),
        behaviour::shapes(),
        git::shapes(),
        vanished::shapes(),
        harnesses::shapes(),
    ]
    .into_iter()
    .flatten()
    .filter(is_wanted)
    .collect();
    let rbench = lab::rbench::build("dev")?;
    // Outside of this repository: git and cargo look for their files above a project too.
    let root = std::env::temp_dir().join("rbench-zoo");
    let place = Place { root, rbench, quiet: RwLock::default() };
    if place.root.exists() {
        fs::remove_dir_all(&place.root)?;
    }
    let visits = visit_all(&place, &shapes);
    let shared = place.root.join("shared");
    if shared.exists() {
        fs::remove_dir_all(shared)?;
    }
    print(&shapes, &visits);
    Ok(shapes.iter().zip(&visits).all(|(shape, visit)| is_ok(shape, visit)))
}

/// Visits all shapes, several at once; the results are in the same order.
fn visit_all(place: &Place, shapes: &[Shape]) -> Vec<Visit> {
    let waiting: Mutex<VecDeque<usize>> = Mutex::new((0..shapes.len()).collect());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(number) = next() {
                    let visit = place.visit(&shapes[number]);
                    eprintln!(
                        "{}: {} in {:.1} s",
                        shapes[number].name,
                        if is_ok(&shapes[number], &visit) { "ok" } else { "FAILED" },
                        visit.duration.as_secs_f64(),
                    );
                    visit.wrong.iter().for_each(|wrong| eprintln!("    {wrong}"));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((number, visit));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, visit)| visit).collect()
}

/// A shape that is open must differ: else it has been mended.
fn is_ok(shape: &Shape, visit: &Visit) -> bool {
    visit.wrong.is_empty() != shape.open.is_some()
}

fn print(shapes: &[Shape], visits: &[Visit]) {
    println!("| shape | stands for | expected | came | seconds | |\n|---|---|---|---|--:|---|");
    for (shape, visit) in shapes.iter().zip(visits) {
        let result = match shape.open {
            _ if !is_ok(shape, visit) => {
                format!("FAILED: {}; {}", visit.wrong.join("; "), visit.directory.display())
            }
            Some(reason) => format!("open: {reason}"),
            None => "ok".to_owned(),
        };
        println!(
            "| {} | {} | {} | {} | {:.1} | {result} |",
            shape.name,
            shape.source,
            visit.expected,
            visit.came,
            visit.duration.as_secs_f64(),
        );
    }
    let pairs = || shapes.iter().zip(visits);
    println!(
        "\n{} of {} shapes are as expected, and {} are open",
        pairs().filter(|(_, visit)| visit.wrong.is_empty()).count(),
        shapes.len(),
        pairs().filter(|(shape, visit)| shape.open.is_some() && is_ok(shape, visit)).count(),
    );
}
