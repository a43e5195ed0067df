//! Whole experiments in this process: measured and stored, without building anything anew.

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

/// Says nothing.
pub struct Silent;

impl builds::Observer for Silent {
    fn build_event(&self, _: &Event<'_>) {}
}

impl store::Observer for Silent {
    fn store_waits(&self) {}
}

impl Observer for Silent {
    fn traced(&self, _: &cargo_rbench::model::Version, _: usize, _: usize) {}

    fn executed(&self, _: usize, _: usize) {}
    fn incident(&self, _: &Benchmark, _: &Incident) {}
    fn note(&self, _: &str) {}
}

/// What measures again and again.
pub struct Whole<'r> {
    pub runner: &'r Runner<'r>,
    pub versions: &'r [ListedVersion],
    pub builds: &'r Builds,
    pub benchmarks: Vec<Benchmark>,
    /// How many executions each benchmark has in all.
    pub executions: usize,
}

impl Whole<'_> {
    /// Measures an experiment with these faults, which are in the file already.
    pub fn throw(&self, faults: &[Fault; 2], once: bool) -> Result<Vec<Finding>, Box<dyn Error>> {
        let begun = self.runner.begin(self.versions, &self.benchmarks, self.builds)?;
        let (stage, benchmarks) = (Stage::First, &self.benchmarks);
        let measured = self.runner.measure(&begun, stage, self.versions, self.builds, benchmarks);
        let happened = Happened { faults, once, whole: Some(self.executions) };
        let mut found = happened.check(&self.runner.store, begun.id)?;
        found.extend(measured.err().map(|failure| (Wrong::Error, failure.to_string())));
        self.runner.finish(&begun)?;
        Ok(found)
    }
}
