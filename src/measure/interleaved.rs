//! Measures both versions of a benchmark at once, interleaved, as long as it supports that. For
//! executions that run alone, the same library excludes the time of interruptions.

use std::{
    mem,
    path::PathBuf,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use rbench_code::impact::OtherClock;
use rbench_stats::interference::Interference;
use tracing::{debug, info};

use super::{
    ListedVersion, Runner, StartedExperiment,
    interleaving_support::{Attempt, Both, ProcessUse, Sharing, SupportTable, both, panicked},
    outside::FilesOutside,
    preloaded::PreloadedLibrary,
    run::{Ended, Measuring},
    schedule::Step,
    slices::slice_of,
    subject::{Obstacle, Subject},
};
use crate::{
    builds::Event,
    error::{Error, Exit, Result},
    model::{Execution, ExecutionRequest, InterleavingUnavailable, Mode, Name, Schedule, Stage},
    process::{
        self,
        interleaving::{SLICE, SharedPage, own_directory},
    },
    store::StoredExecution,
};

/// The most measurements of an execution alone that is compared with interleaved ones.
const MEASUREMENTS_ALONE: usize = 20;

impl Runner<'_> {
    pub fn interleaving_library(&self, version: &ListedVersion) -> Result<PathBuf> {
        self.build_env.interleaving_library(version.source(), &version.compilation.record.rustc)
    }

    /// The requirements of interleaving, where it is requested; `None` where they cannot be had,
    /// which warns the user.
    pub(super) fn interleaving_support(
        &self,
        versions: &[ListedVersion],
    ) -> Result<Option<PreloadedLibrary>> {
        let [_, head] = versions else { return Ok(None) };
        if self.settings.mode != Mode::Interleaved {
            return Ok(None);
        }
        self.version_support(head, "benchmarks run sequentially")
    }

    /// The library made by the compiler of this version; `None` where it cannot be had. The warning
    /// then says what happens `instead`.
    pub(super) fn version_support(
        &self,
        version: &ListedVersion,
        instead: &str,
    ) -> Result<Option<PreloadedLibrary>> {
        let support = self.interleaving_library(version).and_then(|library| {
            let cpus = self.conditions.cpu.map_or_else(process::cpus, |cpu| Ok(vec![cpu]))?;
            SharedPage::new(&library, &cpus, SLICE)?;
            Ok(PreloadedLibrary { path: library, cpus })
        });
        match support {
            Ok(support) => Ok(Some(support)),
            Err(error) if error.exit() == Exit::Interrupted => Err(error),
            Err(error) => {
                let error = error.cause(instead);
                self.observer.build_event(&Event::Warning(&error.to_string()));
                Ok(None)
            }
        }
    }

    /// Notes earlier results of a benchmark in this stage, and why it cannot be interleaved, if
    /// that is known. Interleaved results of this stage are then forgotten.
    pub(super) fn expect_what_is_known(
        &self,
        subject: &mut Subject<'_>,
        experiment: &StartedExperiment,
        stage: Stage,
        is_supported: bool,
    ) -> Result<()> {
        let earlier = self.store.rows(&subject.benchmark, &[experiment.id])?;
        self.expect_as_earlier(subject, &earlier, stage, is_supported);
        let of_stage =
            || earlier.iter().filter(|row| row.slot.stage == stage && row.outcome.is_ok());
        if let Some(unavailable) = &subject.unavailable {
            info!("{} is measured sequentially: {unavailable}", subject.benchmark);
        }
        let is_taken = |row: &StoredExecution| {
            row_schedule(row).is_some_and(|schedule| schedule.mode() == Mode::Interleaved)
        };
        if subject.unavailable.is_some() && of_stage().any(is_taken) {
            return self.store.forget_benchmark(experiment.id, stage, &subject.benchmark);
        }
        let known = (experiment.id, subject.benchmark.clone());
        if let Some(guard) = self.guards.borrow().get(&known) {
            subject.guard = guard.clone();
        }
        let mut measured = earlier.iter().filter_map(|row| row.outcome.as_ref().ok());
        subject.was_interleaved = measured.any(|one| one.schedule.mode() == Mode::Interleaved);
        subject.done = of_stage().map(|row| row.slot).collect();
        if !subject.done.is_empty() {
            subject.retuning.settle();
        }
        Ok(())
    }

    /// Takes over how a benchmark was measured earlier: with which threads and slices, and why not interleaved.
    pub(super) fn expect_as_earlier(
        &self,
        subject: &mut Subject<'_>,
        earlier: &[StoredExecution],
        stage: Stage,
        is_supported: bool,
    ) {
        let of_stage =
            || earlier.iter().filter(|row| row.slot.stage == stage && row.outcome.is_ok());
        // A program has no clock that could stand still.
        let [base, head] = self.needs(&subject.benchmark).map(|needs| needs.other_clock);
        let other_clock = base.or(head).filter(|_| !subject.is_program());
        subject.unavailable = unavailable_reason(subject, earlier, is_supported, other_clock);
        // Results of this stage decide first: all of a stage share the CPUs in the same way.
        let schedules = of_stage().chain(earlier).filter_map(row_schedule);
        let mut interleaved = schedules.filter_map(Schedule::interleaved);
        (subject.threads, _) = interleaved.next().unwrap_or_default();
        let measured = earlier.iter().filter_map(|row| row.outcome.as_ref().ok());
        subject.memory =
            measured.clone().map(|one| one.resources.peak_memory).fold(subject.memory, Option::max);
        let is_alike = |one: &&Execution| {
            one.schedule.interleaved().is_some_and(|(threads, _)| threads == subject.threads)
        };
        if let Some(slice) = measured.clone().filter(is_alike).find_map(slice_of) {
            subject.slice = slice;
        }
    }

    /// Stores the results of both versions, which are stored together or not at all. `alone` has the times of the versions
    /// alone, if they were executed so directly before.
    pub(super) fn record_interleaved(
        &self,
        measuring: &Measuring<'_>,
        subject: &Subject<'_>,
        step: &Step,
        attempts: Result<[Attempt; 2]>,
        alone: Option<[f64; 2]>,
    ) -> Result<Both> {
        let mut both = both(attempts?)?;
        if let Both::Measured(executions) = &mut both {
            for (version, execution) in step.versions.iter().zip(executions.iter_mut()) {
                execution.alone = alone.map(|alone| alone[*version]);
            }
            let measured = step.versions.iter().copied().zip(executions.iter());
            let slots = measured.map(|(version, execution)| {
                (&subject.benchmark, measuring.slot(step, version), Ok(execution))
            });
            self.store.record_executions(measuring.experiment.id, slots)?;
        }
        Ok(both)
    }

    /// Handles the [recorded](Self::record_interleaved) results of both versions.
    pub(super) fn after_interleaved(
        &self,
        measuring: &Measuring<'_>,
        subject: &mut Subject<'_>,
        step: &Step,
        sharing: Sharing,
        recorded: Both,
    ) -> Result<Ended> {
        let executions = match recorded {
            Both::Measured(executions) => executions,
            Both::Obstacle(obstacle) => return Ok(Ended::Obstacle(obstacle)),
            Both::Failed(half) => {
                let version = step.versions[half];
                return self.after_interleaved_failure(measuring, subject, step, version, sharing);
            }
            Both::Skipped(half, skipped) => {
                let version = step.versions[half];
                self.record(measuring, subject, step, version, Err(&skipped))?;
                return self.after_unmeasured(measuring, subject, step, version);
            }
        };
        subject.was_interleaved = true;
        for (version, execution) in step.versions.iter().copied().zip(executions.iter()) {
            subject.memory = subject.memory.max(execution.resources.peak_memory);
            self.report_incidents(subject, execution);
            self.tune_again_if_needed(subject, step, version, execution)?;
        }
        let interference = note_times(subject, step, &executions);
        let key = (measuring.experiment.id, subject.benchmark.clone());
        self.guards.borrow_mut().insert(key, subject.guard.clone());
        Ok(interference.map_or(Ended::Measured, |why| Ended::Obstacle(Obstacle::Interference(why))))
    }

    /// The times of an iteration in each version in ns, executed alone on the CPU of the pair that comes next, with the same
    /// builds and the same clock. `None` if a version cannot be executed alone.
    pub(super) fn times_alone(
        &self,
        measuring: &Measuring<'_>,
        subject: &Subject<'_>,
        step: &Step,
        sharing: Sharing,
    ) -> Result<Option<[f64; 2]>> {
        let (cpu, library) = match sharing {
            Sharing::Cpu(cpu) => (Some(cpu), measuring.support.as_ref()),
            Sharing::Cpus(_) => (self.conditions.cpu, None),
        };
        // Nothing is preloaded into a whole program.
        let library = library.filter(|_| !subject.is_program());
        // They only have to show a factor.
        let measurements = subject.request.measurements.min(MEASUREMENTS_ALONE);
        let request =
            ExecutionRequest { measurements, seed: step.initial_state, ..subject.request.clone() };
        let mut times = [None; 2];
        for version in step.versions.iter().copied() {
            let execution = self.execute_on(subject, step, version, &request, library, cpu)?;
            let metric = subject.guarded_metric();
            times[version] = execution.ok().and_then(|execution| execution.median_of(&metric));
        }
        let [base, head] = times;
        Ok(base.zip(head).map(Into::into))
    }

    /// Executes a version alone that failed while it was interleaved: the benchmark has failed only
    /// if that fails too, and the other version may fail as well. A successful result is not stored,
    /// because both versions must be measured in the same way. Both are interleaved once more where
    /// it had too many iterations, and after the first failure with libtest, whose samples cannot be
    /// identified in one of some thousand executions.
    fn after_interleaved_failure(
        &self,
        measuring: &Measuring<'_>,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
        sharing: Sharing,
    ) -> Result<Ended> {
        let iterations = subject.request.iterations;
        match self.execute_alone(subject, step, version)? {
            Ok(_)
                if subject.request.iterations < iterations
                    || subject.may_fail_interleaved()
                        && !mem::replace(&mut subject.failed_interleaved, true) =>
            {
                let placed = [(&*subject, step, sharing)];
                let attempts =
                    self.execute_interleaved(measuring.support.as_ref(), &placed, None)?;
                let attempts = attempts.into_iter().next().unwrap_or_else(|| Err(panicked()));
                let both = self.record_interleaved(measuring, subject, step, attempts, None)?;
                self.after_interleaved(measuring, subject, step, sharing, both)
            }
            Ok(_) => {
                let fails = InterleavingUnavailable::FailsInterleaved;
                Ok(Ended::Obstacle(Obstacle::Unavailable(fails)))
            }
            Err(unmeasured) => {
                self.record(measuring, subject, step, version, Err(&unmeasured))?;
                self.after_unmeasured(measuring, subject, step, version)
            }
        }
    }

    /// Executes the other version of a benchmark that failed or was skipped in `version`: it may do
    /// the same.
    fn after_unmeasured(
        &self,
        measuring: &Measuring<'_>,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
    ) -> Result<Ended> {
        for other in step.versions.iter().copied().filter(|other| *other != version) {
            if let Err(unmeasured) = self.execute_alone(subject, step, other)? {
                self.record(measuring, subject, step, other, Err(&unmeasured))?;
            }
        }
        Ok(Ended::Unmeasured)
    }

    /// Executes both versions of each benchmark at once, each pair on its CPUs, from the initial
    /// state of its step. Samples them at this interval, if one is given.
    pub(super) fn execute_interleaved(
        &self,
        support: Option<&PreloadedLibrary>,
        placed: &[(&Subject<'_>, &Step, Sharing)],
        period: Option<Duration>,
    ) -> Result<Vec<Result<[Attempt; 2]>>> {
        self.build_env.activate(&own_directory())?;
        let pairs = placed
            .iter()
            .map(|(subject, step, sharing)| Pair::new(subject, step, *sharing))
            .collect::<Result<Vec<_>>>()?;
        let build_path = self.build_env.cache_dirs.build_path();
        let Some(PreloadedLibrary { path: library, cpus }) = support else {
            return Err(Error::new(Exit::Internal, "executions cannot be interleaved here"));
        };
        let conditions = self.conditions;
        let support = SupportTable { library, build_path: &build_path, cpus, conditions, period };
        // Both versions are prepared before either runs, since nothing else may run meanwhile.
        pairs.iter().try_for_each(|pair| pair.prepare(&support))?;
        // Those that use anything there are executed one pair at a time.
        let outside = placed.iter().map(|(subject, ..)| FilesOutside::save(&subject.outside));
        let outside: Vec<FilesOutside> = outside.collect();
        let attempts = Self::execute_pairs(&pairs, &support);
        for saved in &outside {
            self.restore(saved);
        }
        let concluded = pairs.iter().rev().try_for_each(|pair| pair.conclude(&support));
        // After an interrupt, which the attempts have too, the clean-up follows.
        concluded.or_else(|error| match error.exit() {
            Exit::Interrupted => Ok(()),
            _ => Err(error),
        })?;
        Ok(attempts)
    }

    fn execute_pairs(pairs: &[Pair<'_>], support: &SupportTable<'_>) -> Vec<Result<[Attempt; 2]>> {
        if let [only] = pairs {
            return vec![only.execute(support)];
        }
        thread::scope(|scope| {
            let running: Vec<_> =
                pairs.iter().map(|pair| scope.spawn(move || pair.execute(support))).collect();
            let attempts = running.into_iter().map(ScopedJoinHandle::join);
            attempts.map(|joined| joined.unwrap_or_else(|_| Err(panicked()))).collect()
        })
    }
}

/// Both versions of a benchmark, to be executed at once.
struct Pair<'p> {
    name: &'p Name,
    request: ExecutionRequest,
    halves: [ProcessUse<'p>; 2],
    sharing: Sharing,
    slice: Duration,
    run_time: Option<Duration>,
}

impl<'p> Pair<'p> {
    fn new(subject: &'p Subject<'_>, step: &Step, sharing: Sharing) -> Result<Self> {
        let [one, other] = step.versions.as_slice() else {
            let what = format!("{} cannot be interleaved", subject.benchmark);
            return Err(Error::new(Exit::Internal, what));
        };
        let half = |version: usize| -> Result<ProcessUse<'p>> {
            let build = subject.build(version, step.build)?;
            Ok(ProcessUse { version: &subject.versions[version], build })
        };
        Ok(Self {
            name: &subject.benchmark.name,
            request: ExecutionRequest { seed: step.initial_state, ..subject.interleaved_request() },
            halves: [half(*one)?, half(*other)?],
            sharing,
            slice: subject.slice,
            run_time: subject.run_time,
        })
    }

    fn prepare(&self, support: &SupportTable<'_>) -> Result<()> {
        self.halves.iter().try_for_each(|half| {
            let name = half.version.harness.own_name(self.name)?;
            support.in_its_own_directory(half).prepare(&[name], &support.conditions)
        })
    }

    fn conclude(&self, support: &SupportTable<'_>) -> Result<()> {
        self.halves.iter().rev().try_for_each(|half| {
            let name = half.version.harness.own_name(self.name)?;
            support.in_its_own_directory(half).conclude(&[name], &support.conditions)
        })
    }

    fn execute(&self, support: &SupportTable<'_>) -> Result<[Attempt; 2]> {
        let Self { name, request, halves, sharing, slice, run_time } = self;
        support.execute(name, request, halves, *sharing, *slice, *run_time)
    }
}

/// Lets the guard of a benchmark compare the times of both versions with those alone. Returns the interference that is
/// shown now, if there is any.
fn note_times(
    subject: &mut Subject<'_>,
    step: &Step,
    executions: &[Execution; 2],
) -> Option<InterleavingUnavailable> {
    let metric = subject.guarded_metric();
    let mut times = [(None, None); 2];
    for (version, execution) in step.versions.iter().zip(executions) {
        times[*version] = (execution.median_of(&metric), execution.alone);
    }
    let [(base, base_alone), (head, head_alone)] = times;
    let interleaved = base.zip(head)?.into();
    let alone = base_alone.zip(head_alone).map(Into::into);
    let found = subject.guard.note(interleaved, alone, subject.memory, subject.threads);
    debug!(?interleaved, ?alone, ?found, "{}", subject.benchmark);
    match found {
        Interference::Asymmetric => Some(InterleavingUnavailable::ChangeDiffers),
        Interference::Slower => Some(InterleavingUnavailable::SlowerInterleaved),
        Interference::None | Interference::Undecided => None,
    }
}

/// Why a benchmark cannot be interleaved, if earlier results or a trace show it.
fn unavailable_reason(
    subject: &Subject<'_>,
    earlier: &[StoredExecution],
    is_supported: bool,
    other_clock: Option<OtherClock>,
) -> Option<InterleavingUnavailable> {
    if subject.mode != Mode::Interleaved {
        None
    } else if is_supported {
        let earlier = earlier.iter().find_map(|row| row_schedule(row)?.unavailable().cloned());
        earlier.or(other_clock.map(Into::into))
    } else {
        Some(InterleavingUnavailable::NoLibrary)
    }
}

impl From<OtherClock> for InterleavingUnavailable {
    fn from(clock: OtherClock) -> Self {
        match clock {
            OtherClock::Counter => Self::Counter,
            OtherClock::KernelClock => Self::KernelClock,
            OtherClock::Deadline => Self::Deadline,
        }
    }
}

fn row_schedule(row: &StoredExecution) -> Option<&Schedule> {
    Some(&row.outcome.as_ref().ok()?.schedule)
}

impl Runner<'_> {
    /// Excludes interruptions from the time of executions that run alone, from now on. Warns the
    /// user if the library for that cannot be had.
    pub fn leave_out_interruptions(&mut self, version: &ListedVersion) -> Result<()> {
        let instead = "interruptions are not excluded from a benchmark's time";
        self.uninterrupted = self.version_support(version, instead)?;
        Ok(())
    }

    pub fn leaves_out_interruptions(&self) -> bool {
        self.uninterrupted.is_some()
    }
}
