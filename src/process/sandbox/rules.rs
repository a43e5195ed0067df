//! The rules of the sandbox: what code of a commit may read and write.
//!
//! Everything that is not named here is closed: the user's home and working tree, what other programs and users keep in
//! `/tmp`, `/run` and `/var`, and cargo's and git's credentials.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::model::SandboxExceptions;

/// Programs and libraries of the system. Any user may read them, so they hold no secrets.
const SYSTEM: [&str; 10] = [
    "/bin",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/opt",
    "/sbin",
    "/sys",
    "/usr",
];

/// Settings of the system. Only what every user may read: root may read more.
const SETTINGS: &str = "/etc";

/// A file outside of `/etc` that a setting there may lead to.
const NAME_SERVERS: &str = "/etc/resolv.conf";

/// Processes. The kernel hides the memory, the variables and the open files of those outside of the sandbox.
pub(super) const PROCESSES: &str = "/proc";

/// What stands there about no process.
pub(super) const ABOUT_THE_SYSTEM: [&str; 8] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
];

/// Devices without contents.
const DEVICES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// What code may read of cargo's home; not its credentials.
const OF_CARGO_HOME: [&str; 6] = ["bin", "config", "config.toml", "env", "git", "registry"];

/// The words in a configuration of cargo that stand before a secret. A file with one of them stays closed.
const SECRETS_OF_CARGO: [&str; 2] = ["token", "secret-key"];

#[derive(Clone, Debug, Default)]
pub struct Places {
    pub home: Option<PathBuf>,
    /// The user's working tree, which stays closed, with its settings of git.
    pub working_tree: PathBuf,
    /// The parts of the working tree that are open while cargo reads its manifests.
    pub inspected: Vec<PathBuf>,
    /// The directories with objects of git that checkouts use.
    pub objects: Vec<PathBuf>,
    /// The homes of cargo and of rustup.
    pub cargo_home: Option<PathBuf>,
    /// The same of rustup.
    pub rustup_home: Option<PathBuf>,
    /// Directories of programs and libraries, by the user's variables.
    pub search_path: Vec<PathBuf>,
    /// Configurations of cargo above the repository.
    pub cargo_configs: Vec<PathBuf>,
    pub programs: Vec<PathBuf>,
    /// The directories with checkouts, compilations and builds.
    pub caches: Vec<PathBuf>,
    /// A link to the active compilation, with the version's files in `src`.
    pub build_path: PathBuf,
    /// What code of the version writes below it.
    pub written: Vec<&'static str>,
    pub temporary: PathBuf,
}

/// What a process does for a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task<'a> {
    /// It compiles or sets up the active version.
    Run,
    /// It executes or traces a benchmark of the active version, or asks a compiler or linker for its version.
    Execute,
    Link(&'a Path),
}

impl Places {
    /// What everything may read.
    pub(super) fn readable(&self, exceptions: &SandboxExceptions) -> Vec<PathBuf> {
        let closed = self.closed();
        let mut all: Vec<PathBuf> =
            SYSTEM.iter().flat_map(|place| without(Path::new(place), &closed)).collect();
        all.extend(readable_by_all(Path::new(SETTINGS)));
        all.push(NAME_SERVERS.into());
        let is_open = |place: &&PathBuf| closed.iter().all(|closed| !closed.starts_with(place));
        all.extend(self.search_path.iter().filter(is_open).cloned());
        all.extend(self.rustup_home.clone());
        let of_cargo =
            self.cargo_home.iter().flat_map(|home| OF_CARGO_HOME.map(|name| home.join(name)));
        let configs = of_cargo.chain(self.cargo_configs.iter().cloned());
        all.extend(configs.filter(|path| !has_secret_of_cargo(path)));
        let own = [&self.objects, &self.programs, &self.caches, &self.inspected];
        all.extend(own.into_iter().flatten().cloned());
        all.extend(exceptions.read.iter().cloned());
        all
    }

    /// What a process for this task may write, and read.
    pub(super) fn writable(&self, task: Task<'_>, exceptions: &SandboxExceptions) -> Vec<PathBuf> {
        let of_task = match task {
            Task::Run | Task::Execute => {
                self.written.iter().map(|part| self.build_path.join(part)).collect()
            }
            Task::Link(output) => vec![output.to_owned()],
        };
        let everywhere = DEVICES.map(PathBuf::from).into_iter().chain([self.temporary.clone()]);
        of_task.into_iter().chain(everywhere).chain(exceptions.write.iter().cloned()).collect()
    }

