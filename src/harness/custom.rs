//! A program that measures itself, by whatever code: the readings of its clock are the measurements.
//!
//! rbench does not know how much such a program does between two readings. So that must be the same whenever it runs, and
//! not depend on the time that it takes: a program that does as much as fits into a time would seem equally fast in every
//! version. This is checked with a faster clock.

use std::time::Duration;

use super::{
    Command, Conditions, Executable, Harness, HarnessFacts,
    executable::{Process, measured},
    series_of_readings,
};
use crate::{
    error::{Error, Result},
    model::{ClockReadings, ExecutionRequest, HarnessKind, Name, Outcome, Series},
    process::{
        Ended,
        interleaving::{InterleavedProcess, MOST_READINGS},
    },
};

/// A program whose clock readings are the measurements, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Custom {
    pub command: Command,
    pub readings: ClockReadings,
}

/// The reason why it has another number of measurements than requested.
const OWN_NUMBER: &str = "the program decides how often it reads the clock";

/// The reason why an execution has no measurement.
const UNSEEN: &str =
    "its clock readings are seen only through rbench's library, which is not preloaded here";

/// How many times as fast the clock runs for the check: more than a program multiplies its work by while it looks for an
/// amount that takes long enough.
const FASTER: u32 = 16;
/// The time by a faster clock, as a share of the usual one, below which a program has done less. The rest is noise.
const SAME: f64 = 0.6;
/// The share of measurements that may be below that: one may have been disturbed by the usual clock.
const DISTURBED: f64 = 0.05;
/// The most comparisons of the usual and the faster clock. Interruptions come at other measurements each time, and a
/// thousand of them in a second disturb more than that share of the shortest ones.
const CHECKS: usize = 3;

/// The time inside of pairs, as a share of that between them, below which these are probably shifted by one reading.
const INSIDE: f64 = 0.1;

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
        member.hurry(speed, Duration::ZERO)?;
        let ended = process.run_to_success(conditions)?;
        let readings = member.readings()?;
        let refused = |reason: &str| Err(whole(process.error(reason, &ended)));
        let length = |ends: &[i64]| ends[1] - ends[0];
        if readings.len() < 2 {
            return refused("its first thread does not read the monotonic clock");
        }
        // One less where the first of those that are kept would end a pair.
        if readings.len() + 1 >= MOST_READINGS {
            return refused("it reads the clock so often that rbench does not keep all readings");
        }
        if self.readings == ClockReadings::Laps {
            return Ok((readings.windows(2).map(length).collect(), ended));
        }
        if readings.len() % 2 == 1 {
            return refused("its readings of the clock are no pairs, because their number is odd");
        }
        let lengths: Vec<i64> = readings.chunks_exact(2).map(length).collect();
        let between: Vec<i64> = readings[1..].chunks_exact(2).map(length).collect();
        if (middle(&lengths) as f64) < INSIDE * middle(&between) as f64 {
            return refused(
                "hardly any time is inside of its pairs of clock readings: is there one more before them?",
            );
        }
        Ok((lengths, ended))
    }

    /// Checks that what the program does between two readings does not depend on the clock. `usual` are the lengths by the
    /// usual clock.
    fn check(
        &self,
        process: &Process<'_>,
        member: &InterleavedProcess,
        usual: &[i64],
        conditions: &Conditions<'_>,
    ) -> Result<()> {
        let mut usual = usual.to_vec();
        let mut checks = 1;
        loop {
            let (faster, ended) = self.lengths(process, member, FASTER, conditions)?;
            if is_same_work(&usual, &faster) {
                return Ok(());
            }
            if checks == CHECKS || faster.len() != usual.len() {
                // So does that of a whole run.
                return Err(process
                    .error("its work depends on the time it takes", &ended)
                    .hint("let it do the same work whenever it runs"));
            }
            let (again, _) = self.lengths(process, member, 1, conditions)?;
            usual.iter_mut().zip(again).for_each(|(length, again)| *length = again.min(*length));
            checks += 1;
        }
    }
}

