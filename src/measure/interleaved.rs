//! Measures both versions of a benchmark at once, by turns, as long as nothing keeps it from that. The same library
//! leaves what interrupts a process out of its time where that is executed alone.

use std::{path::PathBuf, thread};

use tracing::info;

use super::{
    ListedVersion, Runner, StartedExperiment,
    interleaving_support::{
        Attempt, Both, InterleavingSupport, ProcessUse, SupportTable, both, panicked,
    },
    run::{Ended, Measuring},
    schedule::Step,
    subject::{InVersion, Subject},
};
use crate::{
    builds::Event,
    error::{Error, Exit, Result},
    harness::{Conditions, Executable},
    model::{ExecutionRequest, HarnessKind, InterleavingUnavailable, Mode, Name, Schedule, Stage},
    process::{
        self,
        interleaving::{InterleavedProcess, SharedPage, own_directory},
    },
    store::StoredExecution,
};

impl Runner<'_> {
    /// The library for turns, made by the compiler of a version.
    pub fn interleaving_library(&self, version: &ListedVersion) -> Result<PathBuf> {
        self.workshop.interleaving_library(version.source(), &version.compilation.record.rustc)
    }

    /// What it takes to take turns, where both versions are to be executed at once; none where it cannot be
    /// had, which the user is warned of.
    pub(super) fn interleaving_support(
        &self,
        versions: &[ListedVersion],
    ) -> Result<Option<InterleavingSupport>> {
        let [_, head] = versions else { return Ok(None) };
        if self.settings.mode != Mode::Interleaved {
            return Ok(None);
        }
        self.version_support(head, "benchmarks are executed one after the other, and not in turns")
    }

    /// The library with the compiler of this version; none where it cannot be had, which the user is warned of, with
    /// what is done `instead`.
    pub(super) fn version_support(
        &self,
        version: &ListedVersion,
        instead: &str,
    ) -> Result<Option<InterleavingSupport>> {
        let ability = self.interleaving_library(version).and_then(|library| {
            let cpus = self.conditions.cpu.map_or_else(process::cpus, |cpu| Ok(vec![cpu]))?;
            SharedPage::new(&library, &cpus)?;
            Ok(InterleavingSupport { library, cpus })
        });
        match ability {
            Ok(ability) => Ok(Some(ability)),
            Err(failure) if failure.exit() == Exit::Interrupted => Err(failure),
            Err(failure) => {
                let failure = failure.cause(instead);
                self.observer.build_event(&Event::Warning(&failure.to_string()));
                Ok(None)
            }
        }
    }

    /// Notes what was measured of a benchmark in this stage before, and what keeps it from taking turns, as far as
    /// that is known. What was measured in turns in this stage is then forgotten.
    pub(super) fn expect_what_is_known(
        &self,
        subject: &mut Subject<'_>,
        begun: &StartedExperiment,
        stage: Stage,
        is_able: bool,
    ) -> Result<()> {
        let earlier = self.store.rows(&subject.benchmark, &[begun.id])?;
        let of_stage =
            || earlier.iter().filter(|row| row.slot.stage == stage && row.outcome.is_ok());
        subject.obstacle = unavailable_reason(subject, &earlier, is_able);
        if let Some(obstacle) = subject.obstacle {
            info!("{} is measured sequentially: {obstacle}", subject.benchmark);
        }
        let is_taken =
            |row: &StoredExecution| matches!(row_schedule(row), Some(Schedule::Interleaved(_)));
        if subject.obstacle.is_some() && of_stage().any(is_taken) {
            return self.store.forget_benchmark(begun.id, stage, &subject.benchmark);
        }
        subject.done = of_stage().map(|row| row.slot).collect();
        if !subject.done.is_empty() {
            subject.retuning.settle();
        }
        Ok(())
    }

    /// What came of both versions that were executed at once, stored together or not at all.
    pub(super) fn after_interleaved(
        &self,
        measuring: &Measuring<'_>,
        subject: &mut Subject<'_>,
        step: &Step,
        cpu: usize,
        attempts: Result<[Attempt; 2]>,
    ) -> Result<Ended> {
        let executions = match both(attempts?)? {
            Both::Measured(executions) => executions,
            Both::Unavailable(obstacle) => return Ok(Ended::InterleavingUnavailable(obstacle)),
            Both::Failed(half) => {
                let version = step.versions[half];
                return self.after_interleaved_failure(measuring, subject, step, version, cpu);
            }
            Both::Skipped(half, skipped) => {
                self.record(measuring, subject, step, step.versions[half], Err(&skipped))?;
                return Ok(Ended::Unmeasured);
            }
        };
        let measured = || step.versions.iter().copied().zip(executions.iter());
        let slots = measured().map(|(version, execution)| {
            (&subject.benchmark, measuring.slot(step, version), Ok(execution))
        });
        self.store.record_executions(measuring.begun.id, slots)?;
        for (version, execution) in measured() {
            self.report_incidents(subject, execution);
            self.tune_again_if_needed(subject, step, version, measuring.builds, execution)?;
        }
        Ok(Ended::Measured)
    }

    /// A version that failed in turns is executed alone: only what fails there too is a failure of the
    /// benchmark. What it measures alone is not stored, as the other version is to be measured alone too.
    /// Where it had too many iterations, both take turns once more.
    fn after_interleaved_failure(
        &self,
        measuring: &Measuring<'_>,
        subject: &mut Subject<'_>,
        step: &Step,
        version: usize,
        cpu: usize,
    ) -> Result<Ended> {
        let iterations = subject.request.iterations;
        match self.execute_alone(subject, step, version, measuring.builds)? {
            Ok(_) if subject.request.iterations < iterations => {
                let attempts = self.execute_interleaved(measuring, &[(subject, step, cpu)])?;
                let attempts = attempts.into_iter().next().unwrap_or_else(|| Err(panicked()));
                self.after_interleaved(measuring, subject, step, cpu, attempts)
            }
            Ok(_) => Ok(Ended::InterleavingUnavailable(InterleavingUnavailable::FailsInterleaved)),
            Err(unmeasured) => {
                self.record(measuring, subject, step, version, Err(&unmeasured))?;
                Ok(Ended::Unmeasured)
            }
        }
    }

    /// Both versions of each benchmark at once, each pair on its CPU, from the initial state of its step.
    pub(super) fn execute_interleaved(
        &self,
        measuring: &Measuring<'_>,
        placed: &[(&Subject<'_>, &Step, usize)],
    ) -> Result<Vec<Result<[Attempt; 2]>>> {
        self.workshop.activate(&own_directory())?;
        let pairs = placed
            .iter()
            .map(|(subject, step, cpu)| Pair::new(measuring, subject, step, *cpu))
            .collect::<Result<Vec<_>>>()?;
        let build_path = self.workshop.cache_dirs.build_path();
        let Some(InterleavingSupport { library, cpus }) = &measuring.ability else {
            return Err(Error::new(Exit::Internal, "executions cannot take turns here"));
        };
        let conditions = self.conditions;
        let turns = SupportTable { library, build_path: &build_path, cpus, conditions };
        if let [only] = pairs.as_slice() {
            return Ok(vec![only.execute(&turns)]);
        }
        thread::scope(|scope| {
            let turns = &turns;
            let running: Vec<_> =
                pairs.iter().map(|pair| scope.spawn(move || pair.execute(turns))).collect();
            let attempts = running.into_iter().map(|one| one.join().map_err(|_| panicked()));
            attempts.collect()
        })
    }
}

/// Both versions of a benchmark, to be executed at once.
struct Pair<'p> {
    name: &'p Name,
    request: ExecutionRequest,
    halves: [ProcessUse<'p>; 2],
    cpu: usize,
}

impl<'p> Pair<'p> {
    fn new(
        measuring: &'p Measuring<'_>,
        subject: &'p Subject<'_>,
        step: &Step,
        cpu: usize,
    ) -> Result<Self> {
        let [one, other] = step.versions.as_slice() else {
            let what = format!("{} cannot take turns", subject.benchmark);
            return Err(Error::new(Exit::Internal, what));
        };
        let half = |version: usize| -> Result<ProcessUse<'p>> {
            Ok(ProcessUse {
                version: &subject.versions[version],
                executable: subject.executable(version, step.build)?,
                home: measuring.builds.versions[version].home_of(step.build),
            })
        };
        Ok(Self {
            name: &subject.benchmark.name,
            request: ExecutionRequest { seed: step.initial_state, ..subject.request.clone() },
            halves: [half(*one)?, half(*other)?],
            cpu,
        })
    }

    fn execute(&self, turns: &SupportTable<'_>) -> Result<[Attempt; 2]> {
        turns.execute(self.name, &self.request, &self.halves, self.cpu)
    }
}

