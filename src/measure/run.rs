//! Runs the schedule of an experiment, which decides which version goes first in each pair of
//! executions, and stores each execution before the next one starts.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

use tracing::{debug, info, info_span};

use super::{
    Builds, ListedVersion, Runner, StartedExperiment,
    guard::Guard,
    interleaving_support::{Both, Cpus, Sharing},
    missing_files::explain_files,
    outside::FilesOutside,
    plan::{Executed, Pace, stage_seed},
    preloaded::{PreloadedLibrary, alone},
    schedule::{Queue, ScheduleShape, Step, schedule},
    subject::{BuiltProgram, InVersion, Obstacle, Retuning, Subject, outcome_of},
};
use crate::{
    builds::{LinkedBuild, VersionBuilds},
    config::SamplingConfig,
    error::{Exit, Result},
    harness::{Conditions, Executable},
    machine::available_memory,
    model::{
        Benchmark, Execution, ExecutionRequest, InterleavingUnavailable, LayoutSeed, Slot, Stage,
        Threads, Unmeasured,
    },
    process::interleaving::SLICE,
};

/// The part of the available memory that executions at the same time may need: files that they read stay in the rest.
const MEMORY_SHARE: u64 = 2;

/// The part of an experiment that is measured next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub stage: Stage,
    /// How many times as many executions of each build as planned.
    pub repeats: u32,
}

impl From<Stage> for Extent {
    fn from(stage: Stage) -> Self {
        Self { stage, repeats: 1 }
    }
}

