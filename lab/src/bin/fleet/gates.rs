//! Gates that arrive while a history is filled.

use std::time::Duration;

use super::{
    Failure, check,
    hosts::{Hosts, QUICK, SLOW, stop},
};

const LONGEST: Duration = Duration::from_secs(3 * 60);

pub fn run() -> Result<bool, Failure> {
    let hosts = Hosts::new(&["listen_addresses="])?;
    hosts.commits(22)?;
    let host = hosts.host(1)?;
    let mut worker = host.start(&[])?;
    hosts.until("SELECT FROM rbench.workers", LONGEST)?;
    for back in 11..21 {
        hosts.add(&[&format!("HEAD~{back}")], &QUICK)?;
        hosts.until("SELECT FROM rbench.job HAVING bool_and(state = 'done')", LONGEST)?;
    }
    hosts.add(&["HEAD~1..HEAD"], &SLOW)?;
    for back in 1..11 {
        hosts.until("SELECT FROM rbench.job WHERE state = 'running' AND priority = 0", LONGEST)?;
        hosts.add(&[&format!("HEAD~{back}"), "--priority", "gate"], &QUICK)?;
        let done = format!(
            "SELECT FROM rbench.job WHERE priority = 2 HAVING bool_and(state = 'done') AND count(*) = {back}"
        );
        hosts.until(&done, LONGEST)?;
    }
    hosts.until(
        "SELECT FROM rbench.job WHERE state = 'done' AND priority = 0",
        Duration::from_secs(20 * 60),
    )?;
    stop(&mut worker)?;
    let waits = |priority: u8| -> Result<Vec<f64>, Failure> {
        let query = format!(
            "SELECT extract(epoch FROM started - queued)::text FROM rbench.job WHERE priority = {priority} ORDER BY 1"
        );
        hosts.texts(&query)?.iter().map(|text| Ok(text.parse::<f64>()?)).collect()
    };
    let longest = |waits: &[f64]| waits.iter().copied().fold(0., f64::max);
    let (idle, gates) = (waits(1)?, waits(2)?);
    println!("  from idle to the start: {idle:.1?} s\n  a gate over back-fill: {gates:.1?} s");
    let attempts = hosts.texts(
        "SELECT attempt || ' attempts, ' || losses || ' losses' FROM rbench.job WHERE priority = 0",
    )?;
    println!("  the back-fill: {}", attempts.join(", "));
    Ok(check(longest(&idle) <= 2.5, "idle to start at most 2.5 s")
        & check(longest(&gates) <= 30., "a gate starts within 30 s"))
}
