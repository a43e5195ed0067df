//! What both versions of a benchmark use outside of their checkouts: a port, a lock, a file at a fixed path. At once, they
//! would meet there, so such a benchmark is measured sequentially. Each execution finds the files that it writes there as
//! the one before found them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rbench_code::impact::{Outside, Trace};

use super::{
    ListedVersion, Runner,
    missing_files::observe,
    outside::{FilesOutside, KnownOutside, now, remove},
    subject::{BuiltProgram, Obstacle, Subject},
    version::VersionFiles,
};
use crate::{
    builds::files,
    error::{Exit, Result},
    harness::Conditions,
    model::{BenchTarget, Benchmark, InterleavingUnavailable},
    process::trace::Observed,
};

impl Runner<'_> {
    /// Finds out what these benchmarks use outside of their checkouts, before the first execution of a stage. Traces those
    /// that were not traced yet.
    pub(super) fn examine_outside(
        &self,
        subjects: &mut [Subject<'_>],
        versions: &[ListedVersion],
    ) -> Result<()> {
        let [base, head] = versions else { return Ok(()) };
        let targets: BTreeSet<BenchTarget> =
            subjects.iter().map(|subject| subject.benchmark.bench_target()).collect();
        for target in targets {
            let all = subjects.iter().map(|subject| &subject.benchmark);
            let unknown = all.filter(|one| one.bench_target() == target && !self.is_known(one));
            let unknown: Vec<_> = unknown.map(|benchmark| (benchmark, None)).collect();
            if unknown.is_empty() {
                continue;
            }
            let in_base = self.traces_of(base, &target, &unknown)?;
            let in_head = self.traces_of(head, &target, &unknown)?;
            for (((benchmark, _), base), head) in unknown.iter().zip(&in_base).zip(&in_head) {
                self.note_outside(benchmark, KnownOutside::by_traces([base, head]));
            }
        }
        for subject in subjects {
            let known = self.confirmed_outside(subject, [base, head])?;
            subject.run_time = known.run_time;
            subject.uses_outside = known.used.iter().any(|used| *used != Outside::default());
            subject.outside = known.written();
        }
        Ok(())
    }

    /// Measures a benchmark sequentially whose versions would meet outside of their checkouts, and says which files differ
    /// between its executions.
    pub(super) fn separate(&self, subject: &mut Subject<'_>) {
        let shared = match self.outside.borrow().get(&subject.benchmark) {
            Some(KnownOutside { used: [base, head], .. }) => base.shared(head).words(),
            None => None,
        };
        let left = FilesOutside::save(&subject.outside).not_restorable;
        let left = Outside { written: left, ..Outside::default() }.words();
        let left = left.map(|left| format!("each execution finds {left} as the last one left it"));
        let is_interleaved = subject.is_interleaved()
            || subject.unavailable == Some(InterleavingUnavailable::NotPrivate);
        match shared {
            // Both stages must be measured in the same way.
            Some(things) if is_interleaved && !subject.was_interleaved => {
                let things = [things].into_iter().chain(left).collect::<Vec<_>>().join("; ");
                let shared = InterleavingUnavailable::Shared(things);
                subject.meet(Obstacle::Unavailable(shared));
            }
            // The reason says it.
            _ if matches!(subject.unavailable, Some(InterleavingUnavailable::Shared(_))) => {}
            _ => {
                if let Some(left) = left {
                    self.observer.note(&format!("{}: {left}", subject.benchmark));
                }
            }
        }
    }

    fn is_known(&self, benchmark: &Benchmark) -> bool {
        self.outside.borrow().contains_key(benchmark)
    }

    pub(super) fn note_outside(&self, benchmark: &Benchmark, known: KnownOutside) {
        self.outside.borrow_mut().insert(benchmark.clone(), known);
    }

    /// The traces of these benchmarks; none where the target cannot be traced.
    fn traces_of(
        &self,
        version: &ListedVersion,
        target: &BenchTarget,
        benchmarks: &[(&Benchmark, Option<&Trace>)],
    ) -> Result<Vec<Trace>> {
        match self.traceable(version, target) {
            Err(error) if error.exit() == Exit::Interrupted => Err(error),
            Err(_) => Ok(Vec::new()),
            Ok(traceable) => self.trace(&traceable, benchmarks, false, &mut || ()),
        }
    }

    /// What a benchmark uses, by one more traced execution of each version that uses anything. A trace may be that of the
    /// other version, and its random names are then those of both.
    fn confirmed_outside(
        &self,
        subject: &Subject<'_>,
        versions: [&ListedVersion; 2],
    ) -> Result<KnownOutside> {
        let mut known = self.outside.borrow().get(&subject.benchmark).cloned().unwrap_or_default();
        if known.is_confirmed {
            return Ok(known);
        }
        let saved = FilesOutside::save(&known.written());
        for (index, version) in versions.into_iter().enumerate() {
            let used = &mut known.used[index];
            if *used == Outside::default() {
                continue;
            }
            let BuiltProgram { executable, home } = subject.build(index, 0)?;
            self.build_env.activate(home)?;
            let (harness, name) = (subject.versions[index].harness, &subject.benchmark.name);
            let execute = |conditions: &Conditions<'_>| {
                harness.execute(executable, name, &subject.request, conditions)
            };
            let begin = now();
            let program = files::real(&executable.path);
            if let (outcome, Some(Ok(observed))) = observe(program, &self.conditions, execute)? {
                let files = version.files(self.build_env.cache_dirs.build_path());
                remove_created(&observed, &files, begin);
                // A failed execution may have ended before it used anything.
                if outcome.is_ok() {
                    *used = used.shared(&outside_of(&observed, &files));
                }
            }
            self.restore(&saved);
        }
        known.is_confirmed = true;
        self.note_outside(&subject.benchmark, known.clone());
        Ok(known)
    }

    /// Restores files after an execution, and says once of each one if that is impossible.
    pub(super) fn restore(&self, saved: &FilesOutside) {
        for path in saved.restore() {
            if self.not_restored.borrow_mut().insert(path.clone()) {
                let path = path.display();
                self.observer.note(&format!("{path} could not be restored after an execution"));
            }
        }
    }
}

/// The part of an observation that the other version could meet: all versions have the same path, and each has its own
/// files there.
pub(super) fn outside_of(observed: &Observed, files: &VersionFiles) -> Outside {
    let is_outside = |path: &&PathBuf| is_outside(path, files);
    Outside {
        held: observed.held.clone(),
        written: observed.written.iter().filter(is_outside).cloned().collect(),
    }
}

fn is_outside(path: &Path, files: &VersionFiles) -> bool {
    files.find(path, path.to_owned(), false).is_empty()
}

/// Removes what a traced execution has created outside of its version since its `begin`, so that the next execution finds
/// what it found.
pub(super) fn remove_created(observed: &Observed, files: &VersionFiles, begin: SystemTime) {
    for path in observed.created.iter().filter(|path| is_outside(path, files)) {
        remove(path, begin);
    }
}
