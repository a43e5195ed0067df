//! A whole program as a benchmark: each execution is one run of it, and one measurement.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use super::{Conditions, Executable, Harness, executable::Process};
use crate::{
    failure::Result,
    model::{Execution, ExecutionRequest, HarnessKind, Metric, Name, Resources, Series, Unit},
};

/// A program with arguments, under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What the benchmark is called.
    pub id: String,
    /// The program; the executable of the target when absent.
    pub program: Option<PathBuf>,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What starts the program: see [`Invocation`](crate::process::Invocation).
    pub launcher: Option<PathBuf>,
}

impl Harness for Command {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Command
    }

    fn objection(&self, measurements: usize) -> Option<&'static str> {
        (measurements != 1).then_some("one run of a program is one measurement")
    }

    fn list(&self, _: &Executable, _: &Conditions<'_>) -> Result<Vec<Name>> {
        Ok(vec![Name::plain(self.id.clone())])
    }

    /// Runs the program once, whatever number of measurements is asked. An exit with another status
    /// than success is a failure.
    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Execution> {
        let mut invocation = executable.invocation(&self.arguments, Some(asked.seed), conditions);
        if let Some(program) = &self.program {
            invocation.program.clone_from(program);
        }
        invocation.launcher.clone_from(&self.launcher);
        let purpose = executable.purpose_of(benchmark);
        let process = Process::new(purpose, invocation, Duration::ZERO);
        let ended = process.run_to_success(conditions)?;
        Ok(Execution {
            asked: asked.clone(),
            series: series(&ended.resources),
            throughput: Vec::new(),
            warm_up: None,
            resources: ended.resources,
        })
    }
}

/// Wall, user and system time and peak memory, those that are known and not zero: the kernel's
/// clock of CPU time may be too coarse for a short program, and there is no ratio to nothing.
fn series(resources: &Resources) -> Vec<Series> {
    let nanoseconds = |time: Duration| time.as_nanos() as f64;
    let peak_memory = resources.peak_memory.unwrap_or(0) as f64;
    [
        ("wall", Unit::Nanoseconds, nanoseconds(resources.wall)),
        ("user", Unit::Nanoseconds, nanoseconds(resources.user)),
        ("system", Unit::Nanoseconds, nanoseconds(resources.system)),
        ("peak-memory", Unit::Bytes, peak_memory),
    ]
    .into_iter()
    .map(|(name, unit, value)| Series {
        metric: Metric { name: name.to_owned(), unit },
        values: vec![value],
        iterations: vec![1],
    })
    .filter(|series| series.defect().is_none())
    .collect()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_is_unknown_or_zero_is_no_measurement() {
        let resources = Resources {
            start: SystemTime::UNIX_EPOCH,
            wall: Duration::from_micros(1500),
            user: Duration::from_micros(7),
            system: Duration::ZERO,
            peak_memory: None,
            voluntary_switches: 0,
            involuntary_switches: 0,
            instructions: None,
            cycles: None,
        };
        let names: Vec<_> = series(&resources)
            .into_iter()
            .map(|series| (series.metric.name, series.values))
            .collect();
        assert_eq!(names, [("wall".to_owned(), vec![1.5e6]), ("user".to_owned(), vec![7e3])]);
    }
}
