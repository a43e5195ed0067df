//! Benchmarks that fail: executed once as cargo linked them, before time is spent on other layouts.

use super::{ListedVersion, Runner, missing_files::explain_files, subject::outcome_of};
use crate::{
    error::{Error, Exit, Result},
    harness::Conditions,
    model::{Benchmark, LayoutSeed, Outcome, Slot, Stage, Unmeasured, Version},
    store::ExperimentId,
};

impl Runner<'_> {
    /// Executes benchmarks once in each version, and stores the failures in an experiment, which it returns with the
    /// benchmarks that have failed. `None` if none has.
    pub fn record_failing(
        &self,
        versions: &[ListedVersion; 2],
        benchmarks: &[Benchmark],
    ) -> Result<Option<(ExperimentId, Vec<Benchmark>)>> {
        let seed = LayoutSeed::derive(self.seed(versions), 0);
        let (mut failed, mut failures) = (Vec::new(), Vec::new());
        for benchmark in benchmarks {
            let before = failures.len();
            for (version, listed) in versions.iter().enumerate() {
                self.conditions.interrupt.stop_between_executions()?;
                if let Some(failure @ Unmeasured::Failed(_)) = self.failure(listed, benchmark)? {
                    let slot = Slot { version, stage: Stage::First, round: 0, seed };
                    failures.push((benchmark, slot, failure));
                }
            }
            if failures.len() > before {
                failed.push(benchmark.clone());
            }
        }
        if failed.is_empty() {
            return Ok(None);
        }
        let id = self.store.begin(&self.plan_of(versions, &failed))?;
        let failures = failures.iter();
        let failures = failures.map(|(benchmark, slot, failure)| (*benchmark, *slot, Err(failure)));
        self.store.record_executions(id, failures)?;
        // It is quickly done again, and not resumed.
        self.store.finish(id)?;
        Ok(Some((id, failed)))
    }

    /// The programs of a version and why they fail, if all its benchmarks are programs and none works, which only shows when
    /// they are executed; empty otherwise. With `each` and `versions` as for [`impact`](Self::impact).
    pub fn failing_programs(
        &self,
        listed: &ListedVersion,
        versions: [&Version; 2],
        each: bool,
    ) -> Result<Vec<(Benchmark, Error)>> {
        let all = listed.benchmarks();
        let is_program = |one: &Benchmark| {
            listed.target_of(one).is_some_and(|target| target.harness.kind().is_program())
        };
        if !all.iter().all(is_program) {
            return Ok(Vec::new());
        }
        let count = all.len();
        let failing = self.failing_in(listed, all, versions, each)?;
        if failing.len() < count {
            return Ok(Vec::new());
        }
        let mut failed = Vec::new();
        for benchmark in failing {
            self.conditions.interrupt.stop_between_executions()?;
            match self.execute_as_linked(listed, &benchmark)? {
                Err(error) if error.exit() == Exit::Benchmark => failed.push((benchmark, error)),
                Err(error) => return Err(error),
                Ok(_) => return Ok(Vec::new()),
            }
        }
        Ok(failed)
    }

    /// Why a benchmark gives no measurements in a version, if it gives none.
    fn failure(
        &self,
        version: &ListedVersion,
        benchmark: &Benchmark,
    ) -> Result<Option<Unmeasured>> {
        Ok(outcome_of(self.execute_as_linked(version, benchmark)?)?.err())
    }

    /// Executes a benchmark as cargo linked it. The inner error explains its failure.
    fn execute_as_linked(
        &self,
        version: &ListedVersion,
        benchmark: &Benchmark,
    ) -> Result<Result<Outcome>> {
        let target = version.listed_target(benchmark)?;
        self.build_env.activate(&version.compilation.home)?;
        let request = self.sampling(benchmark).request();
        let execute = |conditions: &Conditions<'_>| {
            target.harness.execute(&target.executable, &benchmark.name, &request, conditions)
        };
        Ok(execute(&self.conditions).map_err(|error| {
            if error.exit() != Exit::Benchmark {
                return error;
            }
            let version = (&self.project.repository, version.source().checkout);
            let execute = |conditions: &Conditions<'_>| drop(execute(conditions));
            explain_files(error, version, &target.executable, &self.conditions, execute)
        }))
    }
}
