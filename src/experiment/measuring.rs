//! Measuring: the schedule carried out, each execution stored before the next starts.

use super::{
    Builds, Collected, Experiment, Side, Stored,
    schedule::{Design, Step, schedule},
    session::{self, Outcome, Subject},
    target_of,
};
use crate::{
    failure::{Failure, Result},
    model::{Benchmark, Layout, LayoutSeed, Stage, Turn},
    settings::Effort,
};

impl Experiment<'_> {
    /// Measures benchmarks that all versions have, interleaved over the builds, each execution kept
    /// in the store before the next starts; what is there already is not measured again. What came of
    /// each benchmark is in the order of `wanted`.
    pub fn measure(
        &self,
        stored: &Stored,
        stage: Stage,
        sides: &[Side],
        builds: &Builds,
        wanted: &[Benchmark],
    ) -> Result<Vec<Collected>> {
        let mut subjects = Vec::with_capacity(wanted.len());
        for benchmark in wanted {
            subjects.push(self.subject(sides, builds, benchmark)?);
        }
        let turn = |step: &Step| Turn {
            version: step.version,
            stage,
            round: u32::try_from(step.round).unwrap_or(u32::MAX),
            seed: builds.seeds[step.build],
        };
        let mut steps = self.steps(stage, sides.len(), builds.seeds.len(), wanted);
        steps.retain(|step| !stored.done.contains(&(wanted[step.benchmark].clone(), turn(step))));
        let failures = self.carry_out(stored, &steps, &subjects, builds, wanted, &turn)?;
        let mut collected = Vec::with_capacity(wanted.len());
        for (benchmark, failure) in wanted.iter().zip(failures) {
            let nothing = Collected::new(sides.len(), failure);
            collected.push(self.collect(nothing, stored, stage, builds, benchmark)?);
        }
        Ok(collected)
    }

    /// The executions of a stage, in order. Benchmarks may want fewer builds or rounds than others.
    fn steps(
        &self,
        stage: Stage,
        versions: usize,
        builds: usize,
        wanted: &[Benchmark],
    ) -> Vec<Step> {
        let efforts: Vec<Effort> =
            wanted.iter().map(|benchmark| self.efforts.of(benchmark)).collect();
        let rounds = efforts.iter().map(|effort| effort.executions as usize).max();
        let design = Design {
            versions,
            benchmarks: wanted.len(),
            builds,
            executions: rounds.unwrap_or_default(),
        };
        let seed = self.builds.seed.wrapping_add(u64::from(stage == Stage::Second));
        let mut steps = schedule(design, seed);
        steps.retain(|step| {
            let effort = efforts[step.benchmark];
            step.build < effort.builds as usize && step.round < effort.executions as usize
        });
        steps
    }

    /// Executes the steps, and tells why each benchmark failed that did.
    fn carry_out(
        &self,
        stored: &Stored,
        steps: &[Step],
        subjects: &[Subject<'_>],
        builds: &Builds,
        wanted: &[Benchmark],
        turn: &dyn Fn(&Step) -> Turn,
    ) -> Result<Vec<Option<Failure>>> {
        let mut failures: Vec<Option<Failure>> = vec![None; wanted.len()];
        let mut progress = self.console.executions(steps.len());
        let mut tell = |outcome: Outcome<'_>| {
            let Outcome { step, result, .. } = outcome;
            let benchmark = &wanted[step.benchmark];
            self.store.record_execution(stored.id, benchmark, turn(&step), result.as_ref())?;
            failures[step.benchmark] = result.as_ref().err().cloned();
            progress.done(outcome.progress.0);
            Ok(())
        };
        let mut enter = |version: usize, build: usize| {
            self.workshop.enter(builds.versions[version].home_of(build))
        };
        session::run(steps, subjects, &self.conditions, &mut enter, &mut tell)?;
        Ok(failures)
    }

    /// The measurements of a stage, from the store.
    fn collect(
        &self,
        mut collected: Collected,
        stored: &Stored,
        stage: Stage,
        builds: &Builds,
        benchmark: &Benchmark,
    ) -> Result<Collected> {
        let counted = match self.builds.layout {
            // Equal builds, as asked for: each counts.
            Layout::Natural => builds.seeds.clone(),
            _ => builds.counted_as(&target_of(benchmark)),
        };
        let counts_for = |seed: LayoutSeed| {
            let build = builds.seeds.iter().position(|other| *other == seed)?;
            counted.get(build).copied()
        };
        for recorded in self.store.executions(stored.id, benchmark)? {
            if recorded.turn.stage == stage
                && let Some(seed) = counts_for(recorded.turn.seed)
            {
                collected.add(recorded.turn.version, seed, &recorded.execution);
            }
        }
        Ok(collected)
    }
}
