//! The versions of a search. Each is compiled and listed only once, and a version that failed is not tried again.

use std::{collections::HashMap, time::Duration};

use crate::{
    compare::{KnownBroken, Session, Warning, passed_over},
    console::Console,
    error::{Error, Exit, Result},
    measure::ListedVersion,
    model::{Benchmark, Version},
};

/// The effort of one search so far, shared by all of its lines.
#[derive(Default)]
pub struct SearchEffort {
    pub measured: usize,
    pub stored: usize,
    pub spent: Duration,
    pub stopped: bool,
    /// Causes that make the comparisons less reliable.
    pub warnings: Vec<Warning>,
}

/// A session for comparing versions, with the reasons why some cannot be compared.
pub struct Versions<'s> {
    pub session: Session<'s>,
    before: KnownBroken,
    pub effort: SearchEffort,
    /// The reasons why versions have no benchmarks, by identity.
    lacking: HashMap<String, String>,
    console: &'s Console,
}

impl<'s> Versions<'s> {
    pub fn new(session: Session<'s>, console: &'s Console) -> Result<Self> {
        let before = KnownBroken::read(&session.runner)?;
        let effort = SearchEffort::default();
        Ok(Self { session, before, effort, lacking: HashMap::new(), console })
    }

    /// Compiles and lists two versions. If one cannot be built, or has no matching benchmark, returns its index in the
    /// pair and the reason.
    pub fn prepare_pair(&mut self, pair: [&Version; 2]) -> Result<Option<(usize, String)>> {
        for (place, version) in pair.into_iter().enumerate() {
            if let Some(reason) = self.prepare(version)? {
                return Ok(Some((place, reason)));
            }
        }
        Ok(None)
    }

    /// Compiles and lists a version, unless it already is. Returns the reason if it cannot be compared. A version that
    /// failed to compile before, even in an earlier search, is not compiled again.
    pub fn prepare(&mut self, version: &Version) -> Result<Option<String>> {
        if self.session.listed(version).is_some() {
            return Ok(None);
        }
        if let Some(reason) = self.lacking.get(&version.identity()) {
            return Ok(Some(reason.clone()));
        }
        let reason = match self.known_failure(version) {
            Some(known) => known,
            None => match self.session.list(version).map(drop) {
                Ok(()) => return Ok(None),
                Err(error) => self.reason(version, error)?,
            },
        };
        self.lacking.insert(version.identity(), reason.clone());
        Ok(Some(reason))
    }

    /// The reason why a version failed to compile before. Also prints the command that tries it again.
    fn known_failure(&self, version: &Version) -> Option<String> {
        let Session { runner, command_line, .. } = &self.session;
        let known = self.before.why_unbuildable(version, || runner.compiler(version))?;
        self.console.line(&passed_over(version, &**command_line));
        known.lines().next().map(str::to_owned)
    }

    /// The reason for skipping a version. A version that cannot be built, or has no matching benchmark, must not end
    /// the search; other errors do.
    fn reason(&self, version: &Version, error: Error) -> Result<String> {
        match error.exit() {
            Exit::Build => self.session.runner.record_unbuildable(version, &error)?,
            Exit::Usage => {}
            _ => return Err(error),
        }
        Ok(error.what().to_owned())
    }

    pub fn benchmarks(&self, version: &Version) -> Vec<Benchmark> {
        self.session.listed(version).map(ListedVersion::benchmarks).unwrap_or_default()
    }
}

pub fn why_missing(version: &ListedVersion, benchmark: &Benchmark) -> String {
    let target = benchmark.bench_target();
    let failure = version.listing.failure(&target);
    failure.map_or_else(
        || "it does not have the benchmark".to_owned(),
        |error| error.what().to_owned(),
    )
}
