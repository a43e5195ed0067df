//! A server, a project with commits, and hosts on which real workers run.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use cargo_rbench::shared::{Address, Database};
use lab::WorkingTree;
use rustix::process::{Pid, Signal, kill_process};

use super::{Failure, postgres::Server};

/// Options of a comparison that is quick, and gives a verdict.
pub const QUICK: [&str; 11] = [
    "--config=build.strategy=relink",
    "-l",
    "4",
    "-m",
    "1",
    "-n",
    "5",
    "--config=experiment.warm-up=1ms",
    "--config=verdict.confirm=false",
    "--no-skip",
    "--mode=sequential",
];

/// Options of one that takes minutes, in executions of a few seconds.
pub const SLOW: [&str; 11] = [
    "--config=build.strategy=relink",
    "-l",
    "20",
    "-m",
    "1",
    "-n",
    "5",
    "--config=experiment.warm-up=3s",
    "--config=verdict.confirm=false",
    "--no-skip",
    "--mode=sequential",
];

/// Starts a server with the tables in the database `shared`, and a user for each role.
pub fn server(settings: &[&str]) -> Server {
    let server = Server::with(settings);
    server.sql("postgres", "CREATE DATABASE shared");
    let made = Address::parse(&server.url("owner", "shared"))
        .and_then(|address| Database::set_up(&address, |_| {}));
    if let Err(error) = made {
        println!("  cannot make the tables: {error}");
    }
    server.sql(
        "postgres",
        "CREATE USER reader IN ROLE rbench_read; CREATE USER worker IN ROLE rbench_work;
         CREATE USER asker IN ROLE rbench_queue",
    );
    server
}

pub fn shorten_lease(server: &Server, seconds: f64) {
    let lease = format!(
        "CREATE OR REPLACE FUNCTION rbench.lease() RETURNS interval LANGUAGE sql IMMUTABLE
         AS $$ SELECT interval '{seconds} s' $$"
    );
    server.sql("shared", &lease);
}

/// The parts of a study with real workers.
pub struct Hosts {
    pub server: Server,
    pub project: WorkingTree,
    scratch: tempfile::TempDir,
    program: PathBuf,
}

impl Hosts {
    pub fn new(settings: &[&str]) -> Result<Self, Failure> {
        let scratch = tempfile::Builder::new().prefix("rbench-fleet-").tempdir()?;
        let program = lab::rbench::build("dev").map_err(|error| error.to_string())?;
        let project = WorkingTree::of_fixture("counted", scratch.path().join("project"))
            .map_err(|error| error.to_string())?;
        fs::write(project.path().join(".gitignore"), "target\nCargo.lock\n")?;
        let hosts = Self { server: server(settings), project, scratch, program };
        hosts.commit("Ignore what is built")?;
        Ok(hosts)
    }

    pub fn commit(&self, message: &str) -> Result<(), Failure> {
        self.project.commit(message).map_err(|error| error.to_string().into())
    }

    /// Adds this many commits, each with another text in a file that is not compiled.
    pub fn commits(&self, count: usize) -> Result<(), Failure> {
        for number in 1..=count {
            fs::write(self.project.path().join("count"), number.to_string())?;
            self.commit(&format!("Commit {number}"))?;
        }
        Ok(())
    }

    /// Queues comparisons.
    pub fn add(&self, arguments: &[&str], options: &[&str]) -> Result<(), Failure> {
        let all = [&["queue", "add", "--class", "lab"], arguments, &["--"], options].concat();
        self.ask(&all).map(drop)
    }

