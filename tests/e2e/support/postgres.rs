//! A PostgreSQL server of a test's own, in a temporary directory.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt as _, fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use postgres::{Client, NoTls};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// A server without passwords: everybody is whom they claim to be. The user who made it is `owner`.
pub struct Server {
    directory: TempDir,
    bin: PathBuf,
    /// The user and the group to run it as; root may not.
    user: Option<(u32, u32)>,
    settings: Vec<String>,
    process: Option<Child>,
}

impl Server {
    /// Makes a server that listens only on a socket.
    pub fn start() -> Self {
        Self::with(&["listen_addresses="])
    }

    /// Makes a server with these settings.
    pub fn with(settings: &[&str]) -> Self {
        let directory = tempfile::Builder::new().prefix("rbench-pg-").tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let user = geteuid().is_root().then(|| id_of("postgres").or(id_of("nobody")).unwrap());
        let mut server = Self { directory, bin: programs(), user, settings, process: None };
        for directory in [server.data(), server.sockets()] {
            fs::create_dir(&directory).unwrap();
            if let Some((user, group)) = server.user {
                chown(&directory, Some(user), Some(group)).unwrap();
            }
        }
        let data = server.data();
        let made = server
            .program("initdb")
            .args(["--auth=trust", "--username=owner", "--encoding=UTF8", "--no-sync", "--pgdata"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.go();
        server
    }

    /// The directory for the test's own files, which the server can read.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// The directory with its socket.
    pub fn sockets(&self) -> PathBuf {
        self.directory.path().join("sockets")
    }

    /// The user who runs the server, for files that only that user may read.
    pub fn give(&self, file: &Path) {
        if let Some((user, group)) = self.user {
            chown(file, Some(user), Some(group)).unwrap();
        }
        fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    }

    /// A program of PostgreSQL, run as the server's user.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.env_clear().env("LC_ALL", "C").current_dir(self.directory.path());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// Starts it, and waits until it answers.
    pub fn go(&mut self) {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.directory.path().join("log"))
            .unwrap();
        let mut command = self.program("postgres");
        // Its own death is tested, not that of the machine.
        command.arg("-D").arg(self.data()).arg("-k").arg(self.sockets()).args(["-c", "fsync=off"]);
        command.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.process = Some(process.unwrap());
        let start = Instant::now();
        while Client::connect(&self.url("owner", "postgres"), NoTls).is_err() {
            let log = || fs::read_to_string(self.directory.path().join("log"));
            assert!(start.elapsed() < Duration::from_secs(60), "it does not start: {:?}", log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it at once, as a crash does.
    pub fn crash(&mut self) {
        if let Some(mut process) = self.process.take() {
            let id = Pid::from_child(&process);
            kill_process(id, Signal::QUIT).unwrap();
            process.wait().unwrap();
        }
    }

    /// The address for a user and a database.
    pub fn url(&self, user: &str, database: &str) -> String {
        let sockets = self.sockets().display().to_string().replace('/', "%2F");
        let port = self.settings.iter().find_map(|setting| setting.strip_prefix("port="));
        format!("postgres://{user}@{sockets}:{}/{database}", port.unwrap_or("5432"))
    }

    /// Runs statements as the owner.
    pub fn sql(&self, database: &str, statements: &str) {
        self.client("owner", database).batch_execute(statements).unwrap();
    }

    pub fn client(&self, user: &str, database: &str) -> Client {
        Client::connect(&self.url(user, database), NoTls).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.crash();
    }
}

/// The programs of the newest version that is installed.
fn programs() -> PathBuf {
    let named = Command::new("pg_config").arg("--bindir").output();
    let named = named.ok().filter(|output| output.status.success());
    let named = named.map(|output| String::from_utf8(output.stdout).unwrap().trim().into());
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = debian.map(|version| version.path().join("bin")).max();
    let mut all = named.into_iter().chain(debian);
    let found = all.find(|bin: &PathBuf| bin.join("initdb").exists());
    found.expect("PostgreSQL is installed: apt-get install postgresql")
}

/// The ids of a user and its group.
fn id_of(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let user = users.lines().find_map(|line| line.strip_prefix(&format!("{name}:")))?;
    let mut fields = user.split(':').skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
