//! Measures two versions: one interim analysis after the other until benchmarks are decided, and
//! flagged ones again on fresh builds.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

use rbench_stats::outlook::{MostRepeats, NextStep};
use tracing::debug;

use super::{Event, Observer, Outcome, decide, warning};
use crate::{
    config::{StoppingRule, VerdictSettings},
    error::Result,
    machine::state::{self, MachineState},
    measure::{Builds, Extent, ListedVersion, Runner, StartedExperiment},
    model::{BenchTarget, Benchmark, Disturbance, Metric, Resources, SkipReason, Stage, Threads},
    store::{ExperimentId, Store, StoredExecution},
    verdict::{DecidedRow, Progress},
};

/// Timed measurements of a comparison: the inputs and limits of all stages.
pub struct Stages<'e> {
    pub runner: &'e Runner<'e>,
    /// Base and head.
    pub versions: &'e [ListedVersion; 2],
    pub measured: &'e [Benchmark],
    pub unmeasured: &'e [(Benchmark, SkipReason)],
    /// The settings of their verdicts, in timed metrics.
    pub verdicts: &'e VerdictSettings,
    /// The rule that ends the measurements of an undecided benchmark.
    pub stopping: StoppingRule,
    /// The limit for the time of all measurements together, if any.
    pub budget: Option<Duration>,
    pub observer: &'e dyn Observer,
}

struct Undecided<'e> {
    benchmark: &'e Benchmark,
    /// The magnitude of the time of its executions.
    magnitude: u32,
    /// The number of its builds that were measured in the first stage.
    builds: u32,
    /// How many times as many executions of each build as planned come next. The first analysis has those that are planned.
    repeats: u32,
    /// The number of executions of each version that were measured in the first stage.
    executions: u32,
    progress: Progress,
    /// The probability that the next measurements decide it.
    chance: f64,
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
    /// How many times as many executions of each build as planned to reach.
    repeats: u32,
}

struct Block<'e> {
    extent: Extent,
    benchmarks: Vec<Benchmark>,
    builds: u32,
    undecided: Vec<Undecided<'e>>,
}

/// The longest time, without a budget, of the executions of a benchmark that has more of each build than planned.
const LONGEST: Duration = Duration::from_secs(30);

/// The longest time, without a budget, in which the intervals of all benchmarks are narrowed: these may remain undecided.
const NARROWING_TOGETHER: Duration = Duration::from_secs(120);

/// What a benchmark needs until its last analysis.
#[derive(Clone, Debug)]
struct Remaining {
    /// The time of as many executions of each build as planned, in both versions, if it is known.
    executing: Option<Duration>,
    /// The time in which the missing builds of both versions are linked.
    linking: Duration,
    target: BenchTarget,
}

/// The time that is left, without a budget, to narrow intervals.
#[derive(Debug)]
struct Spare {
    left: Duration,
    /// Those whose builds are linked for a benchmark already: all benchmarks of one share them.
    linked: BTreeSet<BenchTarget>,
}

