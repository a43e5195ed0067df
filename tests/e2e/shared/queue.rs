//! Comparisons that are queued in a PostgreSQL database, and made by workers.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Child, Command},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::database::{make, pooler};
use crate::support::{
    QUICK, TestProject,
    postgres::Server,
    rbench::{Outcome, PROGRAM, Rbench},
};

/// Options of a comparison that is quick and measures all benchmarks.
fn measured() -> Vec<&'static str> {
    [&QUICK[..], &["--no-skip"]].concat()
}

/// A server, a project with commits, and the clone of a worker.
struct Fleet {
    server: Server,
    project: TestProject,
    clone: TestProject,
}

impl Fleet {
    /// A project with this many commits after the first, and users for each role.
    fn new(commits: usize) -> Self {
        let server = Server::start();
        make(&server, "shared");
        server.sql(
            "postgres",
            "CREATE USER reader IN ROLE rbench_read; CREATE USER worker IN ROLE rbench_work;
             CREATE USER asker IN ROLE rbench_queue",
        );
        let project = TestProject::of("counted");
        for number in 1..=commits {
            project.write("count", &number.to_string());
            project.commit(&format!("Commit {number}"));
        }
        let clone = project.clone_elsewhere();
        Self { server, project, clone }
    }

    fn asks(&self, arguments: &[&str]) -> Rbench {
        self.project.rbench(arguments).env("RBENCH_SHARED", self.server.url("asker", "shared"))
    }

    /// Queues comparisons, and returns the numbers of their jobs.
    fn add(&self, arguments: &[&str], options: &[&str]) -> Vec<String> {
        let all = [&["queue", "add", "--class", "lab"], arguments, &["--"], options].concat();
        let added = self.asks(&all).ok().stdout();
        added.lines().map(str::to_owned).collect()
    }

    fn works(&self, arguments: &[&str]) -> Rbench {
        let all = [&["worker", "--class", "lab"], arguments].concat();
        self.clone.rbench(&all).env("RBENCH_SHARED", self.server.url("worker", "shared"))
    }

    fn jobs(&self) -> Vec<Value> {
        let list = self.asks(&["queue", "--format", "json", "--ended", "100"]).ok().json("queue");
        list["jobs"].as_array().unwrap().clone()
    }

    fn states(&self) -> Vec<String> {
        let mut jobs = self.jobs();
        jobs.sort_by_key(|job| job["id"].as_i64());
        jobs.iter().map(|job| job["state"].as_str().unwrap().to_owned()).collect()
    }

