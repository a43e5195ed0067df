//! The versions of a search: each is compiled and listed once.

use std::collections::HashMap;

use crate::{
    compare::{KnownBroken, Session, passed_over},
    console::Console,
    error::{Error, Exit, Result},
    measure::ListedVersion,
    model::{Benchmark, Version},
};

/// What compares versions, and why some of them cannot be compared.
pub struct Versions<'s> {
    /// What compares them.
    pub session: Session<'s>,
    before: KnownBroken,
    /// Why there are no benchmarks of a version, by its tree.
    lacking: HashMap<String, String>,
    console: &'s Console,
}

impl<'s> Versions<'s> {
    /// None yet.
    pub fn new(session: Session<'s>, console: &'s Console) -> Result<Self> {
        let before = KnownBroken::read(&session.runner)?;
        Ok(Self { session, before, lacking: HashMap::new(), console })
    }

    /// Compiles and lists two versions. If one cannot be built, or has nothing of what is wanted, its place among the two
    /// and the reason.
    pub fn prepare_pair(&mut self, pair: [&Version; 2]) -> Result<Option<(usize, String)>> {
        for (place, version) in pair.into_iter().enumerate() {
            if let Some(reason) = self.prepare(version)? {
                return Ok(Some((place, reason)));
            }
        }
        Ok(None)
    }

    /// Compiles and lists a version, unless that was done; why it cannot be compared, if it cannot. What could not be
    /// compiled before, also by an earlier search, is not compiled again.
    pub fn prepare(&mut self, version: &Version) -> Result<Option<String>> {
        if self.session.listed(version).is_some() {
            return Ok(None);
        }
        if let Some(reason) = self.lacking.get(&version.tree) {
            return Ok(Some(reason.clone()));
        }
        let reason = match self.known_failure(version) {
            Some(known) => known,
            None => match self.session.list(version).map(drop) {
                Ok(()) => return Ok(None),
                Err(failure) => self.reason(version, failure)?,
            },
        };
        self.lacking.insert(version.tree.clone(), reason.clone());
        Ok(Some(reason))
    }

    /// Why a version could not be compiled before, which is told with the command that tries it again.
    fn known_failure(&self, version: &Version) -> Option<String> {
        let Session { runner, command_line, .. } = &self.session;
        let known = self.before.why_unbuildable(version, || runner.compiler(version))?;
        self.console.line(&passed_over(version, &**command_line));
        known.lines().next().map(str::to_owned)
    }

    /// The reason why a version is passed over: that one cannot be built, or has nothing of what is wanted, must not end
    /// the rest.
    fn reason(&self, version: &Version, failure: Error) -> Result<String> {
        match failure.exit() {
            Exit::Build => self.session.runner.record_unbuildable(version, &failure)?,
            Exit::Usage => {}
            _ => return Err(failure),
        }
        Ok(failure.what().to_owned())
    }

    /// The benchmarks of a version that is listed.
    pub fn benchmarks(&self, version: &Version) -> Vec<Benchmark> {
        self.session.listed(version).map(ListedVersion::benchmarks).unwrap_or_default()
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
