//! Exports a store as JSON lines.

use std::io::Write;

use super::{
    FORMAT, SCHEMA_VERSION,
    line::{ExecutionLine, Line, shown},
};
use crate::{
    error::{Context, Exit, Result},
    model::Unmeasured,
    store::{StoredExecution, open::Store},
};

/// Writes lines, counts them, and computes their checksum.
struct Lines<'w> {
    out: &'w mut dyn Write,
    written: usize,
    checksum: crc32fast::Hasher,
}

impl Lines<'_> {
    fn write(&mut self, line: &Line) -> Result<()> {
        let what = || "cannot write the exported results";
        let mut text = serde_json::to_vec(line).context(Exit::Usage, what)?;
        text.push(b'\n');
        self.checksum.update(&text);
        self.out.write_all(&text).context(Exit::Usage, what)?;
        self.written += 1;
        Ok(())
    }
}

impl Store<'_> {
    /// Writes the complete content of the store to `out`, as JSON lines.
    pub fn export(&self, out: &mut dyn Write) -> Result<()> {
        let mut lines = Lines { out, written: 0, checksum: crc32fast::Hasher::new() };
        lines.write(&Line::Header {
            format: FORMAT.to_owned(),
            schema_version: SCHEMA_VERSION,
            rbench: env!("CARGO_PKG_VERSION").to_owned(),
        })?;
        for experiment in self.experiments()? {
            let id = experiment.id;
            lines.write(&Line::Experiment(Box::new(experiment.into())))?;
            for build in self.builds(id)? {
                lines.write(&Line::Build(build))?;
            }
            for (benchmark, verdict) in self.unmeasured(id)? {
                lines.write(&Line::Unmeasured { benchmark, verdict })?;
            }
            for absent in self.absent(id)? {
                lines.write(&Line::Absent(absent))?;
            }
            for measured in self.measured_metrics(id)? {
                let benchmark = measured.benchmark;
                for StoredExecution { slot, outcome, .. } in self.rows(&benchmark, &[id])? {
                    let benchmark = benchmark.clone();
                    lines.write(&match outcome {
                        Ok(execution) => {
                            Line::Execution(Box::new(ExecutionLine { benchmark, slot, execution }))
                        }
                        Err(Unmeasured::Failed(reason)) => Line::Error { benchmark, slot, reason },
                        Err(Unmeasured::Skipped(reason)) => Line::Skip { benchmark, slot, reason },
                    })?;
                }
            }
        }
        for tuning in self.all_tuned()? {
            lines.write(&Line::Tuning(tuning.into()))?;
        }
        let checksum = Some(shown(&lines.checksum));
        let end = Line::End { lines: lines.written, checksum };
        lines.write(&end)?;
        lines.out.flush().context(Exit::Usage, || "cannot write the exported results")
    }
}