    /// Claims as a worker of a host that is none. Returns the job and the attempt.
    fn claim(&self, name: &str, boot: &str) -> Result<Option<(i64, i32)>, String> {
        let mut owner = self.server.client("owner", "shared");
        let project: String =
            owner.query_one("SELECT root FROM rbench.project", &[]).unwrap().get(0);
        let about = format!(
            r#"{{"name": "{name}", "boot": "{boot}", "project": "{project}", "class": "lab", "machine": "",
                "rbench": "0", "format": 1, "cached": []}}"#
        );
        let rows = self
            .server
            .client("worker", "shared")
            .query(&format!("SELECT id, attempt FROM rbench.claim('{about}')"), &[])
            .map_err(|error| error.as_db_error().unwrap().message().to_owned())?;
        Ok(rows.first().map(|row| (row.get(0), row.get(1))))
    }

    /// What a worker hears when it reports that an attempt goes on.
    fn beat(&self, (job, attempt): (i64, i32)) -> String {
        let beat = format!("SELECT rbench.beat({job}, {attempt}, '')");
        self.server.client("worker", "shared").query_one(&beat, &[]).unwrap().get(0)
    }

    /// Waits until a query has a row.
    fn until(&self, query: &str) {
        let mut client = self.server.client("owner", "shared");
        for _ in 0..1200 {
            if !client.query(query, &[]).unwrap().is_empty() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("never: {query}\n{:#?}", self.jobs());
    }

    /// A lease that is shorter than a beat, so that a worker counts as lost soon.
    fn shorten_lease(&self, seconds: f64) {
        let lease = format!(
            "CREATE OR REPLACE FUNCTION rbench.lease() RETURNS interval LANGUAGE sql IMMUTABLE
             AS $$ SELECT interval '{seconds} s' $$"
        );
        self.server.sql("shared", &lease);
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_makes_queued_comparisons_and_sends_the_results() {
    let fleet = Fleet::new(3);
    fleet.project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    fleet.project.commit("More work");
    let ids = fleet.add(&["HEAD~3..HEAD"], &measured());
    assert_eq!(ids.len(), 3);
    // The same comparison is queued once.
    assert_eq!(fleet.add(&["HEAD~1", "HEAD"], &measured()), ids[..1]);
    let worked = fleet.works(&["--until-empty"]).ok();
    worked.assert_stderr_has(&[
        "of class lab takes jobs of the database `shared`",
        "no job is queued",
    ]);
    assert_eq!(fleet.states(), ["done"; 3], "{}", worked.printed());
    let exits = fleet.jobs().iter().map(|job| job["exit"].as_i64().unwrap()).collect::<Vec<_>>();
    // The newest is made first.
    assert_eq!(exits, [0, 0, 1]);
    let shown = fleet.asks(&["queue", "show", &ids[0]]).ok();
    shown.assert_stdout_has(&["job 1", "done, normal", "changing", "regressed"]);
    let json = fleet.asks(&["queue", "show", &ids[0], "--format", "json"]).ok().json("queue-show");
    assert_eq!(json["comparison"]["benchmarks"].as_array().unwrap().len(), 2);
    // The documents are those of an ordinary comparison of this class.
    let mut reader = fleet.server.client("reader", "shared");
    let rows = reader.query("SELECT DISTINCT class FROM rbench.course", &[]).unwrap();
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<String>>(), ["lab"]);
    let sent = reader.query_one("SELECT sum(experiments)::bigint FROM rbench.machines", &[]);
    assert_eq!(sent.unwrap().get::<_, i64>(0), 3);
    // The worker has gone, and the clone was only fetched into.
    let list = fleet.asks(&["queue"]).ok();
    list.assert_stdout_has(&["0 workers live, 0 running, 0 waiting", "regressed"]);
    assert_eq!(fleet.clone.git(&["status", "--short"]), "");
    let head = fleet.clone.git(&["log", "-1", "--format=%s"]);
    assert_eq!(head.trim(), "Commit 3");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn bad_commit_costs_only_its_own_job() {
    let fleet = Fleet::new(1);
    fleet.project.append("src/lib.rs", "compile_error!(\"it is broken\");\n");
    fleet.project.commit("Broken");
    fleet.project.git(&["revert", "--no-edit", "HEAD"]);
    fleet.add(&["HEAD~3..HEAD"], &measured());
    fleet.works(&["--until-empty"]).ok();
    // The comparisons with the broken commit, as head and as base, and the one before it.
    assert_eq!(fleet.states(), ["failed", "failed", "done"]);
    let failed = fleet.asks(&["queue", "show", "2"]).ok();
    failed.assert_stdout_has(&["failed, back-fill", "it is broken"]);
    // A database that somebody else has written to.
    fleet.server.sql(
        "shared",
        "UPDATE rbench.job SET state = 'queued', base = '--upload-pack=touch /tmp/x' WHERE id = 1;
         UPDATE rbench.job SET state = 'queued', options = '{--output=/tmp/x.json}' WHERE id = 2",
    );
    fleet
        .works(&["--until-empty"])
        .ok()
        .assert_stderr_has(&["is no commit", "cannot queue a comparison with --output"]);
    assert_eq!(fleet.states(), ["failed", "failed", "done"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn fault_of_the_machine_costs_no_job() {
    let fleet = Fleet::new(1);
    // The clone lacks the commit, and its remote is away.
    fleet.project.write("count", "2");
    fleet.project.commit("Newer");
    fleet.add(&["HEAD"], &measured());
    fleet.clone.git(&["remote", "set-url", "origin", "/nowhere"]);
    let worker = fleet.works(&[]).start();
    fleet.until("SELECT FROM rbench.job WHERE state = 'queued' AND attempt = 1");
    signal(&worker, Signal::TERM);
    Outcome::of(worker, "worker")
        .assert_exit(0)
        .assert_stderr_has(&["job 1: released: cannot fetch the commits of the job"]);
    fleet.clone.git(&["remote", "set-url", "origin", fleet.project.root().to_str().unwrap()]);

    // An update replaces the program of a worker.
    let program = fleet.clone.beside("cargo-rbench");
    fs::copy(PROGRAM, &program).unwrap();
    let worker = fleet.works(&[]).program(&program).start();
    fleet.until("SELECT FROM rbench.job WHERE state = 'running' AND attempt = 2");
    fs::remove_file(&program).unwrap();
    let ended = Outcome::of(worker, "worker");
    if fleet.states() == ["queued"] {
        ended
            .assert_stderr_has(&["the executable of rbench was replaced or removed while it runs"]);
        fleet.works(&["--until-empty"]).ok();
    }
    assert_eq!(fleet.states(), ["done"]);
    assert_eq!(fleet.jobs()[0]["failure"], Value::Null);
    // Back-fill that was done is not done again.
    let again = fleet.asks(&["queue", "add", "HEAD~1..HEAD", "--class", "lab", "--", "--no-skip"]);
    again.ok().assert_stderr_has(&["job 2: queued"]);
    fleet.add(&["HEAD~1..HEAD"], &measured());
    assert_eq!(fleet.states(), ["done", "queued"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn killed_worker_continues_its_job_and_others_take_lost_ones() {
    let fleet = Fleet::new(1);
    fleet.add(&["HEAD"], &measured());
    let worker = fleet.works(&[]).start();
    fleet.until("SELECT FROM rbench.job WHERE state = 'running'");
    signal(&worker, Signal::KILL);
    Outcome::of(worker, "worker");
    // It has the same name, and so its own job again at once.
    let again = fleet.works(&["--until-empty"]).ok();
    assert_eq!(fleet.states(), ["done"], "{}", again.printed());
    let job = &fleet.jobs()[0];
    assert_eq!((job["attempt"].as_i64(), job["failure"].as_str()), (Some(2), None));

    // A worker of another host has a job, and vanishes.
    fleet.add(&["HEAD"], &measured());
    assert_eq!(fleet.claim("other", "boot").unwrap(), Some((2, 1)));
    let refused = fleet.claim("second", "boot").unwrap_err();
    assert!(refused.contains("another worker of this host"), "{refused}");
    // Another host with a copy of its cache directory.
    let refused = fleet.claim("other", "another boot").unwrap_err();
    assert!(refused.contains("has the name other"), "{refused}");
    fleet.shorten_lease(2.);
    thread::sleep(Duration::from_secs(3));
    // A lock that git left behind when it was killed.
    fs::write(fleet.clone.root().join(".git/worktrees/tree/index.lock"), "").unwrap();
    fleet.works(&["--until-empty"]).ok();
    assert_eq!(fleet.states(), ["done", "done"]);
    let mut other = fleet.server.client("worker", "shared");
    let late = other.query_one("SELECT rbench.finish(2, 1, 0, '{}')", &[]).unwrap();
    assert!(!late.get::<_, bool>(0), "the answer of the lost attempt is refused");
    assert_eq!(fleet.beat((2, 1)), "lost");
    // After its lease, the name is free, and one worker has it.
    assert_eq!(fleet.claim("other", "another boot").unwrap(), None);
    let named = "SELECT FROM rbench.workers WHERE name = 'other'";
    assert_eq!(other.query(named, &[]).unwrap().len(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn gate_does_not_wait_for_a_lost_worker() {
    let fleet = Fleet::new(3);
    let add = |head: &str, priority: &str| fleet.add(&[head, "--priority", priority], &measured());
    add("HEAD", "back-fill");
    add("HEAD~1", "back-fill");
    let older = fleet.claim("one", "boot 1").unwrap().unwrap();
    let younger = fleet.claim("two", "boot 2").unwrap().unwrap();
    assert_eq!([fleet.beat(older), fleet.beat(younger)], ["continue"; 2]);
    add("HEAD~2", "gate");
    assert_eq!([fleet.beat(older), fleet.beat(younger)], ["continue", "release"]);
    // A younger one that is silent makes no room.
    let silent = |job: i64| {
        let long_ago = format!(
            "UPDATE rbench.job SET beat = now() - rbench.lease() * 0.9 WHERE id = {job};
             UPDATE rbench.worker SET seen = now() - rbench.lease() * 0.9 WHERE job = {job}"
        );
        fleet.server.sql("shared", &long_ago);
    };
    silent(younger.0);
    assert_eq!(fleet.beat(older), "release");
    // A gate whose worker is lost needs another one, even if none is idle to take it.
    let gate = fleet.claim("three", "boot 3").unwrap().unwrap();
    assert_eq!((gate, fleet.beat(older).as_str()), ((3, 1), "continue"));
    fleet.shorten_lease(60.);
    let lost = "UPDATE rbench.job SET beat = now() - interval '61 s' WHERE id = 3";
    fleet.server.sql("shared", lost);
    assert_eq!(fleet.beat(older), "release");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_survives_what_a_kill_left_and_a_remote_that_hangs() {
    let fleet = Fleet::new(2);
    fleet.add(&["HEAD~1"], &measured());
    fleet.works(&["--until-empty"]).ok();
    // The lock of a git that was killed while it checked a commit out.
    let lock = fleet.clone.root().join(".git/worktrees/tree/index.lock");
    fs::write(&lock, "").unwrap();
    fleet.add(&["HEAD"], &measured());
    fleet.works(&["--until-empty"]).ok();
    assert_eq!(fleet.states(), ["done"; 2]);

    // A signal ends a fetch that takes long, and the job is given back.
    fleet.project.write("count", "new");
    fleet.project.commit("A commit that the clone lacks");
    fleet.add(&["HEAD"], &measured());
    fleet.clone.git(&["config", "remote.origin.uploadpack", "touch ../fetches; sleep 600; true"]);
    let worker = fleet.works(&[]).start();
    while !fleet.clone.beside("fetches").exists() && !fleet.project.beside("fetches").exists() {
        thread::sleep(Duration::from_millis(20));
    }
    signal(&worker, Signal::TERM);
    Outcome::of(worker, "worker").assert_exit(0).assert_stderr_has(&["job 3: released"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn answer_that_was_not_heard_is_given_again() {
    let fleet = Fleet::new(1);
    fleet.add(&["HEAD"], &measured());
    let may = |verb: &str, whom: &str| {
        let what = "EXECUTE ON FUNCTION rbench.finish";
        fleet.server.sql("shared", &format!("{verb} {what} {whom} rbench_work"));
    };
    may("REVOKE", "FROM");
    fleet.works(&["--until-empty"]).fails_with(2).assert_stderr_has(&["permission denied"]);
    may("GRANT", "TO");
    let again = fleet.works(&["--until-empty"]).ok();
    again.assert_stderr_has(&["job 1: was compared before", "job 1: done"]);
    assert_eq!(fleet.states(), ["done"]);
    let sent = "SELECT count(*) FROM rbench.experiment";
    let mut owner = fleet.server.client("owner", "shared");
    assert_eq!(owner.query_one(sent, &[]).unwrap().get::<_, i64>(0), 1);
    // A job with the same commits that is queued later is another one.
    fleet.add(&["HEAD"], &measured());
    fleet.works(&["--until-empty"]).ok();
    assert_eq!(owner.query_one(sent, &[]).unwrap().get::<_, i64>(0), 2);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_works_behind_a_pooler() {
    let fleet = Fleet::new(2);
    fleet.add(&["HEAD~2..HEAD"], &measured());
    let (mut pooler, port) = pooler(&fleet.server);
    let place = format!("postgres://worker@127.0.0.1:{port}/shared");
    fleet.works(&["--until-empty"]).env("RBENCH_SHARED", place).ok();
    assert_eq!(fleet.states(), ["done"; 2]);
    pooler.kill().unwrap();
    pooler.wait().unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn job_that_is_lost_three_times_has_failed() {
    let fleet = Fleet::new(1);
    fleet.add(&["HEAD"], &measured());
    for attempt in 1..=3 {
        let worker = fleet.works(&[]).start();
        fleet.until(&format!(
            "SELECT FROM rbench.job WHERE state = 'running' AND attempt = {attempt}"
        ));
        signal(&worker, Signal::KILL);
        Outcome::of(worker, "worker");
    }
    fleet.works(&["--until-empty"]).ok();
    assert_eq!(fleet.states(), ["failed"]);
    let failure = fleet.jobs()[0]["failure"].as_str().unwrap().to_owned();
    assert!(failure.starts_with("lost on ") && failure.matches(", ").count() == 2, "{failure}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn stopped_worker_gives_its_job_back() {
    let fleet = Fleet::new(1);
    fleet.add(&["HEAD"], &measured());
    let worker = fleet.works(&[]).start();
    fleet.until("SELECT FROM rbench.job WHERE state = 'running'");
    // A second worker of the same user is refused at once.
    let second = fleet.works(&[]).fails_with(2);
    second.assert_stderr_has(&["cannot start a second worker on this machine"]);
    signal(&worker, Signal::TERM);
    let ended = Outcome::of(worker, "worker").assert_exit(0);
    ended.assert_stderr_has(&["job 1: released"]);
    let job = &fleet.jobs()[0];
    assert_eq!((job["state"].as_str(), job["failure"].as_str()), (Some("queued"), None));
    fleet.works(&["--until-empty"]).ok();
    assert_eq!(fleet.states(), ["done"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn pull_request_is_measured_by_a_worker() {
    let fleet = Fleet::new(2);
    fleet.project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    fleet.project.commit("More work");
    let worker = fleet.works(&[]).start();
    let ci = ["ci", "--base", "HEAD~1", "--on", "lab", "--parts", "2", "--output-dir", "out"];
    let job = fleet.asks(&[&ci[..], &measured()].concat()).run().assert_exit(1);
    job.assert_stderr_has(&["queued ", "for class lab: job 1, 2", "job 1: done", "job 2: done"]);
    job.assert_stdout_has(&["changing", "regressed"]);
    let written = fs::read_to_string(fleet.project.root().join("out/compare.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["benchmarks"].as_array().unwrap().len(), 2);
    signal(&worker, Signal::TERM);
    Outcome::of(worker, "worker").assert_exit(0);

    // Without a worker, patience ends, and nothing stays in the queue.
    let ci = ["ci", "--base", "HEAD~2", "--on", "lab", "--patience", "3s", "--output-dir", "out"];
    let job = fleet.asks(&[&ci[..], &measured()].concat()).fails_with(6);
    job.assert_stderr_has(&["not measured in time", "no machine was free"]);
    assert_eq!(fleet.states(), ["done", "done", "cancelled"]);
    // Somebody else who waits for the same comparison goes on.
    let queue = ["queue", "add", "HEAD~2", "HEAD", "--class", "lab", "--"];
    let same = fleet.asks(&[&queue[..], &measured()].concat()).ok().stdout();
    let ci = [&ci[..], &measured()].concat();
    fleet.asks(&ci).fails_with(6);
    let same: i64 = same.trim().parse().unwrap();
    let job = fleet.jobs().into_iter().find(|job| job["id"] == same).unwrap();
    assert_eq!((job["state"].as_str(), fleet.jobs().len()), (Some("queued"), 4));
    // A fork has no secrets.
    let fork = fleet.project.rbench(&["ci", "--base", "HEAD~1", "--on", "lab"]).fails_with(2);
    fork.assert_stderr_has(&["jobs of forks have no secrets, so they cannot queue"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn gate_overtakes_back_fill_which_continues_later() {
    let fleet = Fleet::new(2);
    let slow = [
        &QUICK[..7],
        &["--config=experiment.warm-up=3s", "--config=verdict.confirm=false", "--no-skip"],
    ]
    .concat();
    let slow: Vec<&str> = slow.iter().map(|word| if *word == "4" { "20" } else { word }).collect();
    fleet.add(&["HEAD~1..HEAD"], &slow);
    let worker = fleet.works(&[]).start();
    fleet.until("SELECT FROM rbench.job WHERE state = 'running'");
    let gate = fleet.add(&["HEAD~2", "HEAD~1", "--priority", "gate"], &measured());
    fleet.until("SELECT FROM rbench.job WHERE id = 2 AND state = 'done'");
    assert_eq!(gate, ["2"]);
    let mut jobs = fleet.jobs();
    jobs.sort_by_key(|job| job["id"].as_i64());
    assert!(["running", "queued"].contains(&jobs[0]["state"].as_str().unwrap()), "{jobs:#?}");
    fleet.until("SELECT FROM rbench.job WHERE id = 1 AND state = 'running' AND attempt = 2");
    fleet.asks(&["queue", "cancel", "1"]).ok();
    fleet.until("SELECT FROM rbench.job WHERE id = 1 AND state = 'cancelled'");
    signal(&worker, Signal::TERM);
    let ended = Outcome::of(worker, "worker").assert_exit(0);
    ended.assert_stderr_has(&["job 1: released for a gate", "job 2: done", "job 1: cancelled"]);
}

/// Makes a worker's machine one without cargo and compiler: it has git, and nothing else in PATH.
fn without_cargo(rbench: Rbench, fleet: &Fleet, name: &str) -> Rbench {
    let programs = fleet.clone.beside(name);
    fs::create_dir(&programs).unwrap();
    let git = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    symlink(git.trim(), programs.join("git")).unwrap();
    rbench.env("PATH", programs).env("RBENCH_PACK_DIR", fleet.clone.beside("places"))
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_without_cargo_measures_packs() {
    let fleet = Fleet::new(2);
    fleet.project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    fleet.project.commit("More work");
    // The same directory on both machines.
    let places = fleet.clone.beside("places");
    // A job without a pack is not taken.
    fleet.add(&["HEAD~2..HEAD~1"], &measured());
    let worker = without_cargo(fleet.works(&[]), &fleet, "bin").start();
    let ci = ["ci", "--base", "HEAD~1", "--on", "lab", "--packed", "--output-dir", "out"];
    let options: Vec<&str> =
        measured().into_iter().filter(|word| !word.contains("build.strategy")).collect();
    let job = fleet.asks(&[&ci[..], &options].concat()).env("RBENCH_PACK_DIR", &places);
    job.run().assert_exit(1).assert_stdout_has(&["changing", "regressed"]);
    // A pack that was made before.
    let pack = fleet.project.beside("x.pack");
    let pack = pack.to_str().unwrap();
    let build = ["build", "HEAD~2", "HEAD~1", "--pack", pack];
    fleet.project.rbench(&build).env("RBENCH_PACK_DIR", &places).ok();
    let add = ["queue", "add", "--class", "lab", "--pack", pack, "--"];
    fleet.asks(&[&add[..], &options].concat()).ok();
    fleet.until("SELECT FROM rbench.job WHERE id = 3 AND state = 'done'");
    signal(&worker, Signal::TERM);
    let worked = Outcome::of(worker, "worker").assert_exit(0);
    worked.assert_stderr_has(&["there is no cargo, so only jobs with packs are taken"]);
    assert_eq!(fleet.states(), ["queued", "done", "done"], "{}", worked.printed());
    // A piece that somebody has changed.
    fleet.server.sql(
        "shared",
        "UPDATE rbench.job SET state = 'queued', losses = 2 WHERE id = 3;
         UPDATE rbench.pack SET bytes = set_byte(bytes, 5000, 255 - get_byte(bytes, 5000))
         WHERE digest = (SELECT pack FROM rbench.job WHERE id = 3)",
    );
    let worker = without_cargo(fleet.works(&[]), &fleet, "again").start();
    fleet.until("SELECT FROM rbench.job WHERE id = 3 AND state = 'failed'");
    signal(&worker, Signal::TERM);
    Outcome::of(worker, "worker").assert_exit(0).assert_stderr_has(&["cannot read the pack"]);
}
