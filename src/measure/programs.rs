//! Decides whether both versions of a whole program can run at once on one CPU.
//!
//! The kernel alternates two programs that compute every few milliseconds, so a disturbance affects both alike, and it
//! knows the CPU time of each exactly. A program that waits is better described by its wall time, and a parallel one has
//! another speed on one CPU: these run sequentially. So do programs that the other version might notice, since both would
//! write the same files or need the same port.

use super::{
    ListedVersion, Runner,
    program_use::{is_certain, unavailable_by, waits_differ},
    schedule::Step,
    subject::Subject,
};
use crate::{
    error::{Exit, Result},
    model::{Benchmark, InterleavingUnavailable, Resources},
};

/// The largest number of executions of a version that show what it does.
const TRIES: usize = 3;

impl Runner<'_> {
    /// Finds out why a whole program cannot run in both versions at once, before the first execution of an experiment:
    /// executes each version alone, and traces it. Nothing is found if the program fails, which it does again when it is
    /// measured.
    pub(super) fn examine_program(
        &self,
        subject: &mut Subject<'_>,
        versions: &[ListedVersion],
    ) -> Result<()> {
        // In a noisy moment it could seem to be another program, and both stages must be measured in the same way.
        if !subject.is_program() || !subject.is_interleaved() || subject.was_interleaved {
            return Ok(());
        }
        let step = Step {
            round: 0,
            build: 0,
            benchmark: 0,
            versions: (0..versions.len()).collect(),
            initial_state: 0,
        };
        let execute = |subject: &Subject<'_>, version| -> Result<Option<Resources>> {
            let execution = self.execute_once(subject, &step, version, &subject.request)?;
            Ok(execution.ok().map(|execution| execution.resources))
        };
        let mut alone = [const { Vec::new() }; 2];
        for (version, alone) in alone.iter_mut().enumerate() {
            while alone.len() < TRIES && !alone.last().is_some_and(is_certain) {
                let Some(resources) = execute(subject, version)? else { return Ok(()) };
                alone.push(resources);
            }
            subject.unavailable = unavailable_by(alone);
            if subject.unavailable.is_some() {
                return Ok(());
            }
            let last = alone.last();
            subject.memory = subject.memory.max(last.and_then(|resources| resources.peak_memory));
            subject.guard.hints[version] = last.map(|last| last.cpu().as_nanos() as f64);
        }
        let differ = loop {
            match waits_differ(&alone) {
                Some(differ) => break differ,
                None => {
                    for (version, alone) in alone.iter_mut().enumerate() {
                        let Some(resources) = execute(subject, version)? else { return Ok(()) };
                        alone.push(resources);
                    }
                }
            }
        };
        if differ {
            subject.unavailable = Some(InterleavingUnavailable::WaitsDiffer);
            return Ok(());
        }
        for version in versions {
            subject.unavailable = match self.is_private(version, &subject.benchmark)? {
                Some(true) => continue,
                Some(false) => Some(InterleavingUnavailable::NotPrivate),
                None => Some(InterleavingUnavailable::UnknownProgram),
            };
            return Ok(());
        }
        Ok(())
    }

    /// True if a program makes only system calls that another execution cannot notice; `None` if it cannot be traced.
    fn is_private(&self, version: &ListedVersion, benchmark: &Benchmark) -> Result<Option<bool>> {
        let traceable = match self.traceable(version, &benchmark.bench_target()) {
            Err(error) if error.exit() == Exit::Interrupted => return Err(error),
            Err(_) => return Ok(None),
            Ok(traceable) => traceable,
        };
        let traces = self.trace(&traceable, &[(benchmark, None)], false, &mut || ())?;
        Ok(traces.first().filter(|trace| !trace.is_none()).map(|trace| trace.is_private))
    }
}
