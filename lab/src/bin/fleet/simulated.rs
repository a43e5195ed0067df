//! Workers that are threads: they ask the questions of a real one, and measure nothing.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use cargo_rbench::{
    shared::{Address, Claim, Database, Order, WorkerDescription},
    stats::Random,
};

use super::{Failure, check, hosts, milliseconds, postgres::Server};

const PROJECT: &str = "0123456789012345678901234567890123456789";

/// The number of kills, and of workers that suffer them.
const KILLS: u64 = 1_000;
const MORTAL: u64 = 200;

fn server() -> Server {
    // With its usual durability.
    let settings = ["listen_addresses=", "fsync=on", "max_connections=300"];
    hosts::server(&settings)
}

/// Queues this many jobs.
fn fill(server: &Server, jobs: usize) {
    server.sql(
        "shared",
        &format!(
            "INSERT INTO rbench.job (project, class, key, request, priority, format, base, head, options)
             SELECT rbench.project_of('{PROJECT}'), rbench.class_of('lab'), 'key ' || clock_timestamp() || number, '',
                 number % 3, 1, 'base ' || number, 'head ' || number, '{{}}'
             FROM generate_series(1, {jobs}) AS number;
             ANALYZE rbench.job"
        ),
    );
}

fn open(server: &Server) -> Result<Database<'static>, Failure> {
    let address = Address::parse(&server.url("worker", "shared"))?;
    Ok(Database::open(&address, PROJECT.to_owned(), |_| {})?.without_patience())
}

fn description(name: &str) -> WorkerDescription {
    WorkerDescription {
        name: name.to_owned(),
        boot: format!("boot of {name}"),
        class: "lab".to_owned(),
        machine: "simulated".to_owned(),
        rbench: "0".to_owned(),
        cached: vec!["head 17".to_owned(), "base 18".to_owned()],
        only_packs: false,
    }
}

/// Runs a function on this many threads, and returns what they return.
fn on_threads<T: Send>(
    count: u64,
    run: impl Fn(u64) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    thread::scope(|scope| {
        let run = &run;
        let all: Vec<_> = (0..count).map(|number| scope.spawn(move || run(number))).collect();
        all.into_iter().map(|one| one.join().map_err(|_| "a worker panicked")?).collect()
    })
}

/// The times of claims, in seconds, and the number of jobs in a second.
fn saturated(server: &Server, workers: u64) -> Result<(Vec<f64>, f64), Failure> {
    let report = "x".repeat(50_000);
    let begin = Instant::now();
    let times = on_threads(workers, |number| {
        let mut database = open(server)?;
        let about = description(&format!("worker {number}"));
        let mut times = Vec::new();
        loop {
            let asked = Instant::now();
            let job = database.claim(&about)?;
            times.push(asked.elapsed().as_secs_f64());
            let Some(job) = job else { return Ok(times) };
            if !database.finish(&job, 0, &report)? {
                return Err("an answer was refused".into());
            }
        }
    })?;
    let times = times.concat();
    let jobs = (times.len() as f64 - workers as f64) / begin.elapsed().as_secs_f64();
    Ok((times, jobs))
}

/// The times of claims of workers that find nothing and ask every 2 s.
fn idle(server: &Server, workers: u64) -> Result<Vec<f64>, Failure> {
    let all = on_threads(workers, |number| {
        let mut database = open(server)?;
        let about = description(&format!("worker {number}"));
        let mut times = Vec::new();
        thread::sleep(Duration::from_millis(number * 2000 / workers));
        for _ in 0..15 {
            let asked = Instant::now();
            if database.claim(&about)?.is_some() {
                return Err("there should be no job".into());
            }
            times.push(asked.elapsed().as_secs_f64());
            thread::sleep(Duration::from_secs(2).saturating_sub(asked.elapsed()));
        }
        Ok(times)
    })?;
    Ok(all.concat())
}

