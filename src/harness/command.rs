//! A whole program as a benchmark: each execution is one run of it, with one measurement of each metric.
//!
//! Every execution has the same metrics, so that all executions can be compared: wall time unless the program shares its
//! CPU with the other version, CPU time, its parts in user mode and in the kernel, and peak memory if a launcher starts the
//! program. A value below the kernel's resolution is reported with that [resolution](Series::resolution): differences
//! within one step never count.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use super::{
    Conditions, Executable, Harness, HarnessFacts,
    executable::{Process, measured},
};
use crate::{
    error::Result,
    model::{ExecutionRequest, HarnessKind, Metric, Name, Outcome, Resources, Series},
    process::{MEMORY_ERROR, interleaving::InterleavedProcess},
};

/// A program with arguments and a benchmark id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub id: String,
    /// The program; None stands for the target's executable.
    pub program: Option<PathBuf>,
    pub arguments: Vec<OsString>,
    /// The file that it reads as its standard input, relative to the directory it runs in: that of interleaved
    /// executions is another.
    pub input: Option<PathBuf>,
    /// The exit statuses besides 0 with which it has done its work.
    pub statuses: Vec<i32>,
    /// The launcher that starts the program: see [`Invocation`](crate::process::Invocation).
    pub launcher: Option<PathBuf>,
}

impl Command {
    pub(super) fn process<'e>(
        &self,
        executable: &'e Executable,
        benchmark: &'e Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Process<'e> {
        let mut invocation = executable.invocation(&self.arguments, Some(request.seed), conditions);
        if let Some(program) = &self.program {
            invocation.program.clone_from(program);
        }
        invocation.input.clone_from(&self.input);
        if uses_launcher(conditions) {
            invocation.launcher.clone_from(&self.launcher);
        }
        let work = self.least_time(request);
        let process =
            Process::executing(executable, std::slice::from_ref(benchmark), invocation, work);
        Process { statuses: Some(self.statuses.clone()), ..process }
    }
}

/// True if a process under these conditions preloads nothing, which its launcher would load instead.
fn uses_launcher(conditions: &Conditions<'_>) -> bool {
    conditions.counting.is_none()
        && conditions.allocations.is_none()
        && conditions.member.is_none_or(InterleavedProcess::is_program)
}

impl Harness for Command {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Command
    }

    fn facts(&self) -> HarnessFacts {
        HarnessFacts { measures_process: true, can_be_profiled: |_| false, ..HarnessFacts::DEFAULT }
    }

    fn measurements(&self, _: u32) -> u32 {
        1
    }

    fn measurement_limit(&self, measurements: usize, _: bool) -> Option<&'static str> {
        (measurements != 1).then_some("one run of a program is one measurement")
    }

    /// Zero: the program's run time is unknown.
    fn least_time(&self, _: &ExecutionRequest) -> Duration {
        Duration::ZERO
    }

    fn list(&self, _: &Executable, _: &Conditions<'_>) -> Result<Vec<Name>> {
        Ok(vec![Name::plain(self.id.clone())])
    }

    /// Runs the program once, whatever number of measurements is requested. A status other than its own is an error.
    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        if self.program.is_some() && conditions.allocations.is_some() {
            let reason = "allocations are counted only in programs of the project";
            return Ok(Outcome::Skipped(reason.to_owned()));
        }
        let ended =
            self.process(executable, benchmark, request, conditions).run_to_success(conditions)?;
        let mut series = match conditions.counting {
            Some(counting) => {
                vec![one(Metric::instructions(), counting.total()? as f64, 0.0)]
            }
            None => times(&ended.resources).to_vec(),
        };
        if conditions.member.is_some_and(InterleavedProcess::is_program) {
            // It contains the time of the other version.
            series.retain(|series| series.metric != Metric::wall());
        }
        if self.launcher.is_some() && uses_launcher(conditions) {
            series.extend(ended.resources.peak_memory.map(memory));
        }
        Ok(Outcome::Measured(measured(request, series, &ended)))
    }
}

/// The kernel's coarsest tick. Linux knows the CPU time of a process to the nanosecond, but many kernels split it into
/// user and system time only by samples at each tick, which makes both parts noise.
const TICK: Duration = Duration::from_millis(10);

/// The resolution of the kernel's accounts.
const MICROSECOND: Duration = Duration::from_micros(1);

fn times(resources: &Resources) -> [Series; 4] {
    // Kernels other than Linux, which have no such account, may count the sum in ticks too.
    let step = if resources.at_end.is_some() { MICROSECOND } else { TICK };
    [
        series(Metric::wall(), resources.wall.max(MICROSECOND), MICROSECOND),
        series(Metric::cpu(), resources.cpu().max(step), step),
        cpu_time(Metric::user(), resources.user),
        cpu_time(Metric::system(), resources.system),
    ]
}

/// A part of the CPU time. Below a tick, only the upper bound of one tick is known.
fn cpu_time(metric: Metric, time: Duration) -> Series {
    if time < TICK { series(metric, TICK, TICK) } else { series(metric, time, MICROSECOND) }
}

fn series(metric: Metric, value: Duration, resolution: Duration) -> Series {
    one(metric, value.as_nanos() as f64, resolution.as_nanos() as f64)
}

fn memory(peak: u64) -> Series {
    one(Metric::peak_memory(), peak as f64, MEMORY_ERROR as f64)
}

fn one(metric: Metric, value: f64, resolution: f64) -> Series {
    Series { metric, values: vec![value], iterations: vec![1], resolution }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        AtEnd,
        testing::{request, resources},
    };

    fn shown(user: Duration, system: Duration) -> Vec<(String, f64, f64)> {
        let (first_thread, queued) = (user + system, Duration::ZERO);
        let at_end = Some(AtEnd { first_thread, queued, had_children: false });
        let wall = Duration::from_micros(1500);
        let resources = Resources { wall, user, system, at_end, ..resources() };
        let parts = |series: Series| (series.metric.name, series.values[0], series.resolution);
        times(&resources).map(parts).to_vec()
    }

    #[test]
    fn program_has_one_measurement_and_no_least_time() {
        let command = Command {
            id: "version".to_owned(),
            program: None,
            arguments: Vec::new(),
            input: None,
            statuses: Vec::new(),
            launcher: None,
        };
        assert_eq!(command.least_time(&request()), Duration::ZERO);
        assert_eq!(command.measurements(20), 1);
    }

    #[test]
    fn cpu_time_below_a_tick_is_reported_as_a_tick() {
        let all = shown(Duration::from_micros(7), Duration::ZERO);
        let expected =
            [("wall", 1.5e6, 1e3), ("cpu", 7e3, 1e3), ("user", 1e7, 1e7), ("system", 1e7, 1e7)];
        assert_eq!(all, expected.map(|(name, value, step)| (name.to_owned(), value, step)));
    }

    #[test]
    fn cpu_time_above_a_tick_is_exact_to_the_microsecond() {
        let all = shown(Duration::from_micros(70_007), Duration::from_millis(10));
        let expected = [("cpu", 8.0007e7, 1e3), ("user", 7.0007e7, 1e3), ("system", 1e7, 1e3)];
        assert_eq!(all[1..], expected.map(|(name, value, step)| (name.to_owned(), value, step)));
    }

    #[test]
    fn sum_of_cpu_times_is_inexact_where_the_kernel_shows_no_account() {
        let resources = Resources { user: Duration::from_millis(70), ..resources() };
        let [_, cpu, ..] = times(&resources);
        assert_eq!((cpu.values[0], cpu.resolution), (7e7, 1e7));
    }
}