impl Runner<'_> {
    /// Measures benchmarks that all versions have, interleaved over the builds. Results of an
    /// earlier interim analysis or run are not measured again. A benchmark that fails or skips
    /// itself is executed once in the other version, which may fail too, and then not again. Calls
    /// `measured` with a benchmark after each step in which it was measured, before the next one
    /// starts.
    pub fn measure(
        &self,
        experiment: &StartedExperiment,
        Extent { stage, repeats }: Extent,
        versions: &[ListedVersion],
        builds: &Builds,
        benchmarks: &[Benchmark],
        measured: &mut dyn FnMut(&Benchmark) -> Result<()>,
    ) -> Result<()> {
        let (identity, count) = (&experiment.identity, builds.seeds.len());
        let _phase =
            info_span!("measure", ?stage, benchmarks = benchmarks.len(), builds = count).entered();
        let all = self.steps(identity, Extent { stage, repeats }, versions, count, benchmarks);
        let support = self.interleaving_support(versions)?;
        let mut subjects: Vec<Subject<'_>> = Vec::with_capacity(benchmarks.len());
        for benchmark in benchmarks {
            let mut subject = self.subject(versions, builds, benchmark)?;
            self.expect_what_is_known(&mut subject, experiment, stage, support.is_some())?;
            subjects.push(subject);
        }
        self.examine_outside(&mut subjects, versions)?;
        for subject in &mut subjects {
            self.examine_program(subject, versions)?;
            self.separate(subject);
        }
        self.note_limits(&subjects);
        let memory = available_memory() / MEMORY_SHARE;
        for subject in &mut subjects {
            if subject.lacks_memory(memory) {
                subject.meet(Obstacle::Unavailable(InterleavingUnavailable::Memory));
            }
        }
        let mut cpus = Cpus::with_library(support.as_ref());
        let measuring = Measuring { experiment, stage, builds, support };
        let left = |step: &Step| measuring.left(&subjects[step.benchmark], step);
        let mut queue = Queue::new(all.iter().filter_map(left).collect());
        self.observer.executed(queue.done(), queue.total());
        let parallel = cpus.parallel(self.settings.parallel as usize);
        let first = benchmarks.iter().map(|one| self.interim_analyses(one).first as usize).max();
        let is_planned = stage == Stage::First && Some(count) <= first;
        let mut pace = is_planned.then(|| Pace::new(self.planned_time(versions, benchmarks)));
        loop {
            let start = Instant::now();
            let steps = queue.take_together(parallel, |taken, next| {
                let taken = taken.iter().map(|step| (step.benchmark, &subjects[step.benchmark]));
                let taken: Vec<_> = taken.collect();
                subjects[next.benchmark].fits_beside(&taken, next.benchmark, memory)
            });
            if steps.is_empty() {
                return Ok(());
            }
            self.conditions.interrupt.stop_between_executions()?;
            let is_usual = steps.iter().all(|step| {
                let subject = &subjects[step.benchmark];
                let is_tuned = subject.request.iterations.is_some() || !subject.is_tunable();
                is_tuned && !subject.guard.is_looking()
            });
            for step in &steps {
                let Step { build, round, versions, .. } = step;
                let benchmark = &subjects[step.benchmark].benchmark;
                debug!(build, round, ?versions, "measuring {benchmark}");
                let subject = &mut subjects[step.benchmark];
                if subject.request.iterations.is_none() {
                    self.tune(subject, step)?;
                }
            }
            let mut executions = 0;
            for (step, ended) in self.execute_steps(&measuring, &mut subjects, steps, &mut cpus)? {
                match ended {
                    Ended::Measured => {
                        executions += step.versions.len();
                        measured(&subjects[step.benchmark].benchmark)?;
                    }
                    Ended::Unmeasured => queue.skip(step.benchmark),
                    // Another of its steps at the same time may have met it already.
                    Ended::Obstacle(obstacle) if subjects[step.benchmark].knows(&obstacle) => {}
                    Ended::Obstacle(obstacle) => {
                        let subject = &mut subjects[step.benchmark];
                        subject.meet(obstacle);
                        self.store.forget_benchmark(experiment.id, stage, &subject.benchmark)?;
                        let of_it = all.iter().filter(|other| other.benchmark == step.benchmark);
                        queue.begin_anew(step.benchmark, of_it.cloned());
                    }
                }
            }
            let (done, total) = (queue.done(), queue.total());
            debug!("measured {done} of {total} executions");
            self.observer.executed(done, total);
            // Others are executed again, or never.
            let executed = Executed { count: executions, took: start.elapsed() };
            if executions > 0
                && let Some(pace) = &mut pace
                && let Some(expected) = pace.correct(executed, is_usual, total)
            {
                self.observer.takes_longer(expected);
            }
        }
    }

    /// Executes one step alone, or one interleaved step, or several at once, each on a separate CPU.
    /// The result of each is stored, all that were measured before anything else is executed.
    fn execute_steps(
        &self,
        measuring: &Measuring<'_>,
        subjects: &mut [Subject<'_>],
        steps: Vec<Step>,
        cpus: &mut Cpus,
    ) -> Result<Vec<(Step, Ended)>> {
        if let [step] = steps.as_slice()
            && !subjects[step.benchmark].is_interleaved()
        {
            let subject = &mut subjects[step.benchmark];
            let ended = self.one_after_the_other(measuring, subject, step)?;
            return Ok(vec![(step.clone(), ended)]);
        }
        let with_sharing = |step: Step| {
            let sharing = match subjects[step.benchmark].threads {
                Threads::Together => Sharing::Cpu(cpus.take()),
                threads => Sharing::Cpus(threads),
            };
            (step, sharing)
        };
        let placed: Vec<(Step, Sharing)> = steps.into_iter().map(with_sharing).collect();
        // Others are not executed meanwhile.
        let alone = match placed.as_slice() {
            [(step, sharing)] if subjects[step.benchmark].guard.is_looking() => {
                self.times_alone(measuring, &subjects[step.benchmark], step, *sharing)?
            }
            _ => None,
        };
        let pairs: Vec<(&Subject<'_>, &Step, Sharing)> = placed
            .iter()
            .map(|(step, sharing)| (&subjects[step.benchmark], step, *sharing))
            .collect();
        let attempts = self.execute_interleaved(measuring.support.as_ref(), &pairs, None)?;
        let record = |((step, _), attempts): (&(Step, Sharing), _)| {
            self.record_interleaved(measuring, &subjects[step.benchmark], step, attempts, alone)
        };
        // An error of one does not discard the others.
        let recorded: Vec<Result<Both>> = placed.iter().zip(attempts).map(record).collect();
        let settle = |((step, sharing), recorded): ((Step, Sharing), Result<Both>)| {
            let subject = &mut subjects[step.benchmark];
            let ended = self.after_interleaved(measuring, subject, &step, sharing, recorded?)?;
            Ok((step, ended))
        };
        placed.into_iter().zip(recorded).map(settle).collect()
    }

    /// Notes the limits of the harnesses that keep them from doing all that the user requests.
    pub(super) fn note_limits(&self, subjects: &[Subject<'_>]) {
        let efforts = &self.settings.efforts;
        let requested = subjects.iter().filter(|one| efforts.requests_measurements(&one.benchmark));
        let mut notes: Vec<String> = requested.flat_map(Subject::notes).collect();
        notes.sort();
        notes.dedup();
        for note in &notes {
            self.observer.note(note);
        }
    }

    /// Executes each version once, one after the other. Each execution is stored before the next
    /// one starts.
    pub(super) fn one_after_the_other(
        &self,
        measuring: &Measuring<'_>,
        subject: &mut Subject<'_>,
        step: &Step,
    ) -> Result<Ended> {
        let mut ended = Ended::Measured;
        for version in step.versions.iter().copied() {
            let outcome = self.execute_alone(subject, step, version)?;
            self.record(measuring, subject, step, version, outcome.as_ref())?;
            let Ok(execution) = outcome else {
                // The other version is executed all the same: it may fail too.
                ended = Ended::Unmeasured;
                continue;
            };
            self.report_incidents(subject, &execution);
            self.tune_again_if_needed(subject, step, version, &execution)?;
        }
        Ok(ended)
    }

    /// Stores the result of one execution of a step.
    pub(super) fn record(
        &self,
        measuring: &Measuring<'_>,
        subject: &Subject<'_>,
        step: &Step,
        version: usize,
        outcome: Result<&Execution, &Unmeasured>,
    ) -> Result<()> {
        let slot = measuring.slot(step, version);
        if let Err(unmeasured) = outcome {
            info!(version, "{} is not measured: {unmeasured:?}", subject.benchmark);
        }
        self.store.record_execution(measuring.experiment.id, &subject.benchmark, slot, outcome)
    }

    pub(super) fn report_incidents(&self, subject: &Subject<'_>, execution: &Execution) {
        let (warm_up, measured) = (execution.warm_up, execution.measured_time());
        let own = execution.own_wall();
        debug!(?warm_up, ?measured, ?own, schedule = ?execution.schedule, "measured {}", subject.benchmark);
        for incident in execution.incidents.iter().chain(&subject.fewer_measurements(execution)) {
            self.observer.incident(&subject.benchmark, incident);
        }
    }

    /// The executions of a stage in order: one block for each interim analysis, up to the number of
    /// `builds`. Benchmarks may have fewer builds or rounds than others.
    pub(super) fn steps(
        &self,
        identity: &str,
        Extent { stage, repeats }: Extent,
        versions: &[ListedVersion],
        builds: usize,
        benchmarks: &[Benchmark],
    ) -> Vec<Step> {
        let sampling: Vec<SamplingConfig> =
            benchmarks.iter().map(|benchmark| self.sampling(benchmark)).collect();
        let executions =
            |sampling: &SamplingConfig| sampling.executions.saturating_mul(repeats) as usize;
        let rounds = sampling.iter().map(executions).max();
        let seed = stage_seed(self.seed(versions), identity, stage);
        let mut steps = Vec::new();
        let mut from = 0;
        for to in self.blocks(stage, benchmarks, builds) {
            let shape = ScheduleShape {
                versions: versions.len(),
                benchmarks: benchmarks.len(),
                builds: to - from,
                executions: rounds.unwrap_or_default(),
            };
            // Each block is ordered separately; the first one like a stage with a single analysis.
            let block = schedule(shape, seed.wrapping_add(from as u64));
            let placed = block.into_iter().map(|step| Step { build: from + step.build, ..step });
            steps.extend(placed.filter(|step| {
                let sampling = sampling[step.benchmark];
                let has_build =
                    stage == Stage::Second || step.build < sampling.interim_analyses.most as usize;
                has_build && step.round < executions(&sampling)
            }));
            from = to;
        }
        steps
    }

    /// The numbers of builds, up to `builds`, after which these benchmarks have an interim
    /// analysis. The second stage has only one.
    fn blocks(&self, stage: Stage, benchmarks: &[Benchmark], builds: usize) -> BTreeSet<usize> {
        let analyses =
            benchmarks.iter().flat_map(|one| self.sampling(one).interim_analyses.builds());
        let ends =
            analyses.map(|end| end as usize).filter(|end| stage == Stage::First && *end < builds);
        ends.chain([builds]).collect()
    }

    /// The benchmark in all builds of all versions.
    pub(super) fn subject<'v>(
        &self,
        versions: &'v [ListedVersion],
        builds: &Builds,
        benchmark: &Benchmark,
    ) -> Result<Subject<'v>> {
        let in_version = |(version, builds): (&'v ListedVersion, &VersionBuilds)| {
            let target = version.listed_target(benchmark)?;
            let harness = &*target.harness;
            let library = if harness.facts().measures_readings {
                self.version_support(version, "its clock readings are not seen")?
            } else {
                None
            };
            let builds = builds_of(benchmark, builds, &target.executable);
            Ok(InVersion { harness, builds, library })
        };
        let needs = self.needs(benchmark);
        Ok(Subject {
            benchmark: benchmark.clone(),
            request: self.sampling(benchmark).request(),
            versions: versions
                .iter()
                .zip(&builds.versions)
                .map(in_version)
                .collect::<Result<_>>()?,
            retuning: Retuning::default(),
            mode: self.settings.mode,
            threads: Threads::Together,
            has_setup: self.project.file.setups().of_benchmark(benchmark).is_some(),
            unavailable: None,
            done: HashSet::new(),
            was_interleaved: false,
            failed_interleaved: false,
            interference: None,
            slice: SLICE,
            memory: needs.iter().filter_map(|needs| needs.memory).max(),
            guard: Guard::new(&needs),
            uses_outside: false,
            outside: Vec::new(),
            run_time: None,
        })
    }

    /// Executes a version once, alone, from the initial state of the step. Tries again if it fails and tuning then finds
    /// fewer iterations.
    pub(super) fn execute_alone(
        &self,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
    ) -> Result<Result<Execution, Unmeasured>> {
        let execute = |subject: &Subject<'_>| {
            let request = ExecutionRequest { seed: step.initial_state, ..subject.request.clone() };
            self.execute_once(subject, step, version, &request)
        };
        let outcome = execute(subject)?;
        if matches!(outcome, Err(Unmeasured::Failed(_)))
            && self.tune_after_failure(subject, step, version)?
        {
            return execute(subject);
        }
        Ok(outcome)
    }

    /// The library for executions of a version alone, if they have one.
    pub(super) fn library_alone<'l>(
        &'l self,
        version: &'l InVersion<'_>,
    ) -> Option<&'l PreloadedLibrary> {
        version.library.as_ref().or(self.uninterrupted.as_ref())
    }

    /// Executes a build once, alone, with this request. The error of a benchmark names the files that it misses.
    pub(super) fn execute_once(
        &self,
        subject: &Subject<'_>,
        step: &Step,
        version: usize,
        request: &ExecutionRequest,
    ) -> Result<Result<Execution, Unmeasured>> {
        let library = self.library_alone(&subject.versions[version]);
        self.execute_on(subject, step, version, request, library, self.conditions.cpu)
    }

    /// The same with this library, if any, on this CPU, if one is given.
    pub(super) fn execute_on(
        &self,
        subject: &Subject<'_>,
        step: &Step,
        version: usize,
        request: &ExecutionRequest,
        library: Option<&PreloadedLibrary>,
        cpu: Option<usize>,
    ) -> Result<Result<Execution, Unmeasured>> {
        /// One that hangs is not executed again only to see which files it reads.
        const LONGEST: Duration = Duration::from_secs(10);
        let BuiltProgram { executable, home } = subject.build(version, step.build)?;
        self.build_env.activate(home)?;
        let harness = subject.versions[version].harness;
        let name = &subject.benchmark.name;
        let conditions = Conditions { cpu, ..self.conditions };
        let execute =
            |conditions: &Conditions<'_>| harness.execute(executable, name, request, conditions);
        let begin = Instant::now();
        let outside = FilesOutside::save(&subject.outside);
        let outcome = alone(library, executable, &conditions, execute).map_err(|error| {
            let is_quick = begin.elapsed() < LONGEST;
            if error.exit() != Exit::Benchmark || !is_quick {
                return error;
            }
            let checkout = self.build_env.cache_dirs.build_path().join("src");
            let repository = &self.project.repository;
            let execute = |conditions: &Conditions<'_>| drop(execute(conditions));
            let version = (repository, checkout.as_path());
            explain_files(error, version, executable, &self.conditions, execute)
        });
        self.restore(&outside);
        let outcome = outcome_of(outcome)?;
        Ok(outcome
            .map(|execution| Execution { schedule: subject.sequential_schedule(), ..execution }))
    }
}

