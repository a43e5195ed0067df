//! Real workers that are killed.

use std::{
    process::Child,
    thread,
    time::{Duration, Instant},
};

use cargo_rbench::stats::Random;

use super::{
    Failure, check,
    hosts::{Host, Hosts, QUICK, kill, stop},
};

const WORKERS: usize = 20;
const KILLS: usize = 100;
const COMMITS: usize = 120;

pub fn run() -> Result<bool, Failure> {
    let hosts = Hosts::new(&["listen_addresses="])?;
    hosts.commits(COMMITS + 1)?;
    let range = format!("HEAD~{COMMITS}..HEAD");
    hosts.add(&[&range], &QUICK)?;
    let all =
        (0..WORKERS).map(|number| hosts.host(number)).collect::<Result<Vec<Host<'_>>, _>>()?;
    let mut workers = all.iter().map(|host| host.start(&[])).collect::<Result<Vec<Child>, _>>()?;
    let mut random = Random::new(1);
    let (begin, mut kills) = (Instant::now(), 0);
    let ended = loop {
        let [done, failed, others] = hosts.ends()?;
        if others == 0 {
            break true;
        }
        if begin.elapsed() > Duration::from_secs(30 * 60) {
            println!("  {done} done, {failed} failed, {others} without an end");
            break false;
        }
        if kills < KILLS {
            let number = random.below(WORKERS);
            kill(&mut workers[number])?;
            workers[number] = all[number].start(&[])?;
            kills += 1;
        }
        thread::sleep(Duration::from_millis(random.below(4000) as u64));
    };
    let seconds = begin.elapsed().as_secs_f64();
    workers.iter_mut().try_for_each(stop)?;
    let [done, failed, _] = hosts.ends()?;
    println!(
        "  {kills} kills in {seconds:.0} s: {done} jobs done, {failed} failed after three losses"
    );
    let wrong = hosts.texts(
        "SELECT job::text FROM rbench.job WHERE NOT CASE state WHEN 'done' THEN report IS NOT NULL AND EXISTS (
                SELECT FROM rbench.experiment WHERE base = job.base AND head = job.head)
            ELSE losses = 3 AND report IS NULL END",
    )?;
    for job in &wrong {
        println!("  wrong: {job}");
    }
    let twice = hosts.texts(
        "SELECT base || head FROM rbench.experiment GROUP BY base, head HAVING count(*) > 1",
    )?;
    println!(
        "  {} comparisons were measured twice, for lack of an answer to the first",
        twice.len()
    );
    Ok(check(ended, "the queue is empty")
        & check(wrong.is_empty(), "each job has one end, and each result its experiment"))
}