impl Stages<'_> {
    /// Measures all benchmarks in an experiment that began with their first builds, and decides.
    /// The caller must finish the experiment.
    pub fn measure(
        &self,
        mut experiment: StartedExperiment,
        builds: &Builds,
        outcome: &mut Outcome,
    ) -> Result<(StartedExperiment, Vec<DecidedRow>)> {
        let Self { runner, versions, measured, .. } = *self;
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
            Undecided {
                benchmark,
                magnitude,
                builds: 0,
                repeats: 1,
                executions: 0,
                progress: Progress::Ended,
                chance: 1.0,
            }
        };
        let mut undecided: Vec<Undecided<'_>> = measured.iter().map(not_begun).collect();
        let mut spare = Spare::new();
        while let Some(block) = self.next_block(&mut undecided, budget.as_ref()) {
            let stage = block.extent.stage;
            let seeds = match stage {
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
                if stage == Stage::Second {
                    let benchmarks = block.benchmarks.len();
                    self.observer.compare_event(Event::Confirming { benchmarks, seeds: &seeds });
                }
                linked = runner.link(versions, &block.benchmarks, seeds)?;
                runner.record_builds(&mut experiment, stage, &linked)?;
                &linked
            };
            self.measure_block(&experiment, &block, builds, outcome)?;
            if let Some(budget) = &mut budget {
                budget.count(&block.benchmarks)?;
            }
            let pending = undecided.iter().filter(|one| one.builds == 0).count();
            undecided.extend(self.still_undecided(
                &experiment,
                block,
                builds,
                pending,
                &mut spare,
            )?);
        }
        outcome.add_disturbances(self.preempted(experiment.id)?);
        let rows = decide::decide_rows(runner, self.verdicts, experiment.id, measured)?;
        for DecidedRow { benchmark, metric, verdict, .. } in &rows {
            debug!(?metric, "{benchmark}: {verdict:?}");
        }
        Ok((experiment, rows))
    }

    fn measure_block(
        &self,
        experiment: &StartedExperiment,
        block: &Block<'_>,
        builds: &Builds,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let Self { runner, versions, .. } = *self;
        warning::warn_of_addresses(builds, &block.benchmarks, &mut outcome.warnings)?;
        let before = MachineState::now();
        let mut provisional = Provisional::new(self, experiment.id, block.extent.stage);
        let measured = &mut |benchmark: &Benchmark| provisional.measured(benchmark);
        runner.measure(experiment, block.extent, versions, builds, &block.benchmarks, measured)?;
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
        if let Some(budget) = budget {
            for one in &mut *undecided {
                self.limit_repeats(one, budget);
            }
        }
        let next: Vec<Next> =
            undecided.iter().map(|one| self.next(one, budget.is_some())).collect();
        let started = undecided.iter().all(|one| one.builds > 0);
        let chosen = match budget {
            Some(budget) if started => {
                let candidates = undecided.iter().zip(&next);
                budget.best(candidates.map(|(one, next)| {
                    (one.benchmark, self.executions_missing(one, *next), one.chance)
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
        let Next { stage, builds, repeats, .. } = place;
        let extent = Extent { stage, repeats };
        (!taken.is_empty()).then_some(Block { extent, benchmarks, builds, undecided: taken })
    }

    /// Plans fewer executions of each build where the rest of a budget does not suffice for the next analysis with all.
    fn limit_repeats(&self, one: &mut Undecided<'_>, budget: &Budget<'_>) {
        let begun = one.executions / self.executions_of(one.benchmark, one.builds, 1).max(1);
        let is_first = !matches!(one.progress, Progress::Flagged { .. }) && one.builds > 0;
        while is_first
            && one.repeats > begun.max(1)
            && !budget.suffices(one.benchmark, self.executions_missing(one, self.next(one, true)))
        {
            one.repeats -= 1;
        }
    }

    /// The number of executions of each version that the next analysis lacks.
    fn executions_missing(&self, one: &Undecided<'_>, next: Next) -> u32 {
        let from = if next.stage == Stage::First { one.executions } else { 0 };
        self.executions_of(one.benchmark, next.builds, next.repeats).saturating_sub(from)
    }

    /// The number of executions of each version that these builds have.
    fn executions_of(&self, benchmark: &Benchmark, builds: u32, repeats: u32) -> u32 {
        let (planned, _) = self.runner.executions(benchmark);
        builds.saturating_mul(repeats).saturating_mul(planned)
    }

    fn next(&self, one: &Undecided<'_>, has_budget: bool) -> Next {
        let (stage, builds) = if let Progress::Flagged { builds } = one.progress {
            (Stage::Second, u32::try_from(builds).unwrap_or(u32::MAX))
        } else {
            let analyses = self.runner.interim_analyses(one.benchmark);
            (Stage::First, analyses.after(one.builds).unwrap_or(analyses.most))
        };
        let waits = has_budget && one.builds > 0;
        Next { waits, magnitude: one.magnitude, stage, builds, repeats: one.repeats }
    }

    /// The benchmarks that are undecided after a block of these builds: none after the second stage, which is
    /// decided once. `pending` other benchmarks were not measured yet. `spare` is the time left to narrow intervals.
    fn still_undecided<'u>(
        &self,
        experiment: &StartedExperiment,
        block: Block<'u>,
        builds: &Builds,
        pending: usize,
        spare: &mut Spare,
    ) -> Result<Vec<Undecided<'u>>> {
        let Self { runner, verdicts, .. } = *self;
        let Extent { stage, repeats } = block.extent;
        if stage == Stage::Second && !self.observer.shows_provisional() {
            return Ok(Vec::new());
        }
        let benchmarks = &block.benchmarks;
        let mut rows = decide::decide_so_far(runner, verdicts, experiment.id, benchmarks, pending)?;
        let mut of_rows: BTreeMap<Benchmark, Vec<Progress>> = BTreeMap::new();
        for row in &rows {
            debug!(metric = ?row.metric, builds = block.builds, "{}: {:?}", row.benchmark, row.progress);
            of_rows.entry(row.benchmark.clone()).or_default().push(row.progress);
        }
        let mut progress: BTreeMap<Benchmark, Progress> = BTreeMap::new();
        let (reached, decided) = (block.builds, block.undecided.len());
        let mut after = Vec::new();
        for one in block.undecided {
            if stage == Stage::Second {
                continue;
            }
            let (begun, executions) = self.begun(experiment.id, one.benchmark)?;
            let remaining = self.remaining(one.benchmark, reached, builds);
            let most = self.most_repeats(one.benchmark, reached, begun, spare.fit(&remaining));
            let rows = of_rows.get(one.benchmark).map(Vec::as_slice).unwrap_or_default();
            let mut step = None;
            let mut of_benchmark = Progress::Ended;
            for row in rows {
                let of_row = self.next_step(*row, most, begun);
                if let Some(of_row) = of_row {
                    of_benchmark = of_benchmark.combine(*row);
                    step = Some(step.map_or(of_row, |step: NextStep| step.combine(of_row)));
                }
            }
            let Some(NextStep { repeats: more, chance, narrows }) = step else { continue };
            if narrows {
                spare.spend(remaining, more);
            }
            let repeats = (repeats * more).max(begun);
            progress.insert(one.benchmark.clone(), of_benchmark);
            let (builds, progress) = (reached, of_benchmark);
            after.push(Undecided { builds, repeats, executions, progress, chance, ..one });
        }
        for row in &mut rows {
            row.progress = progress.get(&row.benchmark).copied().unwrap_or_default();
        }
        self.observer.compare_event(Event::Decided(&rows));
        if stage == Stage::Second {
            return Ok(Vec::new());
        }
        let undecided = after.len();
        let repeated = after.iter().filter(|one| one.repeats > repeats);
        let executions =
            repeated.map(|one| self.executions_of(one.benchmark, 1, one.repeats)).max();
        let analysed = Event::Analysed { builds: reached, decided, undecided, executions };
        self.observer.compare_event(analysed);
        Ok(after)
    }

    /// How many times as many executions of a build as planned the first stage has, and the number of all of each version: an
    /// interrupted one goes on as it began.
    fn begun(&self, id: ExperimentId, benchmark: &Benchmark) -> Result<(u32, u32)> {
        let (planned, most) = self.runner.executions(benchmark);
        let rows = self.runner.store.rows(benchmark, &[id])?.into_iter();
        let of_first = rows.filter(|row| row.slot.stage == Stage::First);
        let slots: HashSet<_> = of_first.map(|row| (row.slot.seed, row.slot.round)).collect();
        let rounds = slots.iter().map(|(_, round)| round + 1).max().unwrap_or_default();
        let executions = u32::try_from(slots.len()).unwrap_or(u32::MAX);
        Ok(((rounds / planned.max(1)).clamp(1, most), executions))
    }

    /// What comes next for a benchmark in one metric. Undecided ones continue only if the next interim analysis is likely enough to
    /// decide them or they got more executions, or the stopping rule demands it. None if nothing comes next.
    fn next_step(&self, progress: Progress, most: MostRepeats, begun: u32) -> Option<NextStep> {
        let as_before = |chance| NextStep { repeats: 1, chance, narrows: false };
        match progress {
            Progress::Ended => None,
            Progress::Flagged { .. } => Some(as_before(1.0)),
            Progress::Open(outlook) => {
                // More executions are worth little without the last builds.
                let goes_on = begun > 1 || self.stopping != StoppingRule::Usual;
                let anyway = || goes_on.then(|| as_before(outlook.chance()));
                outlook.next(most).or_else(anyway)
            }
        }
    }

    /// The largest factors by which the executions of each build may grow after an analysis of this number of builds: only once,
    /// after the first one, which is then known by its executions; and without a budget no more than take half a minute,
    /// since the benchmark may still be undecided then.
    fn most_repeats(
        &self,
        benchmark: &Benchmark,
        reached: u32,
        begun: u32,
        [to_decide, to_narrow]: [Option<u32>; 2],
    ) -> MostRepeats {
        let (_, most) = self.runner.executions(benchmark);
        if reached > self.runner.interim_analyses(benchmark).first || begun > 1 {
            MostRepeats::NONE
        } else if self.stopping == StoppingRule::Usual {
            let of = |fit: Option<u32>| fit.unwrap_or(1).clamp(1, most);
            MostRepeats { to_decide: of(to_decide), to_narrow: of(to_narrow) }
        } else {
            MostRepeats::both(most)
        }
    }

    /// What a benchmark with this number of builds needs until its last analysis.
    fn remaining(&self, benchmark: &Benchmark, reached: u32, builds: &Builds) -> Remaining {
        let most = self.runner.interim_analyses(benchmark).most;
        let times = self.versions.iter().map(|one| self.runner.execution_time(one, benchmark));
        let pair = times.sum::<Option<Duration>>();
        let target = benchmark.bench_target();
        let build = builds.build_time(&target).unwrap_or_default();
        Remaining {
            executing: pair.map(|pair| pair.saturating_mul(self.executions_of(benchmark, most, 1))),
            linking: build.saturating_mul(2 * most.saturating_sub(reached)),
            target,
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

impl Remaining {
    /// The most times as many executions of each build that fit into this time, if it is known.
    fn repeats_within(&self, limit: Duration) -> Option<u32> {
        let fit = limit.as_nanos() / self.executing?.as_nanos().max(1);
        Some(u32::try_from(fit).unwrap_or(u32::MAX))
    }
}

impl Spare {
    const fn new() -> Self {
        Self { left: NARROWING_TOGETHER, linked: BTreeSet::new() }
    }

    /// The most times as many executions of each build of a benchmark that may be made to decide it, and to narrow its interval.
    fn fit(&self, remaining: &Remaining) -> [Option<u32>; 2] {
        let left = self.left.saturating_sub(self.linking(remaining));
        [LONGEST, LONGEST.min(left)].map(|limit| remaining.repeats_within(limit))
    }

    fn spend(&mut self, remaining: Remaining, repeats: u32) {
        let executing = remaining.executing.unwrap_or_default().saturating_mul(repeats);
        self.left = self.left.saturating_sub(self.linking(&remaining).saturating_add(executing));
        self.linked.insert(remaining.target);
    }

    fn linking(&self, remaining: &Remaining) -> Duration {
        let is_linked = self.linked.contains(&remaining.target);
        if is_linked { Duration::ZERO } else { remaining.linking }
    }
}

/// The magnitude of the time of an execution: 0 below two seconds, and one more for each factor of eight.
fn magnitude(time: Duration) -> u32 {
    (time.as_secs() / 2).checked_ilog(8).map_or(0, |power| power + 1)
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

/// The time that the executions of an experiment may take together. It is computed from the stored
/// executions, so that a resumed run spends only the rest.
struct Budget<'s> {
    store: &'s Store<'s>,
    experiment: ExperimentId,
    limit: Duration,
    /// The number of interleaved benchmarks that are executed at once.
    parallel: u32,
    spent: HashMap<Benchmark, TimeSpent>,
}

/// The measurements of a benchmark so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TimeSpent {
    time: Duration,
    /// The number of executions of each version.
    executions: u32,
}

impl<'s> Budget<'s> {
    /// A budget for all executions of an experiment.
    pub fn new(
        store: &'s Store<'s>,
        experiment: ExperimentId,
        limit: Duration,
        parallel: u32,
    ) -> Self {
        Self { store, experiment, limit, parallel: parallel.max(1), spent: HashMap::new() }
    }

    /// Updates the spent time by the stored executions of these benchmarks, which were just
    /// measured.
    pub fn count(&mut self, benchmarks: &[Benchmark]) -> Result<()> {
        for benchmark in benchmarks {
            let rows = self.store.rows(benchmark, &[self.experiment])?;
            self.spent.insert(benchmark.clone(), TimeSpent::from_rows(&rows, self.parallel));
        }
        Ok(())
    }

    /// The index of the candidate with the highest probability of a decision per second, among
    /// those that the remaining time suffices for. A candidate is a benchmark, the number of executions
    /// of each version to measure next, and the probability that these decide it.
    pub fn best<'b>(
        &self,
        candidates: impl Iterator<Item = (&'b Benchmark, u32, f64)>,
    ) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (index, (benchmark, executions, chance)) in candidates.enumerate() {
            let time = self.time(benchmark, executions);
            let rate = chance / time.as_secs_f64().max(f64::MIN_POSITIVE);
            if time <= self.left() && best.is_none_or(|(_, so_far)| rate > so_far) {
                best = Some((index, rate));
            }
        }
        best.map(|(index, _)| index)
    }

    /// True if the remaining time suffices for this number of executions of each version.
    fn suffices(&self, benchmark: &Benchmark, executions: u32) -> bool {
        self.time(benchmark, executions) <= self.left()
    }

    fn time(&self, benchmark: &Benchmark, executions: u32) -> Duration {
        let known = self.spent.get(benchmark).copied().unwrap_or_default();
        known.per_execution().saturating_mul(executions)
    }

    fn left(&self) -> Duration {
        let spent: Duration = self.spent.values().map(|one| one.time).sum();
        self.limit.saturating_sub(spent)
    }
}

impl TimeSpent {
    /// Sums up all executions of a benchmark. Interleaved ones on one CPU ran with others at once, in
    /// `parallel` pairs, except for programs, which have no wall time then.
    fn from_rows(rows: &[StoredExecution], parallel: u32) -> Self {
        let time = |row: &StoredExecution| {
            let execution = row.outcome.as_ref().ok()?;
            let is_program = execution.series_of(&Metric::wall()).is_none();
            let at_once = match execution.schedule.interleaved() {
                Some((Threads::Together, _)) if !is_program => parallel,
                // No other pair ran beside it.
                _ => 1,
            };
            Some(execution.own_wall() / at_once)
        };
        let of_both = rows.iter().map(|row| (row.slot.stage, row.slot.seed, row.slot.round));
        let executions = u32::try_from(of_both.collect::<HashSet<_>>().len()).unwrap_or(u32::MAX);
        Self { time: rows.iter().filter_map(time).sum(), executions }
    }

    fn per_execution(self) -> Duration {
        self.time / self.executions.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{LayoutSeed, Schedule, Series, Slot, Stage, testing},
        verdict::testing::benchmark,
    };

    #[test]
    fn long_executions_wait_until_shorter_ones_are_decided() {
        let of_length = |milliseconds| magnitude(Duration::from_millis(milliseconds));
        let lengths = [0, 110, 1_999, 2_000, 15_999, 16_000, 127_999, 128_000];
        assert_eq!(lengths.map(of_length), [0, 0, 0, 1, 1, 2, 2, 3]);

        let next = |magnitude, stage, builds| {
            let (waits, repeats) = (false, 1);
            Next { waits, magnitude, stage, builds, repeats }
        };
        let order =
            [next(0, Stage::First, 20), next(0, Stage::Second, 6), next(1, Stage::First, 5)];
        assert!(order.is_sorted());
        // With a budget, all are measured once before any is measured further.
        assert!(order[2] < Next { waits: true, ..order[0] });
    }

    #[test]
    fn intervals_are_narrowed_in_two_minutes() {
        let seconds = Duration::from_secs;
        let remaining = |id: &str, executing, linking| Remaining {
            executing: Some(seconds(executing)),
            linking: seconds(linking),
            target: benchmark(id).bench_target(),
        };
        let mut spare = Spare::new();
        // Half a minute limits the executions of one, and linking only all together.
        assert_eq!(spare.fit(&remaining("a", 8, 60)), [Some(3), Some(3)]);
        spare.spend(remaining("a", 8, 60), 3);
        assert_eq!(spare.left, seconds(36));
        // The builds are shared.
        assert_eq!(spare.fit(&remaining("b", 8, 60)), [Some(3), Some(3)]);
        spare.spend(remaining("b", 8, 60), 3);
        assert_eq!(spare.fit(&remaining("c", 8, 60)), [Some(3), Some(1)]);
        let unknown = Remaining { executing: None, ..remaining("d", 0, 0) };
        assert_eq!(spare.fit(&unknown), [None, None]);
    }

    /// A budget of this many seconds. Benchmarks took these times, in seconds, for ten builds.
    fn budget<'s>(store: &'s Store<'s>, seconds: u64, spent: &[(&str, u64)]) -> Budget<'s> {
        let plan = crate::verdict::testing::plan(&["base", "head"], "key");
        let limit = Duration::from_secs(seconds);
        let mut budget = Budget::new(store, store.begin(&plan).unwrap(), limit, 1);
        for (id, time) in spent {
            let spent = TimeSpent { time: Duration::from_secs(*time), executions: 10 };
            budget.spent.insert(benchmark(id), spent);
        }
        budget
    }

    #[test]
    fn best_has_the_highest_chance_per_second() {
        let store = Store::in_memory().unwrap();
        let budget = budget(&store, 100, &[("slow", 20), ("fast", 2), ("unlikely", 2)]);
        let [slow, fast, unlikely] = ["slow", "fast", "unlikely"].map(benchmark);
        let best = |chances: [f64; 3]| {
            let all = [&slow, &fast, &unlikely].into_iter().zip(chances);
            budget.best(all.map(|(benchmark, chance)| (benchmark, 10, chance)))
        };
        assert_eq!(best([0.9, 0.9, 0.1]), Some(1));
        assert_eq!(best([0.9, 0.05, 0.01]), Some(0));
    }

    #[test]
    fn best_excludes_candidates_beyond_the_limit() {
        let store = Store::in_memory().unwrap();
        let budget = budget(&store, 25, &[("slow", 20), ("fast", 2)]);
        let [slow, fast] = ["slow", "fast"].map(benchmark);
        assert_eq!(budget.best([(&slow, 10, 0.9)].into_iter()), None);
        assert_eq!(budget.best([(&slow, 10, 0.9), (&fast, 10, 0.1)].into_iter()), Some(1));
        assert_eq!(budget.best([(&fast, 20, 0.9)].into_iter()), None);
        assert_eq!(budget.best(std::iter::empty()), None);
    }

    #[test]
    fn only_loops_on_one_cpu_run_beside_others() {
        let store = Store::in_memory().unwrap();
        let plan = crate::verdict::testing::plan(&["base", "head"], "key");
        let experiment = store.begin(&plan).unwrap();
        let slot =
            Slot { version: 0, stage: Stage::First, round: 0, seed: LayoutSeed::list(1, 1)[0] };
        let spent = |metric, schedule| {
            let series = Series { metric, values: vec![1.0], iterations: vec![1], resolution: 0.0 };
            let mut execution = testing::execution(testing::request(), vec![series]);
            execution.schedule = schedule;
            execution.resources.wall = Duration::from_secs(8);
            let row = StoredExecution { experiment, slot, outcome: Ok(execution) };
            TimeSpent::from_rows(&[row], 2).time.as_secs()
        };
        assert_eq!(spent(Metric::wall(), Schedule::NotRequested), 8);
        assert_eq!(spent(Metric::wall(), Schedule::Interleaved(80)), 2);
        assert_eq!(spent(Metric::wall(), Schedule::InterleavedThreads(9)), 4);
        assert_eq!(spent(Metric::cpu(), Schedule::Interleaved(9)), 4);
    }
}