/// The context that stays the same while a stage is measured.
pub(super) struct Measuring<'m> {
    pub(super) experiment: &'m StartedExperiment,
    stage: Stage,
    pub(super) builds: &'m Builds,
    /// The library, if both versions are interleaved.
    pub(super) support: Option<PreloadedLibrary>,
}

impl<'m> Measuring<'m> {
    /// The first stage of a single version, which has no partner to be interleaved with.
    pub(super) fn alone(experiment: &'m StartedExperiment, builds: &'m Builds) -> Self {
        Self { experiment, stage: Stage::First, builds, support: None }
    }

    /// The part of a step that was not measured before: of an interleaved one, all or nothing.
    pub(super) fn left(&self, subject: &Subject<'_>, step: &Step) -> Option<Step> {
        let is_done = |version: &usize| subject.done.contains(&self.slot(step, *version));
        let mut left = step.clone();
        if subject.is_interleaved() {
            let all_done = step.versions.iter().all(is_done);
            return (!all_done).then_some(left);
        }
        left.versions.retain(|version| !is_done(version));
        (!left.versions.is_empty()).then_some(left)
    }

    pub(super) fn slot(&self, step: &Step, version: usize) -> Slot {
        self.builds.slot(self.stage, version, step.build, step.round)
    }
}

