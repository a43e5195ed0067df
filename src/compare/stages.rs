//! Measures two versions: one interim analysis after the other until benchmarks are decided, and
//! flagged ones again on fresh builds.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use tracing::debug;

use super::{Event, Observer, Outcome, budget::Budget, decide, suspicious_builds};
use crate::{
    config::{StoppingRule, VerdictSettings},
    error::Result,
    machine::state::{self, MachineState},
    measure::{Builds, ListedVersion, Runner, StartedExperiment},
    model::{Benchmark, Disturbance, Resources, SkipReason, Stage},
    stats::sequential::WORTHWHILE,
    store::ExperimentId,
    verdict::{DecidedRow, Progress},
};

/// Timed measurements of a comparison: the inputs and limits of all stages.
pub struct Stages<'e> {
    /// The runner that measures.
    pub runner: &'e Runner<'e>,
    /// Base and head.
    pub versions: &'e [ListedVersion; 2],
    /// The benchmarks to measure.
    pub measured: &'e [Benchmark],
    /// The skipped benchmarks with their reasons.
    pub unmeasured: &'e [(Benchmark, SkipReason)],
    /// The settings of their verdicts, in timed metrics.
    pub verdicts: &'e VerdictSettings,
    /// The rule that ends the measurements of an undecided benchmark.
    pub stopping: StoppingRule,
    /// The limit for the time of all measurements together, if any.
    pub budget: Option<Duration>,
    /// Receives the progress.
    pub observer: &'e dyn Observer,
}

/// A benchmark that is not decided.
struct Undecided<'e> {
    benchmark: &'e Benchmark,
    /// The magnitude of the time of its executions.
    magnitude: u32,
    /// The number of its builds that were measured in the first stage.
    builds: u32,
    /// The next step.
    progress: Progress,
}

/// The next measurements of a benchmark. The smallest come first, and equal ones together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    /// True if others are to be measured for the first time before a budget chooses.
    waits: bool,
    magnitude: u32,
    stage: Stage,
    /// The number of builds to reach in this stage.
    builds: u32,
}

/// The next measurements of some benchmarks together.
struct Block<'e> {
    stage: Stage,
    benchmarks: Vec<Benchmark>,
    builds: u32,
    undecided: Vec<Undecided<'e>>,
}

