//! Benchmarks of Divan, read from the table it prints.
//!
//! Divan tells no raw measurements. But when it takes three, its columns *fastest*, *median* and
//! *slowest* are those three, to four digits; so an execution has three measurements at most, and
//! their order is not known. With threads it takes more, whose mean counts as one. It has no
//! warm-up of its own: long measurements take its place.

mod table;
mod tree;

use std::{ffi::OsString, time::Duration};

use cargo_metadata::semver::Version;

use self::{
    table::{Row, rows},
    tree::leaves,
};
use super::{Conditions, Executable, Harness, executable::Process, text::listed};
use crate::{
    failure::{Failure, Result},
    model::{Execution, ExecutionRequest, HarnessKind, Metric, Name, Series},
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

    fn objection(&self, measurements: usize) -> Option<&'static str> {
        (measurements > MOST).then_some("the table of Divan shows at most 3")
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
        let process = Process::new(purpose, invocation, Duration::ZERO);
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
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let measurements = asked.measurements.clamp(1, MOST);
        let run = |size: Option<u64>| {
            let arguments = arguments(benchmark, measurements, size);
            let process = Process::new(
                executable.purpose_of(benchmark),
                executable.invocation(arguments, Some(asked.seed), conditions),
                asked.least_time(),
            );
            let ended = process.run_to_success(conditions)?;
            let rows = rows(&ended.output, measurements)
                .map_err(|reason| process.failure(&reason, &ended.output))?;
            Ok::<_, Failure>((process, ended, rows))
        };
        let (mut process, mut ended, mut rows) = run(asked.iterations)?;
        if asked.iterations.is_none() {
            let first = ended.resources.user + ended.resources.system;
            let mut cost = first;
            while let Some(size) = larger(asked, &rows, cost, first) {
                (process, ended, rows) = run(Some(size))?;
                cost = ended.resources.user + ended.resources.system;
            }
        }
        let series: Vec<_> = rows.into_iter().map(series).collect();
        match series.iter().find_map(Series::defect) {
            Some(defect) => Err(process.failure(&defect, &ended.output)),
            None => Ok(Execution {
                asked: asked.clone(),
                series,
                throughput: Vec::new(),
                warm_up: None,
                resources: ended.resources,
            }),
        }
    }
}

/// The iterations to try next, so that every measurement lasts as long as asked; none when it does,
/// or when more cannot be afforded. The process for `rows` took `cost` of CPU time, the first `first`.
///
/// Divan makes all inputs of a measurement before it, and they may cost far more time and memory
/// than what is measured. So iterations grow step by step, and no further once that shows.
fn larger(asked: &ExecutionRequest, rows: &[Row], cost: Duration, first: Duration) -> Option<u64> {
    const STEP: u32 = 4;
    let wanted = rows.iter().map(|row| row.iterations_for(asked.floor)).max()?;
    let has = rows.iter().map(|row| row.iterations).max()?;
    // Nearly enough is enough: the next trial would find another number that is nearly enough.
    let is_enough = has.saturating_mul(5) >= wanted.saturating_mul(4);
    let affordable = asked.least_time().saturating_mul(10).saturating_add(Duration::from_secs(1));
    let next_costs = cost.saturating_sub(first).saturating_mul(STEP);
    let too_long = first > affordable || next_costs > affordable;
    (!is_enough && !too_long).then(|| wanted.min(has.saturating_mul(STEP.into())))
}

/// The measurements of a row; each number of threads is a metric of its own.
fn series(row: Row) -> Series {
    let mut metric = Metric::wall();
    if let Some(threads) = row.threads {
        metric.name = format!("{} {threads}", metric.name);
    }
    Series { metric, iterations: vec![row.iterations; row.values.len()], values: row.values }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn after(iterations: u64, cost: Duration) -> Option<u64> {
        let asked = ExecutionRequest {
            measurements: 3,
            warm_up: Duration::ZERO,
            floor: Duration::from_micros(100),
            iterations: None,
            seed: 0,
        };
        let row = Row { threads: None, values: vec![100.0], iterations };
        larger(&asked, &[row], cost, Duration::from_millis(300))
    }

    #[test]
    fn iterations_grow_by_steps_until_they_last_about_as_long_as_asked() {
        let quick = Duration::from_millis(301);
        assert_eq!(after(20, quick), Some(80));
        assert_eq!(after(320, quick), Some(1000));
        assert_eq!(after(800, quick), None);
    }

    #[test]
    fn iterations_whose_inputs_take_long_do_not_grow() {
        assert_eq!(after(20, Duration::from_millis(500)), Some(80));
        assert_eq!(after(20, Duration::from_millis(600)), None);
    }
}
