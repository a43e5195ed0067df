//! Measures both versions of a benchmark at once, by turns, as long as nothing keeps it from that.

use std::path::PathBuf;

use super::{
    Begun, ListedVersion, Runner,
    measure::{Ended, Measuring},
    schedule::Step,
    subject::{InVersion, Subject},
    turns::{Attempt, Both, Half, Turntaking, both},
};
use crate::{
    build::Event,
    failure::{Exit, Failure, Result},
    model::{ExecutionRequest, HarnessKind, Interleave, Obstacle, Stage, Turns},
    process::{
        self,
        turns::{Ring, own_directory},
    },
    store::Row,
};

/// What it takes to take turns.
pub(super) struct Ability {
    /// The library that is preloaded.
    library: PathBuf,
    /// The CPUs on which executions may run.
    pub(super) cpus: Vec<usize>,
}

impl Runner<'_> {
    /// The library for turns, made by the compiler of a version.
    pub fn turns_library(&self, version: &ListedVersion) -> Result<PathBuf> {
        self.workshop.turns_library(version.source(), &version.compilation.record.rustc)
    }

    /// What it takes to take turns, where both versions are to be executed at once; none where it cannot be
    /// had, which the user is warned of.
    pub(super) fn ability_to_take_turns(
        &self,
        versions: &[ListedVersion],
    ) -> Result<Option<Ability>> {
        let [_, head] = versions else { return Ok(None) };
        if self.settings.interleave != Interleave::Turns {
            return Ok(None);
        }
        let ability = self.turns_library(head).and_then(|library| {
            let cpus = self.conditions.cpu.map_or_else(process::cpus, |cpu| Ok(vec![cpu]))?;
            Ring::new(&library, &cpus)?;
            Ok(Ability { library, cpus })
        });
        match ability {
            Ok(ability) => Ok(Some(ability)),
            Err(failure) if failure.exit() == Exit::Interrupted => Err(failure),
            Err(failure) => {
                let instead = "benchmarks are executed one after the other, and not in turns";
                let failure = failure.because(instead);
                self.observer.build_event(&Event::Warning(&failure.to_string()));
                Ok(None)
            }
        }
    }

    /// Notes what keeps a benchmark from taking turns, as far as that is known before it is measured. What an
    /// earlier run measured in turns in this stage is then forgotten.
    pub(super) fn expect_known_obstacle(
        &self,
        subject: &mut Subject<'_>,
        begun: &Begun,
        stage: Stage,
        is_able: bool,
    ) -> Result<()> {
        if subject.interleave != Interleave::Turns {
            return Ok(());
        }
        let earlier = self.store.rows(&subject.benchmark, &[begun.id])?;
        let of_command = |version: &InVersion<'_>| version.harness.kind() == HarnessKind::Command;
        subject.obstacle = if subject.versions.iter().any(of_command) {
            Some(Obstacle::WholeProgram)
        } else if is_able {
            earlier.iter().find_map(|row| match turns_of(row)? {
                Turns::Impossible(obstacle) => Some(obstacle),
                Turns::NotAsked | Turns::Taken(_) => None,
            })
        } else {
            Some(Obstacle::NoLibrary)
        };
        let is_taken = |row: &Row| matches!(turns_of(row), Some(Turns::Taken(_)));
        if subject.obstacle.is_some()
            && earlier.iter().any(|row| row.slot.stage == stage && is_taken(row))
        {
            self.store.forget_benchmark(begun.id, stage, &subject.benchmark)?;
            subject.begins_anew = true;
        }
        Ok(())
    }

    /// Both versions at once, stored together or not at all.
    pub(super) fn by_turns(
        &self,
        measuring: &Measuring<'_>,
        subject: &mut Subject<'_>,
        step: &Step,
        cpu: usize,
    ) -> Result<Ended> {
        let attempts = self.execute_by_turns(measuring, subject, step, cpu)?;
        let executions = match both(attempts)? {
            Both::Measured(executions) => executions,
            Both::CannotTakeTurns(obstacle) => return Ok(Ended::CannotTakeTurns(obstacle)),
            Both::Failed(half) => {
                let version = step.versions[half];
                return self.after_failure_in_turns(measuring, subject, step, version, cpu);
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
            self.tell_incidents(subject, execution);
            self.tune_again_if_needed(subject, step, version, measuring.builds, execution)?;
        }
        Ok(Ended::Measured)
    }

    /// A version that failed in turns is executed alone: only what fails there too is a failure of the
    /// benchmark. What it measures alone is not stored, as the other version is to be measured alone too.
    /// Where it had too many iterations, both take turns once more.
    fn after_failure_in_turns(
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
                self.by_turns(measuring, subject, step, cpu)
            }
            Ok(_) => Ok(Ended::CannotTakeTurns(Obstacle::FailsInTurns)),
            Err(unmeasured) => {
                self.record(measuring, subject, step, version, Err(&unmeasured))?;
                Ok(Ended::Unmeasured)
            }
        }
    }

    /// One execution of both versions at once, from the initial state of the step.
    fn execute_by_turns(
        &self,
        measuring: &Measuring<'_>,
        subject: &Subject<'_>,
        step: &Step,
        cpu: usize,
    ) -> Result<[Attempt; 2]> {
        let ([one, other], Some(ability)) = (step.versions.as_slice(), &measuring.ability) else {
            let what = format!("{} cannot take turns", subject.benchmark);
            return Err(Failure::new(Exit::Internal, what));
        };
        let half = |version: usize| -> Result<Half<'_>> {
            Ok(Half {
                version: &subject.versions[version],
                executable: subject.executable(version, step.build)?,
                home: measuring.builds.versions[version].home_of(step.build),
            })
        };
        let halves = [half(*one)?, half(*other)?];
        self.workshop.activate(&own_directory())?;
        let build_path = self.workshop.site.build_path();
        let turns = Turntaking {
            library: &ability.library,
            build_path: &build_path,
            cpus: &ability.cpus,
            conditions: self.conditions,
        };
        let request = ExecutionRequest { seed: step.initial_state, ..subject.request.clone() };
        turns.execute(&subject.benchmark.name, &request, &halves, cpu)
    }
}

fn turns_of(row: &Row) -> Option<Turns> {
    Some(row.outcome.as_ref().ok()?.turns)
}