/// True if measurements of these lengths by the usual and by the faster clock may have done the same work.
fn is_same_work(usual: &[i64], faster: &[i64]) -> bool {
    let is_less = |(usual, faster): &(&i64, &i64)| (**faster as f64) < SAME * **usual as f64;
    let less = usual.iter().zip(faster).filter(is_less).count();
    faster.len() == usual.len()
        && total(faster) as f64 >= SAME * total(usual) as f64
        && less as f64 <= DISTURBED * usual.len() as f64
}

fn total(lengths: &[i64]) -> i64 {
    lengths.iter().sum()
}

fn middle(lengths: &[i64]) -> i64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn whole(error: Error) -> Error {
    error.hint("measure it as a whole: remove `clock` from its table in bench.toml")
}

/// How many measurements of these lengths together take at least this time, as long as enough remain.
fn together(lengths: &[i64], min_time: Duration) -> usize {
    let mean = total(lengths).unsigned_abs() / lengths.len().max(1) as u64;
    let wanted = min_time.as_nanos().div_ceil(u128::from(mean.max(1)));
    let most = (lengths.len() / FEWEST).max(1);
    usize::try_from(wanted).unwrap_or(most).clamp(1, most)
}

/// The times of each `count` of these measurements, per measurement. If there are more of them, the first ones are fewer:
/// another version that measures another number of times has other values.
fn series(lengths: &[i64], count: usize) -> Series {
    let (rest, whole) = lengths.split_at(lengths.len() % count);
    let groups = [rest].into_iter().filter(|rest| !rest.is_empty()).chain(whole.chunks(count));
    let measured: Vec<_> = groups.map(|group| (total(group), group.len() as u64)).collect();
    series_of_readings(&measured)
}

impl Harness for Custom {
    fn kind(&self) -> HarnessKind {
        HarnessKind::Custom
    }

    fn facts(&self) -> HarnessFacts {
        HarnessFacts {
            measures_readings: true,
            can_be_profiled: |_| false,
            ..HarnessFacts::DEFAULT
        }
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
            return Ok(Outcome::Measured(measured(request, Vec::new(), &ended)));
        }
        let Some(member) = conditions.member else {
            process.run_to_success(conditions)?;
            return Ok(Outcome::Skipped(UNSEEN.to_owned()));
        };
        let (lengths, ended) = self.lengths(&process, member, 1, conditions)?;
        let series = if let Some(iterations) = request.iterations {
            let count = usize::try_from(iterations).unwrap_or(usize::MAX);
            series(&lengths, count.clamp(1, lengths.len()))
        } else {
            self.check(&process, member, &lengths, conditions)?;
            let count = together(&lengths, request.min_time);
            // Those that are together are equally many in each.
            series(&lengths[lengths.len() % count..], count)
        };
        if let Some(defect) = series.defect() {
            return Err(whole(process.error(&defect, &ended)));
        }
        Ok(Outcome::Measured(measured(request, vec![series], &ended)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_the_same_unless_many_measurements_are_shorter_by_the_faster_clock() {
        let usual = [24; 100];
        let disturbed = |number: usize| {
            let mut lengths = usual;
            lengths[..number].fill(60);
            lengths
        };
        assert!(is_same_work(&disturbed(5), &usual) && !is_same_work(&disturbed(6), &usual));
        assert!(is_same_work(&usual, &disturbed(100)), "an interruption by the faster clock");
        assert!(!is_same_work(&usual, &usual[1..]) && !is_same_work(&usual, &[12; 100]));
        assert!(!is_same_work(&[&[3_000; 1][..], &usual[1..]].concat(), &usual), "the total");
    }

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
    fn measurements_are_means_of_those_together() {
        let of = |lengths: &[i64]| {
            let series = series(lengths, 2);
            (series.values, series.iterations)
        };
        assert_eq!(of(&[10, 20, 30, 40]), (vec![15.0, 35.0], vec![2; 2]));
        assert_eq!(of(&[9, 10, 20, 30, 40]), (vec![9.0, 15.0, 35.0], vec![1, 2, 2]));
    }
}