impl Stages<'_> {
    /// Measures all benchmarks and decides; `builds` are their first ones. The caller must finish
    /// the experiment.
    pub fn measure(
        &self,
        builds: &Builds,
        outcome: &mut Outcome,
    ) -> Result<(StartedExperiment, Vec<DecidedRow>)> {
        let Self { runner, versions, measured, .. } = *self;
        let mut experiment = runner.begin(versions, measured, builds)?;
        self.observer.compare_event(Event::Started(&experiment));
        for (benchmark, skip_reason) in self.unmeasured {
            runner.store.record_unmeasured(experiment.id, benchmark, *skip_reason)?;
        }
        let first = runner.first_seeds(versions, measured);
        let mut budget = self
            .budget
            .map(|limit| Budget::new(&runner.store, experiment.id, limit, runner.parallel()));
        let not_begun = |benchmark| {
            let times = versions.iter().filter_map(|one| runner.execution_time(one, benchmark));
            let magnitude = times.map(magnitude).max().unwrap_or_default();
            Undecided { benchmark, magnitude, builds: 0, progress: Progress::Ended }
        };
        let mut undecided: Vec<Undecided<'_>> = measured.iter().map(not_begun).collect();
        while let Some(block) = self.next_block(&mut undecided, budget.as_ref()) {
            let seeds = match block.stage {
                Stage::First => first[..block.builds as usize].to_vec(),
                Stage::Second => {
                    runner.fresh_seeds(&experiment.identity, &first, block.builds as usize)
                }
            };
            // The builds of the first interim analysis exist already.
            let linked;
            let builds = if seeds == builds.seeds {
                builds
            } else {
                if block.stage == Stage::Second {
                    let benchmarks = block.benchmarks.len();
                    self.observer.compare_event(Event::Confirming { benchmarks, seeds: &seeds });
                }
                linked = runner.link(versions, &block.benchmarks, seeds)?;
                runner.record_builds(&mut experiment, block.stage, &linked)?;
                &linked
            };
            self.measure_block(&experiment, &block, builds, outcome)?;
            if let Some(budget) = &mut budget {
                budget.count(&block.benchmarks)?;
            }
            let pending = undecided.iter().filter(|one| one.builds == 0).count();
            undecided.extend(self.still_undecided(&experiment, block, pending)?);
        }
        outcome.add_disturbances(self.preempted(experiment.id)?);
        let rows = decide::decide_rows(runner, self.verdicts, experiment.id, measured)?;
        for DecidedRow { benchmark, metric, verdict, .. } in &rows {
            debug!(?metric, "{benchmark}: {verdict:?}");
        }
        Ok((experiment, rows))
    }

    /// Measures some builds of some benchmarks.
    fn measure_block(
        &self,
        experiment: &StartedExperiment,
        block: &Block<'_>,
        builds: &Builds,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let Self { runner, versions, .. } = *self;
        suspicious_builds::warn_of_addresses(builds, &block.benchmarks, &mut outcome.warnings)?;
        let before = MachineState::now();
        let mut provisional = Provisional::new(self, experiment.id, block.stage);
        let measured = &mut |benchmark: &Benchmark| provisional.measured(benchmark);
        runner.measure(experiment, block.stage, versions, builds, &block.benchmarks, measured)?;
        provisional.send()?;
        outcome.add_disturbances(MachineState::now().disturbances_since(&before));
        Ok(())
    }

    /// Takes the next block out of the undecided benchmarks. Without a budget, all benchmarks of one
    /// magnitude are measured together: by interim analyses first, then on fresh builds. Those with
    /// longer executions follow: beside them, the others would wait for minutes, and one that is
    /// short would leave its CPU idle until the long one beside it has ended.
    fn next_block<'u>(
        &self,
        undecided: &mut Vec<Undecided<'u>>,
        budget: Option<&Budget<'_>>,
    ) -> Option<Block<'u>> {
        let next: Vec<Next> =
            undecided.iter().map(|one| self.next(one, budget.is_some())).collect();
        let started = undecided.iter().all(|one| one.builds > 0);
        let chosen = match budget {
            Some(budget) if started => {
                let candidates = undecided.iter().zip(&next);
                budget.best(candidates.map(|(one, next)| {
                    let from = if next.stage == Stage::First { one.builds } else { 0 };
                    (one.benchmark, next.builds - from, one.chance())
                }))
            }
            _ => None,
        };
        let first = next.iter().min().copied()?;
        let is_chosen = |index: usize| match (budget, started) {
            (Some(_), true) => chosen == Some(index),
            _ => next[index] == first,
        };
        let (mut taken, mut left, mut place) = (Vec::new(), Vec::new(), first);
        for (index, one) in undecided.drain(..).enumerate() {
            if is_chosen(index) {
                place = next[index];
                taken.push(one);
            } else {
                left.push(one);
            }
        }
        *undecided = left;
        let benchmarks: Vec<Benchmark> = taken.iter().map(|one| one.benchmark.clone()).collect();
        let Next { stage, builds, .. } = place;
        (!taken.is_empty()).then_some(Block { stage, benchmarks, builds, undecided: taken })
    }

    /// The next measurements of a benchmark.
    fn next(&self, one: &Undecided<'_>, has_budget: bool) -> Next {
        let (stage, builds) = if let Progress::Flagged { builds } = one.progress {
            (Stage::Second, u32::try_from(builds).unwrap_or(u32::MAX))
        } else {
            let analyses = self.runner.interim_analyses(one.benchmark);
            (Stage::First, analyses.after(one.builds).unwrap_or(analyses.most))
        };
        let waits = has_budget && one.builds > 0;
        Next { waits, magnitude: one.magnitude, stage, builds }
    }

    /// The benchmarks that are undecided after a block: none after the second stage, which is
    /// decided once. `pending` other benchmarks were not measured yet.
    fn still_undecided<'u>(
        &self,
        experiment: &StartedExperiment,
        block: Block<'u>,
        pending: usize,
    ) -> Result<Vec<Undecided<'u>>> {
        let Self { runner, verdicts, .. } = *self;
        if block.stage == Stage::Second && !self.observer.shows_provisional() {
            return Ok(Vec::new());
        }
        let benchmarks = &block.benchmarks;
        let mut rows = decide::decide_so_far(runner, verdicts, experiment.id, benchmarks, pending)?;
        let mut progress: BTreeMap<Benchmark, Progress> = BTreeMap::new();
        for row in &rows {
            debug!(metric = ?row.metric, builds = block.builds, "{}: {:?}", row.benchmark, row.progress);
            let of_metric = progress.entry(row.benchmark.clone()).or_default();
            if block.stage == Stage::First {
                *of_metric = of_metric.combine(self.if_worthwhile(row.progress));
            }
        }
        for row in &mut rows {
            row.progress = progress.get(&row.benchmark).copied().unwrap_or_default();
        }
        self.observer.compare_event(Event::Decided(&rows));
        if block.stage == Stage::Second {
            return Ok(Vec::new());
        }
        let (builds, decided) = (block.builds, block.undecided.len());
        let after = block.undecided.into_iter().filter_map(|one| {
            let progress = progress.get(one.benchmark).copied().unwrap_or_default();
            let goes_on = progress != Progress::Ended;
            goes_on.then_some(Undecided { builds, progress, ..one })
        });
        let after: Vec<Undecided<'_>> = after.collect();
        let undecided = after.len();
        self.observer.compare_event(Event::Analysed { builds, decided, undecided });
        Ok(after)
    }

    /// The next step in one metric: continues only if the next interim analysis is likely enough to
    /// decide, or the stopping rule demands it.
    fn if_worthwhile(&self, progress: Progress) -> Progress {
        match progress {
            Progress::Open { chance }
                if self.stopping == StoppingRule::Usual && chance < WORTHWHILE =>
            {
                Progress::Ended
            }
            other => other,
        }
    }

    /// The disturbance by other processes, if they took the CPU from many executions. Unknown where no CPU is left for
    /// rbench itself: it then preempts them, briefly and mostly between measurements.
    fn preempted(&self, id: ExperimentId) -> Result<Option<Disturbance>> {
        if !self.runner.leaves_a_cpu() {
            return Ok(None);
        }
        let mut resources: Vec<Resources> = Vec::new();
        for benchmark in self.measured {
            let rows = self.runner.store.rows(benchmark, &[id])?.into_iter();
            resources.extend(rows.filter_map(|row| Some(row.outcome.ok()?.resources)));
        }
        Ok(state::preempted(&resources))
    }
}