    /// Runs a command of who queues.
    pub fn ask(&self, arguments: &[&str]) -> Result<Output, Failure> {
        let mut command = Command::new(&self.program);
        command.current_dir(self.project.path()).args(arguments);
        environment(&mut command, "asker", &self.scratch.path().join("asker"))?;
        command.env("RBENCH_SHARED", self.server.url("asker", "shared"));
        let output = command.stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(output);
        }
        Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
    }

    /// A host: a clone, a home, and the identity of another boot.
    pub fn host(&self, number: usize) -> Result<Host<'_>, Failure> {
        self.host_in(&self.scratch.path().join(format!("host {number}")), number)
    }

    /// The same in a directory.
    pub fn host_in(&self, directory: &Path, number: usize) -> Result<Host<'_>, Failure> {
        fs::create_dir_all(directory)?;
        fs::write(directory.join("boot"), format!("00000000-0000-0000-0000-{number:012}\n"))?;
        let cloned = Command::new("git")
            .args(["clone", "--quiet"])
            .arg(self.project.path())
            .arg(directory.join("clone"))
            .status()?;
        if !cloned.success() {
            return Err("cannot clone".into());
        }
        let url = self.server.url("worker", "shared");
        Ok(Host { hosts: self, directory: directory.to_owned(), url, around: Vec::new() })
    }

    /// The first column of all rows, which is text.
    pub fn texts(&self, query: &str) -> Result<Vec<String>, Failure> {
        let rows = self.server.client("owner", "shared").query(query, &[])?;
        rows.iter().map(|row| Ok(row.try_get::<_, String>(0)?)).collect()
    }

    /// Waits until a query has a row.
    pub fn until(&self, query: &str, longest: Duration) -> Result<(), Failure> {
        let begin = Instant::now();
        loop {
            let asked =
                ::postgres::Client::connect(&self.server.url("owner", "shared"), ::postgres::NoTls)
                    .and_then(|mut client| client.query(query, &[]));
            if asked.is_ok_and(|rows| !rows.is_empty()) {
                return Ok(());
            }
            if begin.elapsed() > longest {
                let jobs = self
                    .texts("SELECT job::text FROM rbench.job WHERE state <> 'done' ORDER BY id")?;
                return Err(format!("never: {query}\n{}", jobs.join("\n")).into());
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The numbers of jobs that are done, that have failed, and that have no end.
    pub fn ends(&self) -> Result<[i64; 3], Failure> {
        let query = "SELECT count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'failed'),
            count(*) FILTER (WHERE state NOT IN ('done', 'failed')) FROM rbench.job";
        let row = self.server.client("owner", "shared").query_one(query, &[])?;
        Ok([row.get(0), row.get(1), row.get(2)])
    }
}

/// A place where one worker runs at a time.
pub struct Host<'h> {
    hosts: &'h Hosts,
    pub directory: PathBuf,
    pub url: String,
    /// A command that runs the worker.
    pub around: Vec<String>,
}

impl Host<'_> {
    /// Starts a worker, which logs to a file.
    pub fn start(&self, arguments: &[&str]) -> Result<Child, Failure> {
        let log = File::options().append(true).create(true).open(self.log())?;
        let script = "mount --make-rprivate / && mount --bind \"$BOOT\" /proc/sys/kernel/random/boot_id && exec \"$@\"";
        let mut words = self.around.clone();
        words.extend(["unshare", "--mount", "sh", "-c", script, "sh"].map(str::to_owned));
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .arg(&self.hosts.program)
            .args(["worker", "--class", "lab"])
            .args(arguments)
            .current_dir(self.directory.join("clone"));
        environment(&mut command, "worker", &self.directory.join("home"))?;
        command.env("RBENCH_SHARED", &self.url).env("BOOT", self.directory.join("boot"));
        Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?)
    }

    /// Where its workers log.
    pub fn log(&self) -> PathBuf {
        self.directory.join("log")
    }
}

/// Ends a worker at once.
pub fn kill(worker: &mut Child) -> Result<(), Failure> {
    worker.kill()?;
    worker.wait()?;
    Ok(())
}

/// Ends a worker in order.
pub fn stop(worker: &mut Child) -> Result<(), Failure> {
    // It may have ended.
    let _ = kill_process(Pid::from_child(worker), Signal::TERM);
    worker.wait()?;
    Ok(())
}

/// Gives a command the tools of this user, and nothing else of it.
fn environment(command: &mut Command, user: &str, home: &Path) -> Result<(), Failure> {
    fs::create_dir_all(home.join("tmp"))?;
    let users = std::env::var("HOME")?;
    let given = |name: &str, usual: &str| {
        std::env::var(name).unwrap_or_else(|_| format!("{users}/{usual}"))
    };
    command
        .env_clear()
        .env("PATH", std::env::var("PATH")?)
        .env("USER", user)
        .env("HOME", home)
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("TMPDIR", home.join("tmp"))
        .env("CARGO_HOME", given("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", given("RUSTUP_HOME", ".rustup"))
        .env("CARGO_NET_OFFLINE", "true")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "maintenance.auto")
        .env("GIT_CONFIG_VALUE_0", "false");
    Ok(())
}
