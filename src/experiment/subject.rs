//! What is executed of a benchmark: its executable in every build, and iterations tuned once for all.

use super::{Builds, Experiment, Side, plan::asked, session::Subject, target_of};
use crate::{
    build::VersionBuilds,
    failure::{Exit, Failure, Result},
    harness::Executable,
    machine::this_machine,
    model::{Benchmark, ExecutionRequest, HarnessKind, Series},
};

impl Experiment<'_> {
    /// The benchmark in all builds of all versions.
    pub(super) fn subject<'s>(
        &self,
        sides: &'s [Side],
        builds: &Builds,
        benchmark: &Benchmark,
    ) -> Result<Subject<'s>> {
        let mut harness = None;
        let mut executables = Vec::with_capacity(sides.len());
        for (side, of_version) in sides.iter().zip(&builds.versions) {
            let Some(listed) = side.listed(benchmark) else {
                let what = format!("{benchmark} is not in {}", side.version);
                return Err(Failure::new(Exit::Internal, what));
            };
            harness.get_or_insert(&*listed.harness);
            executables.push(builds_of(benchmark, of_version, &listed.executable));
        }
        let Some(harness) = harness else {
            return Err(Failure::new(Exit::Internal, "an experiment has no version"));
        };
        let mut subject = Subject {
            harness,
            name: benchmark.name.clone(),
            asked: asked(self.efforts.of(benchmark)),
            executables,
        };
        self.tune(&mut subject, benchmark, builds)?;
        Ok(subject)
    }

    /// Finds the iterations of a measurement once for a benchmark and machine, so that all builds of
    /// all versions use the same.
    ///
    /// Other harnesses than our own decide for themselves. A benchmark that fails here fails again
    /// when it is measured, and is reported then.
    fn tune(
        &self,
        subject: &mut Subject<'_>,
        benchmark: &Benchmark,
        builds: &Builds,
    ) -> Result<()> {
        if subject.harness.kind() != HarnessKind::Native {
            return Ok(());
        }
        let machine = this_machine();
        subject.asked.iterations = self.store.tuned(benchmark, &machine)?;
        if subject.asked.iterations.is_some() {
            return Ok(());
        }
        self.workshop.enter(builds.versions[0].home_of(0))?;
        let Some(executable) = subject.executables[0].first() else { return Ok(()) };
        let once = ExecutionRequest { measurements: 1, ..subject.asked.clone() };
        match subject.harness.execute(executable, &subject.name, &once, &self.conditions) {
            Ok(tuned) => {
                let iterations = tuned.series.first().and_then(Series::same_iterations);
                subject.asked.iterations = iterations;
                iterations
                    .map_or(Ok(()), |found| self.store.record_tuned(benchmark, &machine, found))
            }
            Err(failure) if failure.exit() == Exit::Interrupted => Err(failure),
            Err(_) => Ok(()),
        }
    }
}

/// The executable of each build, with all else as it was listed.
fn builds_of(
    benchmark: &Benchmark,
    builds: &VersionBuilds,
    listed: &Executable,
) -> Vec<Executable> {
    let target = builds.target(&target_of(benchmark));
    let all = target.map(|target| target.builds.as_slice()).unwrap_or_default();
    let of_build = |path: &std::path::Path| Executable { path: path.to_owned(), ..listed.clone() };
    all.iter().map(|build| of_build(&build.executable)).collect()
}
