//! The same versions compared by Criterion.rs itself.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    builds::files,
    error::{Error, Exit, Result},
    harness::{Baseline, Said},
    measure::{ListedVersion, Runner},
    model::{Benchmark, Version},
    project::Project,
    report::selftest::CriterionResult,
    stats::Proportion,
};

/// What one benchmark takes by the defaults of Criterion.rs, base and head, analyses included.
const OF_ONE: Duration = Duration::from_secs(17);

/// Comparisons by Criterion.rs that go on.
pub struct ByCriterion {
    /// The directory of its files.
    home: PathBuf,
    benchmarks: usize,
    took: Duration,
    said: Vec<Said>,
}

impl ByCriterion {
    /// Leaves only those benchmarks in `measured` that are by Criterion.rs, so that both tools judge the same.
    pub fn new(
        project: &Project,
        version: &Version,
        [base, _]: &[ListedVersion; 2],
        measured: &mut Vec<Benchmark>,
    ) -> Result<Self> {
        let by_criterion = base.benchmarks_by_criterion();
        if by_criterion.is_empty() {
            let what = format!("no benchmark of {version} uses criterion");
            return Err(Error::new(Exit::Usage, what)
                .cause("there is nothing that criterion could compare")
                .hint("leave out --against: the self-test itself works with every harness"));
        }
        measured.retain(|benchmark| by_criterion.contains(benchmark));
        // What a killed run left is no baseline of this one. No other rbench process works here now.
        let home = project.cache_dirs()?.outside().join("criterion");
        files::remove_directory(&home)?;
        files::create_directory(&home)?;
        Ok(Self { home, benchmarks: measured.len(), took: Duration::ZERO, said: Vec::new() })
    }

    /// How long one comparison takes, about.
    pub fn least_time(&self) -> Duration {
        OF_ONE.saturating_mul(u32::try_from(self.benchmarks).unwrap_or(u32::MAX))
    }

    /// Saves the base, then compares the head.
    pub fn once(
        &mut self,
        runner: &Runner<'_>,
        [base, head]: &[ListedVersion; 2],
        benchmarks: &[Benchmark],
    ) -> Result<()> {
        let begun = Instant::now();
        runner.run_criterion(base, benchmarks, &self.home, Baseline::Save)?;
        let said = runner.run_criterion(head, benchmarks, &self.home, Baseline::Compare)?;
        self.took += begun.elapsed();
        self.said.extend(said.into_iter().map(|(_, said)| said));
        Ok(())
    }

    /// What it said in all.
    pub fn finish(&self) -> CriterionResult {
        let count = |what| self.said.iter().filter(|said| **said == what).count();
        CriterionResult {
            changed: Proportion::count(&self.said, |said| **said != Said::NoChange),
            regressed: count(Said::Regressed),
            improved: count(Said::Improved),
            duration: self.took,
        }
    }
}

impl Drop for ByCriterion {
    fn drop(&mut self) {
        // What stays is removed by the next self-test.
        let _ = files::remove_directory(&self.home);
    }
}
