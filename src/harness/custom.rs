//! A program that measures itself, by whatever code: the readings of its clock are the measurements.
//!
//! rbench does not know how much such a program does between two readings. So that must be the same whenever it runs, and
//! not depend on the time that it takes: a program that does as much as fits into a time would seem equally fast in every
//! version. This is checked with a faster clock.

use std::time::Duration;

use super::{
    Command, Conditions, Executable, Harness,
    executable::{Process, measured},
};
use crate::{
    error::{Error, Result},
    model::{ClockReadings, ExecutionRequest, HarnessKind, Metric, Name, Outcome, Series},
    process::{Ended, interleaving::InterleavedProcess},
};

/// A program whose clock readings are the measurements, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Custom {
    /// How it is executed.
    pub command: Command,
    /// What its readings mean.
    pub readings: ClockReadings,
}

/// The reason why it has another number of measurements than requested.
const OWN_NUMBER: &str = "the program decides how often it reads the clock";

/// The reason why an execution has no measurement.
const UNSEEN: &str =
    "its clock readings are seen only through rbench's library, which is not preloaded here";

/// How many times as fast the clock runs for the check.
const FASTER: u32 = 4;
/// What a program does at least with a faster clock if that does not depend on the time, as a share of the usual time. The rest
/// is noise; a program that depends on it does a quarter.
const SAME: f64 = 0.6;

/// The fewest measurements of an execution that come from many short ones.
const FEWEST: usize = 20;

impl Custom {
    /// The lengths of its measurements in ns, in order, by a clock that runs `speed` times as fast.
    fn lengths(
        &self,
        process: &Process<'_>,
        member: &InterleavedProcess,
        speed: u32,
        conditions: &Conditions<'_>,
    ) -> Result<(Vec<i64>, Ended)> {
        if speed > 1 {
            member.hurry(speed, Duration::MAX)?;
        }
        let ended = process.run_to_success(conditions)?;
        let readings = member.readings()?;
        let refused = |reason: &str| Err(whole(process.error(reason, &ended)));
        let length = |ends: &[i64]| ends[1] - ends[0];
        match self.readings {
            _ if readings.len() < 2 => {
                refused("its first thread does not read the monotonic clock")
            }
            ClockReadings::Laps => Ok((readings.windows(2).map(length).collect(), ended)),
            ClockReadings::Pairs if readings.len() % 2 == 1 => {
                refused("its readings of the clock are no pairs, because their number is odd")
            }
            ClockReadings::Pairs => Ok((readings.chunks_exact(2).map(length).collect(), ended)),
        }
    }

    /// Checks that what the program does between two readings does not depend on the clock. Returns how many of its
    /// measurements together take the requested time.
    fn check(
        &self,
        process: &Process<'_>,
        member: &InterleavedProcess,
        usual: &[i64],
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<usize> {
        let (faster, ended) = self.lengths(process, member, FASTER, conditions)?;
        let total = |lengths: &[i64]| lengths.iter().sum::<i64>() as f64;
        let same_work = faster.len() == usual.len() && total(&faster) >= SAME * total(usual);
        if !same_work {
            return Err(whole(process.error("its work depends on the time it takes", &ended)));
        }
        Ok(together(usual, request.min_time))
    }
}

fn whole(error: Error) -> Error {
    error.hint("measure it as a whole: remove `clock` from its table in bench.toml")
}

/// How many measurements of these lengths together take at least this time, as long as enough remain.
fn together(lengths: &[i64], min_time: Duration) -> usize {
    let mean = lengths.iter().sum::<i64>().unsigned_abs() / lengths.len().max(1) as u64;
    let wanted = min_time.as_nanos().div_ceil(u128::from(mean.max(1)));
    let most = (lengths.len() / FEWEST).max(1);
    usize::try_from(wanted).unwrap_or(most).clamp(1, most)
}

/// The times of each `count` of these measurements, per measurement. The first are left out if there are no more of them.
fn series(lengths: &[i64], count: usize) -> Series {
    let groups = lengths[lengths.len() % count..].chunks_exact(count);
    let values: Vec<f64> =
        groups.map(|group| group.iter().sum::<i64>() as f64 / count as f64).collect();
    Series {
        metric: Metric::wall(),
        iterations: vec![count as u64; values.len()],
        values,
        resolution: (count as f64).recip(),
    }
}

impl Harness for Custom {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Custom
    }

    fn measurement_limit(&self, _: usize, _: bool) -> Option<&'static str> {
        Some(OWN_NUMBER)
    }

    fn least_time(&self, request: &ExecutionRequest) -> Duration {
        self.command.least_time(request)
    }

    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>> {
        self.command.list(executable, conditions)
    }

    /// Runs the program once. Without a number of iterations, it is also checked by running it again.
    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome> {
        if conditions.counting.is_some() || conditions.allocations.is_some() {
            return self.command.execute(executable, benchmark, request, conditions);
        }
        let process = self.command.process(executable, benchmark, request, conditions);
        if conditions.tracing.is_some() {
            let ended = process.run_to_success(conditions)?;
            return Ok(Outcome::Measured(measured(request, Vec::new(), ended)));
        }
        let Some(member) = conditions.member else {
            process.run_to_success(conditions)?;
            return Ok(Outcome::Skipped(UNSEEN.to_owned()));
        };
        let (lengths, ended) = self.lengths(&process, member, 1, conditions)?;
        let count = match request.iterations {
            Some(iterations) => {
                usize::try_from(iterations).unwrap_or(usize::MAX).clamp(1, lengths.len())
            }
            None => self.check(&process, member, &lengths, request, conditions)?,
        };
        let series = series(&lengths, count);
        if let Some(defect) = series.defect() {
            return Err(process.error(&defect, &ended));
        }
        Ok(Outcome::Measured(measured(request, vec![series], ended)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_measurements_are_taken_together_as_long_as_enough_remain() {
        let min_time = Duration::from_millis(1);
        assert_eq!(together(&[100_000; 1000], min_time), 10);
        assert_eq!(together(&[100_000; 100], min_time), 5);
        assert_eq!(together(&[100_000; 15], min_time), 1);
        assert_eq!(together(&[2_000_000; 100], min_time), 1);
        assert_eq!(together(&[0; 100], min_time), 5);
    }

    #[test]
    fn measurements_are_means_of_the_last_ones_together() {
        let series = series(&[9, 10, 20, 30, 40], 2);
        assert_eq!((series.values, series.iterations), (vec![15.0, 35.0], vec![2; 2]));
    }
}