/// The times of claims.
pub fn claims() -> Result<bool, Failure> {
    let server = server();
    let mut is_good = true;
    for (workers, most) in [(50, 50.), (200, 200.)] {
        let mut times = idle(&server, workers)?;
        let [median, p99] = [0.5, 0.99].map(|quantile| milliseconds(&mut times, quantile));
        println!("  {workers} idle workers: claim p50 {median:.1} ms, p99 {p99:.1} ms");
        is_good &= check(p99 <= most, &format!("p99 at most {most} ms"));
        fill(&server, 5_000);
        let (mut times, rate) = saturated(&server, workers)?;
        let [median, p99] = [0.5, 0.99].map(|quantile| milliseconds(&mut times, quantile));
        println!(
            "  {workers} workers without work: {rate:.0} jobs/s, claim p50 {median:.1} ms, p99 {p99:.1} ms"
        );
        is_good &= check(p99 <= most, &format!("p99 at most {most} ms"));
    }
    fill(&server, 200_000);
    let mut database = open(&server)?;
    let about = description("alone");
    let mut times = Vec::new();
    for _ in 0..200 {
        let asked = Instant::now();
        let job = database.claim(&about)?.ok_or("there should be a job")?;
        times.push(asked.elapsed().as_secs_f64());
        database.finish(&job, 0, "{}")?;
    }
    let [median, p99] = [0.5, 0.99].map(|quantile| milliseconds(&mut times, quantile));
    println!("  200,000 queued jobs, one worker: claim p50 {median:.1} ms, p99 {p99:.1} ms");
    Ok(is_good)
}

/// The time from the last sign of a worker to the claim of another one.
pub fn lost() -> Result<bool, Failure> {
    let server = server();
    fill(&server, 1);
    let mut database = open(&server)?;
    let job = database.claim(&description("lost"))?.ok_or("there should be a job")?;
    let vanished = Instant::now();
    let other = description("other");
    let again = loop {
        if let Some(again) = database.claim(&other)? {
            break again;
        }
        thread::sleep(Duration::from_secs(2));
    };
    let waited = vanished.elapsed().as_secs_f64();
    println!("  lost worker to new claim: {waited:.1} s");
    let is_fenced = !database.finish(&job, 0, "{}")? && database.finish(&again, 0, "{}")?;
    Ok(check(
        waited <= 95. && (job.id, job.attempt + 1) == (again.id, again.attempt),
        "at most 95 s",
    ) & check(is_fenced, "only the new attempt can answer"))
}

/// What happened to simulated workers.
#[derive(Default)]
struct Tally {
    /// How often a server's process was ended under a question, and how often a worker vanished between two.
    terminated: AtomicU64,
    vanished: AtomicU64,
    /// Answers of workers that had vanished: taken, since nobody else had the job, and refused.
    late: AtomicU64,
    refused: AtomicU64,
    /// The attempts whose answer was taken, as their worker heard.
    taken: Mutex<BTreeMap<i64, Vec<i32>>>,
    are_ended: AtomicBool,
}

impl Tally {
    fn kills(&self) -> u64 {
        self.terminated.load(Relaxed) + self.vanished.load(Relaxed)
    }