/// The magnitude of the time of an execution: 0 below two seconds, and one more for each factor of eight.
fn magnitude(time: Duration) -> u32 {
    (time.as_secs() / 2).checked_ilog(8).map_or(0, |power| power + 1)
}

impl Undecided<'_> {
    /// The probability that the next measurements decide the benchmark.
    fn chance(&self) -> f64 {
        match self.progress {
            Progress::Open { chance } => chance,
            Progress::Flagged { .. } | Progress::Ended => 1.0,
        }
    }
}

/// Sends what the measurements of a block show so far, if that is shown to anybody.
struct Provisional<'e> {
    stages: &'e Stages<'e>,
    experiment: ExperimentId,
    stage: Stage,
    /// Measured since the last rows were sent.
    pending: BTreeSet<Benchmark>,
    sent: Instant,
}

impl<'e> Provisional<'e> {
    fn new(stages: &'e Stages<'e>, experiment: ExperimentId, stage: Stage) -> Self {
        Self { stages, experiment, stage, pending: BTreeSet::new(), sent: Instant::now() }
    }

    /// Notes that a benchmark has new measurements.
    fn measured(&mut self, benchmark: &Benchmark) -> Result<()> {
        /// People do not read faster, and the benchmarks wait for it.
        const LEAST: Duration = Duration::from_millis(250);
        if !self.stages.observer.shows_provisional() {
            return Ok(());
        }
        self.pending.insert(benchmark.clone());
        if self.sent.elapsed() < LEAST { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<()> {
        let Stages { runner, verdicts, observer, .. } = *self.stages;
        if self.pending.is_empty() {
            return Ok(());
        }
        let rows =
            decide::provisional_rows(runner, verdicts, self.experiment, self.stage, &self.pending)?;
        observer.compare_event(Event::Provisional(&rows));
        self.pending.clear();
        self.sent = Instant::now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_executions_wait_until_shorter_ones_are_decided() {
        let of_length = |milliseconds| magnitude(Duration::from_millis(milliseconds));
        let lengths = [0, 110, 1_999, 2_000, 15_999, 16_000, 127_999, 128_000];
        assert_eq!(lengths.map(of_length), [0, 0, 0, 1, 1, 2, 2, 3]);

        let next = |magnitude, stage, builds| Next { waits: false, magnitude, stage, builds };
        let order =
            [next(0, Stage::First, 20), next(0, Stage::Second, 6), next(1, Stage::First, 5)];
        assert!(order.is_sorted());
        // With a budget, all are measured once before any is measured further.
        assert!(order[2] < Next { waits: true, ..order[0] });
    }
}