pub(super) enum Ended {
    /// Each version was measured, and the executions are stored.
    Measured,
    /// The benchmark failed or skipped itself, which is stored.
    Unmeasured,
    /// Nothing counts: the benchmark must be measured in another way.
    Obstacle(Obstacle),
}

/// The builds of a benchmark's bench target, whose executables run as `listed`.
fn builds_of(
    benchmark: &Benchmark,
    builds: &VersionBuilds,
    listed: &Executable,
) -> Vec<BuiltProgram> {
    let target = builds.target(&benchmark.bench_target());
    let all = target.map(|target| target.builds.as_slice()).unwrap_or_default().iter();
    let built = |(index, build): (usize, &LinkedBuild)| BuiltProgram {
        executable: Executable { path: build.executable.clone(), ..listed.clone() },
        home: builds.home_of(index).to_owned(),
    };
    all.enumerate().map(built).collect()
}

/// The version that went first, by benchmark (its index in the list), round and build.
pub type WentFirst = HashMap<(usize, usize, LayoutSeed), usize>;

impl Runner<'_> {
    /// The versions that go first in the first stage of a comparison of these benchmarks with this
    /// identity.
    pub fn went_first(
        &self,
        identity: &str,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
    ) -> WentFirst {
        let seeds = self.first_seeds(versions, benchmarks);
        let steps = self.steps(identity, Stage::First.into(), versions, seeds.len(), benchmarks);
        steps
            .into_iter()
            .filter_map(|step| {
                let place = (step.benchmark, step.round, *seeds.get(step.build)?);
                Some((place, *step.versions.first()?))
            })
            .collect()
    }
}
