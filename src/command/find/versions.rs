//! The versions of a search: each is compiled and listed once.

use std::{cell::RefCell, collections::HashMap};

use crate::{
    experiment::{ListedVersion, Runner},
    failure::{Exit, Result},
    model::{Benchmark, Version},
};

/// What is known of versions, by their trees.
pub struct Versions<'r> {
    runner: &'r Runner<'r>,
    listed: RefCell<HashMap<String, ListedVersion>>,
    /// Why there are no benchmarks of a version.
    lacking: RefCell<HashMap<String, String>>,
}

impl<'r> Versions<'r> {
    /// None yet.
    pub fn new(runner: &'r Runner<'r>) -> Self {
        Self { runner, listed: RefCell::default(), lacking: RefCell::default() }
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

    /// Compiles and lists a version, unless that was done; why it cannot be compared, if it cannot.
    fn prepare(&self, version: &Version) -> Result<Option<String>> {
        if self.listed.borrow().contains_key(&version.tree) {
            return Ok(None);
        }
        if let Some(reason) = self.lacking.borrow().get(&version.tree) {
            return Ok(Some(reason.clone()));
        }
        match self.runner.list(version.clone()) {
            Ok(listed) => {
                self.listed.borrow_mut().insert(version.tree.clone(), listed);
                Ok(None)
            }
            // That one cannot be built, or has nothing of what is wanted, must not end the rest.
            Err(failure) if matches!(failure.exit(), Exit::Build | Exit::Usage) => {
                let reason = failure.what().to_owned();
                self.lacking.borrow_mut().insert(version.tree.clone(), reason.clone());
                Ok(Some(reason))
            }
            Err(failure) => Err(failure),
        }
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
        let listed = self.runner.list(version.clone())?;
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