    /// Places that stay closed where something above them is open.
    fn closed(&self) -> Vec<PathBuf> {
        let all = [self.home.as_ref(), self.cargo_home.as_ref(), Some(&self.working_tree)];
        all.into_iter().flatten().filter(|path| path.is_absolute()).map(|path| real(path)).collect()
    }
}

/// True for a configuration of cargo that may hold a token. One that cannot be read stays closed, too.
pub fn has_secret_of_cargo(path: &Path) -> bool {
    match fs::read_to_string(path) {
        Ok(text) => {
            let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
            lines.any(|line| {
                let key = line.split('=').next().unwrap_or_default();
                SECRETS_OF_CARGO.iter().any(|word| key.contains(word)) || holds_secret(line)
            })
        }
        // A directory, or nothing.
        Err(error) => {
            !matches!(error.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::NotFound)
        }
    }
}

fn holds_secret(line: &str) -> bool {
    line.contains('{') && SECRETS_OF_CARGO.iter().any(|word| line.contains(word))
}

/// `place`, or what it contains without what is `closed`.
fn without(place: &Path, closed: &[PathBuf]) -> Vec<PathBuf> {
    let place = real(place);
    if closed.iter().any(|closed| place.starts_with(closed)) {
        return Vec::new();
    }
    if !closed.iter().any(|closed| closed.starts_with(&place)) {
        return vec![place];
    }
    entries(&place).iter().flat_map(|entry| without(entry, closed)).collect()
}

/// The files and directories below `place` that every user may read, in as few paths as possible.
fn readable_by_all(place: &Path) -> Vec<PathBuf> {
    let Ok(data) = fs::symlink_metadata(place) else { return Vec::new() };
    let is_open = data.permissions().mode() & 0o4 != 0;
    if data.is_symlink() || !is_open {
        return Vec::new();
    }
    if !data.is_dir() {
        return vec![place.to_owned()];
    }
    let all = entries(place);
    let open: Vec<Vec<PathBuf>> = all.iter().map(|entry| readable_by_all(entry)).collect();
    let is_whole = all.iter().zip(&open).all(|(entry, open)| {
        fs::symlink_metadata(entry).is_ok_and(|data| data.is_symlink()) || *open == [entry.clone()]
    });
    if is_whole { vec![place.to_owned()] } else { open.concat() }
}

fn entries(place: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(place).into_iter().flatten();
    all.filter_map(io::Result::ok).map(|entry| entry.path()).collect()
}

pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn closed_place_below_an_open_one_stays_closed() {
        let directory = tempfile::tempdir().unwrap();
        let place = real(directory.path());
        for path in ["bin", "local/lib", "local/cargo/bin"] {
            fs::create_dir_all(place.join(path)).unwrap();
        }
        let mut open = without(&place, &[place.join("local/cargo")]);
        open.sort();
        assert_eq!(open, [place.join("bin"), place.join("local/lib")]);
        assert_eq!(without(&place, &[]), std::slice::from_ref(&place));
        assert!(without(&place.join("bin"), std::slice::from_ref(&place)).is_empty());
    }

    #[test]
    fn settings_are_those_that_everybody_may_read() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        for path in ["ssl/certs/a", "ssl/private/key", "hosts", "shadow", "fonts/conf"] {
            fs::create_dir_all(place.join(path).parent().unwrap()).unwrap();
            fs::write(place.join(path), "").unwrap();
        }
        let close = |path: &str, mode| {
            fs::set_permissions(place.join(path), Permissions::from_mode(mode)).unwrap();
        };
        for path in ["", "ssl", "ssl/certs", "fonts"] {
            close(path, 0o755);
        }
        close("ssl/private", 0o710);
        close("shadow", 0o640);
        let mut open = readable_by_all(place);
        open.sort();
        assert_eq!(open, ["fonts", "hosts", "ssl/certs"].map(|path| place.join(path)));
    }

    #[test]
    fn configuration_of_cargo_with_a_token_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        let with = |text: &str| {
            fs::write(&path, text).unwrap();
            has_secret_of_cargo(&path)
        };
        assert!(with("[registries.own]\ntoken = \"x\""));
        assert!(with("registries.own.token='x'"));
        assert!(with("registry = { token = 'x' }"));
        assert!(!with("# no token = here\n[build]\njobs = 2"));
        assert!(!with("[registry]\nglobal-credential-providers = [\"cargo:token\"]"));
        assert!(!has_secret_of_cargo(directory.path()));
        assert!(!has_secret_of_cargo(&directory.path().join("nothing")));
    }
}
