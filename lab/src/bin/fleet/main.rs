//! Proves the queue and the workers against a real PostgreSQL, which it starts in a temporary directory.
//!
//! `cargo run --release -p lab --bin fleet STUDY…` runs these, all by default but `network`:
//!
//! - `claims`: the time of a claim with 50 and 200 simulated workers, saturated and idle, and with 200,000 queued jobs
//! - `kills`: 200 simulated workers that are killed 1,000 times: each job has one end, and no fenced attempt answers
//! - `lost`: the time from the last sign of a lost worker to the next claim, with the real lease
//! - `processes`: 20 real workers, each with another boot, that are killed 100 times
//! - `poisoned`: a range of 50 commits, of which five harm the machine; needs root and version 1 of control groups
//! - `gates`: the time from the request of a gate until a worker that fills a history starts it, ten times
//! - `crashes`: a server that crashes 50 times under one real worker
//! - `network`: a link that is down for 5 s, 70 s and 200 s while a job measures; needs root and `ip`
//!
//! `RBENCH_PROGRAM` has the path of rbench, if it is built already.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{error::Error, process::ExitCode};

mod crashes;
mod gates;
mod hosts;
mod network;
mod poisoned;
#[path = "../../../../tests/e2e/support/postgres.rs"]
#[expect(clippy::unwrap_used, clippy::expect_used, reason = "the tests start servers so, too")]
#[allow(dead_code, missing_docs, reason = "the tests need more of it")]
mod postgres;
mod processes;
mod simulated;

/// Errors of threads.
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    lab::end(run().map_err(|error| -> Box<dyn Error> { error }))
}

fn run() -> Result<bool, Failure> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let usual =
        ["claims", "kills", "lost", "processes", "poisoned", "gates", "crashes"].map(str::to_owned);
    let studies = if named.is_empty() { usual.to_vec() } else { named };
    let mut is_good = true;
    for study in &studies {
        println!("\n{study}");
        is_good &= match study.as_str() {
            "claims" => simulated::claims()?,
            "kills" => simulated::kills()?,
            "lost" => simulated::lost()?,
            "processes" => processes::run()?,
            "poisoned" => poisoned::run()?,
            "gates" => gates::run()?,
            "crashes" => crashes::run()?,
            "network" => network::run()?,
            _ => return Err(format!("there is no study {study}").into()),
        };
    }
    Ok(is_good)
}

/// A quantile of some seconds, in milliseconds.
fn milliseconds(seconds: &mut [f64], quantile: f64) -> f64 {
    seconds.sort_by(f64::total_cmp);
    let last = seconds.len().saturating_sub(1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let index = (last * quantile).round() as usize;
    seconds.get(index).map_or(f64::NAN, |seconds| seconds * 1e3)
}

/// Prints a requirement that is not met.
fn check(is_met: bool, what: &str) -> bool {
    println!("  {}: {what}", if is_met { "met" } else { "MISSED" });
    is_met
}
