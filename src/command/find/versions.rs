//! The versions of a search: each is compiled and listed once.

use std::{cell::RefCell, collections::HashMap};

use super::Finder;
use crate::{
    compare::{Before, passed_over},
    experiment::ListedVersion,
    failure::{Exit, Failure, Result},
    model::{Benchmark, Version},
};

/// What is known of versions, by their trees.
pub struct Versions<'f> {
    finder: &'f Finder<'f>,
    before: Before,
    listed: RefCell<HashMap<String, ListedVersion>>,
    /// Why there are no benchmarks of a version.
    lacking: RefCell<HashMap<String, String>>,
}

impl<'f> Versions<'f> {
    /// None yet.
    pub fn new(finder: &'f Finder<'f>) -> Result<Self> {
        let before = Before::read(finder.runner)?;
        Ok(Self { finder, before, listed: RefCell::default(), lacking: RefCell::default() })
    }

    /// Compiles and lists two versions, and lets `work` use them. If one cannot be built, or has nothing of what is
    /// wanted, its place among the two and the reason.
    pub fn with<T>(
        &self,
        pair: [&Version; 2],
        work: impl FnOnce(&[ListedVersion; 2]) -> Result<T>,
    ) -> Result<std::result::Result<T, (usize, String)>> {
        for (place, version) in pair.into_iter().enumerate() {
            if let Some(reason) = self.prepare(version)? {
                return Ok(Err((place, reason)));
            }
        }
        let [base, head] = pair;
        let (Some(of_base), Some(of_head)) = (self.take(base), self.take(head)) else {
            // Both are the same files: these do not differ.
            let reason = "it has the same files".to_owned();
            return Ok(Err((1, reason)));
        };
        let versions = [of_base, of_head];
        let done = work(&versions);
        for version in versions {
            let tree = version.version.tree.clone();
            self.listed.borrow_mut().insert(tree, version);
        }
        done.map(Ok)
    }

    /// Compiles and lists a version, unless that was done; why it cannot be compared, if it cannot. What could not be
    /// compiled before, also by an earlier search, is not compiled again.
    pub fn prepare(&self, version: &Version) -> Result<Option<String>> {
        if self.listed.borrow().contains_key(&version.tree) {
            return Ok(None);
        }
        if let Some(reason) = self.lacking.borrow().get(&version.tree) {
            return Ok(Some(reason.clone()));
        }
        let reason = match self.known_failure(version) {
            Some(known) => known,
            None => match self.finder.runner.list(version.clone()) {
                Ok(listed) => {
                    self.listed.borrow_mut().insert(version.tree.clone(), listed);
                    return Ok(None);
                }
                Err(failure) => self.reason(version, failure)?,
            },
        };
        self.lacking.borrow_mut().insert(version.tree.clone(), reason.clone());
        Ok(Some(reason))
    }

    /// Why a version could not be compiled before, which is told with the command that tries it again.
    fn known_failure(&self, version: &Version) -> Option<String> {
        let Finder { runner, command_line, console, .. } = self.finder;
        let known = self.before.why_unbuildable(version, || runner.compiler(version))?;
        console.line(&passed_over(version, &**command_line));
        known.lines().next().map(str::to_owned)
    }

    /// The reason why a version is passed over: that one cannot be built, or has nothing of what is wanted, must not end
    /// the rest.
    fn reason(&self, version: &Version, failure: Failure) -> Result<String> {
        match failure.exit() {
            Exit::Build => self.finder.runner.record_unbuildable(version, &failure)?,
            Exit::Usage => {}
            _ => return Err(failure),
        }
        Ok(failure.what().to_owned())
    }

    fn take(&self, version: &Version) -> Option<ListedVersion> {
        self.listed.borrow_mut().remove(&version.tree)
    }

    /// The benchmarks of a version that is listed.
    pub fn benchmarks(&self, version: &Version) -> Vec<Benchmark> {
        let listed = self.listed.borrow();
        listed.get(&version.tree).map(ListedVersion::benchmarks).unwrap_or_default()
    }

    /// Compiles and lists a version, which must be possible: a failure otherwise.
    pub fn require(&self, version: &Version) -> Result<()> {
        if self.listed.borrow().contains_key(&version.tree) {
            return Ok(());
        }
        let listed = self.finder.runner.list(version.clone())?;
        self.listed.borrow_mut().insert(version.tree.clone(), listed);
        Ok(())
    }
}

/// Why a version that is listed lacks a benchmark.
pub fn why_missing(version: &ListedVersion, benchmark: &Benchmark) -> String {
    let target = benchmark.bench_target();
    let failed = version.listing.failures.iter().find(|(other, _)| *other == target);
    failed.map_or_else(
        || "it does not have the benchmark".to_owned(),
        |(_, failure)| failure.what().to_owned(),
    )
}
