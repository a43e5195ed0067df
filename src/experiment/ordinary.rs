//! Criterion.rs as its users know it: the executables that cargo makes, its own measurements, its own verdicts.

use std::path::Path;

use super::{ListedTarget, ListedVersion, Runner};
use crate::{
    failure::Result,
    harness::{Baseline, Said, criterion_by_itself},
    model::{Benchmark, HarnessKind, Name},
};

impl ListedVersion {
    /// Its bench targets by Criterion.rs.
    fn by_criterion(&self) -> impl Iterator<Item = &ListedTarget> {
        self.listing.targets.iter().filter(|one| one.harness.kind() == HarnessKind::Criterion)
    }

    /// The benchmarks of its bench targets by Criterion.rs.
    pub fn benchmarks_by_criterion(&self) -> Vec<Benchmark> {
        self.by_criterion().flat_map(|target| target.benchmarks.iter().cloned()).collect()
    }
}

impl Runner<'_> {
    /// Runs each bench target of a version that uses Criterion.rs, as `cargo bench` does, with the files of
    /// Criterion.rs in `home`; what it said of these benchmarks. Each target has a directory of its own there,
    /// since two may have benchmarks of one name.
    pub fn by_criterion_itself(
        &self,
        version: &ListedVersion,
        benchmarks: &[Benchmark],
        home: &Path,
        baseline: Baseline,
    ) -> Result<Vec<(Benchmark, Said)>> {
        self.workshop.activate(&version.compilation.home)?;
        let mut all = Vec::new();
        for (index, target) in version.by_criterion().enumerate() {
            let meant: Vec<&Benchmark> =
                target.benchmarks.iter().filter(|one| benchmarks.contains(one)).collect();
            if meant.is_empty() {
                continue;
            }
            let names: Vec<Name> = meant.iter().map(|one| one.name.clone()).collect();
            let home = home.join(index.to_string());
            let said =
                criterion_by_itself(&target.executable, &names, &home, baseline, &self.conditions)?;
            for (name, said) in said {
                let benchmark = meant.iter().find(|one| one.name.id == name.id);
                all.extend(benchmark.map(|one| ((*one).clone(), said)));
            }
        }
        Ok(all)
    }
}
