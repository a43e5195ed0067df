//! Counts instructions or allocations of benchmarks instead of timing them: one execution of each
//! version in each of three layouts. Where the counts of one version vary then, more layouts
//! follow. Each layout has a different initial state.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::{
    Builds, ListedVersion, Runner, StartedExperiment,
    subject::{BuiltProgram, InVersion, Subject, outcome_of},
};
use crate::{
    error::Result,
    harness::{Conditions, count_allocations, counting_request, iterations_needed},
    machine::this_machine,
    model::{
        Benchmark, COUNTED_KEY, COUNTING_KEY, COUNTING_RULES, Execution, ExperimentPlan,
        LayoutSeed, MOST_PARALLEL, Metric, MetricSource, Outcome, PlannedBenchmark, PlannedVersion,
        SampleSizes, Slot, Stage, Unmeasured,
    },
    process::{
        self,
        counting::{Counting, find_valgrind},
    },
};

/// The least number of layouts in which a benchmark is counted.
pub const COUNTED_LAYOUTS: usize = 3;

/// The deadline of one execution under callgrind, which is about fifty times slower.
pub(super) const DEADLINE: Duration = Duration::from_secs(1200);

/// The minimum time under which the store keeps iterations of counts. No timed benchmark uses this
/// value.
const FLOOR: Duration = Duration::from_secs(1 << 20);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counter {
    /// callgrind: counts instructions.
    Instructions(process::counting::Counter),
    /// This library: counts allocations and their bytes.
    Allocations(PathBuf),
}

