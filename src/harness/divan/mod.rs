//! Benchmarks of Divan, read from the table it prints.
//!
//! Divan tells no raw measurements. But when it takes three, its columns *fastest*, *median* and
//! *slowest* are those three, to four digits; so an execution has three measurements at most, and
//! their order is not known. It has no warm-up of its own: long measurements take its place.

mod table;
mod tree;

use std::{ffi::OsString, time::Duration};

use cargo_metadata::semver::Version;

use self::{table::row, tree::leaves};
use super::{Conditions, Executable, Harness, executable::Process, text::listed};
use crate::{
    failure::{Failure, Result},
    measure::process::Ended,
    model::{Asked, Execution, HarnessKind, Metric, Name, Series},
};

/// Divan of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divan {
    /// Its version, which decides how it lists its benchmarks.
    pub version: Version,
}

/// The most measurements whose values the table shows.
const MOST: usize = 3;

impl Harness for Divan {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Divan
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        let lists_for_programs = self.version >= Version::new(0, 1, 18);
        // Before, its list left arguments out, which only a try of each benchmark shows.
        let arguments: &[_] =
            if lists_for_programs { &["--list", "--format", "terse"] } else { &["--test"] };
        let mut invocation = executable.invocation(arguments, None, conditions);
        if lists_for_programs {
            // Only for cargo-nextest does it list so.
            invocation.variables.push(("NEXTEST".into(), "1".into()));
        }
        let purpose = format!("list the benchmarks of {}", executable.target);
        let process = Process { purpose, invocation, work: Duration::ZERO };
        let output = process.whole_output(conditions)?;
        let mut names = if lists_for_programs { listed(&output) } else { leaves(&output) };
        // They come in the order in which they were linked.
        names.sort();
        Ok(names)
    }

    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        asked: &Asked,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let measurements = asked.measurements.clamp(1, MOST);
        let run = |size: Option<u64>| {
            let process = Process {
                purpose: executable.purpose_of(benchmark),
                invocation: executable.invocation(
                    arguments(benchmark, measurements, size),
                    Some(asked.seed),
                    conditions,
                ),
                work: asked.least_time(),
            };
            let ended = process.run_to_success(conditions)?;
            let row = row(&ended.output, measurements)
                .map_err(|reason| process.failure(&reason, &ended.output))?;
            Ok::<_, Failure>((process, ended, row))
        };
        let size = match asked.iterations {
            Some(iterations) => iterations,
            None => run(None)?.2.iterations_for(asked.floor),
        };
        let (process, ended, row) = run(Some(size))?;
        let Ended { output, resources, .. } = ended;
        let series = Series {
            metric: Metric::wall(),
            iterations: vec![row.iterations; measurements],
            values: row.values,
        };
        match series.defect() {
            Some(defect) => Err(process.failure(&defect, &output)),
            None => Ok(Execution {
                asked: asked.clone(),
                series: vec![series],
                throughput: Vec::new(),
                warm_up: None,
                resources,
            }),
        }
    }
}

/// The flags beat what the benchmark's attributes say.
fn arguments(benchmark: &Name, measurements: usize, size: Option<u64>) -> Vec<OsString> {
    let mut arguments = vec!["--bench".to_owned(), "--color".to_owned(), "never".to_owned()];
    arguments.extend(["--sample-count".to_owned(), measurements.to_string()]);
    if let Some(size) = size {
        arguments.extend(["--sample-size".to_owned(), size.to_string()]);
    }
    // More samples would be taken to fill a time, and the table would show no longer what each was.
    arguments
        .extend(["--min-time", "0", "--max-time", "1000000", "--exact", "--"].map(str::to_owned));
    arguments.push(benchmark.id.clone());
    arguments.into_iter().map(OsString::from).collect()
}