/// Why a benchmark cannot take turns, as far as that is known from its harness and from what was measured.
fn unavailable_reason(
    subject: &Subject<'_>,
    earlier: &[StoredExecution],
    is_able: bool,
) -> Option<InterleavingUnavailable> {
    let of_command = |version: &InVersion<'_>| version.harness.kind() == HarnessKind::Command;
    if subject.mode != Mode::Interleaved {
        None
    } else if subject.versions.iter().any(of_command) {
        Some(InterleavingUnavailable::WholeProgram)
    } else if is_able {
        earlier.iter().find_map(|row| match row_schedule(row)? {
            Schedule::Unavailable(obstacle) => Some(obstacle),
            Schedule::NotRequested | Schedule::Interleaved(_) => None,
        })
    } else {
        Some(InterleavingUnavailable::NoLibrary)
    }
}

fn row_schedule(row: &StoredExecution) -> Option<Schedule> {
    Some(row.outcome.as_ref().ok()?.schedule)
}

impl Runner<'_> {
    /// From now on, interruptions are left out of the time of what is executed alone, if the library for that can be
    /// had; otherwise the user is warned.
    pub fn leave_out_interruptions(&mut self, version: &ListedVersion) -> Result<()> {
        let instead = "what interrupts a benchmark is not left out of its time";
        self.uninterrupted = self.version_support(version, instead)?;
        Ok(())
    }

    /// Whether interruptions are left out.
    pub fn leaves_out_interruptions(&self) -> bool {
        self.uninterrupted.is_some()
    }

    /// Executes this executable alone, under these conditions.
    pub(super) fn alone<T>(
        &self,
        executable: &Executable,
        conditions: &Conditions<'_>,
        execute: impl FnOnce(&Conditions<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(ability) = &self.uninterrupted else { return execute(conditions) };
        let member =
            InterleavedProcess::alone(&ability.library, &ability.cpus, &executable.directory)?;
        execute(&Conditions { member: Some(&member), ..*conditions })
    }
}
