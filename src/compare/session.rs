//! The context that the comparisons of one command share.

use std::rc::Rc;

use super::{Acceptances, Observer};
use crate::{
    error::Result,
    measure::{ListedVersion, Runner},
    model::{Disturbance, Version},
    project::Project,
    shell::CommandLine,
};

/// The runner, and the versions that were listed so far. The project is locked while this value
/// lives.
pub struct Session<'a> {
    pub project: &'a Project,
    pub runner: Runner<'a>,
    /// The accepted slowdowns, if they are applied to regressions.
    pub acceptances: Option<Acceptances<'a>>,
    /// Disturbances of the machine before rbench kept it busy, if each comparison reports them.
    pub idle: Vec<Disturbance>,
    pub observer: &'a dyn Observer,
    /// Writes the commands that hints suggest.
    pub command_line: Rc<dyn CommandLine>,
    listed: Vec<ListedVersion>,
}

impl<'a> Session<'a> {
    /// A session without any listed version.
    pub fn new(
        project: &'a Project,
        runner: Runner<'a>,
        observer: &'a dyn Observer,
        command_line: Rc<dyn CommandLine>,
    ) -> Self {
        let (acceptances, idle, listed) = (None, Vec::new(), Vec::new());
        Self { project, runner, acceptances, idle, observer, command_line, listed }
    }

    /// Compiles and lists versions, which may have no benchmark.
    pub fn list_any<'v>(
        &mut self,
        versions: impl IntoIterator<Item = &'v Version> + Clone,
    ) -> Result<()> {
        self.runner.refuse_unsupported(versions.clone())?;
        for version in versions {
            if self.listed(version).is_none() {
                self.listed.push(self.runner.list_any(version.clone())?);
            }
        }
        Ok(())
    }

    /// The error of the last listed version, unless one has benchmarks: the others are compared without any.
    pub fn has_benchmarks(&self) -> Result<()> {
        let last = self.listed.last().map(ListedVersion::has_benchmarks);
        let has_some = self.listed.iter().any(|listed| listed.has_benchmarks().is_ok());
        last.filter(|_| !has_some).unwrap_or(Ok(()))
    }

    /// Selects the bench targets with these names, of all that were selected at first. No version stays listed.
    pub fn select_benches(&mut self, names: &[String]) {
        self.listed.clear();
        self.runner.select_benches(names);
    }

    /// Compiles and lists a version, unless that was done in this session.
    pub fn list(&mut self, version: &Version) -> Result<&ListedVersion> {
        let listed = self.take(version)?;
        self.listed.push(listed);
        Ok(&self.listed[self.listed.len() - 1])
    }

    pub fn add(&mut self, listed: ListedVersion) {
        self.listed.push(listed);
    }

    pub fn listed(&self, version: &Version) -> Option<&ListedVersion> {
        self.listed.iter().find(|listed| listed.version == *version)
    }

    /// Drops a version, so that its files may be removed from the cache. It is listed again if it
    /// is needed again.
    pub fn forget(&mut self, version: &Version) {
        self.listed.retain(|listed| listed.version != *version);
    }

    /// Calls `work` with two listed versions: base and head.
    pub fn with<T>(
        &mut self,
        [base, head]: [&Version; 2],
        work: impl FnOnce(&Self, &[ListedVersion; 2]) -> Result<T>,
    ) -> Result<T> {
        let mut versions = [self.take(base)?, self.take(head)?];
        if self.runner.discard_older_compilations(&versions)? {
            drop(versions);
            versions = [self.take(base)?, self.take(head)?];
        }
        let done = work(self, &versions);
        self.listed.extend(versions);
        done
    }

    /// Takes a listed version out of the session, or lists it.
    fn take(&mut self, version: &Version) -> Result<ListedVersion> {
        match self.listed.iter().position(|listed| listed.version == *version) {
            Some(known) => Ok(self.listed.swap_remove(known)),
            None => self.runner.list(version.clone()),
        }
    }
}
