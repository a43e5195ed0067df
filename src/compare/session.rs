//! The context that the comparisons of one command share.

use std::{collections::BTreeSet, iter, rc::Rc};

use super::{
    Acceptances, Event, Observer,
    request::{Benchmarks, Request},
};
use crate::{
    error::{Error, Result},
    measure::{ListedVersion, Listing, Runner},
    model::{BenchTarget, Benchmark, Disturbance, Version, WITHOUT_ARGUMENTS},
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
    /// The bench targets that are not compiled, since none of the benchmarks that the user named should be in them.
    pub unneeded: BTreeSet<BenchTarget>,
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
        let unneeded = BTreeSet::new();
        Self { project, runner, acceptances, idle, observer, command_line, unneeded, listed }
    }

    /// Leaves out the bench targets that need not be compiled for the benchmarks that the user named: versions that are
    /// compiled list theirs, and of the others, the name or the source of a target must have the words of the filter, or
    /// most of them if none has all. The same ones in all versions, so that a benchmark is in both or really missing in one.
    pub fn leave_out_unneeded<'v>(
        &mut self,
        versions: impl IntoIterator<Item = &'v Version>,
    ) -> Result<()> {
        if !self.runner.names_only_benchmarks() {
            return Ok(());
        }
        let (mut needed, mut uncompiled) = (BTreeSet::new(), Vec::new());
        for version in versions {
            if let Some(targets) = self.runner.uncompiled_targets(version)? {
                uncompiled.extend(targets);
            } else {
                self.list_any([version])?;
                needed.extend(self.listed(version).into_iter().flat_map(ListedVersion::in_use));
            }
        }
        // Of each way in which an id can match: what the user named may be in several targets.
        let known = || uncompiled.iter().filter_map(|(_, lacking)| lacking.as_deref());
        let ways = known().map(<[_]>::len).max().unwrap_or_default();
        let fewest: Vec<usize> =
            (0..ways).map(|way| known().map(|one| one[way]).min().unwrap_or_default()).collect();
        for (target, lacking) in &uncompiled {
            let has_most =
                |one: &Vec<usize>| one.iter().zip(&fewest).any(|(own, least)| own == least);
            // Of some, nothing is known.
            if lacking.as_ref().is_none_or(has_most) {
                needed.insert(target.clone());
            }
        }
        let mut all: BTreeSet<BenchTarget> =
            uncompiled.into_iter().map(|(target, _)| target).collect();
        let of = all.union(&needed).count();
        all.retain(|target| !needed.contains(target));
        if !all.is_empty() {
            self.observer.compare_event(Event::LeftOut { targets: all.len(), of });
            self.runner.leave_out(all.clone());
            self.unneeded = all;
        }
        Ok(())
    }

    /// Leaves out no bench target any more. No version stays listed.
    pub fn need_all(&mut self) {
        self.unneeded.clear();
        self.compile_without(iter::empty());
    }

    /// Compiles and lists versions, which may have no benchmark.
    pub fn list_any<'v>(
        &mut self,
        versions: impl IntoIterator<Item = &'v Version> + Clone,
    ) -> Result<()> {
        if self.runner.has_compiled_nothing() {
            self.runner.refuse_unsupported(versions.clone())?;
        }
        versions.into_iter().try_for_each(|version| self.list_any_one(version))
    }

    fn list_any_one(&mut self, version: &Version) -> Result<()> {
        if self.listed(version).is_none() {
            self.listed.push(self.runner.list_any(version.clone())?);
        }
        Ok(())
    }

    /// Compiles and lists the base of comparisons. Fails if it shows that nothing can be compared: no other version need be
    /// compiled to learn that.
    pub fn list_base(&mut self, requests: &[Request]) -> Result<()> {
        let [Request { versions: [base, head], benchmarks, .. }, ..] = requests else {
            return Ok(());
        };
        let heads = || requests.iter().map(|request| &request.versions[1]);
        if self.runner.has_compiled_nothing() {
            self.runner.refuse_unsupported(iter::once(base).chain(heads()))?;
        }
        self.list_any_one(base)?;
        let Some(listed) = self.listed(base) else { return Ok(()) };
        let failed = match &listed.listing {
            Listing { targets, failures, .. } if targets.is_empty() && !failures.is_empty() => {
                failures.iter().map(|failed| failed.error.clone()).collect()
            }
            Listing { targets, .. } if targets.is_empty() => {
                return self.runner.refuse_unsupported(heads());
            }
            // Those of `bench.toml` may be others in the head.
            _ if !self.project.file.runs_typed_commands() => Vec::new(),
            _ => {
                let each = matches!(benchmarks, Benchmarks::All);
                let failing = self.runner.failing_programs(listed, [base, head], each)?;
                let with_advice = |(one, error)| self.with_arguments(error, &one, [base, head]);
                failing.into_iter().map(with_advice).collect::<Vec<_>>()
            }
        };
        let others = failed.len().saturating_sub(1);
        failed.into_iter().next().map_or(Ok(()), |error| {
            let too = if others > 0 { format!(", as {others} more do") } else { String::new() };
            Err(error.cause(format!("it fails in {base}{too}, so nothing can be compared")))
        })
    }

    /// Adds the comparison with arguments to the error of a program that was started without any.
    fn with_arguments(
        &self,
        error: Error,
        benchmark: &Benchmark,
        versions: [&Version; 2],
    ) -> Error {
        if !error.to_string().contains(WITHOUT_ARGUMENTS) {
            return error;
        }
        let [base, head] = versions.map(Version::revision_arg);
        let command = format!("{} ARGUMENTS", benchmark.name.id);
        let command =
            self.command_line.suggest("compare", &[&base, &head], &[("command", Some(&command))]);
        error.first_hint(format!("give it the arguments that it needs: {command}"))
    }

    /// The error of the last listed version, unless one has benchmarks: the others are compared without any.
    pub fn has_benchmarks(&self) -> Result<()> {
        let last = self.listed.last().map(ListedVersion::has_benchmarks);
        let has_some = self.listed.iter().any(|listed| listed.has_benchmarks().is_ok());
        last.filter(|_| !has_some).unwrap_or(Ok(()))
    }

    /// Compiles all needed bench targets except `others` from now on. No version stays listed.
    pub fn compile_without(&mut self, others: impl Iterator<Item = BenchTarget>) {
        self.listed.clear();
        self.runner.leave_out(others.chain(self.unneeded.iter().cloned()).collect());
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