impl Counter {
    pub fn metrics(&self) -> Vec<Metric> {
        match self {
            Self::Instructions(_) => Metric::with_source(MetricSource::InstructionCount),
            Self::Allocations(_) => Metric::with_source(MetricSource::AllocationCount),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct CountingRun {
    benchmark: usize,
    version: usize,
    build: usize,
}

impl CountingRun {
    /// The initial state: its random numbers and the size of its environment. Each layout has a
    /// different one, the same in both versions, so that no two executions of a version share what
    /// their counts may depend on.
    fn state(self) -> u32 {
        u32::try_from(self.build).unwrap_or(u32::MAX)
    }
}

type Counted = Result<Execution, Unmeasured>;

impl Runner<'_> {
    /// The counter of instructions for a version's processes. Fails with how to install it.
    pub fn instruction_counter(
        &self,
        version: &ListedVersion,
    ) -> Result<process::counting::Counter> {
        let valgrind = find_valgrind()?;
        let library =
            self.build_env.counting_library(version.source(), &version.compilation.record.rustc)?;
        Ok(process::counting::Counter { valgrind, library })
    }

    pub fn allocation_counter(&self, version: &ListedVersion) -> Result<Counter> {
        let (source, rustc) = (version.source(), &version.compilation.record.rustc);
        Ok(Counter::Allocations(self.build_env.allocations_library(source, rustc)?))
    }

    /// The layout seeds of the first builds in which benchmarks are counted.
    pub fn counted_seeds(&self, layouts: usize) -> Vec<LayoutSeed> {
        LayoutSeed::list(self.settings.builds.seed, u32::try_from(layouts).unwrap_or(u32::MAX))
    }

    /// Begins an experiment that counts these benchmarks, or resumes it.
    pub fn begin_counting(
        &self,
        counter: &Counter,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
        builds: &Builds,
    ) -> Result<StartedExperiment> {
        let versions = versions.iter().map(ListedVersion::planned).collect();
        self.begin_planned(&self.counting_plan(&counter.metrics(), versions, benchmarks), builds)
    }

    /// The plan to count these metrics together. Its settings contain nothing about timing.
    pub fn counting_plan(
        &self,
        metrics: &[Metric],
        versions: Vec<PlannedVersion>,
        benchmarks: &[Benchmark],
    ) -> ExperimentPlan {
        const OF_BUILDS: [&str; 8] = [
            "layout",
            "profile",
            "features",
            "all_features",
            "no_default_features",
            "cargo_args",
            "environment",
            "config",
        ];
        let plan = self.plan(Vec::new(), &[]);
        let all: serde_json::Value = serde_json::from_str(&plan.settings).unwrap_or_default();
        let mut settings = serde_json::Map::new();
        for name in OF_BUILDS {
            if let Some(value) = all.get(name) {
                settings.insert(name.to_owned(), value.clone());
            }
        }
        settings.insert(COUNTING_KEY.to_owned(), COUNTING_RULES.into());
        if metrics.iter().any(|metric| metric.source() == MetricSource::AllocationCount) {
            settings.insert(COUNTED_KEY.to_owned(), "allocations".into());
        }
        let settings = serde_json::Value::Object(settings).to_string();
        let sample_sizes = SampleSizes {
            first_analysis: None,
            builds: COUNTED_LAYOUTS,
            executions: 1,
            measurements: 1,
        };
        let planned = |one: &Benchmark| PlannedBenchmark { benchmark: one.clone(), sample_sizes };
        ExperimentPlan {
            versions,
            benchmarks: benchmarks.iter().map(planned).collect(),
            settings_key: blake3::hash(settings.as_bytes()).to_hex()[..32].into(),
            settings: settings.into(),
            sample_sizes,
            ..plan
        }
    }

    /// Counts benchmarks in each of these builds in which they were not counted yet.
    pub fn count_everywhere(
        &self,
        experiment: &mut StartedExperiment,
        counter: &Counter,
        versions: &[ListedVersion],
        builds: &Builds,
        benchmarks: &[Benchmark],
    ) -> Result<()> {
        self.record_builds(experiment, Stage::First, builds)?;
        self.count_places(experiment, counter, (versions, builds), benchmarks)
    }

    fn count_places(
        &self,
        experiment: &StartedExperiment,
        counter: &Counter,
        (versions, builds): (&[ListedVersion], &Builds),
        benchmarks: &[Benchmark],
    ) -> Result<()> {
        let mut subjects: Vec<Subject<'_>> = Vec::with_capacity(benchmarks.len());
        for benchmark in benchmarks {
            let mut subject = self.subject(versions, builds, benchmark)?;
            let earlier = self.store.rows(benchmark, &[experiment.id])?;
            let is_done = earlier.iter().filter(|row| row.outcome.is_ok());
            subject.done = is_done.map(|row| row.slot).collect();
            if earlier.iter().any(|row| row.outcome.is_err()) {
                subject.versions.clear();
            }
            subject.request.iterations =
                self.store.tuned(benchmark, &this_machine(), FLOOR)?.or(Some(1));
            subjects.push(subject);
        }
        let mut left: BTreeMap<(usize, usize), Vec<CountingRun>> = BTreeMap::new();
        let mut total = 0;
        for (benchmark, subject) in subjects.iter().enumerate() {
            for version in 0..subject.versions.len() {
                for build in 0..builds.seeds.len() {
                    let place = CountingRun { benchmark, version, build };
                    if !subject.done.contains(&slot(builds, place)) {
                        left.entry((build, version)).or_default().push(place);
                        total += 1;
                    }
                }
            }
        }
        self.observer.executed(0, total);
        let mut done = 0;
        for ((build, version), mut places) in left {
            self.build_env.activate(builds.versions[version].home_of(build))?;
            // Nothing is compared for a benchmark that failed in another version.
            places.retain(|place| !subjects[place.benchmark].versions.is_empty());
            let mut record = |place: CountingRun, counted: &Counted| {
                let benchmark = &subjects[place.benchmark].benchmark;
                let slot = slot(builds, place);
                self.store.record_execution(experiment.id, benchmark, slot, counted.as_ref())?;
                done += 1;
                self.observer.executed(done, total);
                Ok(())
            };
            let ended = self.count_at_once(counter, &subjects, &places, &mut record)?;
            for CountedPlan { place, is_measured, iterations } in ended {
                let subject = &mut subjects[place.benchmark];
                if !is_measured {
                    subject.versions.clear();
                } else if subject.request.iterations != Some(iterations) {
                    subject.request.iterations = Some(iterations);
                    let (benchmark, machine) = (&subject.benchmark, this_machine());
                    self.store.record_tuned(benchmark, &machine, FLOOR, iterations)?;
                }
            }
        }
        Ok(())
    }

    /// Executes all these places of one build of one version, several at once, because nothing is
    /// timed. Passes each result to `record` as soon as it is there.
    fn count_at_once(
        &self,
        counter: &Counter,
        subjects: &[Subject<'_>],
        places: &[CountingRun],
        record: &mut dyn FnMut(CountingRun, &Counted) -> Result<()>,
    ) -> Result<Vec<CountedPlan>> {
        let cpus = process::cpus().map_or(1, |cpus| cpus.len());
        let parallel = cpus.clamp(1, MOST_PARALLEL as usize).min(places.len().max(1));
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let conditions = self.conditions;
        let work = |sender: mpsc::Sender<(CountingRun, Result<(Counted, u64)>)>| {
            while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let counted = conditions.interrupt.stop_between_executions().and_then(|()| {
                    count_one(&conditions, counter, &subjects[place.benchmark], *place)
                });
                // The receiver lives longer than this thread.
                let _ = sender.send((*place, counted));
            }
        };
        thread::scope(|scope| {
            for _ in 0..parallel {
                let sender = sender.clone();
                let work = &work;
                scope.spawn(move || work(sender));
            }
            drop(sender);
            let (mut all, mut error) = (Vec::with_capacity(places.len()), None);
            for (place, counted) in receiver {
                let recorded = counted.and_then(|(counted, iterations)| {
                    record(place, &counted)?;
                    Ok(CountedPlan { place, is_measured: counted.is_ok(), iterations })
                });
                match recorded {
                    Ok(recorded) => all.push(recorded),
                    Err(first) => {
                        stopped.store(true, Ordering::Relaxed);
                        error.get_or_insert(first);
                    }
                }
            }
            error.map_or(Ok(all), Err)
        })
    }
}

/// A counting execution whose result was recorded.
struct CountedPlan {
    place: CountingRun,
    is_measured: bool,
    iterations: u64,
}

/// Counts a benchmark once, and returns the iterations of its measurements: the first version finds
/// how many are enough.
fn count_one(
    conditions: &Conditions<'_>,
    counter: &Counter,
    subject: &Subject<'_>,
    place: CountingRun,
) -> Result<(Counted, u64)> {
    let InVersion { harness, .. } = &subject.versions[place.version];
    let BuiltProgram { executable, .. } = subject.build(place.version, place.build)?;
    let mut iterations = subject.request.iterations.unwrap_or(1);
    let is_first = place.version == 0 && place.build == 0;
    // The random numbers of a state, and the size of its environment.
    let seed = u64::from(place.state());
    let counter = match counter {
        Counter::Instructions(counter) => counter,
        Counter::Allocations(library) => {
            let conditions = Conditions { cpu: None, ..*conditions };
            let name = &subject.benchmark.name;
            let outcome =
                count_allocations(&**harness, executable, name, seed, &conditions, library);
            return Ok((sound(outcome)?, iterations));
        }
    };
    loop {
        let counting = Counting::new(counter, seed)?;
        let conditions = Conditions {
            deadline: Some(conditions.deadline.unwrap_or(DEADLINE)),
            cpu: None,
            counting: Some(&counting),
            ..*conditions
        };
        let request = counting_request(&**harness, Some(iterations), seed);
        let outcome = harness.execute(executable, &subject.benchmark.name, &request, &conditions);
        let each = match &outcome {
            Ok(Outcome::Measured(execution)) => {
                execution.series.first().and_then(|series| series.values.first().copied())
            }
            _ => None,
        };
        let needed = each
            .filter(|_| is_first)
            .and_then(|each| iterations_needed(&**harness, iterations, each));
        if let Some(needed) = needed {
            iterations = needed;
            continue;
        }
        return Ok((sound(outcome)?, iterations));
    }
}

/// The result of an execution. It has failed if its values cannot be computed with.
fn sound(outcome: Result<Outcome>) -> Result<Counted> {
    Ok(outcome_of(outcome)?.and_then(|execution| match execution.defect() {
        Some(defect) => Err(Unmeasured::Failed(defect)),
        None => Ok(execution),
    }))
}

fn slot(builds: &Builds, CountingRun { version, build, .. }: CountingRun) -> Slot {
    // Each build has its own initial state.
    builds.slot(Stage::First, version, build, build)
}
