//! Whole experiments in this process: measured and stored, without rebuilding.

use std::error::Error;

use cargo_rbench::{
    builds::{self, Event},
    measure::{Builds, ListedVersion, Observer, Runner},
    model::{Benchmark, Incident, Stage},
    store,
};

use crate::{
    kind::Fault,
    stored::Happened,
    tally::{Finding, Wrong},
};

/// A reporter that prints nothing.
pub struct Silent;

impl builds::Observer for Silent {
    fn build_event(&self, _: &Event<'_>) {}
}

impl store::Observer for Silent {
    fn store_waits(&self) {}
}

impl Observer for Silent {
    fn listed(&self, _: &cargo_rbench::model::Version, _: usize, _: usize) {}
    fn traced(&self, _: &cargo_rbench::model::Version, _: usize, _: usize) {}

    fn executed(&self, _: usize, _: usize) {}
    fn takes_longer(&self, _: std::time::Duration) {}
    fn incident(&self, _: &Benchmark, _: &Incident) {}
    fn note(&self, _: &str) {}
}

/// Repeats a measurement of the same builds.
pub struct Whole<'r> {
    pub runner: &'r Runner<'r>,
    pub versions: &'r [ListedVersion],
    pub builds: &'r Builds,
    pub benchmarks: Vec<Benchmark>,
    /// The number of executions of each benchmark.
    pub executions: usize,
}

impl Whole<'_> {
    /// Measures an experiment with these faults, which are already in the file.
    pub fn throw(&self, faults: &[Fault; 2], once: bool) -> Result<Vec<Finding>, Box<dyn Error>> {
        let started = self.runner.begin(self.versions, &self.benchmarks, self.builds)?;
        let (stage, benchmarks) = (Stage::First, &self.benchmarks);
        let measured = self.runner.measure(
            &started,
            stage.into(),
            self.versions,
            self.builds,
            benchmarks,
            &mut |_| Ok(()),
        );
        let happened = Happened { faults, once, whole: Some(self.executions) };
        let mut found = happened.check(&self.runner.store, started.id)?;
        found.extend(measured.err().map(|failure| (Wrong::Error, failure.to_string())));
        self.runner.finish(&started)?;
        Ok(found)
    }
}
