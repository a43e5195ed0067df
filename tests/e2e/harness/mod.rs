//! Harnesses that list and execute the benchmarks of fixtures.

mod allocations;
mod command;
mod counts;
mod criterion;
mod divan;
pub mod libtest;
mod native;
mod plain;

use std::time::Duration;

use cargo_rbench::{
    error::{Error, Result},
    harness::{Conditions, Executable, Harness},
    model::{Execution, ExecutionRequest, Name, Outcome},
    process::Interrupt,
};

/// The request of most tests: few measurements, and quick.
fn request(measurements: usize) -> ExecutionRequest {
    ExecutionRequest {
        measurements,
        warm_up: Duration::from_millis(5),
        min_time: Duration::from_micros(200),
        iterations: None,
        seed: 7,
    }
}

fn list(harness: &dyn Harness, executable: &Executable) -> Result<Vec<Name>> {
    let interrupt = Interrupt::new()?;
    harness.list(executable, &Conditions::new(&interrupt))
}

fn ids(harness: &dyn Harness, executable: &Executable) -> Vec<String> {
    list(harness, executable).unwrap().into_iter().map(|name| name.id).collect()
}

fn outcome(
    harness: &dyn Harness,
    executable: &Executable,
    name: &Name,
    request: &ExecutionRequest,
) -> Result<Outcome> {
    let interrupt = Interrupt::new()?;
    let deadline = Some(Duration::from_secs(30));
    let conditions = Conditions { deadline, ..Conditions::new(&interrupt) };
    harness.execute(executable, name, request, &conditions)
}

fn execute(
    harness: &dyn Harness,
    executable: &Executable,
    id: &str,
    request: &ExecutionRequest,
) -> Result<Execution> {
    match outcome(harness, executable, &Name::plain(id), request)? {
        Outcome::Measured(execution) => Ok(execution),
        Outcome::Skipped(reason) => panic!("{id} was skipped: {reason}"),
    }
}

/// The error of a benchmark, after asserting that it has a command that reproduces it.
fn failure(harness: &dyn Harness, executable: &Executable, id: &str) -> Error {
    let failure = execute(harness, executable, id, &request(10)).unwrap_err();
    let text = failure.to_string();
    assert!(text.starts_with(&format!("cannot execute benchmark `{id}` of")), "{text}");
    assert!(text.contains("hint: reproduce with: cd "), "{text}");
    failure
}
