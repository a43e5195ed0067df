//! The program `git`, which alone knows how the user reaches a remote. It fetches what a clone lacks.
//!
//! It works in a [directory of rbench](super::own_directory) that has the references of the repository and few of its settings:
//! none that starts a program, as `core.fsmonitor`, `core.hooksPath`, `core.sshCommand` and helpers for credentials do. Those of
//! the user and of the system apply. New objects go into the repository, and so does what is [kept](GitProgram::keep).

use std::{
    fs::{self, File},
    io::{self, Write as _},
    process::Command,
};

use tempfile::TempDir;

use super::{
    Repository,
    own_directory::{self, Access, SHALLOW},
};
use crate::error::{Context, Exit, Result};

/// Variables with which git is told to work elsewhere.
const PLACES: [&str; 6] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
];

/// The program `git` for one repository.
pub struct GitProgram<'r> {
    repository: &'r Repository,
    directory: TempDir,
}

impl Repository {
    /// The program `git` for this repository, as it is now.
    pub fn git_program(&self) -> Result<GitProgram<'_>> {
        let what = || format!("cannot prepare to fetch into {}", self.root().display());
        let directory = tempfile::tempdir().context(Exit::Build, what)?;
        let head = self.head_commit().context(Exit::Usage, what)?.map(|commit| commit.id());
        own_directory::write(self, head, Access::OfRbench, directory.path())
            .context(Exit::Build, what)?;
        Ok(GitProgram { repository: self, directory })
    }
}

impl GitProgram<'_> {
    /// A command with these arguments, which asks for no password.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for name in PLACES {
            command.env_remove(name);
        }
        command
            .current_dir(self.repository.root())
            .env("GIT_DIR", self.directory.path())
            .env("GIT_OBJECT_DIRECTORY", self.repository.common_directory().join("objects"))
            .env("GIT_TERMINAL_PROMPT", "0")
            .args(arguments);
        command
    }

    /// A command that fetches commits, references or files from a remote, with settings for git and options for its `fetch`.
    /// Neither the remote nor a name is taken for an option.
    pub fn fetch(
        &self,
        settings: &[&str],
        options: &[&str],
        remote: &str,
        names: &[&str],
    ) -> Command {
        let fetch = ["fetch", "--quiet", "--no-tags", "--recurse-submodules=no"];
        let remote = ["--end-of-options", remote];
        self.command(&[settings, &fetch, options, &remote, names].concat())
    }

    /// Keeps in the repository what a command changed: which commits lack their parents, and this reference.
    pub fn keep(&self, reference: Option<&str>) -> Result<()> {
        let what =
            || format!("cannot note what was fetched in {}", self.repository.root().display());
        self.keep_shallow().context(Exit::Usage, what)?;
        let Some(name) = reference else { return Ok(()) };
        let keep_reference = || -> Result<(), git2::Error> {
            let fetched =
                git2::Repository::open_bare(self.directory.path())?.refname_to_id(name)?;
            self.repository.git().reference(name, fetched, true, "fetch")?;
            Ok(())
        };
        keep_reference().context(Exit::Usage, what)
    }

    fn keep_shallow(&self) -> io::Result<()> {
        let common = self.repository.common_directory();
        let [new, known] =
            [self.directory.path(), &common].map(|at| fs::read(at.join(SHALLOW)).ok());
        if new == known {
            return Ok(());
        }
        // As git does it: whoever has this file may replace the other.
        let lock = common.join("shallow.lock");
        let mut file = File::create_new(&lock)?;
        let replaced = match new {
            Some(text) => {
                file.write_all(&text).and_then(|()| fs::rename(&lock, common.join(SHALLOW)))
            }
            None => fs::remove_file(common.join(SHALLOW)).and_then(|()| fs::remove_file(&lock)),
        };
        replaced.inspect_err(|_| drop(fs::remove_file(&lock)))
    }
}
