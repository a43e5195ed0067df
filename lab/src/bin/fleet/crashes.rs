//! A server that crashes while a worker works.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use cargo_rbench::stats::Random;

use super::{
    Failure, check,
    hosts::{Hosts, QUICK, stop},
};

const CRASHES: usize = 50;
const JOBS: usize = 48;

pub fn run() -> Result<bool, Failure> {
    let mut hosts = Hosts::new(&["listen_addresses=", "fsync=on"])?;
    hosts.commits(JOBS + 1)?;
    hosts.add(&[&format!("HEAD~{JOBS}..HEAD")], &QUICK)?;
    let host = hosts.host(1)?;
    let (log, mut worker) = (host.log(), host.start(&[])?);
    drop(host);
    let mut random = Random::new(1);
    let begin = Instant::now();
    let mut crashes = 0;
    let mut ended = false;
    while !ended && begin.elapsed() < Duration::from_secs(15 * 60) {
        thread::sleep(Duration::from_millis(random.below(2500) as u64));
        if crashes < CRASHES {
            hosts.server.crash();
            thread::sleep(Duration::from_millis(random.below(800) as u64));
            hosts.server.go();
            crashes += 1;
        }
        ended = hosts.ends()?[2] == 0;
    }
    let lives = worker.try_wait()?.is_none();
    stop(&mut worker)?;
    let [done, failed, others] = hosts.ends()?;
    let lost = hosts.texts(
        "SELECT format('job %s %s: %s losses, %s', id, state, losses, failure)
        FROM rbench.job WHERE losses > 0 OR state <> 'done'",
    )?;
    println!(
        "  {crashes} crashes in {:.0} s: {done} jobs done, {failed} failed, {others} without an end",
        begin.elapsed().as_secs_f64()
    );
    for job in &lost {
        println!("  {job}");
    }
    println!("{}", fs::read_to_string(log)?);
    let experiments = hosts.texts("SELECT identity::text FROM rbench.experiment")?.len();
    Ok(check(lives, "the worker never ended")
        & check(
            done == i64::try_from(JOBS)? && experiments == JOBS,
            "each job has one result and one experiment",
        ))
}
