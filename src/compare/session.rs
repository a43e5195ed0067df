//! What the comparisons of one command share.

use std::rc::Rc;

use super::{Acceptances, Observer};
use crate::{
    error::Result,
    measure::{ListedVersion, Runner},
    model::{Disturbance, Version},
    project::Project,
    shell::CommandLine,
};

/// What measures, and what is known of versions by now. The project is locked as long as the value lives.
pub struct Session<'a> {
    /// The user's project.
    pub project: &'a Project,
    /// What measures.
    pub runner: Runner<'a>,
    /// Slowdowns that were accepted, if regressions are judged by them.
    pub acceptances: Option<Acceptances<'a>>,
    /// What disturbed the machine before rbench itself kept it busy, if that is told of each comparison.
    pub idle: Vec<Disturbance>,
    /// Whom progress is reported to.
    pub observer: &'a dyn Observer,
    /// What writes the commands that are advised.
    pub command_line: Rc<dyn CommandLine>,
    /// The versions that were compiled and listed.
    listed: Vec<ListedVersion>,
}

impl<'a> Session<'a> {
    /// A session in which nothing was compared yet.
    pub fn new(
        project: &'a Project,
        runner: Runner<'a>,
        observer: &'a dyn Observer,
        command_line: Rc<dyn CommandLine>,
    ) -> Self {
        let (acceptances, idle, listed) = (None, Vec::new(), Vec::new());
        Self { project, runner, acceptances, idle, observer, command_line, listed }
    }

    /// A version with its benchmarks: it is compiled and listed unless that was done in this session.
    pub fn list(&mut self, version: &Version) -> Result<&ListedVersion> {
        let listed = self.take(version)?;
        self.listed.push(listed);
        Ok(&self.listed[self.listed.len() - 1])
    }

    /// A version that was compiled and listed in this session.
    pub fn listed(&self, version: &Version) -> Option<&ListedVersion> {
        self.listed.iter().find(|listed| listed.version == *version)
    }

    /// Lets go of a version, so that its files may be removed from the cache. It is listed again if it is needed again.
    pub fn forget(&mut self, version: &Version) {
        self.listed.retain(|listed| listed.version != *version);
    }

    /// Lets `work` use two versions with their benchmarks: base and head.
    pub fn with<T>(
        &mut self,
        [base, head]: [&Version; 2],
        work: impl FnOnce(&Self, &[ListedVersion; 2]) -> Result<T>,
    ) -> Result<T> {
        let versions = [self.take(base)?, self.take(head)?];
        let done = work(self, &versions);
        self.listed.extend(versions);
        done
    }

    /// A version with its benchmarks, which the session does not have any more.
    fn take(&mut self, version: &Version) -> Result<ListedVersion> {
        match self.listed.iter().position(|listed| listed.version == *version) {
            Some(known) => Ok(self.listed.swap_remove(known)),
            None => self.runner.list(version.clone()),
        }
    }
}
