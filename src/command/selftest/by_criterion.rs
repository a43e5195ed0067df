//! Runs the self-test with stock Criterion.rs too, to compare its false-positive rate with rbench's.

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

/// The duration of one benchmark with the defaults of Criterion.rs: base and head, including its analysis.
const OF_ONE: Duration = Duration::from_secs(17);

/// A running series of comparisons by Criterion.rs.
pub struct ByCriterion {
    /// The directory for Criterion's files; it is removed on drop.
    home: PathBuf,
    benchmarks: usize,
    took: Duration,
    said: Vec<Said>,
}

impl ByCriterion {
    /// Removes all benchmarks from `measured` that do not use Criterion.rs, so that both tools decide the same ones.
    ///
    /// Fails if no benchmark uses it.
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
        // A killed run may have left baselines, which must not be used here. No other rbench process is using this
        // directory now.
        let home = project.cache_dirs()?.outside().join("criterion");
        files::remove_directory(&home)?;
        files::create_directory(&home)?;
        Ok(Self { home, benchmarks: measured.len(), took: Duration::ZERO, said: Vec::new() })
    }

    /// The approximate duration of one comparison of all benchmarks.
    pub fn least_time(&self) -> Duration {
        OF_ONE.saturating_mul(u32::try_from(self.benchmarks).unwrap_or(u32::MAX))
    }

    /// Measures the base as Criterion's baseline, then compares the head with it.
    pub fn once(
        &mut self,
        runner: &Runner<'_>,
        [base, head]: &[ListedVersion; 2],
        benchmarks: &[Benchmark],
    ) -> Result<()> {
        let start = Instant::now();
        runner.run_criterion(base, benchmarks, &self.home, Baseline::Save)?;
        let said = runner.run_criterion(head, benchmarks, &self.home, Baseline::Compare)?;
        self.took += start.elapsed();
        self.said.extend(said.into_iter().map(|(_, said)| said));
        Ok(())
    }

    /// Summarizes Criterion's verdicts of all repetitions.
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
        // If this fails, the next self-test removes the rest.
        let _ = files::remove_directory(&self.home);
    }
}
