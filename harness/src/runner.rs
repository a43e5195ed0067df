//! Runs a suite of benchmarks according to the command line.

use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use crate::{
    arguments::{self, Action, Arguments, Request, Selection},
    bencher::{Outcome, Task},
    initial_state::with_initial_state,
    protocol::{self, Recorder},
    suite::{Driver, Record, Suite, panic_message},
    table,
};

/// Runs the benchmarks that `register` registers, according to the command line; the body of
/// `main`.
///
/// [`main!`](crate::main) calls this function. Call it directly if `main` has to do other things
/// first.
pub fn run(register: impl FnOnce(&mut Suite<'_>)) -> ExitCode {
    let Arguments { action, selection } = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(reason) => {
            print_error(&format!("{reason}\nusage: [FILTER]… [--exact] [--skip FILTER] [--list]"));
            return ExitCode::from(2);
        }
    };
    match action {
        Action::Rbench(request) => answer(&request, register),
        Action::List { terse } => plain(Mode::List { terse }, selection, register),
        Action::Smoke => plain(Mode::Smoke, selection, register),
        Action::Bench => plain(Mode::Bench, selection, register),
    }
}

/// The exit status of a failed test or benchmark process, as everywhere in Cargo.
const FAILED: u8 = 101;

fn answer(request: &Request, register: impl FnOnce(&mut Suite<'_>)) -> ExitCode {
    let mut recorder = Recorder::new(request);
    let requested = request.protocol.unwrap_or(protocol::VERSION);
    if requested == protocol::VERSION {
        let mut register = Some(register);
        with_initial_state(request.seed, &mut || {
            let Some(register) = register.take() else { return };
            let registering = AssertUnwindSafe(|| register(&mut Suite::new(&mut recorder)));
            if let Err(panic) = catch_unwind(registering) {
                recorder.refuse(format!("panicked: {}", panic_message(&*panic)));
            }
        });
    } else {
        recorder.refuse(format!(
            "this rbench-harness speaks protocol {}, not {requested}",
            protocol::VERSION
        ));
    }
    if let Err(error) = recorder.write() {
        print_error(&format!("cannot write {}: {error}", request.output.display()));
        return ExitCode::from(FAILED);
    }
    if recorder.failed() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
}

/// The user's request without rbench.
enum Mode {
    List { terse: bool },
    Smoke,
    Bench,
}

fn plain(mode: Mode, selection: Selection, register: impl FnOnce(&mut Suite<'_>)) -> ExitCode {
    let mut printer = Printer { mode, selection, count: 0, failed: 0 };
    if matches!(printer.mode, Mode::Bench) {
        print_line(&table::HEADING);
    }
    register(&mut Suite::new(&mut printer));
    match printer.mode {
        Mode::List { terse: false } => {
            print_line(&format!("\n0 tests, {} benchmarks", printer.count));
        }
        Mode::List { terse: true } | Mode::Bench => {}
        Mode::Smoke => {
            print_line(&format!("\n{} benchmarks tried, {} failed", printer.count, printer.failed));
        }
    }
    if printer.failed > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
}

/// Prints the outcome of each benchmark when it ends.
struct Printer {
    mode: Mode,
    selection: Selection,
    count: usize,
    failed: usize,
}

impl Driver for Printer {
    fn task(&self, id: &str) -> Task {
        match self.mode {
            _ if !self.selection.wants(id) => Task::Ignore,
            Mode::List { .. } => Task::List,
            Mode::Smoke => Task::Smoke,
            Mode::Bench => Task::Measure(arguments::plain_settings()),
        }
    }

    fn ends(&mut self, Record { id, throughput, outcome }: Record) {
        self.count += 1;
        match outcome {
            Outcome::Listed => print_line(&format!("{id}: benchmark")),
            Outcome::Passed => print_line(&format!("{id}: ok")),
            Outcome::Measured(measured) => print_line(&table::row(&id, throughput, &measured)),
            Outcome::Skipped(reason) => print_line(&format!("{id}: skipped: {reason}")),
            Outcome::Failed(reason) => {
                self.failed += 1;
                print_error(&format!("{id}: {reason}"));
            }
        }
    }
}

/// Prints a line; a closed standard output (`| head`) is no reason to fail.
fn print_line(line: &impl std::fmt::Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn print_error(reason: &str) {
    let _ = writeln!(io::stderr(), "error: {reason}");
}