    fn answer(
        &self,
        database: &mut Database<'_>,
        job: &Claim,
        is_late: bool,
    ) -> Result<(), Failure> {
        if database.finish(job, 0, &format!("{} {}", job.id, job.attempt))? {
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            taken.entry(job.id).or_default().push(job.attempt);
            self.late.fetch_add(is_late.into(), Relaxed);
        } else {
            self.refused.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// One life of a worker, until it vanishes or nothing is left. Returns the job that it had.
    fn live(
        &self,
        server: &Server,
        name: &str,
        random: &mut Random,
    ) -> Result<Option<Claim>, Failure> {
        let mut database = open(server)?;
        let about = description(name);
        let mut had = None;
        // An error is a kill by the main thread, or a host that counts as taken after another one.
        let mut live = || -> Result<bool, Failure> {
            while !self.are_ended.load(Relaxed) {
                let Some(job) = database.claim(&about)? else {
                    thread::sleep(Duration::from_millis(100));
                    continue;
                };
                had = Some(job.clone());
                for _ in 0..random.below(4) {
                    thread::sleep(Duration::from_millis(50 + random.below(150) as u64));
                    if self.kills() < KILLS && random.chance(0.06) {
                        return Ok(true);
                    }
                    if database.beat(&job, "")? == Order::Lost {
                        had = None;
                        break;
                    }
                }
                if had.is_some() {
                    if self.kills() < KILLS && random.chance(0.04) {
                        return Ok(true);
                    }
                    self.answer(&mut database, &job, false)?;
                    had = None;
                }
            }
            Ok(false)
        };
        if live().unwrap_or(false) {
            self.vanished.fetch_add(1, Relaxed);
        }
        Ok(had)
    }

    /// The lives of a worker: on the same host or on another one, and sometimes with an answer after its end.
    fn lives(&self, server: &Server, number: u64) {
        let mut random = Random::stream(1, number);
        let mut host = 0;
        while !self.are_ended.load(Relaxed) {
            let had = self.live(server, &format!("worker {number} {host}"), &mut random);
            thread::sleep(Duration::from_millis(random.below(3000) as u64));
            if let Ok(Some(job)) = had
                && random.chance(0.3)
                && let Ok(mut database) = open(server)
            {
                let _ = self.answer(&mut database, &job, true);
            }
            host += u64::from(random.chance(0.5));
        }
    }
}

/// Workers that are killed at random moments.
pub fn kills() -> Result<bool, Failure> {
    let server = server();
    // More than six times the longest pause between two beats, which is 0.2 s here.
    hosts::shorten_lease(&server, 1.5);
    fill(&server, 6_000);
    let tally = Tally::default();
    let begin = Instant::now();
    thread::scope(|scope| -> Result<(), Failure> {
        for number in 0..MORTAL {
            let tally = &tally;
            let server = &server;
            scope.spawn(move || tally.lives(server, number));
        }
        let mut client = server.client("owner", "shared");
        let result = loop {
            let open = "SELECT FROM rbench.job WHERE state IN ('queued', 'running') LIMIT 1";
            match client.query(open, &[]) {
                Ok(rows) if rows.is_empty() => break Ok(()),
                Ok(_) if begin.elapsed() > Duration::from_secs(600) => {
                    break Err("jobs are left after ten minutes".into());
                }
                Ok(_) => {}
                Err(error) => break Err(Failure::from(error)),
            }
            if tally.kills() < KILLS {
                let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'
                    ORDER BY (state = 'active') DESC, random() LIMIT 1";
                if client.query(kill, &[]).is_ok_and(|rows| !rows.is_empty()) {
                    tally.terminated.fetch_add(1, Relaxed);
                }
            }
            thread::sleep(Duration::from_millis(25));
        };
        tally.are_ended.store(true, Relaxed);
        result
    })?;
    println!(
        "  {} kills in {:.0} s: {} while a question was asked, {} between questions; {} late answers taken, {} refused",
        tally.kills(),
        begin.elapsed().as_secs_f64(),
        tally.terminated.load(Relaxed),
        tally.vanished.load(Relaxed),
        tally.late.load(Relaxed),
        tally.refused.load(Relaxed),
    );
    let query = "SELECT id, state, attempt, losses, report FROM rbench.job";
    let taken = tally.taken.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut done, mut failed, mut attempts, mut most, mut wrong) = (0, 0, 0, 0, Vec::new());
    for row in server.client("owner", "shared").query(query, &[])? {
        let (id, state, attempt): (i64, String, i32) = (row.get(0), row.get(1), row.get(2));
        let (losses, report): (i32, Option<String>) = (row.get(3), row.get(4));
        attempts += attempt;
        most = most.max(attempt);
        let taken = taken.get(&id).map_or(&[][..], Vec::as_slice);
        let is_right = match (state.as_str(), &report) {
            ("done", Some(report)) => {
                done += 1;
                // Nobody heard the answer if the worker was killed while it was given.
                *report == format!("{id} {attempt}") && (taken.is_empty() || taken == [attempt])
            }
            ("failed", None) => {
                failed += 1;
                losses == 3 && taken.is_empty()
            }
            _ => false,
        };
        if !is_right {
            wrong.push(format!(
                "{id} {state} attempt {attempt}, {losses} losses, {report:?}, {taken:?}"
            ));
        }
    }
    println!(
        "  {done} jobs done, {failed} failed after three losses; {attempts} attempts, at most {most} of a job"
    );
    for wrong in &wrong {
        println!("  wrong: {wrong}");
    }
    Ok(check(wrong.is_empty(), "each job has one end, and its result is that of its last attempt")
        & check(tally.kills() >= KILLS, "1,000 kills"))
}
