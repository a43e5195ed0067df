//! Measures two versions: look by look until benchmarks are decided, and what is flagged on fresh builds.

use std::{collections::BTreeMap, time::Duration};

use tracing::debug;

use super::{Event, Observer, Outcome, budget::Budget, decide::decide_rows, suspicious_builds};
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

/// What is measured, and for how long.
pub struct Stages<'e> {
    /// What measures.
    pub runner: &'e Runner<'e>,
    /// Base and head.
    pub versions: &'e [ListedVersion; 2],
    /// The benchmarks that are measured.
    pub measured: &'e [Benchmark],
    /// Those that are not, and why.
    pub unmeasured: &'e [(Benchmark, SkipReason)],
    /// How they are judged: in metrics that are timed.
    pub verdicts: &'e VerdictSettings,
    /// How long a benchmark is measured that is not decided.
    pub patience: StoppingRule,
    /// How long all are measured together, if that is limited.
    pub budget: Option<Duration>,
    /// Whom progress is reported to.
    pub observer: &'e dyn Observer,
}

/// A benchmark that is not decided.
struct Undecided<'e> {
    benchmark: &'e Benchmark,
    /// How many builds of it were measured in the first stage.
    builds: u32,
    /// What comes next.
    progress: Progress,
}

/// What is measured next, of some benchmarks together.
struct Block<'e> {
    stage: Stage,
    benchmarks: Vec<Benchmark>,
    builds: u32,
    undecided: Vec<Undecided<'e>>,
}

impl Stages<'_> {
    /// Measures all benchmarks, of which `builds` are the first ones, and judges them. The experiment is still to be
    /// finished.
    pub fn measure(
        &self,
        builds: &Builds,
        outcome: &mut Outcome,
    ) -> Result<(StartedExperiment, Vec<DecidedRow>)> {
        let Self { runner, versions, measured, .. } = *self;
        let mut begun = runner.begin(versions, measured, builds)?;
        self.observer.compare_event(Event::Started(&begun));
        for (benchmark, sameness) in self.unmeasured {
            runner.store.record_unmeasured(begun.id, benchmark, *sameness)?;
        }
        let first = runner.first_seeds(versions, measured);
        let mut budget = self.budget.map(|limit| Budget::new(&runner.store, begun.id, limit));
        let not_begun = |benchmark| Undecided { benchmark, builds: 0, progress: Progress::Ended };
        let mut undecided: Vec<Undecided<'_>> = measured.iter().map(not_begun).collect();
        while let Some(block) = self.next_block(&mut undecided, budget.as_ref()) {
            let seeds = match block.stage {
                Stage::First => first[..block.builds as usize].to_vec(),
                Stage::Second => runner.fresh_seeds(&begun.identity, &first, block.builds as usize),
            };
            // Those of the first look are there.
            let linked;
            let builds = if seeds == builds.seeds {
                builds
            } else {
                if block.stage == Stage::Second {
                    let benchmarks = block.benchmarks.len();
                    self.observer.compare_event(Event::Confirming { benchmarks, seeds: &seeds });
                }
                linked = runner.link(versions, &block.benchmarks, seeds)?;
                runner.record_builds(&mut begun, block.stage, &linked)?;
                &linked
            };
            self.measure_block(&begun, &block, builds, outcome)?;
            if let Some(budget) = &mut budget {
                budget.count(&block.benchmarks)?;
            }
            undecided.extend(self.still_undecided(&begun, block)?);
        }
        outcome.add_disturbances(self.preempted(begun.id)?);
        let rows = decide_rows(runner, self.verdicts, begun.id, measured)?;
        for DecidedRow { benchmark, metric, verdict, .. } in &rows {
            debug!(?metric, "{benchmark}: {verdict:?}");
        }
        Ok((begun, rows))
    }

    /// Measures some builds of some benchmarks.
    fn measure_block(
        &self,
        begun: &StartedExperiment,
        block: &Block<'_>,
        builds: &Builds,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let Self { runner, versions, .. } = *self;
        suspicious_builds::warn_of_addresses(builds, &block.benchmarks, &mut outcome.warnings)?;
        let before = MachineState::now();
        runner.measure(begun, block.stage, versions, builds, &block.benchmarks)?;
        outcome.add_disturbances(MachineState::now().disturbances_since(&before));
        Ok(())
    }

    /// Takes what is measured next out of what is undecided. Without a budget, all benchmarks are measured
    /// together: first look by look, then on fresh builds.
    fn next_block<'u>(
        &self,
        undecided: &mut Vec<Undecided<'u>>,
        budget: Option<&Budget<'_>>,
    ) -> Option<Block<'u>> {
        let next: Vec<(Stage, u32)> = undecided.iter().map(|one| self.next(one)).collect();
        let begun = undecided.iter().all(|one| one.builds > 0);
        let chosen = match budget {
            Some(budget) if begun => {
                let candidates = undecided.iter().zip(&next);
                budget.best(candidates.map(|(one, (stage, to))| {
                    let from = if *stage == Stage::First { one.builds } else { 0 };
                    (one.benchmark, to - from, one.chance())
                }))
            }
            _ => None,
        };
        let first = next.iter().min().copied()?;
        let is_chosen = |index: usize| match (budget, begun) {
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
        let (stage, builds) = place;
        (!taken.is_empty()).then_some(Block { stage, benchmarks, builds, undecided: taken })
    }

    /// The stage and the number of builds that come next.
    fn next(&self, one: &Undecided<'_>) -> (Stage, u32) {
        if let Progress::Flagged { builds } = one.progress {
            return (Stage::Second, u32::try_from(builds).unwrap_or(u32::MAX));
        }
        let looks = self.runner.interim_analyses(one.benchmark);
        (Stage::First, looks.after(one.builds).unwrap_or(looks.most))
    }

    /// What is still undecided after a block: nothing after the second stage, which is judged once.
    fn still_undecided<'u>(
        &self,
        begun: &StartedExperiment,
        block: Block<'u>,
    ) -> Result<Vec<Undecided<'u>>> {
        if block.stage == Stage::Second {
            return Ok(Vec::new());
        }
        let rows = decide_rows(self.runner, self.verdicts, begun.id, &block.benchmarks)?;
        let mut progress: BTreeMap<&Benchmark, Progress> = BTreeMap::new();
        for row in &rows {
            debug!(metric = ?row.metric, builds = block.builds, "{}: {:?}", row.benchmark, row.progress);
            let of_metric = progress.entry(&row.benchmark).or_default();
            *of_metric = of_metric.combine(self.if_worthwhile(row.progress));
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

    /// What is done next in one metric: another look only if it is likely enough to decide, or there is patience.
    fn if_worthwhile(&self, progress: Progress) -> Progress {
        match progress {
            Progress::Open { chance }
                if self.patience == StoppingRule::Usual && chance < WORTHWHILE =>
            {
                Progress::Ended
            }
            other => other,
        }
    }

    /// Whether others took the CPU from many executions.
    fn preempted(&self, id: ExperimentId) -> Result<Option<Disturbance>> {
        let mut resources: Vec<Resources> = Vec::new();
        for benchmark in self.measured {
            let rows = self.runner.store.rows(benchmark, &[id])?.into_iter();
            resources.extend(rows.filter_map(|row| Some(row.outcome.ok()?.resources)));
        }
        Ok(state::preempted(&resources))
    }
}

impl Undecided<'_> {
    /// How likely what comes next decides the benchmark.
    fn chance(&self) -> f64 {
        match self.progress {
            Progress::Open { chance } => chance,
            Progress::Flagged { .. } | Progress::Ended => 1.0,
        }
    }
}
