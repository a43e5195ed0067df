//! Runs the commands of set-ups around executions.
//!
//! They run in the directory of the benchmark in its version's checkout, with its environment.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use super::{Conditions, Executable};
use crate::{
    error::{Context, Error, Exit, Result},
    model::{Name, Setup, variables::is_of_outer_build},
    process::{SetupCommand, inherited_by_executions, run_setup_command, set_up_once},
};

/// Held from `prepare` to `conclude`: what they prepare is for one execution.
static PREPARED: Mutex<()> = Mutex::new(());

impl Executable {
    /// Sets up these benchmarks, unless that was done for their version, and prepares an execution of them.
    pub fn prepare(&self, names: &[Name], conditions: &Conditions<'_>) -> Result<()> {
        let interrupt = conditions.interrupt;
        for (number, setup) in self.setups(names, conditions) {
            // The build path leads to another version later.
            let what = || format!("cannot find the directory {}", self.directory.display());
            let directory = self.directory.canonicalize().context(Exit::Build, what)?;
            let command = |key: &str, script: &Option<String>| {
                script.as_ref().map(|script| self.setup_command(key, script, setup, &directory))
            };
            let of_version = [command("setup", &setup.setup), command("cleanup", &setup.cleanup)];
            set_up_once((directory.clone(), number), of_version, interrupt)?;
            command("prepare", &setup.prepare)
                .map_or(Ok(()), |prepare| run_setup_command(prepare, interrupt))?;
        }
        Ok(())
    }

    /// Concludes an execution of these benchmarks.
    pub fn conclude(&self, names: &[Name], conditions: &Conditions<'_>) -> Result<()> {
        let mut done = Ok(());
        for (_, setup) in self.setups(names, conditions).into_iter().rev() {
            let Some(script) = &setup.conclude else { continue };
            let command = self.setup_command("conclude", script, setup, &self.directory);
            done = done.and(run_setup_command(command, conditions.interrupt));
        }
        done
    }

    /// Calls `execute` between `prepare` and `conclude`.
    pub(super) fn prepared<T>(
        &self,
        names: &[Name],
        conditions: &Conditions<'_>,
        execute: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if self.setups(names, conditions).is_empty() {
            return execute();
        }
        let _alone = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
        self.prepare(names, conditions)?;
        let executed = execute();
        let is_interrupted =
            executed.as_ref().is_err_and(|error: &Error| error.exit() == Exit::Interrupted);
        if is_interrupted {
            // The clean-up follows.
            return executed;
        }
        let concluded = self.conclude(names, conditions);
        executed.and_then(|executed| concluded.map(|()| executed))
    }

    /// The set-ups of these benchmarks, each once, with their numbers.
    fn setups<'c>(&self, names: &[Name], conditions: &Conditions<'c>) -> Vec<(usize, &'c Setup)> {
        let Some(all) = conditions.setups else { return Vec::new() };
        let found = names.iter().filter_map(|name| all.find(&self.package, &self.target, &name.id));
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(number, _)| *number);
        found.dedup_by_key(|(number, _)| *number);
        found
    }

    fn setup_command(
        &self,
        key: &str,
        script: &str,
        setup: &Setup,
        directory: &Path,
    ) -> SetupCommand {
        let mut inherited = inherited_by_executions();
        // With one target directory for both versions, a cargo of a set-up may run the other version's program.
        inherited.retain(|(name, _)| !is_of_outer_build(&name.to_string_lossy()));
        SetupCommand {
            key: key.to_owned(),
            script: script.to_owned(),
            directory: directory.to_owned(),
            environment: [inherited, self.variables.clone()].concat(),
            timeout: setup.timeout,
        }
    }
}
