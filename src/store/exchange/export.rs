//! Writes a store as lines.

use std::io::Write;

use super::{
    FORMAT, SCHEMA_VERSION,
    line::{BuildLine, ExecutionLine, ExperimentLine, FailureLine, Line, TuningLine, VersionLine},
};
use crate::{
    failure::{Exit, OrFail, Result},
    store::{Experiment, Store, experiment::nanoseconds},
};

/// Writes lines and counts them.
struct Lines<'w> {
    out: &'w mut dyn Write,
    written: usize,
}

impl Lines<'_> {
    fn write(&mut self, line: &Line) -> Result<()> {
        let what = || "cannot write the exported results";
        serde_json::to_writer(&mut *self.out, line).or_fail(Exit::Usage, what)?;
        self.out.write_all(b"\n").or_fail(Exit::Usage, what)?;
        self.written += 1;
        Ok(())
    }
}

impl Store<'_> {
    /// Writes everything that is stored to `out`, as lines of JSON.
    pub fn export(&self, out: &mut dyn Write) -> Result<()> {
        let mut lines = Lines { out, written: 0 };
        lines.write(&Line::Header {
            format: FORMAT.to_owned(),
            schema_version: SCHEMA_VERSION,
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
        })?;
        for experiment in self.experiments()? {
            self.export_experiment(&experiment, &mut lines)?;
        }
        for (benchmark, machine, iterations) in self.all_tuned()? {
            let benchmark = (&benchmark).into();
            lines.write(&Line::Tuning(TuningLine { benchmark, machine, iterations }))?;
        }
        let end = Line::End { lines: lines.written };
        lines.write(&end)?;
        lines.out.flush().or_fail(Exit::Usage, || "cannot write the exported results")
    }

    fn export_experiment(&self, experiment: &Experiment, lines: &mut Lines<'_>) -> Result<()> {
        let id = experiment.id;
        lines.write(&Line::Experiment(experiment_line(experiment)))?;
        for build in self.builds(id)? {
            lines.write(&Line::Build(BuildLine {
                version: build.version,
                package: build.target.package,
                target: build.target.target,
                seed: build.seed.get(),
                layout: build.layout,
                digest: build.digest,
            }))?;
        }
        for benchmark in self.benchmarks_of(id)? {
            for recorded in self.executions(id, &benchmark)? {
                let line = ExecutionLine::new(&benchmark, recorded.turn, &recorded.execution);
                lines.write(&Line::Execution(Box::new(line)))?;
            }
        }
        for failed in self.failures(id)? {
            lines.write(&Line::Failure(FailureLine {
                benchmark: (&failed.benchmark).into(),
                turn: failed.turn.into(),
                reason: failed.reason,
            }))?;
        }
        Ok(())
    }
}

fn experiment_line(experiment: &Experiment) -> ExperimentLine {
    let plan = experiment.plan.clone();
    let versions = plan.versions.into_iter().zip(&experiment.unbuildable);
    let version = |(planned, failure): (crate::model::PlannedVersion, &Option<String>)| {
        let failure = failure.clone();
        VersionLine { version: planned.version, toolchain: planned.toolchain, failure }
    };
    ExperimentLine {
        identity: experiment.identity.clone(),
        begun: nanoseconds(experiment.begun),
        finished: experiment.finished.map(nanoseconds),
        machine: plan.machine,
        rbench: plan.rbench,
        settings: plan.settings,
        settings_key: plan.settings_key,
        dimensions: plan.dimensions,
        seed: plan.seed,
        versions: versions.map(version).collect(),
    }
}
